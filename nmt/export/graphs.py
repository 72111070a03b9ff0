"""A model as two ONNX graphs: `encoder`, run once per sentence, and `step`, the decoder's step that search repeats.

Both are traced from the model's own code, with PyTorch's own layers in the place of nmt's kernels: what attention
computes is written down in `nmt.model` alone. The tracer is `torch.onnx.export(dynamo=False)`. The newer one fixes the
number of sentences where a shape depends on it, and takes ten times as long.

Shapes: B sentences, K hypotheses of each, S source positions, V target types. State and memory are the model's own,
numbered in one row, whatever they are nested in: `state_0`, `state_1`, … and `memory_0`, ….
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jaxtyping
import onnx
import torch
from torch import Tensor, nn

from nmt import kernels
from nmt.data.batching import pad_source
from nmt.export.recurrent import RecurrentOperator
from nmt.kernels.packed import with_child
from nmt.model.ensemble import Ensemble
from nmt.model.seq2seq import Seq2Seq
from nmt.text.vocabulary import BOS, SPECIALS

OPSET = 17  # since 2022
_BEAM = 3  # of the example that is traced; any number but 1


class Graphs(NamedTuple):
    """`encoder`: source (B S), lengths (B) → the first state (B 1 …), the memory (B …).

    `step`: tokens (B K), state (B K …), memory → log-probabilities (B K V) of the next tokens, the new state, and the
    attention weights (B K S) if the model has attention.
    """

    encoder: onnx.ModelProto
    step: onnx.ModelProto


def trace(model: Seq2Seq | Ensemble) -> Graphs:
    """The graphs of a model, or of several that translate as one, in 32 bits. B, K and S may have any size in them."""
    members = list(model.models) if isinstance(model, Ensemble) else [model]
    with kernels.use("plain"), torch.no_grad(), _quietly():
        small, large = (_Example.of(members, lengths) for lengths in ((3, 2), (7, 5, 2)))
        step = _traced_step(members, small, large)
        read = {value.name for value in step.graph.input}
        return Graphs(_traced_encoder(members, small, large, read), step)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without warnings, that the tracer is old and that sizes are read, and without checks of shapes.

    A size is a tensor while a graph is traced, which the shapes in signatures do not allow.
    """
    before = jaxtyping.config.jaxtyping_disable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jaxtyping.config.update("jaxtyping_disable", True)
        try:
            yield
        finally:
            jaxtyping.config.update("jaxtyping_disable", before)


class _Example(NamedTuple):
    """What the graphs are traced with: a batch of source ids, and what the encoders make of them."""

    source: Tensor
    lengths: Tensor
    states: tuple[Any, ...]
    memories: tuple[Any, ...]

    @classmethod
    def of(cls, members: Sequence[Any], lengths: Sequence[int]) -> _Example:
        """Sentences of these lengths, whose segments, if the models know any, are more in longer ones."""
        word = len(SPECIALS)
        ends = {end for model in members for end in model.segment_ends}
        pair = [min(ends), next(i for i in range(word, word + len(ends) + 1) if i not in ends)] if ends else [word] * 2
        source, own = pad_source([(pair * length)[: length - 1] for length in lengths])
        states, memories = zip(*(model.encode(source, own) for model in members), strict=True)
        return cls(source, own, states, memories)

    def beams(self) -> list[Tensor]:
        """The states of K hypotheses of each sentence, (B K …)."""
        return [x.unsqueeze(1).expand(-1, _BEAM, *x.shape[1:]).contiguous() for x in _leaves(self.states)]


def _leaves(tree: Any) -> Iterator[Tensor]:
    """The tensors of nested tuples, in order."""
    if isinstance(tree, Tensor):
        yield tree
    else:
        for part in tree:
            yield from _leaves(part)


def _like(tree: Any, leaves: Iterator[Tensor]) -> Any:
    """Nested tuples as those of a tree, with other tensors."""
    if isinstance(tree, Tensor):
        return next(leaves)
    parts = [_like(part, leaves) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)


class _Encode(nn.Module):
    """Source ids → the states, as those of a beam of one, and those tensors of the memories that a step reads."""

    def __init__(self, members: Sequence[Seq2Seq], read: Sequence[int]) -> None:
        super().__init__()
        self.members = nn.ModuleList(map(_with_operator, members))
        self.read = read

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        states, memories = zip(*(model.encode(source, lengths) for model in self.members), strict=True)  # type: ignore[operator]  # nn.ModuleList forgets
        memory = list(_leaves(memories))
        return (*(x.unsqueeze(1) for x in _leaves(states)), *(memory[i] for i in self.read))


def _with_operator(model: Seq2Seq) -> Seq2Seq:
    """The model, whose encoder runs ONNX's own recurrent operator. It shares its other layers."""
    return with_child(model, "encoder", with_child(model.encoder, "rnn", RecurrentOperator(model.encoder.rnn)))


