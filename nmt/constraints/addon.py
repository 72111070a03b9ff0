"""What constraints add: options of `nmt translate`, and the translator that has them."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.constraints",
    offers={"translator": "nmt.constraints.translator", "translate_options": "nmt.constraints.options"},
)
