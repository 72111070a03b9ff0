"""What cleaning adds: the command `nmt clean`, and what `nmt train` reports of its text."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.clean",
    commands={"clean": "drop the pairs of a corpus that a model should not learn from"},
    offers={"corpus_advice": "nmt.clean.advice"},
)
