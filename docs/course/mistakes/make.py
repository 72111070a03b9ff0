"""Write the symptoms of each mistake: the broken program is trained on a part of the sample corpus, and measured.

    python docs/course/mistakes/make.py [N ...]    symptoms_NN.md and symptoms_NN.png of all mistakes, or of those named

Half a minute for each mistake on an idle core. The right program is trained, too, for comparison.
"""

import contextlib
import io
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import torch
from matplotlib.figure import Figure
from sacrebleu.metrics import BLEU

from nmt.course.mistakes import MISTAKES, broken
from nmt.system.bundled import SAMPLE

LUONG = {"04"}  # mistakes in Luong's attention; the others are shown with Bahdanau's
RIGHT = (MISTAKES.parent / "nano_nmt.py").read_text(encoding="utf-8")
TEXT = """# Symptoms of broken_{number}.py

The program was trained for two epochs on {pairs} pairs of the sample corpus with at most 14 German words, with
{attention}'s attention, embeddings and states of 64, batches of 16. The right program was trained in the same way. One
line of code, or a few lines that belong together, make the difference.

What the two print:

```text
right                                                   broken
{output}
```

![Training loss, BLEU by length, and attention](symptoms_{number}.png)

The heat maps show the greedy translation of one sentence, which was in a batch with longer ones; `<pad>` is padding.
Rows are written tokens, columns are source tokens. In the curves and bars, grey is right and black is broken.

| measured with 100 sentences | right | broken |
|---|---|---|
{table}

The first four sentences, with a beam of 5:

| source | reference | broken program |
|---|---|---|
{examples}
"""


def corpus(split: str, limit: int) -> list[tuple[str, str]]:
    lines = [(SAMPLE / f"{split}.{language}").read_text(encoding="utf-8").splitlines() for language in ("de", "en")]
    return [(a, b) for a, b in zip(*lines, strict=True) if len(a.split()) <= 14][:limit]


class Run:
    """A program, trained: what it printed, its training loss, and what was measured."""

    def __init__(self, text: str, attention: str) -> None:
        nano = ModuleType("nano")
        exec(compile(text, "nano", "exec"), nano.__dict__)
        training, validation, test = corpus("train", 6000), corpus("validation", 100), corpus("test", 100)
        source, target = (nano.Vocabulary([pair[side] for pair in training]) for side in (0, 1))
        pairs = [[(source.encode(a), target.encode(b)) for a, b in lines] for lines in (training, validation)]
        self.losses, loss_of = [], nano.loss_of

        def recorded(model, batch, **options):
            loss = loss_of(model, batch, **options)
            if "label_smoothing" in options:
                self.losses.append(loss.item())
            return loss

        nano.loss_of = recorded
        torch.manual_seed(1)
        model = nano.Seq2Seq(attention, [len(source.tokens), len(target.tokens)], 64, 64, dropout=0.1)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            nano.train(model, *pairs, epochs=2, batch_size=16, rate=0.01)
            nano.print_bleu(model, source, target, test)
        self.output, self.pairs, self.test = output.getvalue().splitlines(), len(training), test
        self.bleu = [float(score) for score in re.findall(r"(?m)^BLEU +(\S+)", output.getvalue())][1:]
        with torch.no_grad():
            self.measure(nano, model, source, target, pairs[1])

    def measure(self, nano, model, source, target, validation) -> None:
        sources, references = [source.encode(a) for a, _ in self.test], [b for _, b in self.test]
        tokens = sum(len(target) for _, target in validation)
        one_by_one = sum(nano.loss_of(model, [pair], reduction="sum").item() for pair in validation)
        in_one = nano.loss_of(model, validation, reduction="sum").item()
        table = {
            "validation perplexity, one pair after another": f"{2.71828 ** (one_by_one / tokens):.3f}",
            "validation perplexity, all pairs in one batch": f"{2.71828 ** (in_one / tokens):.3f}",
        }

        def decoded(ids):
            return [target.decode(row) for row in ids.tolist()]

        def score(lines):
            return f"{BLEU(lowercase=True).corpus_score(lines, [references]).score:.1f}"

        ids, weights = nano.greedy_search(model, sources)
        greedy = decoded(ids)
        table["BLEU of greedy search, by sacreBLEU"] = score(greedy)
        for beam in (1, 5, 20):
            table[f"BLEU of a beam of {beam}, by sacreBLEU"] = score(decoded(nano.beam_search(model, sources, beam)))
        for alpha in (0.0, 1.0, 5.0):
            lines = decoded(nano.beam_search(model, sources, 5, alpha))
            words = sum(len(line.split()) for line in lines) / sum(len(line.split()) for line in references)
            table[f"words written per word of the references, α = {alpha:.0f}"] = f"{words:.2f}"
        again = decoded(nano.greedy_search(model, sources)[0])
        alone = [decoded(nano.greedy_search(model, [ids])[0])[0] for ids in sources]
        table["sentences that a second greedy search translates otherwise"] = sum(map(str.__ne__, greedy, again))
        table["sentences translated otherwise alone than in a batch"] = sum(map(str.__ne__, greedy, alone))
        on_real = [
            row[: len(y), : len(x)].sum(1).mean().item()
            for row, y, x in zip(weights, map(trimmed, ids.tolist()), sources, strict=True)
        ]
        on_all = [
            row[: len(y)].sum(1).mean().item() for row, y in zip(weights, map(trimmed, ids.tolist()), strict=True)
        ]
        table["sum of a step's weights: source tokens"] = f"{sum(on_real) / 100:.2f}"
        table["sum of a step's weights: padding"] = f"{abs(sum(on_all) - sum(on_real)) / 100:.2f}"
        state, memory = model.encode(nano.pad(sources))
        (one, first), (_, other) = (
            model.step(model.target_embedding(torch.full([len(sources)], token)), state, memory) for token in (2, 10)
        )
        table["largest change of a first weight, if another token than `<s>` is read"] = (
            f"{(first - other).abs().max():.2f}"
        )
        table["mean difference between state and readout after one step"] = (
            f"{(one.hidden - one.readout).abs().mean():.2f}"
        )
        self.table, self.lines = table, decoded(nano.beam_search(model, sources))
        self.keep_heat_map(sources, ids, weights, source, target)

    def keep_heat_map(self, sources, ids, weights, source, target) -> None:
        """The weights of a sentence of nine tokens, with some padding."""
        n = min(range(100), key=lambda i: abs(len(sources[i]) - 9))
        rows = trimmed(ids[n].tolist())[:16]
        self.heat_map = weights[n, : len(rows), : len(sources[n]) + 4].tolist()
        self.labels = [source.tokens[i] for i in sources[n]] + ["<pad>"] * 4, [target.tokens[i] for i in rows]


