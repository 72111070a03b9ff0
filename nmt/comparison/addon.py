"""What the comparison adds: its command, and its offer to `nmt score`."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.comparison",
    commands={"compare": "show where systems differ: by length, frequency, part of speech, sentence and n-gram"},
    offers={"contrastive": "nmt.comparison.contrastive"},
)
