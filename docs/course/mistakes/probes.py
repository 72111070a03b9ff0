"""What a nano_nmt.py does on small random models and inputs, compared with what the right one does.

    python probes.py RIGHT BROKEN STUDENT    print as JSON: for each probe in which STUDENT differs from RIGHT,
                                             whether it does the same as BROKEN

`nmt course check broken_N.py` runs this in a process of its own. Other ways to write the same program pass: no text is
compared, and nothing that depends on how random numbers are drawn.
"""

import contextlib
import importlib.util
import io
import json
import math
import re
import sys

import torch

BOS, EOS = 2, 3
PAIRS = [([4, 5, 6, 7, 3], [5, 4, 6, 3]), ([8, 3], [9, 10, 3]), ([9, 10, 11, 3], [7, 8, 9, 10, 4, 3]), ([3], [6, 3])]
PAIRS += [([4, 4, 5, 6, 8, 9, 3], [8, 3]), ([10, 9, 8, 3], [10, 3]), ([5, 3], [9, 4, 3])]
SOURCES = [source for source, _ in PAIRS]
LINES = [
    ("Ein Hund schläft.", "A dog is sleeping."),
    ("Zwei Hunde schlafen im Garten!", "Two dogs sleep in the garden!"),
]
LINES += [("Der Hund ist müde und schläft jetzt.", "The dog is tired and sleeps now."), ("Nein.", "No.")]
ATTENTIONS = ("bahdanau", "luong", "none")


def model_of(nano, attention, dropout=0.0, sizes=(12, 11)):
    """A model whose weights depend on their names and shapes alone."""
    model, generator = nano.Seq2Seq(attention, list(sizes), 6, 6, dropout), torch.Generator().manual_seed(7)
    weights = {name: weight.shape for name, weight in sorted(model.state_dict().items())}
    weights = {name: torch.randn(shape, generator=generator) * 0.9 for name, shape in weights.items()}
    weights["output.1.bias"][:4] = torch.tensor([0.0, -30, -30, 1.5])  # no padding is written; ends are
    model.load_state_dict(weights)
    return model.eval()


def text(nano):
    vocabulary = nano.Vocabulary([line for pair in LINES for line in pair] * 4)
    ids = [vocabulary.encode(line) for line in ("Ein Hund, zwei Hunde", "Schlafende Hähne", "")]
    return [vocabulary.tokens, ids, [vocabulary.decode(x) for x in ids], nano.pad([x[:5] for x in ids])]


def batches(nano):
    pairs = [([4] * n + [3], [5] * (n * 7 % 23 + 1) + [3]) for n in range(22, 1, -1)]
    made = nano.epoch_batches(pairs, 4)
    padding = [max(len(pair[side]) for pair in batch) * len(batch) for batch in made for side in (0, 1)]
    return [sorted(len(batch) for batch in made), sorted([*a, 0, *b] for batch in made for a, b in batch), sum(padding)]


def encoder(nano, attention):
    state, memory = model_of(nano, attention).encode(nano.pad(SOURCES))
    return [state.hidden, memory.values * memory.mask.unsqueeze(2), memory.mask]


def attended(nano, attention):
    """Weights and contexts, for one query and for three of each sentence."""
    model = model_of(nano, attention)
    _, memory = model.encode(nano.pad(SOURCES))
    queries = torch.randn(3 * len(SOURCES), 6, generator=torch.Generator().manual_seed(1))
    return [*model.attend(queries[: len(SOURCES)], memory), *model.attend(queries, memory)]


def steps(nano, attention):
    """The state and the weights after each of four steps."""
    model, result = model_of(nano, attention), []
    state, memory = model.encode(nano.pad(SOURCES))
    for token in (BOS, 4, 7, 9):
        state, weights = model.step(model.target_embedding(torch.full([len(SOURCES)], token)), state, memory)
        result += [state.hidden, state.readout, weights]
    return result


def losses(nano, attention):
    model = model_of(nano, attention)
    values = [nano.loss_of(model, PAIRS[:n], **options) for n in (1, 7) for options in ({}, {"reduction": "sum"})]
    nano.loss_of(model, PAIRS, label_smoothing=0.1).backward()
    gradients = [weight.grad for _, weight in sorted(model.named_parameters()) if weight.grad is not None]
    return [values, [gradient.norm() for gradient in gradients]]


def printed(function, *arguments, **options):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        function(*arguments, **options)
    return output.getvalue()


