"""What is said of wrong names and values of config fields."""

from pathlib import Path

import pytest
from support.config_reading import read, refusal

from nmt.config.reading import override_search
from nmt.config.search import SearchConfig
from nmt.system.errors import UserError


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("model.atention={}", "model.atention: unknown field (did you mean attention?)"),
        ("attention={}", "attention: unknown field (did you mean model.attention?)"),
        ("model.hidden_size=3", "did you mean model.encoder.hidden_size or model.decoder.hidden_size?)"),
        ("search.qqq=1", "search.qqq: unknown field (known fields: beam_size, length_penalty, "),
        ("training.batch_size=many", "training.batch_size: input should be a valid integer"),
        ("training.learning_rate=.nan", "training.learning_rate: input should be "),
        ("training.teacher_forcing=2", "training.teacher_forcing.ratio: input should be less than or equal to 1"),
        ("training.schedule=cosine", "training.schedule: a section is expected, such as schedule: {kind: …}"),
        ("training.schedule.kind={a: 1}", "training.schedule.kind: input should be 'constant', 'cosine', 'halving', "),
        ("model.attention={score: [dot], size: x}", "(here: ['dot'])"),
        *((f"training.learning_rate=1e{n}", "input should be less than or equal to 1000000") for n in (30, 38, 308)),
        ("search.max_length=1000000000", "search.max_length: input should be less than or equal to 10000"),
        ("training.lr=1", "training.lr: unknown field (did you mean learning_rate?)"),
        ("training.seed=010", "as an integer; write 10 or 8 (here: '010')"),
        ("training.seed=12:30", "as an integer; write 750 (here: '12:30')"),
        (
            "training.batch_size=1_000",
            "training.batch_size: input should be a valid integer; write 1000 (here: '1_000')",
        ),
        ("evaluation.length_edges=[0x10]", "valid integer; write 16 (here: '0x10')"),
        ("training.learning_rate=1_0.5", "as a number; write 10.5 (here: '1_0.5')"),
        ("evaluation.length_edges=10", "evaluation.length_edges: a list is expected, such as [10] (here: 10)"),
        ("data.source.language=en/../x", "data.source.language: not a language code, such as de (here: 'en/../x')"),
        ("data.source.language=no", "data.source.language: YAML takes no and on for false and true"),
        ('data.folder="a\\0b"', "data.folder: no path can be 'a\\x00b'; remove NUL"),
        ("data.source.language=english", "data.source.language: 'english' is no code; write en"),
        ("data.target.language=DEU", "data.target.language: 'deu' is no code; write de"),
        ('data.folder="C:\\temp"', "as YAML makes of \\t in double quotes: write 'C:\\temp', in single"),
        ('data.folder="C:\\data"', "unknown escape character 'd'; write a text with backslashes in single quotes"),
        ("name=null", "name: text is expected (here: nothing)"),
        ("name=a/b", "name: a name has letters, digits, '.', '_' and '-', and begins with a letter or digit"),
    ],
)
def test_a_wrong_name_or_value_is_explained(tmp_path: Path, override: str, words: str) -> None:
    message = refusal(tmp_path, "name: x\ndata: {source: {language: de}}", override)
    assert f"config.yaml --set {override}: " in message or message.startswith(f"--set {override}: ")  # or no YAML
    assert words in message


def test_a_language_is_its_code_alone(tmp_path: Path) -> None:
    for written, code in (("DE", "de"), ("en-US", "en"), ("de_DE", "de"), ("zh-Hant", "zh"), ("my-own", "my-own")):
        assert read(tmp_path, "name: x", f"data.source.language={written}").data.source.language == code


def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    training = "training: {batch_size: 0, max_epoch: 3, momentum: 2, optimizer: sgd}"
    message = refusal(tmp_path, f"serch: {{}}\n{training}\nmodel: {{attention: {{score: x}}}}")
    assert ": name: missing; set it; model.attention.score: input should be 'additive', " in message
    for words in (
        "batch_size: ",
        "momentum: input should be less than 1",
        "max_epoch: unknown field (did you mean max_epochs?)",
    ):
        assert f"; training.{words}" in message
    assert message.endswith("; serch: unknown field (did you mean search?)")


def test_a_message_names_file_and_overrides(tmp_path: Path) -> None:
    both = refusal(tmp_path, "name: a\nsearch: {max_length: 0}", "training.seed=-1", "search.bean=5")
    assert f"{tmp_path / 'config.yaml'} --set training.seed=-1 --set search.bean=5: " in both
    for words in ("; search.bean: unknown field", "search.max_length: ", "training.seed: "):
        assert words in both


def test_search_options_are_explained_as_fields_of_a_config() -> None:
    with pytest.raises(UserError, match=r"^search.sampling.temp: unknown field \(did you mean temperature\?\)"):
        override_search(SearchConfig(), sampling={"temp": 1.2})
