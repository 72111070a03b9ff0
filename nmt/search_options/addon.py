"""What search options add: fields of the config section `search`, and options of the commands that translate."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.search_options",
    offers={"search_options": "nmt.search_options.config", "search_flags": "nmt.search_options.flags"},
)
