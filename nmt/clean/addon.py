"""What cleaning adds: the command `nmt clean`."""

from nmt.addons import AddOn

ADDON = AddOn(package="nmt.clean", commands={"clean": "drop the pairs of a corpus that a model should not learn from"})
