"""Made-up references, translations of which a known share is wrong, and their evaluation."""

import random

from nmt.evaluation import scores
from nmt.evaluation.by_length import bleu_by_length, source_lengths
from nmt.evaluation.report import ModelEvaluation

TEXT = "a man in the red hat sits on his old bench and reads while two small dogs run past him to this park"
WORDS = TEXT.split()


def sentences(count, seed=0, shortest=5, longest=25):
    draw = random.Random(seed)
    texts = (" ".join(draw.choices(WORDS, k=draw.randint(shortest, longest))) for _ in range(count))
    return [f"{text.capitalize()}." for text in texts]


def damaged(texts, share, seed):
    """Each word replaced by a random one with probability `share`."""
    draw = random.Random(seed)
    return [" ".join(w if draw.random() > share else draw.choice(WORDS) for w in text.split()) for text in texts]


REFERENCES = sentences(200)
HYPOTHESES = damaged(REFERENCES, 0.3, seed=1)


def evaluated(outputs, sources, references, edges=(10, 20, 30, 40, 50)):
    lengths = source_lengths(sources, "de")
    return [
        ModelEvaluation(name, "valid", scores.score(h, references, "en"), bleu_by_length(h, references, lengths, edges))
        for name, h in outputs.items()
    ]
