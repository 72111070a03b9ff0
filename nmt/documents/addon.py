"""What documents add: `nmt translate --document FILE`."""

from nmt.addons import AddOn

ADDON = AddOn(package="nmt.documents", offers={"documents": "nmt.documents.options"})
