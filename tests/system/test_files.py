"""Files that are whole or not there, and notes with a checksum."""

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_paths_that_cannot_be_written_are_the_users_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", flock)  # as some network file systems have it
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nothing")
    before = names(tmp_path)
    for attempt, name, message in (
        (lambda path: files.write(path, b"three"), "file/c.txt", "file cannot be created"),
        (lambda path: files.write(path, b"three"), "folder", "folder cannot be written"),
        (files.require_new, "file", "file already exists: choose another --output"),
        (files.require_new, "link", "link already exists: choose another --output"),
        (files.require_new, "file/c.safetensors", "file is not a writable folder"),
        (lambda path: files.locked(path, "held").__enter__(), "file", r"cannot be locked \(Function not implemented\)"),
    ):
        with pytest.raises(UserError, match=message):
            attempt(tmp_path / name)
    files.require_new(tmp_path / "new" / "c.safetensors")
    assert names(tmp_path) == before


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["sentences", "bytes", "ä", ""]), PLAIN), st.data())
def test_a_note_is_read_as_it_was_and_any_other_byte_is_noticed(values: dict[str, object], data: st.DataObject) -> None:
    content = bytearray(files.with_checksum(values))
    assert files.without_checksum(bytes(content)) == values
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="cut off or changed"):
        files.without_checksum(bytes(content))
