"""What variants add: more ways to make attention weights, and more recurrences, than those of the two papers."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.variants",
    offers={
        "deep_layers": "nmt.variants.deep",
        "monotonic_config": "nmt.variants.monotonic_config",
        "monotonic": "nmt.variants.monotonic",
    },
    components={"Normalizer": "nmt.variants.normalizers", "Cell": "nmt.variants.cells"},
)
