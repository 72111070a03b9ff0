"""What one run of the comparison measures, how it is kept, and with what it ends."""

import os
import threading
import time
from pathlib import Path

import numpy as np

from nmt.evaluation.alignment import Links, WordPairs
from nmt.lab import result
from nmt.lab.child import stop_at_end
from nmt.lab.measure import right_sentence
from nmt.training.interruption import StopSignals

RESULTS = Path(__file__).parents[2] / "docs" / "ablation" / "results"


def test_a_diverged_run_has_a_result(tmp_path: Path) -> None:
    diverged = result.read(RESULTS / "none.json").model_copy(update={"perplexity": float("inf")})
    result.write(diverged, tmp_path / "result.json")
    assert result.read(tmp_path / "result.json") == diverged


def test_the_right_sentence_has_the_most_weight_or_not() -> None:
    source = [["a", "b", ".", "c", "!", "!", "d"], ["a", "b", "."]]
    links = [Links(frozenset(), frozenset({(0, 0), (3, 1), (6, 2), (1, 3)})), Links(frozenset(), frozenset({(0, 0)}))]
    first = np.array([
        [0.2, 0.2, 0.2, 0.3, 0.1, 0.0, 0.0],  # sentence 0: right, though the largest weight is in sentence 1
        [0.0, 0.0, 0.0, 0.0, 0.3, 0.3, 0.4],  # sentence 1: right
        [0.0, 0.0, 0.0, 0.6, 0.0, 0.0, 0.4],  # sentence 1, not 2
        [0.0] * 7,  # no weight at all
        [1.0] + [0.0] * 6,  # a word without a link
    ])  # fmt: skip
    words = WordPairs(source, [["x"] * 5, ["x"]], links)
    assert right_sentence([first, np.ones((1, 3))], words) == 2 / 4
    assert right_sentence([np.ones((1, 3))], WordPairs(source[1:], [["x"]], links[1:])) is None


def test_a_run_saves_and_ends_with_its_parent() -> None:
    read, write = os.pipe()
    stop = StopSignals()
    with stop.installed():
        thread = threading.Thread(target=stop_at_end, args=(read,))
        thread.start()
        time.sleep(0.05)
        assert not stop.requested
        os.close(write)  # as the system does for a process that is killed
        thread.join()
        assert stop.requested
    os.close(read)
