"""What augmentation adds: its command."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.augment",
    commands={"back-translate": "make training pairs from monolingual text (back-translation)"},
)
