"""Files that are whole or not there."""

import errno
from pathlib import Path

import pytest

from nmt.system import files
from nmt.system.errors import UserError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_is_made_and_the_file_replaced(tmp_path: Path) -> None:
    for content in (b"one", b"two"):
        files.write(tmp_path / "a" / "b.txt", content)
        assert (tmp_path / "a" / "b.txt").read_bytes() == content
    assert names(tmp_path / "a") == ["b.txt"]


@pytest.mark.parametrize(
    "error", [RuntimeError("a defect"), KeyboardInterrupt(), OSError(28, "No space left on device")]
)
def test_what_fails_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "b.txt"
    files.write(path, b"old")

    def write_half() -> None:
        with files.replace_atomically(path) as file:
            file.write(b"ne")
            raise error

    with pytest.raises(UserError if isinstance(error, OSError) else type(error)):
        write_half()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["b.txt"]


def test_places_that_cannot_be_are_the_users_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match="cannot be created"):
        files.write(tmp_path / "file" / "c.txt", b"three")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="cannot be written"):
        files.write(tmp_path / "folder", b"three")
    assert names(tmp_path) == ["file", "folder"]


def test_a_place_that_is_not_free_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("nothing")
    for name in ("file", "link"):
        with pytest.raises(UserError, match=f"{name} already exists: choose another --output"):
            files.require_new(tmp_path / name)
    with pytest.raises(UserError, match="file is not a folder that can be written"):
        files.require_new(tmp_path / "file" / "c.safetensors")
    files.require_new(tmp_path / "new" / "c.safetensors")
    assert names(tmp_path) == ["file", "link"]


def test_a_file_system_without_locks_is_the_users_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", flock)
    with (
        pytest.raises(UserError, match=r"cannot be locked \(Function not implemented\): choose a folder on another"),
        files.locked(tmp_path / "file", "held"),
    ):
        pass
