"""Runs that begin with the weights and the tokens of a checkpoint."""

import shutil
from pathlib import Path

import pytest
import torch
from support.runs import HARD, ConfigMaker, assert_same_run, contents, finish, run_and_stop

from nmt.checkpoint.contents import load
from nmt.config.run import Config
from nmt.system.errors import UserError
from nmt.training.run import check

STILL = ["training.max_updates=1", "training.learning_rate=1e-30"]


@pytest.fixture(scope="session")
def first(shared_config: ConfigMaker) -> Path:
    """The best checkpoint of a run on the made-up language."""
    return finish(shared_config("name=first-of-others")) / "best.safetensors"


@pytest.fixture
def other_text(tmp_path: Path) -> list[str]:
    """The fields of another corpus: few of the first one's words, and some that it does not have."""
    fields = []
    for side, ending, line in (("source", "src", "Ba De fremd"), ("target", "tgt", "kip lom strange")):
        for split, count in (("train", 12), ("validation", 4)):
            path = tmp_path / f"other-{split}.{ending}"
            path.write_text(f"{line}\n" * count, encoding="utf-8")
            fields.append(f"data.{side}.{split}={path}")
        fields.append(f"data.{side}.test=null")
    return fields


def test_a_run_begins_with_the_weights_and_tokens_of_the_checkpoint_on_another_text(
    make_config: ConfigMaker, first: Path, other_text: list[str]
) -> None:
    dropout = ["model.embedding_dropout=0", "model.encoder.dropout=0", "model.decoder.dropout=0"]
    folder = finish(make_config("name=second", f"training.start_from={first}", *STILL, *other_text, *dropout))
    before, after = (load(path, torch.device("cpu")) for path in (first, folder / "best.safetensors"))
    assert (after.source, after.target) == (before.source, before.target)
    assert "fremd" not in after.source.vocabulary.tokens
    assert after.config.model.decoder.dropout == 0 != before.config.model.decoder.dropout
    after_update = after.model.state_dict()
    for name, weight in before.model.state_dict().items():
        torch.testing.assert_close(after_update[name], weight, rtol=0, atol=1e-25)
    without = finish(make_config("name=third", *STILL, *other_text)) / "best.safetensors"
    assert load(without, torch.device("cpu")).source.vocabulary.tokens[4:] == ("ba", "de", "fremd")


def test_it_resumes_bit_for_bit_without_the_checkpoint_that_it_began_with(
    make_config: ConfigMaker, first: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start = tmp_path / "start.safetensors"
    shutil.copy(first, start)

    def config(name: str) -> Config:
        return make_config(*HARD, f"name={name}", f"training.start_from={start}")

    straight = finish(config("straight"))
    folder = run_and_stop(monkeypatch, config("stopped"), 7)
    assert contents(folder)["training"]["state"]["update"] == 7
    start.unlink()
    check(config("stopped"), resume=True)
    with pytest.raises(UserError, match=r"another training\.start_from: resume with the one in"):
        finish(make_config(*HARD, "name=stopped"), resume=True)
    assert_same_run(finish(config("stopped"), resume=True), straight)


def test_what_does_not_fit_is_refused_before_there_is_a_folder(
    make_config: ConfigMaker, first: Path, other_text: list[str]
) -> None:
    paths = dict(field.split("=") for field in other_text)
    tagged = [
        f"data.source.extra=[{{path: {paths['data.source.train']}, tag: <BT>}}]",
        f"data.target.extra=[{paths['data.target.train']}]",
    ]
    for fields, message in (
        (["model.attention.score=general"], "has another model.attention.score: set it to the checkpoint's, additive"),
        (["data.source.lowercase=false"], "has another data.source.lowercase: set it to the checkpoint's, true"),
        (["data.joint_vocabulary=true"], "has another data.joint_vocabulary: set it to the checkpoint's"),
        (["data.normalize=false"], "has another data.normalize: set it to the checkpoint's"),
        (["training.start_from=gone.safetensors"], "gone.safetensors does not exist"),
        (tagged, "was trained without the tag <BT>"),
    ):
        config = make_config("name=second", f"training.start_from={first}", *fields)
        for begin in (finish, lambda config: check(config, resume=False)):
            with pytest.raises(UserError, match=message):
                begin(config)
        assert not (Path(config.output_dir) / "second").exists()
