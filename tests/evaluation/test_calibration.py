"""Thresholds for text that is unlike the training's: how they are fitted, kept and used."""

from pathlib import Path

import numpy as np
import pytest
import torch
from support.tiny_models import SOURCE_WORDS, Variant, tiny_codecs, tiny_model

from nmt.checkpoint import contents as checkpoint
from nmt.checkpoint import file as checkpoint_file
from nmt.checkpoint.file import DamagedFile
from nmt.cli import main
from nmt.config.search import SearchConfig
from nmt.decoding.scoring import Scored
from nmt.evaluation.calibration import calibrate
from nmt.system import bundled
from nmt.system.errors import UserError
from nmt.text.vocabulary import EOS
from nmt.translator import Translator

TYPED = Path(__file__).with_name("typed_lines.tsv")  # language, kind, text
CPU = torch.device("cpu")


@pytest.fixture
def translator() -> Translator:
    model = tiny_model(Variant("luong"), seed=1)
    with torch.no_grad():
        model.decoder.output.bias[EOS] += 2  # an untrained model seldom ends
    return Translator(model, *tiny_codecs(), SearchConfig(beam_size=3, max_length=9))


def sentences(count: int) -> list[str]:
    random = np.random.default_rng(1)
    return [" ".join(random.choice(SOURCE_WORDS, size=random.integers(1, 9))) for _ in range(count)]


def test_a_translation_scores_alike_as_it_is_written_and_when_it_is_forced(translator: Translator) -> None:
    sources = sentences(70)  # more than a batch
    translations = translator.translate(sources)
    assert len({len(translation.tokens) for translation in translations}) > 2
    ended = [(s, t) for s, t in zip(sources, translations, strict=True) if t.tokens[-1] == "<eos>"]
    forced = translator.score([source for source, _ in ended], [t.text for _, t in ended])
    means = [score.log_probability / score.tokens for score in forced]
    assert means == pytest.approx([t.mean_log_probability for _, t in ended], abs=1e-5)


def test_the_threshold_is_a_quantile_that_shuffled_pairs_lie_below(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = sentences(40)
    shuffled: list[str] = []

    def score(_: Translator, texts: list[str], targets: list[str]) -> list[Scored]:
        shuffled.extend(texts)
        return [Scored(-100.0, 1)] * (len(targets) - 1) + [Scored(0.0, 1)]

    monkeypatch.setattr(Translator, "score", score)
    threshold, rarity_threshold = calibrate(translator, sources, 0.1)
    pairs = [(s, t) for s, t in zip(sources, translator.translate(sources), strict=True) if t.text]
    scores = sorted(t.mean_log_probability for _, t in pairs)
    assert scores[int(0.1 * len(scores)) - 1] <= threshold <= scores[int(0.1 * len(scores)) + 1]
    rarities = sorted(translator.source.rarity(s, translator.source.tokenize(s)) for s, _ in pairs)
    assert rarities[-int(0.1 * len(scores)) - 2] <= rarity_threshold <= rarities[-int(0.1 * len(scores))]
    assert sorted(shuffled) == sorted(s for s, _ in pairs)
    assert not any(one == s for one, (s, _) in zip(shuffled, pairs, strict=True))
    monkeypatch.setattr(Translator, "score", lambda *texts: [Scored(0.0, 1)] * len(texts[2]))
    with pytest.raises(UserError, match="only 0% of shuffled pairs"):
        calibrate(translator, sources, 0.1)
    with pytest.raises(UserError, match="too few"):
        calibrate(translator, sources[:5], 0.1)


def test_rarity_is_the_sum_of_log_ranks_per_character(translator: Translator) -> None:
    known, size = SOURCE_WORDS[2], len(translator.source.vocabulary)
    rank = translator.source.vocabulary.tokens.index(known) + 1
    expected = (np.log(rank) + np.log(size)) / len(known + "zzz")
    assert translator.source.rarity(f"{known} zzz", [known, "zzz"]) == pytest.approx(expected)
    assert translator.source.rarity("", []) == 0


@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("en", "de")])
def test_bundled_models_warn_of_what_people_type(source: str, target: str) -> None:
    """And not of captions: tests/test_published_numbers.py."""
    rows = (line.split("\t") for line in TYPED.read_text(encoding="utf-8").splitlines())
    texts = [text for language, _, text in rows if language == source]
    translations = Translator.load(bundled.models()[source, target]).translate(texts, attention=False)
    assert len(texts) == 150
    assert sum(bool(translation.is_unlike_training) for translation in translations) >= 0.95 * len(texts)


def test_a_checkpoint_with_a_threshold_warns(best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "der Hund läuft"
    [plain] = Translator.load(best).translate([text])
    assert plain.is_unlike_training is None
    for number, (offset, rarer, warns) in enumerate(((-0.01, 0.01, False), (-0.01, -0.01, True), (0.01, 0.01, True))):
        path = tmp_path / f"{number}.safetensors"
        checkpoint.set_thresholds(best, path, plain.mean_log_probability + offset, plain.source_rarity + rarer)
        assert Translator.load(path).translate([text])[0].is_unlike_training is warns
        capsys.readouterr()
        assert main(["translate", str(path), text]) == 0
        printed = capsys.readouterr()
        assert printed.out == f"{plain.text}\n"
        assert ("sentence 1 (unlike the training text" in printed.err) is warns
        assert Translator.load(path, best).translate([text])[0].is_unlike_training is None
        for other in ({"prefix": "the"}, {"sampling": {"temperature": 1.0}}):  # the threshold is not that of these
            assert Translator.load(path).translate([text], **other)[0].is_unlike_training is None
    before, after = checkpoint.load(best, CPU), checkpoint.load(path, CPU)
    assert before.threshold is None
    assert after.config == before.config
    for value, words in ((float("nan"), "threshold: input should be a finite number"), ("low", "threshold")):
        checkpoint_file.write(tmp_path / "bad.safetensors", checkpoint_file.read(best) | {"threshold": value})
        with pytest.raises(DamagedFile, match=words):
            checkpoint.load(tmp_path / "bad.safetensors", CPU)
