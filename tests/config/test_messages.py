"""What the message about a wrong field says: where it was set, and what is expected there."""

from pathlib import Path

import pytest
from support.config_reading import refusal

from nmt.config.reading import override_search
from nmt.config.search import SearchConfig
from nmt.system.errors import UserError


def message(tmp_path: Path, yaml: str, *overrides: str) -> str:
    return refusal(tmp_path, yaml, *overrides).replace(f"{tmp_path / 'config.yaml'}", "FILE")


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("training: {schedule: cosine}", "training.schedule: a section is expected, such as schedule: {kind: …}"),
        ("search: {sampling: true}", "search.sampling: a section is expected, such as sampling: {temperature: …}"),
        ("evaluation: {length_edges: 10}", "evaluation.length_edges: a list is expected, such as [10] (here: 10)"),
        ("data: {source: {extra: [5]}}", "data.source.extra.0: a section is expected, such as {path: …} (here: 5)"),
        (
            "data: {source: {vocabulary_size: a}}",
            "data.source.vocabulary_size: input should be a valid integer",
        ),
        ("name:", "name: text is expected (here: nothing)"),
        ("name: a/b", "name: a name has letters, digits, '.', '_' and '-', and begins with a letter or digit"),
        (
            "data: {source: {extra: [{path: a, tag: b c}]}, target: {extra: [d]}}",
            "data.source.extra.0.tag: a tag is one word, without blanks (here: 'b c')",
        ),
    ],
)
def test_it_says_what_is_expected(tmp_path: Path, yaml: str, words: str) -> None:
    assert message(tmp_path, yaml if yaml.startswith("name") else f"name: a\n{yaml}").startswith(f"FILE: {words}")


def test_it_names_the_override_that_has_set_the_field(tmp_path: Path) -> None:
    override = "training.max_epoch=3"
    assert message(tmp_path, "name: a", override).startswith(f"--set {override}: training.max_epoch: unknown field (")
    last = ["search.beam_size=0", "search.beam_size=-1"]
    assert message(tmp_path, "name: a", *last).startswith(f"--set {last[1]}: search.beam_size: ")
    section = "search={beam_size: 0}"
    assert message(tmp_path, "name: a", section).startswith(f"--set {section}: search.beam_size: ")
    both = message(tmp_path, "name: a\nsearch: {max_length: 0}", "training.seed=-1", "search.beam=5")
    assert "--set training.seed=-1: training.seed: " in both
    assert "; --set search.beam=5: search.beam: unknown field" in both
    assert "FILE: search.max_length: " in both
    assert message(tmp_path, "name: a\nsearch: {beam: 5}", "search.beam_size=5").startswith("FILE: search.beam: ")


def test_search_options_are_explained_as_fields_of_a_config() -> None:
    with pytest.raises(UserError, match=r"^search.sampling.temp: unknown field \(did you mean temperature\?\)"):
        override_search(SearchConfig(), sampling={"temp": 1.2})


@pytest.mark.parametrize("override", ["data.target.language=de", "data.source.language=en"])
def test_a_language_of_multi30k_is_not_translated_to_itself(tmp_path: Path, override: str) -> None:
    said = message(tmp_path, "name: a\ndata: {corpus: multi30k}", override)
    language = override[-2:]
    assert f"source.language and target.language are both {language}; set one of them to another" in said
