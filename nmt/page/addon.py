"""What the page adds: its commands, and itself for export as static files."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.page",
    commands={
        "explain": "write a web page (a single file) that shows how a sentence is translated",
        "serve": "serve a web page that shows models translating, and an HTTP API",
        "index": "index a model's states on its training text, so that the page shows similar words",
    },
    offers={"static_page": "nmt.page.static_page"},
)
