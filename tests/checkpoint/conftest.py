"""The fixture that writes checkpoints."""

from support.checkpoints import save as save
