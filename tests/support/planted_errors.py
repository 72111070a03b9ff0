"""The errors that `tests/mutations.py` plants: in the model, search, data, training, resuming and evaluation.

Each is a mistake that somebody could make: a wrong sign, an index off by one, a state that is forgotten.
"""

from typing import NamedTuple


class Mutation(NamedTuple):
    """A text of a file, what it is replaced by, and the tests of which one must then fail."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def planted(file: str, tests: str, *texts: tuple[str, str]) -> list[Mutation]:
    """Errors (old, new) in a file below `nmt`; `tests` are paths below `tests`, with blanks between them."""
    paths = tuple(f"tests/{path}" for path in tests.split())
    return [Mutation(f"nmt/{file}", old, new, paths) for old, new in texts]


MUTATIONS = [
    *planted(
        "model/scores.py",
        "model/test_attention.py",
        ("torch.tanh(query.unsqueeze(-2) + keys", "torch.tanh(query.unsqueeze(-2) - keys"),
        ("self.divisor = query_size**0.5 if", "self.divisor = query_size if"),
        ("scores = scores + self.coverage(query) * coverage", "scores = scores + coverage"),
        ("rows = self.location.weight[:length]", "rows = self.location.weight[:length].flip(0)"),
    ),
    *planted(
        "model/normalizers.py",
        "model/test_attention.py",
        ("scores.masked_fill(~inside, lowest).softmax(dim=-1) * inside", "scores.softmax(dim=-1) * inside"),
        (".softmax(dim=-1) * inside", ".softmax(dim=-1)"),
    ),
    *planted(
        "model/scopes.py",
        "model/test_attention.py",
        ("weights if window.gaussian is None else weights * window.gaussian", "weights"),
        ("torch.exp(-2 * (distance / window) ** 2)", "torch.exp(-((distance / window) ** 2))"),
        ("inside = (distance.abs() <= window) & real", "inside = (distance.abs() < window) & real"),
        ("return length * torch.sigmoid(logit)", "return length.max() * torch.sigmoid(logit)"),
        ("first = (centre.detach() - window).ceil()", "first = (centre.detach() - window + 1).ceil()"),
    ),
    *planted(
        "model/attention.py",
        "model/test_attention.py",
        ("scored, averaged = _halves(values) if", "averaged, scored = _halves(values) if"),
        ("weights.argmax(dim=-1, keepdim=True)", "weights.argmin(dim=-1, keepdim=True)"),
    ),
    *planted(
        "model/attention.py",
        "model/test_attention_gradients.py",
        ("return one_hot + (weights - weights.detach())", "return one_hot"),
    ),
    *planted(
        "model/scopes.py",
        "model/test_attention_gradients.py",
        ("self.centre(query, t, lengths).unsqueeze(-1)", "self.centre(query, t, lengths).unsqueeze(-1).detach()"),
    ),
    *planted(
        "model/encoder.py",
        "model/test_encoder.py",
        ("pack_padded_sequence(inputs, lengths,", "pack_padded_sequence(inputs, lengths.sort().values,"),
        ("pack_padded_sequence(inputs, lengths,", "pack_padded_sequence(inputs, 0 * lengths + inputs.shape[1],"),
    ),
    *planted(
        "model/decoder.py",
        "model/test_decoder.py",
        ("alignment.added_to(coverage).flatten(0, 1)", "alignment.dense(coverage.shape[-1]).flatten(0, 1)"),
        ("t=state.t + 1)", "t=state.t)"),
        ("torch.tanh(self.bridge(encoded.final))", "self.bridge(encoded.final)"),
        ("predicted = self.embed(self.best(readouts[-1]))", "predicted = self.embed(self.best(readouts[0]))"),
    ),
    *planted(
        "model/bahdanau.py",
        "model/test_decoder.py",
        ("(self.rnn.top(state.hidden), state", "(self.rnn.top(self.rnn(gates, state.hidden)), state"),
        ("[self.rnn.top(hidden), context, embedded]", "[self.rnn.top(state.hidden), context, embedded]"),
        (".unflatten(-1, (-1, 2)).amax(dim=-1)", ".unflatten(-1, (2, -1)).amax(dim=-2)"),
    ),
    *planted(
        "model/luong.py",
        "model/test_decoder.py",
        ("self.attend(self.rnn.top(hidden), state, memory)", "self.attend(self.rnn.top(state.hidden), state, memory)"),
        ("self.feed_gates(state.attentional)", "self.feed_gates(self.rnn.top(state.hidden))"),
        ("torch.cat([context, hidden], dim=-1)", "torch.cat([hidden, context], dim=-1)"),
    ),
    *planted(
        "model/cells.py",
        "model/test_decoder.py",
        ("candidate = torch.tanh(input_n + reset * recurrent_n)", "candidate = torch.tanh(input_n + recurrent_n)"),
        ("torch.sigmoid(forget) * cell", "torch.sigmoid(forget + 1) * cell"),
    ),
    *planted(
        "model/variants/hierarchical.py",
        "model/test_hierarchical.py",
        ("ended[:, :-1] & ~ended[:, 1:] & (source[:, 1:] != EOS)", "ended[:, :-1] & (source[:, 1:] != EOS)"),
    ),
    *planted(
        "model/variants/heads.py", "model/test_encoder.py", ("query / query.shape[-1] ** 0.5", "query / self.count")
    ),
    *planted(
        "training/loss.py", "training/test_loss.py", ("label_smoothing=smoothing)", "label_smoothing=2 * smoothing)")
    ),
    *planted(
        "decoding/beam_search.py",
        "decoding/test_beam_search.py",
        ("((5 + length) / 6) ** alpha", "((5 + length) / 6) ** (alpha / 2)"),
        ("len(ended[index]) >= beam_size", "len(ended[index]) >= 1"),
        ("state = select(state, rows[keep].flatten())", "state = select(state, (rows - parents)[keep].flatten())"),
        ("choose(totals, 2 * beam_size, ids", "choose(totals, beam_size, ids"),
        ("scores / length_penalty(max_length, alpha)", "scores"),
    ),
    *planted("decoding/sampling.py", "decoding/test_sampling.py", ("(below / temperature)", "(below * temperature)")),
    *planted(
        "data/batching.py",
        "data/test_batching.py",
        ("pad([[BOS, *example.target] for", "pad([[*example.target, BOS] for"),
        ("default_rng([seed, epoch])", "default_rng([seed])"),
        ("positions < self.target_lengths.unsqueeze(1)", "positions <= self.target_lengths.unsqueeze(1)"),
        ("range(begin + batch_size, end, batch_size), end]", "range(begin + batch_size, end, batch_size)]"),
    ),
    *planted(
        "text/unknown_words.py",
        "text/test_unknown_words.py",
        ("owners = owners[: weights.shape[1] - 1]", "owners = [*owners, 0]"),
    ),
    *planted(
        "schedules/learning_rate.py", "training/test_schedules.py", ("max(step.update, self.warmup))", "step.update)")
    ),
    *planted(
        "training/update.py",
        "training/test_update.py",
        ("scale = group.size / tokens", "scale = group.size / len(batches)"),
        ("min(1, config.clip_norm / (scale * norm_value + 1e-6))", "config.clip_norm / (scale * norm_value + 1e-6)"),
        ("    optimizer.zero_grad()\n", ""),
    ),
    *planted(
        "training/update.py",
        "checkpoint/test_average.py",
        ("(1 + updates) / (10 + updates)", "(1 + updates) / (9 + updates)"),
    ),
    *planted(
        "training/counters.py",
        "training/test_when_training_ends.py",
        ("self.since_best >= patience", "self.since_best > patience"),
    ),
    *planted(
        "training/checkpointing.py",
        "training/test_resume.py",
        ("torch.set_rng_state(saved.random[group.rank].clone())", "saved.random[group.rank].clone()"),
        ('"state": asdict(trainer.counters)', '"state": {**asdict(trainer.counters), "batch": 0}'),
        ("average.load_state_dict(saved.average)", "average.state_dict()"),
        ('"optimizer", ', ""),
        ('"trained": text == (', '"trained": True or text == ('),
    ),
    *planted("evaluation/by_length.py", "evaluation/test_by_length.py", ("[2.5, 97.5])", "[5, 95])")),
    *planted("evaluation/scores.py", "evaluation/test_scores.py", ("** len(matched)", "** 1")),
    *planted(
        "evaluation/alignment.py",
        "evaluation/test_alignment.py",
        ("(in_sure + in_possible) / (linked + sure)", "(in_sure + in_possible) / (2 * linked)"),
    ),
]
