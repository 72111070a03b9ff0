"""Which source positions a query sees. Each scope is one class in one file, which the config names."""

from nmt.model.scopes.base import Scope, Window
from nmt.registry import registry

SCOPES = registry(__name__, Scope)

__all__ = ["SCOPES", "Scope", "Window"]
