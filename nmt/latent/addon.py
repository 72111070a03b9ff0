"""Attention as a latent variable: a section of the config, its decoder, and objectives of training."""

from nmt.addons import AddOn

MODULES = {"latent_config": "config", "latent": "decoder", "latent_objective": "objective"}
ADDON = AddOn("nmt.latent", offers={name: f"nmt.latent.{module}" for name, module in MODULES.items()})
