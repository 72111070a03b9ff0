"""The errors that `tests/mutations.py` plants in the mathematics of the model and its loss."""

from support.mutation import Mutation

ATTENTION = ("tests/model/test_attention.py",)
GRADIENTS = ("tests/model/test_attention_gradients.py",)
DECODER = ("tests/model/test_decoder.py",)
PASS = ("tests/model/test_decoder.py", "tests/model/test_whole_pass.py")
WIRINGS = ("tests/model/test_wirings.py",)
ENCODER = ("tests/model/test_encoder.py",)
HIERARCHICAL = ("tests/model/test_hierarchical.py",)
LOSS = ("tests/training/test_loss.py",)

MODEL = [
    Mutation(
        "nmt/model/scores.py",
        "self.v(torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)))",
        "self.v(torch.tanh(query.unsqueeze(-2) - keys.unsqueeze(-3)))",
        ATTENTION,
    ),
    Mutation("nmt/model/scores.py", "self.divisor = query_size**0.5 if", "self.divisor = query_size if", ATTENTION),
    Mutation(
        "nmt/model/scores.py",
        "scores = scores + self.coverage(query) * coverage",
        "scores = scores + coverage",
        ATTENTION,
    ),
    Mutation(
        "nmt/model/scores.py",
        "rows = self.location.weight[:length]",
        "rows = self.location.weight[:length].flip(0)",
        ATTENTION,
    ),
    Mutation(
        "nmt/model/scopes.py",
        "masked_fill(~window.inside, -torch.inf).softmax(dim=-1)",
        "softmax(dim=-1) * window.inside",
        ATTENTION,
    ),
    Mutation(
        "nmt/model/scopes.py",
        "masked_softmax(scores, window.inside) * window.gaussian",
        "masked_softmax(scores, window.inside)",
        ATTENTION,
    ),
    Mutation(
        "nmt/model/scopes.py",
        "torch.exp(-2 * (distance / window) ** 2)",
        "torch.exp(-((distance / window) ** 2))",
        ATTENTION,
    ),
    Mutation(
        "nmt/model/scopes.py",
        "inside = (distance.abs() <= window) & real",
        "inside = (distance.abs() < window) & real",
        ATTENTION,
    ),
    Mutation("nmt/model/scopes.py", "torch.minimum(t, lengths.unsqueeze(-1) - 1).float()", "t.float()", ATTENTION),
    Mutation(
        "nmt/model/scopes.py",
        "return length * torch.sigmoid(logit)",
        "return length.max() * torch.sigmoid(logit)",
        ATTENTION,
    ),
    Mutation(
        "nmt/model/scopes.py",
        "first = (centre.detach() - window).ceil()",
        "first = (centre.detach() - window + 1).ceil()",
        ATTENTION,
    ),
    Mutation(
        "nmt/model/attention.py",
        "scored, averaged = _halves(values) if",
        "averaged, scored = _halves(values) if",
        ATTENTION,
    ),
    Mutation(
        "nmt/model/attention.py",
        "weights.argmax(dim=-1, keepdim=True)",
        "weights.argmin(dim=-1, keepdim=True)",
        ATTENTION,
    ),
    Mutation("nmt/model/attention.py", "return one_hot + (weights - weights.detach())", "return one_hot", GRADIENTS),
    Mutation(
        "nmt/model/decoder.py",
        "coverage=alignment.added_to(coverage).flatten(0, 1)",
        "coverage=alignment.dense(coverage.shape[-1]).flatten(0, 1)",
        PASS,
    ),
    Mutation("nmt/model/decoder.py", "t=state.t + 1)", "t=state.t)", PASS),
    Mutation("nmt/model/decoder.py", "torch.tanh(self.bridge(encoded.final))", "self.bridge(encoded.final)", PASS),
    Mutation(
        "nmt/model/decoder.py",
        "predicted = self.embed(self.best(readouts[-1]))",
        "predicted = self.embed(self.best(readouts[0]))",
        PASS,
    ),
    Mutation(
        "nmt/model/bahdanau.py",
        "self.attend(self.top(state.hidden), state, memory)",
        "self.attend(self.top(self.rnn(gates, state.hidden)), state, memory)",
        WIRINGS,
    ),
    Mutation(
        "nmt/model/bahdanau.py",
        "torch.cat([self.top(hidden), context, embedded], dim=1)",
        "torch.cat([self.top(state.hidden), context, embedded], dim=1)",
        PASS,
    ),
    Mutation(
        "nmt/model/bahdanau.py", ".unflatten(-1, (-1, 2)).amax(dim=-1)", ".unflatten(-1, (2, -1)).amax(dim=-2)", PASS
    ),
    Mutation(
        "nmt/model/luong.py",
        "self.attend(self.top(hidden), state, memory)",
        "self.attend(self.top(state.hidden), state, memory)",
        WIRINGS,
    ),
    Mutation(
        "nmt/model/luong.py",
        "inputs = inputs + self.feed_gates(state.attentional)",
        "inputs = inputs + self.feed_gates(self.top(state.hidden))",
        PASS,
    ),
    Mutation(
        "nmt/model/luong.py",
        "torch.tanh(self.combine(torch.cat([context, hidden], dim=-1)))",
        "torch.tanh(self.combine(torch.cat([hidden, context], dim=-1)))",
        PASS,
    ),
    Mutation(
        "nmt/model/cells.py",
        "candidate = torch.tanh(input_n + reset * recurrent_n)",
        "candidate = torch.tanh(input_n + recurrent_n)",
        DECODER,
    ),
    Mutation(
        "nmt/model/cells.py",
        "return (candidate + update * (hidden - candidate),)",
        "return (hidden + update * (candidate - hidden),)",
        DECODER,
    ),
    Mutation("nmt/model/cells.py", "torch.sigmoid(forget) * cell", "torch.sigmoid(forget + 1) * cell", DECODER),
    Mutation(
        "nmt/model/variants/hierarchical.py",
        "ended[:, :-1] & ~ended[:, 1:] & (source[:, 1:] != EOS)",
        "ended[:, :-1] & (source[:, 1:] != EOS)",
        HIERARCHICAL,
    ),
    Mutation("nmt/model/variants/self_attention.py", "query / query.shape[-1] ** 0.5", "query / self.heads", ENCODER),
    Mutation(
        "nmt/training/loss.py",
        "return Loss(loss.smoothed / 2 + alpha / 4 * divergence, loss.nll / 2)",
        "return Loss(loss.smoothed / 2 + alpha / 2 * divergence, loss.nll / 2)",
        LOSS,
    ),
    Mutation("nmt/training/loss.py", "label_smoothing=smoothing)", "label_smoothing=2 * smoothing)", LOSS),
]
