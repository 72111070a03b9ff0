"""The errors that `tests/mutations.py` plants in the mathematics of the model and its loss."""

from support.mutation import planted

MODEL = [
    *planted(
        "nmt/model/scores.py",
        "model/test_attention.py",
        (
            "self.v(torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)))",
            "self.v(torch.tanh(query.unsqueeze(-2) - keys.unsqueeze(-3)))",
        ),
        ("self.divisor = query_size**0.5 if", "self.divisor = query_size if"),
        ("scores = scores + self.coverage(query) * coverage", "scores = scores + coverage"),
        ("rows = self.location.weight[:length]", "rows = self.location.weight[:length].flip(0)"),
    ),
    *planted(
        "nmt/model/scopes.py",
        "model/test_attention.py",
        ("masked_fill(~window.inside, -torch.inf).softmax(dim=-1)", "softmax(dim=-1) * window.inside"),
        ("masked_softmax(scores, window.inside) * window.gaussian", "masked_softmax(scores, window.inside)"),
        ("torch.exp(-2 * (distance / window) ** 2)", "torch.exp(-((distance / window) ** 2))"),
        ("inside = (distance.abs() <= window) & real", "inside = (distance.abs() < window) & real"),
        ("torch.minimum(t, lengths.unsqueeze(-1) - 1).float()", "t.float()"),
        ("return length * torch.sigmoid(logit)", "return length.max() * torch.sigmoid(logit)"),
        ("first = (centre.detach() - window).ceil()", "first = (centre.detach() - window + 1).ceil()"),
    ),
    *planted(
        "nmt/model/attention.py",
        "model/test_attention.py",
        ("scored, averaged = _halves(values) if", "averaged, scored = _halves(values) if"),
        ("weights.argmax(dim=-1, keepdim=True)", "weights.argmin(dim=-1, keepdim=True)"),
    ),
    *planted(
        "nmt/model/attention.py",
        "model/test_attention_gradients.py",
        ("return one_hot + (weights - weights.detach())", "return one_hot"),
    ),
    *planted(
        "nmt/model/decoder.py",
        "model/test_decoder.py model/test_whole_pass.py",
        (
            "coverage=alignment.added_to(coverage).flatten(0, 1)",
            "coverage=alignment.dense(coverage.shape[-1]).flatten(0, 1)",
        ),
        ("t=state.t + 1)", "t=state.t)"),
        ("torch.tanh(self.bridge(encoded.final))", "self.bridge(encoded.final)"),
        ("predicted = self.embed(self.best(readouts[-1]))", "predicted = self.embed(self.best(readouts[0]))"),
    ),
    *planted(
        "nmt/model/bahdanau.py",
        "model/test_wirings.py",
        (
            "self.attend(self.top(state.hidden), state, memory)",
            "self.attend(self.top(self.rnn(gates, state.hidden)), state, memory)",
        ),
    ),
    *planted(
        "nmt/model/bahdanau.py",
        "model/test_decoder.py model/test_whole_pass.py",
        (
            "torch.cat([self.top(hidden), context, embedded], dim=1)",
            "torch.cat([self.top(state.hidden), context, embedded], dim=1)",
        ),
        (".unflatten(-1, (-1, 2)).amax(dim=-1)", ".unflatten(-1, (2, -1)).amax(dim=-2)"),
    ),
    *planted(
        "nmt/model/luong.py",
        "model/test_wirings.py",
        ("self.attend(self.top(hidden), state, memory)", "self.attend(self.top(state.hidden), state, memory)"),
    ),
    *planted(
        "nmt/model/luong.py",
        "model/test_decoder.py model/test_whole_pass.py",
        (
            "inputs = inputs + self.feed_gates(state.attentional)",
            "inputs = inputs + self.feed_gates(self.top(state.hidden))",
        ),
        (
            "torch.tanh(self.combine(torch.cat([context, hidden], dim=-1)))",
            "torch.tanh(self.combine(torch.cat([hidden, context], dim=-1)))",
        ),
    ),
    *planted(
        "nmt/model/cells.py",
        "model/test_decoder.py",
        ("candidate = torch.tanh(input_n + reset * recurrent_n)", "candidate = torch.tanh(input_n + recurrent_n)"),
        ("return (candidate + update * (hidden - candidate),)", "return (hidden + update * (candidate - hidden),)"),
        ("torch.sigmoid(forget) * cell", "torch.sigmoid(forget + 1) * cell"),
    ),
    *planted(
        "nmt/model/variants/hierarchical.py",
        "model/test_hierarchical.py",
        ("ended[:, :-1] & ~ended[:, 1:] & (source[:, 1:] != EOS)", "ended[:, :-1] & (source[:, 1:] != EOS)"),
    ),
    *planted(
        "nmt/model/variants/heads.py",
        "model/test_encoder.py",
        ("query / query.shape[-1] ** 0.5", "query / self.count"),
    ),
    *planted(
        "nmt/training/loss.py",
        "training/test_loss.py",
        ("label_smoothing=smoothing)", "label_smoothing=2 * smoothing)"),
    ),
]
