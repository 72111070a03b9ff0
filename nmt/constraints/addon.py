"""What constraints add: options of `nmt translate`, the translator that has them, and the config field `protect`."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.constraints",
    offers={
        "translator": "nmt.constraints.translator",
        "translate_options": "nmt.constraints.options",
        "protection": "nmt.constraints.protection",
        "protected_spans": "nmt.constraints.protect",
        "tags": "nmt.constraints.tags",
    },
)
