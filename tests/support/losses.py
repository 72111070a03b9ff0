"""The loss of a plain model's batch, and a model and examples to compute it for."""

import torch

from nmt.build import build_model
from nmt.config.model import ModelConfig
from nmt.data.batching import Example
from nmt.model.seq2seq import Seq2Seq
from nmt.training.loss import BatchLoss, Loss

SIZES = {"embedding_size": 6, "encoder": {"hidden_size": 5}, "decoder": {"hidden_size": 7}}
SOURCE_TOKENS, TARGET_TOKENS = 12, 11


def batch_loss(model, batch, smoothing, teacher_forcing_mask=None) -> Loss:
    return BatchLoss(model, smoothing)(batch, teacher_forcing_mask)


def random_model() -> Seq2Seq:
    torch.manual_seed(1)
    return build_model(ModelConfig.model_validate(SIZES), SOURCE_TOKENS, TARGET_TOKENS).double()


def random_examples() -> list[Example]:
    """17 sentence pairs of 1 to 24 tokens, none of them special."""
    generator = torch.Generator().manual_seed(1)

    def ids(tokens: int, most: int) -> list[int]:
        length = int(torch.randint(1, most, (1,), generator=generator))
        return torch.randint(4, tokens, (length,), generator=generator).tolist()

    return [Example(ids(SOURCE_TOKENS, 20), ids(TARGET_TOKENS, 25)) for _ in range(17)]
