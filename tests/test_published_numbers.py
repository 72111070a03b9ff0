"""The numbers that the README and the model cards publish, measured again."""

import json
from pathlib import Path

import pytest
from support.multi30k import lines_of

from nmt.cli import main
from nmt.evaluation.scores import sacrebleu_score
from nmt.translator import Translator

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[1]


def test_the_quickstart_learns_its_grammar(tmp_path: Path) -> None:
    assert main(["train", str(ROOT / "configs" / "quickstart.yaml"), "--set", f"output_dir={tmp_path}"]) == 0
    evaluation = json.loads((tmp_path / "quickstart" / "evaluation.json").read_text(encoding="utf-8"))
    assert evaluation["models"][0]["bleu"] >= 95


@pytest.mark.parametrize(
    ("name", "bleu"),
    [("multi30k-de-en", 44.73), ("multi30k-en-de", 40.65), ("multi30k-de-en-bahdanau", 39.94)],
)
def test_the_bundled_models_bleu_on_test_2016(name: str, bleu: float) -> None:
    """Cased, with a beam of 5 over the whole vocabulary, in float32; and few captions are unlike the training text."""
    translator = Translator.load(ROOT / "checkpoints" / name / "model.safetensors", device="cpu")
    sentences, references = (lines_of(language, "test_2016_flickr") for language in translator.languages)
    translations = translator.translate(sentences, beam_size=5, precision="float32", attention=False)
    assert sacrebleu_score([t.text for t in translations], references) == pytest.approx(bleu, abs=0.05)
    assert sum(bool(t.is_unlike_training) for t in translations) <= 0.05 * len(sentences)
