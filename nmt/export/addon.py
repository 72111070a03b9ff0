"""What export adds: its commands, the Hugging Face Hub, and what static pages share."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.export",
    commands={
        "export": "export a model to ONNX, to translate without PyTorch",
        "push": "upload a model to the Hugging Face Hub",
    },
    offers={"hub": "nmt.export.hub", "static_site": "nmt.export.static_site"},  # the first downloads `hf://OWNER/NAME`
)