def trimmed(ids: list[int]) -> list[int]:
    return [token for token in ids if token != 1] or ids[:1]


@cache
def right(attention: str) -> Run:
    return Run(RIGHT, attention)


def draw(one: Run, two: Run, path: Path) -> None:
    axes = Figure(figsize=(12, 3.4), layout="constrained").subplots(1, 4)
    for run, colour in ((one, "0.65"), (two, "black")):
        means = [sum(run.losses[i : i + 20]) / 20 for i in range(0, len(run.losses) - 19, 20)]
        axes[0].plot([20 * i for i in range(len(means))], means, color=colour)
    axes[0].set(title="Training loss", xlabel="update", ylim=0)
    for k, (run, colour) in enumerate(((one, "0.65"), (two, "black"))):
        axes[1].bar([i + 0.4 * k for i in range(5)], run.bleu, width=0.4, color=colour)
    axes[1].set(title="BLEU it prints, by length", xlabel="fifth of the sentences", ylim=(0, 100))
    for run, axis, title in ((one, axes[2], "Weights, right"), (two, axes[3], "Weights, broken")):
        axis.imshow(run.heat_map, cmap="Greys", vmin=0, vmax=1, aspect="auto")
        axis.set_title(title)
        axis.set_xticks(range(len(run.labels[0])), run.labels[0], rotation=90, fontsize=7)
        axis.set_yticks(range(len(run.labels[1])), run.labels[1], fontsize=7)
    axes[0].figure.savefig(path, dpi=70, metadata={"Software": None})


def main(numbers: list[str]) -> None:
    for number in [n.zfill(2) for n in numbers] or [path.name[:2] for path in sorted(MISTAKES.glob("*.patch"))]:
        attention = "luong" if number in LUONG else "bahdanau"
        one, two = right(attention), Run(broken(number), attention)
        columns = zip(*([line[:54] for line in run.output[:-1]] for run in (one, two)), strict=True)
        cells = zip(two.test[:4], two.lines[:4], strict=True)
        text = TEXT.format(
            number=number,
            attention=attention.capitalize(),
            pairs=two.pairs,
            output="\n".join(f"{a:<54}  {b}" for a, b in columns),
            table="\n".join(f"| {name} | {one.table[name]} | {two.table[name]} |" for name in one.table),
            examples="\n".join(f"| {a} | {b} | {line} |" for (a, b), line in cells),
        )
        (MISTAKES / f"symptoms_{number}.md").write_text(text, encoding="utf-8")
        draw(one, two, MISTAKES / f"symptoms_{number}.png")
        print(number, flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1:])
