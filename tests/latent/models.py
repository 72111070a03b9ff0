"""Tiny models with latent attention."""

from support.tiny_models import SOURCE_TYPES, SOURCES, TARGET_TYPES, TARGETS, Variant, config_of, randomise

from nmt.build import build_model
from nmt.config.model import ModelConfig
from nmt.data.batching import Example, collate
from nmt.latent.config import LatentConfig
from nmt.latent.objective import loss

ESTIMATORS = ["exact", "variational", "reinforce"]
BATCH = collate([Example([*source], target) for source, target in zip(SOURCES, TARGETS, strict=True)])
TOLERANCE = {"rtol": 0, "atol": 1e-11}


def latent_model(estimator="exact", score="additive", layers=1, other="", seed=0, **changes):
    config = config_of(Variant("luong", score, other=other), layers)
    attention = config.attention.model_dump() | {"latent": {"estimator": estimator}}
    sizes = {side: getattr(config, side).model_dump() | {"dropout": 0} for side in ("encoder", "decoder")}
    changes |= sizes | {"attention": attention, "embedding_dropout": 0}
    config = ModelConfig.model_validate(config.model_dump() | changes)
    model = build_model(config, SOURCE_TYPES, TARGET_TYPES).double().eval()
    randomise(model, seed)
    return model


def objective(estimator, **settings):
    """That of a config, as a batch's loss takes it."""
    if estimator == "exact":
        return None
    settings = LatentConfig(estimator=estimator, **settings)
    return lambda losses, batch: loss(settings, losses, batch)
