"""What cleaning adds: the commands `nmt clean` and `nmt split`, and what `nmt train` reports of its text."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.clean",
    commands={
        "clean": "drop bad pairs from a parallel corpus",
        "split": "make training, validation and test sets from two parallel files",
    },
    offers={"corpus_advice": "nmt.clean.advice"},
)
