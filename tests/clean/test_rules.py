"""The rules: pairs that are bad, each in one way, and pairs that are good although they look odd."""

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.clean import duplicates
from nmt.clean.blocks import Pair, check
from nmt.clean.duplicates import copies, other_targets
from nmt.clean.repairs import mended, split_lines
from nmt.clean.scores import dual_scores, too_improbable
from nmt.clean.settings import Settings
from nmt.system.errors import UserError

SETTINGS = Settings(("en", "de"), expected_ratio=1.1)
SENTENCE = "The committee has not yet decided when the bridge will be opened again."
BAD = [
    ("empty", "\u200b ", "Nichts zu sehen"),
    ("empty", "Nothing to see", "␤"),
    ("too-long", "one two three " * 40, "eins zwei drei " * 40),
    ("too-long", "x" * 101, "x" * 101),
    ("identical", "The order was never paid", "the order was  never paid"),
    ("ratio", "Open", "Öffnet die Datei, die zuletzt auf diesem Rechner bearbeitet worden ist"),
    ("repeated", "A dog runs over the grass", "Ein Hund Hund Hund läuft"),
    ("repeated", "No, not again", "Neiiiiiin, nicht wieder"),
    ("numbers", "Built in 1998, sold in 2003", "1998 gebaut, 2004 verkauft"),
    ("numbers", "Chapter 3 of the book", "Kapitel 4 des Buches"),
    ("placeholders", "Copied %d files", "Dateien kopiert"),
    ("placeholders", "Hello {name}", "Hallo {Name}"),
    ("placeholders", "The <b>old</b> house", "Das alte Haus"),
    ("language", SENTENCE, "The committee has not yet decided when the new bridge will open again."),
    ("language", SENTENCE, "Le comité n'a pas encore décidé de la date de réouverture du pont."),
    ("mojibake", "It is too late", "Es ist zu sp\ufffdt"),
]
GOOD = [
    ("Acme Photo Suite", "Acme Photo Suite"),  # a name
    ("OK", "In Ordnung"),
    ("Undo", "Rückgängig machen"),
    ("Three files", "3 Dateien"),
    ("The twelfth day", "Der 12. Tag"),
    ("It costs 1,299.00 dollars", "Es kostet 1.299,00 Dollar"),
    ("Some 20,000 people", "Etwa 20 000 Menschen"),
    ("%s of %s", "%2$s von %1$s"),
    ("Usage: tool <file>", "Aufruf: tool <Datei>"),
    ("Never, never, never again!", "Nie, nie, nie wieder!"),
    ("Date: YYYYY", "Datum: JJJJJ"),
    ("_Save&Close ~x", "Speichern"),
    ("17 × 4", "17 × 4"),
    (SENTENCE, "Der Ausschuss hat noch nicht entschieden, wann die Brücke wieder geöffnet wird."),
]


@pytest.mark.parametrize(("rule", "source", "target"), BAD)
def test_a_bad_pair_is_dropped_by_its_rule_and_kept_without_it(rule: str, source: str, target: str) -> None:
    pair = Pair(7, source, target)
    result = check([pair], SETTINGS)
    assert [(event.rule, event.pair) for event in result.dropped] == [(rule, pair)]
    assert result.dropped[0].reason
    assert result.kept == []
    without = check([pair], Settings(SETTINGS.languages, frozenset([rule]), expected_ratio=1.1))
    assert all(event.rule != rule for event in without.dropped)


def test_good_pairs_stay_as_they_are() -> None:
    pairs = [Pair(i, *texts) for i, texts in enumerate(GOOD)]
    result = check(pairs, SETTINGS)
    assert (result.kept, result.dropped, result.changed) == (pairs, [], [])
    assert len(set(result.hashes[:, 1].tolist())) == len(pairs)


@pytest.mark.parametrize("text", ["Größe", "Übermütige Äffchen", "naïve café “quoted” …", "日本語", "50 € – x"])
def test_text_that_was_decoded_wrongly_is_mended_and_no_other(text: str) -> None:
    assert mended(text) == text
    for encoding in ("latin-1", "cp1252"):
        wrong = "".join(bytes([b]).decode(encoding, "ignore") or chr(b) for b in text.encode())
        assert wrong != text
        assert mended(wrong) == text
    assert "\n" not in mended("a\x85bÃ¼\u2028c")


def test_lines_are_divided_where_both_sides_end_a_sentence() -> None:
    assert split_lines("Stop.␤␤Go on:␤x", "Halt.␤␤Weiter:␤y") == [("Stop.", "Halt."), ("Go on:", "Weiter:"), ("x", "y")]
    for pair in [
        ("one line", "eine Zeile"),
        ("The file was␤saved.", "Die Datei wurde␤gespeichert."),  # only wrapped
        ("One.␤Two.", "Eins. Zwei."),
        ("One.␤␤Two.", "Eins.␤Zwei.␤"),
        ("␤", "␤"),
    ]:
        assert split_lines(*pair) == [pair]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12), st.sampled_from(["vote", "first"]))
def test_copies_and_votes_as_dictionaries_find_them(texts: list[tuple[int, int]], policy: str) -> None:
    votes, best = Counter(texts), {}
    for pair in texts:
        is_better = pair[0] not in best or (policy == "vote" and votes[pair] > votes[best[pair[0]]])
        best[pair[0]] = pair if is_better else best[pair[0]]
    sources = np.array([hash_of(source) for source, _ in texts], dtype=np.uint64)
    pairs = np.array([hash_of(pair) for pair in texts], dtype=np.uint64)
    assert copies(pairs).tolist() == [pair in texts[:i] for i, pair in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "CHUNK", 3)
        others = other_targets(sources, pairs, policy).tolist()
    assert others == [best[pair[0]] != pair for pair in texts]
    assert not other_targets(sources, pairs, "keep").any()


def hash_of(value: object) -> int:
    return random.Random(repr(value)).getrandbits(64)


def test_scores_are_the_dual_conditional_cross_entropy(tmp_path) -> None:
    forward, backward = tmp_path / "forward", tmp_path / "backward"
    forward.write_text("-1.5\n-0.25\n0\n-3e0\n")
    backward.write_text("-0.5\n-0.25\n-4\n-3\n")
    scores = dual_scores(forward, backward, 4)
    expected = [math.exp(-(abs(a - b) + (a + b) / 2)) for a, b in [(1.5, 0.5), (0.25, 0.25), (0, 4), (3, 3)]]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    assert too_improbable(scores, 0.5, None).tolist() == [False, False, True, True]
    assert too_improbable(scores, None, 0.04).tolist() == [False, False, True, False]
    assert too_improbable(np.ones(4, np.float32), 0.5, None).tolist() == [False, False, True, True]
    for line in ("0.1", "nan", "-inf", "", "x", "-1 -2"):
        backward.write_text(f"-1\n{line}\n-1\n-1\n")
        with pytest.raises(UserError, match=r"backward, line 2: .* is not a log-probability"):
            dual_scores(forward, backward, 4)
    with pytest.raises(UserError, match="has 4 lines, the corpus 5 pairs"):
        dual_scores(forward, backward, 5)
