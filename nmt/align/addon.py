"""What word alignment adds."""

from nmt.addons import AddOn

ADDON = AddOn(package="nmt.align")
