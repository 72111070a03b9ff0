"""docs/course/nano_nmt.py is nmt's model in one file: the weights of each work in the other."""

import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from course import nano_nmt as nano
from support.tiny_models import SOURCES, TARGETS, randomise

from nmt.build import build_model
from nmt.config.model import ModelConfig
from nmt.decoding.beam_search import beam_search
from nmt.model.special_tokens import BOS, EOS, PAD

PAIRS = [([*source, EOS], [*target, EOS]) for source, target in zip(SOURCES, TARGETS, strict=True)]
IDS = [source for source, _ in PAIRS]
LINES = [(f"Der {a} {b}!", f"The {c} {b}!") for a, c in (("Hund", "dog"), ("Hahn", "cock")) for b in "vwxyz"] * 3
SIZES, EMBEDDING, HIDDEN = [12, 11], 4, 5  # Luong's decoder needs two equal sizes, as target words have one embedding
LUONG = {"score": "scaled_general", "input_feeding": True}
ATTENTIONS = {"bahdanau": {"score": "additive"}, "luong": LUONG, "none": {}}
each_attention = pytest.mark.parametrize("attention", ATTENTIONS)
PREFIXES = {  # of parameters, in nano_nmt.py and in nmt
    "source_embedding.0": "encoder.embedding",
    "target_embedding.0": "decoder.embedding",
    "encoder": "encoder.rnn",
    "bridge": "decoder.bridge",
    "key": "decoder.attention.score.memory",
    "query": "decoder.attention.score.query",
    "v": "decoder.attention.score.v",
    "decoder.bias_ih": "decoder.embedding_gates.bias",
    "decoder.weight_hh": "decoder.rnn.recurrent.0.weight",
    "decoder.bias_hh": "decoder.rnn.recurrent.0.bias",
    "output.1": "decoder.output",
}


@torch.no_grad()
def both_models(attention, from_nano=True):
    """The model of each, the second one with the first one's weights, which are random."""
    embedding = HIDDEN if attention == "luong" else EMBEDDING
    one = nano.Seq2Seq(attention, SIZES, embedding, HIDDEN, dropout=0.3).eval()
    sizes = {"embedding_size": embedding, "encoder": {"hidden_size": HIDDEN}, "decoder": {"hidden_size": HIDDEN}}
    config = sizes | {"attention": {"wiring": attention} | ATTENTIONS[attention], "tied_embeddings": "target"}
    two = build_model(ModelConfig.model_validate(config), *SIZES).eval()
    randomise(one if from_nano else two)

    readout, gates = ("combine", "feed_gates") if attention == "luong" else ("readout", "context_gates")
    prefixes, weights, theirs = PREFIXES | {"readout": f"decoder.{readout}"}, one.state_dict(), two.state_dict()
    # nmt keeps the GRU's input weights in two blocks: of the word, and of what attention gives.
    blocks = weights.pop("decoder.weight_ih").tensor_split([embedding], dim=1)
    ours = dict(zip(["decoder.embedding_gates.weight", f"decoder.{gates}.weight"], blocks, strict=True))
    for name, weight in weights.items():
        old = next(old for old in prefixes if name.startswith(old))
        ours[name.replace(old, prefixes[old], 1)] = weight
    assert ours.keys() == theirs.keys()
    for name in ours:
        source, target = (ours, theirs) if from_nano else (theirs, ours)
        target[name].copy_(source[name])
    return one, two


