"""A model as ONNX graphs: `encoder`, run once per sentence, and `step`, the decoder's step that search repeats.

Both are traced from the model's own code, which is plain PyTorch.

Shapes: B sentences, K hypotheses of each, S source positions, V target tokens. State and memory are the model's own,
numbered in one row, whatever they are nested in: `state_0`, `state_1`, … and `memory_0`, ….
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import onnx
import torch
from torch import Tensor, nn

from nmt.data.batching import pad_source
from nmt.decoding.ensemble import Ensemble, with_child
from nmt.export.recurrent import RecurrentOperator
from nmt.export.tracing import leaves, like, numbered, quietly, traced, without_unread
from nmt.model.seq2seq import Seq2Seq
from nmt.text.vocabulary import BOS, SPECIALS

_BEAM = 3  # of the example that is traced; any number but 1


def trace(model: Seq2Seq | Ensemble, page: Any = None) -> dict[str, onnx.ModelProto]:
    """The graphs of a model, or of several that translate as one, in float32. B, K and S may have any size in them.

    `encoder`: source (B S), lengths (B) → the first state (B 1 …), the memory (B …).

    `step`: tokens (B K), state (B K …), memory → log-probabilities (B K V) of the next tokens, the new state, and the
    attention weights (B K S) if the model has attention.

    With `page`, which is what the page offers, they are those of a single model whose attention may be forced: its step
    has one more input, `forced` (L), as the page's `forced_by` has it. There is a third graph, `trace`: a step's state
    before (1 …) and after (1 …), the memory (1 …) and `forced` → the query (H) and the context (M); with attention the
    scores (n S), weights (n S) and contributions (S) of the page's `AttentionTrace`, and of some models its centre (n)
    and coverage (S).
    """
    members: list[Any] = list(model.models) if isinstance(model, Ensemble) else [model]
    with torch.no_grad(), quietly():
        small, large = (_Example.of(members, lengths) for lengths in ((3, 2), (7, 5, 2)))
        force = page.forced_by if page is not None and members[0].has_attention else None
        graphs = {"step": _traced_step(members, small, large, force)}
        if page is not None:
            examples = (_Example.of(members, [length]) for length in (3, 7))
            graphs["trace"] = _traced_attention(page, members[0], *examples)
        read = {value.name for graph in graphs.values() for value in graph.graph.input}
        return {"encoder": _traced_encoder(members, small, large, read), **graphs}


class _Example(NamedTuple):
    """What the graphs are traced with: a batch of source ids, and what the encoders compute from them."""

    source: Tensor
    lengths: Tensor
    states: tuple[Any, ...]
    memories: tuple[Any, ...]

    @classmethod
    def of(cls, members: Sequence[Any], lengths: Sequence[int]) -> _Example:
        """Sentences of these lengths; for models with segments, longer ones have more of them."""
        word = len(SPECIALS)
        ends = {end for model in members for end in model.segment_ends}
        pair = [min(ends), next(i for i in range(word, word + len(ends) + 1) if i not in ends)] if ends else [word] * 2
        source, padded_lengths = pad_source([(pair * length)[: length - 1] for length in lengths])
        states, memories = zip(*(model.encode(source, padded_lengths) for model in members), strict=True)
        return cls(source, padded_lengths, states, memories)

    def beams(self) -> list[Tensor]:
        """The states of K hypotheses of each sentence, (B K …)."""
        return [x.unsqueeze(1).expand(-1, _BEAM, *x.shape[1:]).contiguous() for x in leaves(self.states)]


class _Encode(nn.Module):
    """Source ids → the states, as those of a beam of one, and those tensors of the memories that a step reads."""

    def __init__(self, members: Sequence[Seq2Seq], read: Sequence[int]) -> None:
        super().__init__()
        self.members = nn.ModuleList(map(_with_operators, members))
        self.read = read

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        states, memories = zip(*(model.encode(source, lengths) for model in self.members), strict=True)  # type: ignore[operator]  # nn.ModuleList forgets
        memory = list(leaves(memories))
        return (*(x.unsqueeze(1) for x in leaves(states)), *(memory[i] for i in self.read))


def _with_operators(module: nn.Module) -> nn.Module:
    """The module with ONNX's own operators in the place of its GRUs and LSTMs. It shares its other layers."""
    if isinstance(module, nn.RNNBase):
        return RecurrentOperator(module)
    for name, child in module.named_children():
        module = with_child(module, name, _with_operators(child))
    return module


