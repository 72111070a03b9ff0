"""Fine-tuning on scores of a model's own translations: a section of the config, and the objective that it sets."""

from nmt.addons import AddOn

ADDON = AddOn("nmt.risk", offers={"minimum_risk_config": "nmt.risk.config", "minimum_risk": "nmt.risk.objective"})