@torch.no_grad()
@each_attention
@pytest.mark.parametrize("from_nano", [True, False])
def test_weights_work_in_both_programs(attention, from_nano):
    one, two = both_models(attention, from_nano)
    source, lengths = nano.pad(IDS), torch.tensor([len(ids) for ids in IDS])
    inputs = nano.pad([[BOS, *target[:-1]] for _, target in PAIRS])
    features, _ = two(source, lengths, inputs, torch.arange(inputs.numel()))
    logits = one.output(one(source, inputs)).flatten(0, 1)
    torch.testing.assert_close(logits, two.decoder.output(features), atol=1e-5, rtol=0)

    one.output[1].bias[PAD] = two.decoder.output.bias[PAD] = -1e4  # no trained model writes it
    options = {"bos": BOS, "eos": EOS, "beam_size": 1, "alpha": 0.0, "max_length": 2 * source.shape[1] + 10}
    expected = {i: [*best.ids] for i, [best] in beam_search(two.step, *two.encode(source, lengths), **options)}
    for ids in (nano.greedy_search(one, IDS)[0], nano.beam_search(one, IDS, beam=1)):
        assert {i: [x for x in row if x != PAD] for i, row in enumerate(ids.tolist())} == expected


@each_attention
def test_padding_changes_nothing(attention):
    model, _ = both_models(attention)
    for source, ids, weights in zip(IDS, *nano.greedy_search(model, IDS), strict=True):
        [ids_alone], [weights_alone] = nano.greedy_search(model, [source])
        assert ids[: len(ids_alone)].equal(ids_alone)
        torch.testing.assert_close(weights[: len(ids_alone), : weights_alone.shape[1]], weights_alone)
        assert not weights[:, weights_alone.shape[1] :].any()


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the program on ten pairs, three times each, which it has for training, validation and test."""
    for path in (tmp_path / f"{split}.{side}" for split in ("train", "validation", "test") for side in ("de", "en")):
        path.write_text("\n".join(pair[path.suffix == ".en"] for pair in LINES), encoding="utf-8")
    recipe = {"embedding": 16, "hidden": 16, "dropout": 0.0}, {"epochs": 20, "batch_size": 4, "rate": 0.02}
    monkeypatch.setattr(nano, "SAMPLE", recipe)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["nano_nmt.py", "--data", "."])
    return lambda *arguments: (sys.argv.extend(arguments), nano.main())


@each_attention
def test_ten_pairs_are_learnt_by_heart(attention, run, capsys):
    run("--attention", attention)
    assert capsys.readouterr().out.count("BLEU 100.00") == 12  # BLEU of all, and of five groups, twice
    assert Path("attention.png").exists() == (attention != "none")


def test_tokens_joined_are_the_line():
    lines = (Path(nano.__file__).parents[2] / "data/sample/train.de").read_text(encoding="utf-8").splitlines()
    vocabulary = nano.Vocabulary(lines[:1000])
    assert [vocabulary.decode(vocabulary.encode(line)) for line in lines] == [line.lower() for line in lines]


def test_ctrl_c_ends_the_training_alone(run, monkeypatch, capsys):
    monkeypatch.setattr(nano, "loss_of", Mock(side_effect=KeyboardInterrupt))
    run()
    assert "Stopped" in capsys.readouterr().out
    assert Path("attention.png").exists()


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"", ["--data", "x"], "train.de: No such file or directory; give --data DIR or --multi30k DIR"),
        (b"A line\n", [], "test.en has 1 lines, the German text 30: line n must translate line n"),
        (b"", ["--attention", "lung"], "argument --attention: invalid choice: 'lung'"),
    ],
)
def test_bad_input_is_one_line(content, arguments, message, run, capsys):
    Path("test.en").write_bytes(content)
    with pytest.raises(SystemExit, match="2"):
        run(*arguments)
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


def test_it_is_short_and_imports_little():
    text = Path(nano.__file__).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    modules = set(re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE))
    standard = {"argparse", "collections", "gzip", "math", "pathlib", "re", "sys", "typing"}  # also on Windows
    assert modules <= standard | {"torch", "sacrebleu", "tqdm", "matplotlib"}


@pytest.mark.long
@pytest.mark.parametrize("attention", ["bahdanau", "luong"])
def test_the_sample_corpus_is_learnt(attention, tmp_path):
    command = [sys.executable, nano.__file__, "--attention", attention]
    output = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    scores = [float(score) for score in re.findall(r"BLEU +(\S+) +(?:500|1000) sentences", output)]
    assert len(scores) == 2
    assert min(scores) >= 90