class _Step(nn.Module):
    """Tokens, states and memories → log-probabilities, the mean of the members', weights if any, and new states."""

    def __init__(self, members: Sequence[Any], example: _Example, force: Callable[..., Any] | None) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.example = example
        self.force = force

    def forward(self, tokens: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        members: list[Any] = list(self.members)
        if self.force is not None:
            table, *values = values  # type: ignore[assignment]  # the rest are as good as a tuple
            members = [self.force(model, table) for model in members]
        beams = tokens.shape[0], tokens.shape[1]
        count = len(list(leaves(self.example.states)))
        states = like(self.example.states, (x.flatten(0, 1) for x in values[:count]))
        memories = like(self.example.memories, iter(values[count:]))
        log_p, weights, new = [], [], []
        for model, state, memory in zip(members, states, memories, strict=True):
            decoder: Any = model.decoder
            readout, state, alignment = decoder.step(decoder.embed(tokens.flatten()), state, memory)
            log_p.append(decoder.logits(readout).view(*beams, -1).log_softmax(dim=2))
            new.append(state)
            if model.has_attention:
                weights.append(alignment.dense(memory.mask.shape[1]))
        mean = log_p[0] if len(log_p) == 1 else torch.stack(log_p).exp().mean(dim=0).log()
        attention = [torch.stack(weights).mean(dim=0)] if weights else []
        return (mean, *(x.view(*beams, *x.shape[1:]) for x in (*leaves(new), *attention)))


class _Trace(nn.Module):
    """The table of forced positions, the states before and after a step, and a memory → what attention did."""

    def __init__(self, page: Any, model: Seq2Seq, example: _Example) -> None:
        super().__init__()
        self.page = page
        self.model = model
        self.example = example
        self.names: list[str] = []  # of what it returned last

    def forward(self, table: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        model = self.page.forced_by(self.model, table) if self.model.has_attention else self.model
        tensors = iter(values)
        [before], [after] = (like(self.example.states, tensors) for _ in range(2))
        [memory] = like(self.example.memories, tensors)
        query = self.page.query_of(model.decoder, before, after)
        [trace], contexts = self.page.attention_traces(model, query, [before], memory)
        outputs = {"query": query[0], "context": contexts[0]}
        fields = () if trace is None else ("scores", "weights", "contributions", "centre", "coverage")
        outputs |= {name: x for name in fields if (x := getattr(trace, name)) is not None}
        self.names = list(outputs)
        return tuple(outputs.values())


def _traced_attention(page: Any, model: Seq2Seq, small: _Example, large: _Example) -> onnx.ModelProto:
    states, memories = list(leaves(small.states)), numbered("memory", small.memories)
    names = [*(f"{when}state_{i}" for when in ("", "new_") for i in range(len(states))), *memories]
    axes = _varying(small, large, lambda example: (example.states, example.states, example.memories))
    inputs = [torch.tensor([2, -1]), *states, *states, *leaves(small.memories)]
    trace = _Trace(page, model.eval(), small)
    trace(*inputs)
    dynamic = {"forced": {0: "L"}, **dict(zip(names, axes, strict=True))}
    positions = {"scores": {1: "S"}, "weights": {1: "S"}, "contributions": {0: "S"}, "coverage": {0: "S"}}
    dynamic |= {name: axis for name, axis in positions.items() if name in trace.names}
    return without_unread(traced(trace, inputs, ["forced", *names], trace.names, dynamic))


def _traced_step(
    members: Sequence[Any], small: _Example, large: _Example, force: Callable[..., Any] | None
) -> onnx.ModelProto:
    """The step, without those of the memories' tensors that it does not read."""
    states, memories = numbered("state", small.states), numbered("memory", small.memories)
    weights = ["weights"] if any(model.has_attention for model in members) else []
    outputs = ["log_probabilities", *(f"new_{name}" for name in states), *weights]
    inputs = [torch.full((len(small.source), _BEAM), BOS), *small.beams(), *leaves(small.memories)]
    axes = _varying(small, large, lambda example: (*example.beams(), *example.memories))
    names = [name for name, _ in (*states.items(), *memories.items())]
    dynamic = {"tokens": {0: "B", 1: "K"}, **dict(zip(names, axes, strict=True))}
    for name in states:
        dynamic[name][1] = "K"
        dynamic[f"new_{name}"] = dynamic[name]
    dynamic |= {"log_probabilities": {0: "B", 1: "K"}} | {name: {0: "B", 1: "K", 2: "S"} for name in weights}
    first = ["tokens"]
    if force is not None:
        first, dynamic["forced"] = ["tokens", "forced"], {0: "L"}
        inputs.insert(1, torch.tensor([2, -1]))
    graph = traced(_Step(members, small, force), inputs, [*first, *names], outputs, dynamic)
    return without_unread(graph, memories)


def _traced_encoder(members: Sequence[Any], small: _Example, large: _Example, read: set[str]) -> onnx.ModelProto:
    """The encoder, with those of the memories' tensors that the step reads."""
    states = numbered("state", small.states)
    memories = [(i, name) for i, name in enumerate(numbered("memory", small.memories)) if name in read]
    of_states = _varying(small, large, lambda example: [x.unsqueeze(1) for x in leaves(example.states)])
    of_memories = _varying(small, large, lambda example: example.memories)
    dynamic = {"source": {0: "B", 1: "S"}, "lengths": {0: "B"}, **dict(zip(states, of_states, strict=True))}
    dynamic |= {name: of_memories[i] for i, name in memories}
    names = [*states, *(name for _, name in memories)]
    module = _Encode(members, [i for i, _ in memories])
    return traced(module, [small.source, small.lengths], ["source", "lengths"], names, dynamic)


def _varying(small: _Example, large: _Example, tensors: Callable[[_Example], Any]) -> list[dict[int, str]]:
    """Of each tensor the dimensions in which two batches differ. Those of one name always have the same size."""
    sizes = dict(zip(_pairs(small.source, large.source), "BS", strict=True))
    return [
        {i: sizes.get(pair, f"{number}.{i}") for i, pair in enumerate(_pairs(*both)) if pair[0] != pair[1]}
        for number, both in enumerate(zip(*(map(leaves, map(tensors, (small, large)))), strict=True))
    ]


def _pairs(small: Tensor, large: Tensor) -> list[tuple[int, int]]:
    return list(zip(small.shape, large.shape, strict=True))
