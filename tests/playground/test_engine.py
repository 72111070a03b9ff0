"""The engine that trains in the browser computes what PyTorch does in 64 bits, for tiny models of every mechanism."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch

from nmt.build import build_model
from nmt.config.model import ModelConfig
from nmt.data.batching import Batch, Example, collate
from nmt.model.seq2seq import Seq2Seq
from nmt.text.vocabulary import BOS, EOS
from nmt.training.loss import BatchLoss

SOURCE = [[4, 5, 6, 7, 8, 9], [7, 4], [9, 9, 5, 6]]
TARGET = [[6, 5, 4], [4, 7, 8, 5, 6], [5]]
UPDATES, RATE, CLIP = 20, 0.01, 0.5
CELLS = ("gru", "lstm", "mingru")
SIZES = ({"embedding": 4, "encoder": 4}, {"embedding": 5, "encoder": 3})  # those that vectors of four hold, and others
"""Every second pair of mechanisms has the second one. The decoder's H is 2 × `encoder`, as `dot` needs it."""


@dataclass(frozen=True)
class Mechanism:
    wiring: str
    score: str = "additive"
    scope: str = "global"
    feeding: bool = True
    diagonal: bool = True
    cell: str = "gru"

    def __str__(self) -> str:
        if self.wiring == "none":
            return f"{self.wiring} {self.cell}"
        more = ("" if self.feeding or self.wiring == "bahdanau" else " alone") + ("" if self.diagonal else " middle")
        return f"{self.wiring} {self.score} {self.scope}{more} {self.cell}"


MECHANISMS = [
    *(
        Mechanism(*axes)
        for axes in product(("bahdanau", "luong"), ("dot", "general", "additive"), ("global", "local_p"))
    ),
    Mechanism("luong", "general", "global", feeding=False),
    Mechanism("luong", "general", "local_p", diagonal=False),
    Mechanism("luong", "dot", "local_m"),
    Mechanism("bahdanau", "additive", "local_m"),
    *(Mechanism("none", cell=cell) for cell in CELLS),
    *(Mechanism("bahdanau", "additive", cell=cell) for cell in CELLS[1:]),
    *(Mechanism("luong", "general", "local_p", cell=cell) for cell in CELLS[1:]),
    *(Mechanism("luong", "dot", feeding=False, cell=cell) for cell in CELLS[1:]),
]


def config_of(mechanism: Mechanism, embedding: int, encoder: int) -> ModelConfig:
    attention: dict[str, Any] = {"wiring": mechanism.wiring}
    if mechanism.wiring != "none":
        attention |= {"score": mechanism.score, "scope": mechanism.scope}
    if mechanism.wiring == "luong":
        attention["input_feeding"] = mechanism.feeding
    if mechanism.scope != "global":
        attention |= {"window": 2, "narrow_updates": 0}
    if mechanism.scope == "local_p":
        attention["initial_position"] = "diagonal" if mechanism.diagonal else "middle"
    return ModelConfig.model_validate(
        {
            "cell": mechanism.cell,
            "embedding_size": embedding,
            "embedding_dropout": 0.0,
            "encoder": {"hidden_size": encoder, "dropout": 0.0},
            "decoder": {"hidden_size": 2 * encoder, "dropout": 0.0},
            "attention": attention,
        }
    )


def case(mechanism: Mechanism, embedding: int, encoder: int) -> dict[str, Any]:
    """Weights, and what they give: loss, gradients, the loss with scheduled sampling, updates, greedy search."""
    torch.manual_seed(1)
    types = {"sourceTypes": 10, "targetTypes": 11}
    model = build_model(config_of(mechanism, embedding, encoder), *types.values()).eval()
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, std=0.5) if "bias" in name else None
    batch = collate(list(map(Example, SOURCE, TARGET)))
    first = values(dict(model.named_parameters()))
    model = model.double()
    searched = greedy(model, batch)
    mask = torch.rand(batch.target_input.shape) < 0.5
    sampled = BatchLoss(model, 0.0)(batch, mask).nll / batch.target_tokens
    losses, gradients = train(model, batch)
    names = {"cell": mechanism.cell, "wiring": mechanism.wiring, "score": mechanism.score, "scope": mechanism.scope}
    more = {"feeding": mechanism.feeding, "diagonal": mechanism.diagonal, "window": 2}
    sizes = {"embedding": embedding, "encoder": encoder, "hidden": 2 * encoder}
    return {
        "name": f"{mechanism}, E = {embedding}",
        "settings": names | more | sizes | types,
        "weights": first,
        "gradients": gradients,
        "losses": losses,
        "reads": mask.tolist(),
        "sampled": sampled.item(),
        "after": values(dict(model.named_parameters())),
        "searched": searched,
    }


def train(model: Seq2Seq, batch: Batch) -> tuple[list[float], dict[str, list[float]]]:
    """The loss before each update, and the first gradients."""
    optimizer, losses, gradients = torch.optim.Adam(model.parameters(), lr=RATE), [], None
    for _ in range(UPDATES):
        optimizer.zero_grad()
        loss = BatchLoss(model, 0.0)(batch).smoothed / batch.target_tokens
        loss.backward()
        losses.append(loss.item())
        named = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
        gradients = gradients or values(named)
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
    return losses, gradients or {}


@torch.no_grad()
def greedy(model: Seq2Seq, batch: Batch) -> dict[str, Any]:
    """What each source alone becomes, in at most 6 tokens, and the attention weights meanwhile."""
    found: dict[str, Any] = {"tokens": [], "weights": []}
    for row, length in enumerate(batch.source_lengths.tolist()):
        state, memory = model.encode(batch.source[row : row + 1, :length], batch.source_lengths[row : row + 1])
        tokens, weights = [BOS], []
        while len(tokens) < 7 and tokens[-1] != EOS:
            inputs = model.decoder.embed(torch.tensor(tokens[-1:]))
            readout, state, alignment = model.decoder.step(inputs, state, memory)
            tokens.append(int(model.decoder.best(readout)))
            weights.append(alignment.dense(memory.mask.shape[1])[0].tolist())
        found["tokens"].append(tokens[1:])
        found["weights"].append(weights if model.has_attention else [])
    return found


def values(tensors: dict[str, torch.Tensor]) -> dict[str, list[float]]:
    return {name: tensor.detach().flatten().tolist() for name, tensor in tensors.items()}


def test_losses_gradients_updates_and_search_are_those_of_pytorch(tmp_path: Path) -> None:
    file = tmp_path / "golden.mjson"
    cases = [case(mechanism, **SIZES[number // 2 % 2]) for number, mechanism in enumerate(MECHANISMS)]
    values = {"source": SOURCE, "target": TARGET, "rate": RATE, "clip": CLIP, "cases": cases}
    file.write_text(json.dumps(values), encoding="utf-8")
    command = ["node", "--test", "--test-reporter=tap", str(Path(__file__).parent / "golden.mjs")]
    environment = os.environ | {"NMT_GOLDEN": str(file)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
