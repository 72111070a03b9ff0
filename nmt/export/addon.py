"""What export adds: its commands, and the Hugging Face Hub."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.export",
    commands={
        "export": "export a model to ONNX, to translate without PyTorch",
        "push": "upload a model to the Hugging Face Hub",
    },
    offers={"hub": "nmt.export.hub"},  # what downloads `hf://OWNER/NAME`
)