class _Step(nn.Module):
    """Tokens, states and memories → log-probabilities, the mean of the members', weights if any, and new states."""

    def __init__(self, members: Sequence[Any], example: _Example) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.example = example

    def forward(self, tokens: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        beams = tokens.shape[0], tokens.shape[1]
        count = len(list(_leaves(self.example.states)))
        states = _like(self.example.states, (x.flatten(0, 1) for x in values[:count]))
        memories = _like(self.example.memories, iter(values[count:]))
        each, weights, new = [], [], []
        for model, state, memory in zip(self.members, states, memories, strict=True):
            decoder: Any = model.decoder
            readout, state, alignment = decoder.step(decoder.embed(tokens.flatten()), state, memory)
            logits = decoder.logits(readout)
            each.append(logits.view(*beams, -1).log_softmax(dim=2))
            new.append(state)
            if model.has_attention:
                weights.append(alignment.dense(memory.mask.shape[1]))
        together = each[0] if len(each) == 1 else torch.stack(each).exp().mean(dim=0).log()
        attention = [torch.stack(weights).mean(dim=0)] if weights else []
        return (together, *(x.view(*beams, *x.shape[1:]) for x in (*_leaves(new), *attention)))


def _traced_step(members: Sequence[Any], small: _Example, large: _Example) -> onnx.ModelProto:
    """The step, without those of the memories' tensors that it does not read."""
    states, memories = _numbered("state", small.states), _numbered("memory", small.memories)
    weights = ["weights"] if any(model.has_attention for model in members) else []
    outputs = ["log_probabilities", *(f"new_{name}" for name in states), *weights]
    inputs = [torch.full((len(small.source), _BEAM), BOS), *small.beams(), *_leaves(small.memories)]
    axes = _varying(small, large, lambda example: (*example.beams(), *example.memories))
    names = [name for name, _ in (*states.items(), *memories.items())]
    dynamic = {"tokens": {0: "B", 1: "K"}, **dict(zip(names, axes, strict=True))}
    for name in states:
        dynamic[name][1] = "K"
        dynamic[f"new_{name}"] = dynamic[name]
    dynamic |= {"log_probabilities": {0: "B", 1: "K"}} | {name: {0: "B", 1: "K", 2: "S"} for name in weights}
    graph = _traced(_Step(members, small), inputs, ["tokens", *names], outputs, dynamic)
    used = {name for node in graph.graph.node for name in node.input}
    for value in [v for v in graph.graph.input if v.name not in used and v.name in memories]:
        graph.graph.input.remove(value)
    return graph


def _traced_encoder(members: Sequence[Any], small: _Example, large: _Example, read: set[str]) -> onnx.ModelProto:
    """The encoder, with those of the memories' tensors that the step reads."""
    states = _numbered("state", small.states)
    memories = [(i, name) for i, name in enumerate(_numbered("memory", small.memories)) if name in read]
    of_states = _varying(small, large, lambda example: [x.unsqueeze(1) for x in _leaves(example.states)])
    of_memories = _varying(small, large, lambda example: example.memories)
    dynamic = {"source": {0: "B", 1: "S"}, "lengths": {0: "B"}, **dict(zip(states, of_states, strict=True))}
    dynamic |= {name: of_memories[i] for i, name in memories}
    names = [*states, *(name for _, name in memories)]
    module = _Encode(members, [i for i, _ in memories])
    return _traced(module, [small.source, small.lengths], ["source", "lengths"], names, dynamic)


def _numbered(kind: str, tree: Any) -> dict[str, Tensor]:
    return {f"{kind}_{i}": leaf for i, leaf in enumerate(_leaves(tree))}


def _varying(small: _Example, large: _Example, tensors: Callable[[_Example], Any]) -> list[dict[int, str]]:
    """Of each tensor the dimensions in which two batches differ. Those of one name always have the same size."""
    sizes = dict(zip(_pairs(small.source, large.source), "BS", strict=True))
    return [
        {i: sizes.get(pair, f"{number}.{i}") for i, pair in enumerate(_pairs(*both)) if pair[0] != pair[1]}
        for number, both in enumerate(zip(*(map(_leaves, map(tensors, (small, large)))), strict=True))
    ]


def _pairs(small: Tensor, large: Tensor) -> list[tuple[int, int]]:
    return list(zip(small.shape, large.shape, strict=True))


def _traced(
    module: nn.Module, inputs: Sequence[Tensor], names: list[str], outputs: list[str], dynamic: dict[str, Any]
) -> onnx.ModelProto:
    file = io.BytesIO()
    torch.onnx.export(
        module.eval(),
        tuple(inputs),
        file,  # type: ignore[arg-type]  # a file takes any of them
        input_names=names,
        output_names=outputs,
        dynamic_axes=dynamic,
        opset_version=OPSET,
        dynamo=False,
    )
    return onnx.load_from_string(file.getvalue())
