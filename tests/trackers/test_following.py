"""Trackers get a run's events; one that fails neither ends nor changes a training."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from support.cli import error_of, write_config
from support.runs import events

from nmt.cli import main
from nmt.system.errors import UserError
from nmt.trackers import following
from nmt.training.event_log import EventLog

TENSORBOARD = following.tensorboard  # which the tests' fixture replaces
TRACKER = """
import json
from contextlib import contextmanager

@contextmanager
def follow(folder, config, update):
    with (folder / "followed.jsonl").open("a") as file:
        file.write(json.dumps({"begins": update, "epochs": config["training"]["max_epochs"]}) + "\\n")
        yield lambda event: file.write(json.dumps(event) + "\\n")
        file.write("end\\n")

@contextmanager
def fails(folder, config, update):
    def follow(event):
        raise ConnectionError("no network")
    yield follow
    raise OSError("nor at the end")

def never(folder, config, update):
    raise ValueError("no key")
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "my_trackers.py").write_text(TRACKER, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return str(write_config(tmp_path))


def train(config: str, *options: str, trackers: str) -> int:
    return main(["train", config, "--set", f"training.trackers={trackers}", *options])


def followed(folder: Path) -> list[list[dict[str, object]]]:
    """What `follow` got, by run: how each began, and its events."""
    *runs, rest = (folder / "followed.jsonl").read_text(encoding="utf-8").split("end\n")
    assert rest == ""
    return [[json.loads(line) for line in run.splitlines()] for run in runs]


def test_a_tracker_gets_all_events_of_a_run_and_of_its_resumption(config: str, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "tiny"
    assert train(config, trackers="['my_trackers:follow']") == 0
    before = events(folder)
    [[begin, *first]] = followed(folder)
    assert begin == {"begins": 0, "epochs": 1}
    assert first == before
    assert train(config, "--resume", "--set", "training.max_epochs=2", trackers="['my_trackers:follow']") == 0
    _, [begin, *second] = followed(folder)
    assert begin == {"begins": before[-1]["update"], "epochs": 2}
    after = events(folder)
    assert second == after[-len(second) :]
    kept = len(after) - len(second)
    assert after[:kept] == before[:kept], "what came after the last checkpoint is not repeated"
    assert second[0]["update"] > begin["begins"]


def test_one_that_fails_is_reported_once_and_the_run_is_the_same(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(config, trackers="['my_trackers:fails', 'my_trackers:follow']") == 0
    errors = capsys.readouterr().err
    assert errors.count("my_trackers:fails gets no more events: ConnectionError: no network") == 1
    assert errors.count("my_trackers:fails did not end well: OSError: nor at the end") == 1
    folder = tmp_path / "runs" / "tiny"
    assert followed(folder)[0][1:] == events(folder)
    assert main(["train", config, "--set", "name=plain"]) == 0
    plain = tmp_path / "runs" / "plain"
    times = ("seconds", "source_tokens_per_second", "target_tokens_per_second")
    both = [[{k: v for k, v in e.items() if k not in times} for e in events(f)] for f in (folder, plain)]
    assert both[0] == both[1]


def test_what_ends_a_training_reaches_the_tracker_and_is_not_hidden() -> None:
    seen = []

    @contextmanager
    def tracker(*_: object) -> Iterator[following.Follow]:
        try:
            yield seen.append
        except KeyboardInterrupt as error:
            seen.append(error)
            raise

    def train(follow: following.Follow) -> None:
        follow({"event": "train"})
        raise KeyboardInterrupt

    running = following.following({"t": tracker}, Path(), {}, 0)
    with pytest.raises(KeyboardInterrupt), running as follow:
        train(follow)
    assert seen[0] == {"event": "train"}
    assert isinstance(seen[1], KeyboardInterrupt)


@pytest.mark.parametrize(
    ("trackers", "expected"),
    [
        ("[wandb9]", "training.trackers: 'wandb9' is not installed: give MODULE:FUNCTION"),
        ("['my_trackers:nothing']", "my_trackers:nothing cannot be loaded: AttributeError"),
        ("['no_such_module:follow']", "no_such_module:follow cannot be loaded: ModuleNotFoundError"),
        ("3", "training.trackers"),
    ],
)
def test_names_are_checked_before_anything_is_written(
    trackers: str, expected: str, config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in ([], ["--check"]):
        assert train(config, *options, trackers=trackers) == 2
        assert expected in error_of(capsys)
    assert not (tmp_path / "runs").exists()


def test_one_that_cannot_begin_ends_the_command(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(config, trackers="['my_trackers:never']") == 2
    assert "training.trackers: my_trackers:never cannot begin: ValueError: no key" in capsys.readouterr().err


def test_an_entry_point_is_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint, EntryPoints

    entry = EntryPoint("curves", "nmt.trackers.following:numbers", "nmt.trackers")
    monkeypatch.setattr(following, "entry_points", lambda group: EntryPoints([entry]).select(group=group))
    assert following.load(["curves"])["curves"] is following.numbers
    with pytest.raises(UserError, match="'curve' is not installed: give MODULE:FUNCTION, curves"):
        following.load(["curve"])


def test_tensorboard_gets_the_numbers_and_hides_later_updates(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for begin, losses in ((0, [3.0, 2.0, 1.0]), (1, [2.5])):
        with following.following({"TensorBoard": TENSORBOARD}, tmp_path, {}, begin) as follow:
            for update, loss in enumerate(losses, start=begin + 1):
                follow({"event": "train", "update": update, "epoch": 1, "loss": loss, "perplexity": None, "text": "x"})
    curves = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert curves.Tags()["scalars"] == ["train/loss"]
    assert [(point.step, point.value) for point in curves.Scalars("train/loss")] == [(1, 3.0), (2, 2.5)]


def test_curves_that_cannot_be_written_are_reported_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorboard")
    path = tmp_path / "tensorboard"
    path.write_bytes(b"")
    trackers = {"TensorBoard": TENSORBOARD}
    with (
        pytest.raises(UserError, match="tensorboard cannot be written"),
        following.following(trackers, tmp_path, {}, 0),
    ):
        pass
    path.unlink()
    with (
        following.following(trackers, tmp_path, {}, 0) as follow,
        closing(EventLog(tmp_path, follow=follow)) as log,
    ):
        log.write("train", 1, 1, loss=1.0)
        path.rename(tmp_path / "elsewhere")  # at once, while a thread writes
        for update in range(2, 2000):
            log.write("train", update, 1, loss=1.0)
    errors = capfd.readouterr().err
    assert "Traceback" not in errors
    assert errors.count("gets no more events") <= 1
