"""What word alignment adds: guided alignment in training, links as output, and words that a translation lacks."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.align",
    commands={"align": "print the word alignment of a parallel text"},
    offers={
        "align_config": "nmt.align.config",
        "guided_alignment": "nmt.align.guided",
        "gold": "nmt.align.gold",
        "attention_statistics": "nmt.align.statistics",
        "missing_words": "nmt.align.missing",
    },
)
