"""What the laboratory adds: its command."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.lab",
    commands={"ablation": "train one model per attention mechanism and write a page that compares them"},
)
