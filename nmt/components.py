"""The scores and scopes that a config can name: those of `nmt.model`, and those of plugins."""

from nmt.model.scopes import Scope
from nmt.model.scores import Score
from nmt.registry import registry

SCORES = registry("nmt.model.scores", Score)
SCOPES = registry("nmt.model.scopes", Scope, "nmt.model.variants")