def training(nano):
    """Printed perplexities, the best epoch's loss, the mode at each batch, and whether dropout has an effect."""
    validation = [(a, PAIRS[(i + 1) % 4][1]) for i, (a, _) in enumerate(PAIRS[:4])] * 17  # wrong: it is not learnt
    modes = []
    model = model_of(nano, "bahdanau")
    output = printed(nano.train, model, PAIRS[:4], validation, epochs=2, batch_size=4, rate=0.5)
    best = nano.loss_of(model, validation)
    model = model_of(nano, "luong", dropout=0.5)
    model.register_forward_hook(lambda module, *_: modes.append(module.training))
    torch.manual_seed(1)
    output += printed(nano.train, model, PAIRS, PAIRS, epochs=2, batch_size=2, rate=0.0)
    model.train()
    noise = nano.loss_of(model, PAIRS).item() != nano.loss_of(model, PAIRS).item()
    return [[float(value) for value in re.findall(r"perplexity (\S+)", output)], best, modes, noise]


def ids_of(tensor):
    return [[token for token in ids if token != 1] for ids in tensor.tolist()]


def greedy(nano, attention):
    ids, weights = nano.greedy_search(model_of(nano, attention), SOURCES)
    return [ids_of(ids), [weights[i, : len(row), : len(SOURCES[i])] for i, row in enumerate(ids_of(ids))]]


def beams(nano, attention):
    options = [(beam, alpha) for beam in (1, 2, 4) for alpha in (0.0, 1.0, 3.0)]
    return [ids_of(nano.beam_search(model_of(nano, attention), SOURCES, *option)) for option in options]


def translations(nano):
    """Those of a model that has just been in training."""
    lines = [german for german, _ in LINES]
    vocabularies = [nano.Vocabulary([pair[side] for pair in LINES]) for side in (0, 1)]
    model = model_of(nano, "bahdanau", dropout=0.6, sizes=[len(vocabulary.tokens) for vocabulary in vocabularies])
    printed(nano.train, model, PAIRS, PAIRS, epochs=1, batch_size=4, rate=0.0)
    return [nano.translate(model, *vocabularies, lines) for _ in range(2)]


def bleu(nano):
    """The printed scores of given translations, which are what a program has that finds every second sentence."""
    corpus = [pair for n in range(3) for pair in ((a + " Ja." * n, b + " Yes." * n) for a, b in LINES)]
    vocabularies = [nano.Vocabulary([pair[side] for pair in LINES]) for side in (0, 1)]
    english = {german: english.lower() for german, english in corpus}
    nano.translate = lambda *arguments: [
        english[line] if i % 2 else english[line].replace("dog", "cat") + " a" * i
        for i, line in enumerate(arguments[-1])
    ]
    output = printed(nano.print_bleu, None, *vocabularies, corpus)
    return [[float(x) for x in line.split() if x[0].isdigit()] for line in output.split("\n") if line[:5] == "BLEU "]


PROBES = {"vocabulary": text, "batches": batches}
for name, probe in {"encoder": encoder, "attention": attended, "decoder": steps, "loss": losses}.items():
    PROBES |= {f"{name} ({attention})": lambda nano, f=probe, a=attention: f(nano, a) for attention in ATTENTIONS}
PROBES["training"] = training
for name, probe in {"greedy search": greedy, "beam search": beams}.items():
    PROBES |= {f"{name} ({attention})": lambda nano, f=probe, a=attention: f(nano, a) for attention in ATTENTIONS}
PROBES |= {"translation": translations, "BLEU": bleu}


def plain(value):
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    return [plain(x) for x in value] if isinstance(value, list | tuple) else value


def same(one, two):
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=2e-3, abs_tol=1e-4) or (math.isnan(one) and math.isnan(two))
    return one == two


def behaviour(path):
    """What each probe gives; the text of an error where one is raised."""
    spec = importlib.util.spec_from_file_location("probed", path)
    nano, results = importlib.util.module_from_spec(spec), {}
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(nano)
    except (Exception, SystemExit) as error:
        return dict.fromkeys(PROBES, f"{type(error).__name__}: {error}")
    for name, probe in PROBES.items():
        torch.manual_seed(1)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                results[name] = plain(probe(nano))
        except (Exception, SystemExit) as error:
            results[name] = f"{type(error).__name__}: {error}"
    return results


if __name__ == "__main__":
    torch.set_num_threads(1)
    right, broken, student = map(behaviour, sys.argv[1:])
    wrong = [name for name in PROBES if not same(student[name], right[name])]
    print(
        json.dumps(
            {
                name: {
                    "as_broken": same(student[name], broken[name]),
                    "error": student[name] if isinstance(student[name], str) else "",
                }
                for name in wrong
            }
        )
    )
