"""What variants add: more ways to make attention weights, and more recurrences, than those of the two papers."""

from nmt.addons import AddOn

MODULES = ("monotonic_config", "monotonic", "fertility")
ADDON = AddOn(
    package="nmt.variants",
    offers={"deep_layers": "nmt.variants.deep"} | {name: f"nmt.variants.{name}" for name in MODULES},
    components={"Normalizer": "nmt.variants.normalizers", "Cell": "nmt.variants.cells"},
)
