"""What augmentation adds: a command, the config section `data.augment`, and what that does to training data."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.augment",
    commands={"back-translate": "make training pairs from monolingual text (back-translation)"},
    offers={"augmentation": "nmt.augment.augmentation", "augment_config": "nmt.augment.config"},
)
