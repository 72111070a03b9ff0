"""Which attention the page of the comparison draws."""

from pathlib import Path

from nmt.ablation import pictures
from nmt.ablation.configs import load_configs
from nmt.ablation.result import Result
from nmt.evaluation import checkpoints
from nmt.evaluation.alignment import WordPairs
from nmt.text.corpus import ParallelText


def pairs(source: list[int], target: list[int]) -> checkpoints.TestSet:
    """Pairs of so many words each."""
    words = WordPairs([["a"] * words for words in source], [["b"] * words for words in target])
    return checkpoints.TestSet("corpus", "test", ParallelText([""] * len(source), [""] * len(source)), words)


def test_the_line_that_is_drawn_has_words_on_both_sides() -> None:
    assert pictures._heat_map_line(pairs([16, 11, 22, 0], [0, 1, 1, 1])) == 2
    assert pictures._heat_map_line(pairs([1], [0])) is None


def test_nothing_is_drawn_of_a_result_without_its_model(tmp_path: Path) -> None:
    (config,) = load_configs(["ablation/luong_dot"], [f"output_dir={tmp_path}"])
    assert pictures._heat_map_pictures([Result.model_construct(config=config)], pairs([1], [1])) == {}
