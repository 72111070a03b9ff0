"""Minimum risk training and REINFORCE: by their formulas over all translations, and trained."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from support.runs import assert_same_run, finish, run_and_stop
from support.tiny_config import made_up_text, write_splits
from support.tiny_models import SOURCES, TARGET_TYPES, VARIANTS, Variant, parametrised, tiny_codecs, tiny_model

from nmt.config.run import Config
from nmt.data.batching import Batch, Example, collate
from nmt.decoding.scoring import score
from nmt.fast import accelerate
from nmt.model.seq2seq import Seq2Seq
from nmt.risk.config import MinimumRiskConfig
from nmt.risk.objective import draw, expected_cost, objective_of, reread, sentence_score
from nmt.text.corpus import ParallelText
from nmt.text.vocabulary import BOS, EOS, UNK
from nmt.training.loss import BatchLoss
from nmt.translator import Translator

CONFIGS = [MinimumRiskConfig(estimator="minimum_risk", alpha=0.7), MinimumRiskConfig(estimator="reinforce")]
WORDS = range(4, TARGET_TYPES)
BATCH = collate([Example([*source], [10, 4][: n % 3]) for n, source in enumerate(SOURCES)])
ROWS = [[[10, 4, EOS], [6, EOS], [7, 7, 7, 7]], [[EOS]], [[9, EOS], [4, 5, EOS]]]  # of each sentence, one of them cut
ATTENTIVE = Variant("bahdanau")


def minimum_risk(*overrides: str) -> list[str]:
    """The section, as an override."""
    return [f"training.minimum_risk={{{', '.join(overrides)}}}"]


# The estimators


def test_minimum_risk_has_the_gradient_of_its_formula() -> None:
    """Over all translations of up to two words: against finite differences (Shen et al. 2016, section 3)."""
    model, codec = tiny_model(ATTENTIVE), tiny_codecs()[1]
    source = [4, 9, 11]
    reference = [10, 4]
    every = [ids for length in range(3) for ids in product([*WORDS][:3], repeat=length)]
    texts = [reference, *map(list, every)]
    bleu = sentence_score("bleu", codec)
    scores = np.array([bleu(ids, reference) for ids in texts])
    settings = CONFIGS[0]

    def risk() -> float:
        """In NumPy, from the probabilities by which `nmt score` goes."""
        log_p = np.array([s.log_probability for s in score(model, [Example(source, ids) for ids in texts], 5)])
        powers = np.exp(settings.alpha * log_p)
        return float((powers / powers.sum() * (1 - scores)).sum())

    rows = [[[*ids, EOS] for ids in texts]]
    read = reread(model, collate([Example(source, reference)]), rows)
    cost = expected_cost(settings, read.of_rows, torch.tensor(scores))
    assert cost.item() == pytest.approx(risk(), abs=1e-9)
    cost.backward()
    weights = [model.decoder.output.weight, model.decoder.embedding.weight, model.encoder.embedding.weight]
    weights += [model.decoder.attention.score.query.weight, model.decoder.bridge.weight]
    for weight in weights:
        index = int(weight.grad.abs().argmax())
        values, step = weight.data.flatten(), 1e-5
        assert values.data_ptr() == weight.data_ptr()
        values[index] += step
        above = risk()
        values[index] -= 2 * step
        below = risk()
        values[index] += step
        assert weight.grad.flatten()[index].item() == pytest.approx((above - below) / (2 * step), rel=1e-4)


@pytest.mark.parametrize("samples", [2, 3])
def test_reinforce_has_the_gradient_of_the_expected_score_in_the_mean(samples: int) -> None:
    """The mean over all ways to draw, by their probabilities, is the gradient of Σ_y P(y) (1 − score(y))."""
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(4, dtype=torch.float64, generator=generator).requires_grad_()
    scores = torch.tensor([0.9, 0.1, 0.4, 0.0], dtype=torch.float64)
    exact = torch.autograd.grad(logits.softmax(0) @ (1 - scores), logits)[0]
    mean = torch.zeros_like(exact)
    for drawn in product(range(4), repeat=samples):
        rows = [1, *drawn]  # the reference first, whose probability is not used
        cost = expected_cost(CONFIGS[1], logits.log_softmax(0)[rows], scores[rows])
        mean += logits.detach().softmax(0)[[*drawn]].prod() * torch.autograd.grad(cost, logits)[0]
    torch.testing.assert_close(mean, exact, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("settings", CONFIGS, ids=lambda settings: settings.estimator)
def test_equally_good_translations_teach_nothing(settings: MinimumRiskConfig) -> None:
    log_p = torch.tensor([-1.0, -2.0, -5.0, -0.5], requires_grad=True)
    expected_cost(settings, log_p, torch.full((4,), 0.3)).backward()
    assert log_p.grad is not None
    assert log_p.grad.abs().max() < 1e-7
    better = torch.tensor([0.3, 0.3, 0.9, 0.3])
    [gradient] = torch.autograd.grad(expected_cost(settings, log_p, better), log_p)
    assert gradient.argmin() == 2  # the one whose probability is to grow
    assert gradient[2] < 0


def test_the_reference_alone_teaches_nothing() -> None:
    """Where all samples are the reference, its probability among them is 1."""
    log_p = torch.tensor([-3.0], requires_grad=True)
    cost = expected_cost(CONFIGS[0], log_p, torch.ones(1))
    cost.backward()
    assert cost.item() == 0
    assert log_p.grad is not None
    assert log_p.grad.item() == 0


# Probabilities, scores and samples


@pytest.mark.parametrize("variant", **parametrised(VARIANTS))
def test_rows_have_the_probabilities_that_scoring_gives(variant: Variant) -> None:
    """With every component; whatever else is in the batch, and whoever was cut before the end token."""
    model = tiny_model(variant)
    read = reread(model, BATCH, ROWS)
    owners = [n for n, of_sentence in enumerate(ROWS) for _ in of_sentence]
    flat = [ids for of_sentence in ROWS for ids in of_sentence]
    assert [len(x) for x in read.log_p.split([*map(len, flat)])] == [len(ids) for ids in flat]
    assert read.is_reference.tolist() == [0, 1, 2, 9, 10, 11]
    ended = [n for n, ids in enumerate(flat) if ids[-1] == EOS]
    expected = score(model, [Example([*SOURCES[owners[n]]], flat[n][:-1]) for n in ended], 2)
    assert read.of_rows[ended].tolist() == pytest.approx([s.log_probability for s in expected], abs=1e-6)
    [whole] = score(model, [Example([*SOURCES[0]], [7, 7, 7, 7])], 1)
    [cut] = (n for n, ids in enumerate(flat) if ids[-1] != EOS)
    assert read.of_rows[cut].item() > whole.log_probability


def test_a_sentence_is_scored_by_its_text() -> None:
    codec = tiny_codecs()[1]
    bleu, chrf = (sentence_score(metric, codec) for metric in ("bleu", "chrf"))
    reference = [4, 5, 6, 7, 8]  # k l m n o
    for metric in (bleu, chrf):
        assert metric([*reference, EOS], reference) == pytest.approx(1)
    # 3 of 4 words, (1 + 1) / (3 + 1) pairs, (0 + 1) / (2 + 1) triples, (0 + 1) / (1 + 1) quadruples; too short
    precisions = np.array([3 / 4, 2 / 4, 1 / 3, 1 / 2])
    expected = np.exp(1 - 5 / 4) * precisions.prod() ** (1 / 4)
    assert bleu([4, 5, 9, 7], reference) == pytest.approx(expected)
    assert bleu([UNK, 5], [UNK, 5]) < 1  # who knows whether they are the same word
    assert 0 < chrf([4, 5], reference) < 1


def test_samples_are_from_the_models_distribution() -> None:
    """By the frequency of each first token; without dropout, and each sentence's own."""
    model = tiny_model(ATTENTIVE).train()
    torch.manual_seed(4)
    drawn = draw(model, BATCH, 4000, longest=2)
    assert model.training
    with torch.no_grad():
        state, memory = model.eval().encode(BATCH.source, BATCH.source_lengths)
        probabilities = model.step(torch.full((3,), BOS), state, memory)[0].exp().numpy()
    for samples, expected in zip(drawn, probabilities, strict=True):
        counts = np.bincount([ids[0] for ids in samples], minlength=TARGET_TYPES)
        deviation = np.sqrt(expected * (1 - expected) / 4000)
        assert (np.abs(counts / 4000 - expected) < 4.5 * deviation + 1e-9).all()
        assert {len(ids) for ids in samples} <= {1, 2}
        assert all(ids[-1] == EOS for ids in samples if len(ids) == 1)


@pytest.mark.parametrize("estimator", ["minimum_risk", "reinforce"])
def test_the_loss_of_a_batch_is_that_of_its_sentences(
    make_config: Callable[..., Config], monkeypatch: pytest.MonkeyPatch, estimator: str
) -> None:
    """With likelihood and label smoothing; fast modules give the same gradients."""
    model, codec = tiny_model(ATTENTIVE), tiny_codecs()[1]
    config = make_config(
        *minimum_risk("samples: 3", f"estimator: {estimator}", "likelihood: 0.2"), "training.label_smoothing=0.3"
    )
    monkeypatch.setattr("nmt.risk.objective.draw", given_samples)
    objective = objective_of(config, codec)
    sums, gradients = [], []
    whole = BatchLoss(model, 0.3, objective=objective)(BATCH)
    singles = [
        BatchLoss(model, 0.3, objective=objective)(collate([Example([*source], [10, 4][: n % 3])]))
        for n, source in enumerate(SOURCES)
    ]
    usual = BatchLoss(model, 0.3)(BATCH)
    assert whole.nll.item() == pytest.approx(usual.nll.item())
    assert whole.smoothed.item() == pytest.approx(sum(one.smoothed.item() for one in singles))
    fast = BatchLoss(tiny_model(ATTENTIVE), 0.3, objective=objective)
    accelerate(fast, "float32")
    for loss, of in ((whole.smoothed, model), (fast(BATCH).smoothed, fast.model)):
        loss.backward()
        sums.append(loss.item())
        gradients.append([parameter.grad for parameter in of.parameters()])
    assert sums[0] == pytest.approx(sums[1])
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-5, atol=1e-7)


def given_samples(_: Seq2Seq, batch: Batch, *sizes: int) -> list[list[tuple[int, ...]]]:
    """By a sentence's length, one twice."""
    assert sizes[0] == 3
    return [[(4 + int(n), 5, EOS), (4, EOS), (4, EOS)] for n in batch.source_lengths % 4]


# The config, and runs


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["training.minimum_risk={}"], "set start_from to a trained model's checkpoint"),
        ([*minimum_risk("likelihood: 1", "samples: 1")], "samples"),
        ([*minimum_risk("estimator: reinforce", "alpha: 1")], "alpha .* has no effect with estimator: reinforce"),
        (
            [*minimum_risk("likelihood: 1"), "training.sampled_softmax=4"],
            r"sampled_softmax \(4\) has no effect with minimum",
        ),
        (
            [*minimum_risk("likelihood: 1"), "training.teacher_forcing=0.5"],
            "teacher_forcing .* has no effect with minimum",
        ),
        (
            [*minimum_risk("likelihood: 1"), "training.guided_alignment={}"],
            "guided_alignment .* has no effect with minimum",
        ),
        (
            ["training.start_from=x", *minimum_risk(), "training.label_smoothing=0.2"],
            r"minimum_risk\.likelihood: 0; remove it",
        ),
        ([*minimum_risk("likelyhood: 1")], "likelihood"),
    ],
)
def test_what_does_not_fit_is_refused_when_the_config_is_read(
    make_config: Callable[..., Config], fields: list[str], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        make_config(*fields)


def test_label_smoothing_is_that_of_the_likelihood(make_config: Callable[..., Config]) -> None:
    config = make_config(*minimum_risk("likelihood: 0.5"), "training.label_smoothing=0.2")
    assert config.training.label_smoothing == 0.2
    plain = make_config(*minimum_risk(), "training.start_from=x")
    assert "label_smoothing" not in plain.model_dump()["training"]


def expected_score(checkpoint: Path, text: ParallelText) -> float:
    """The mean score of samples."""
    translator = Translator.load(checkpoint, device="cpu")
    metric = sentence_score("bleu", translator.target)
    pairs = translator.examples(text.source, text.target)
    torch.manual_seed(1)
    drawn = zip(pairs, draw(translator.model, collate(pairs), 30, longest=14), strict=True)
    return float(np.mean([metric(ids, pair.target) for pair, samples in drawn for ids in samples]))


def test_both_estimators_raise_the_expected_score(make_config: Callable[..., Config], corpus: Path) -> None:
    text = made_up_text(train=200, validation=20, test=5)
    write_splits(corpus, text)
    sizes = [f"model.{side}={{hidden_size: 16, dropout: 0}}" for side in ("encoder", "decoder")]
    fields = [*sizes, "training.batch_size=20", "training.validate_every=150"]
    first = finish(make_config(*fields, "name=first", "training.max_updates=100")) / "last.safetensors"
    before = expected_score(first, text["validation"])
    fields += [f"training.start_from={first}", "training.max_updates=25", "training.learning_rate=0.01"]
    for estimator, *alpha in (("minimum_risk", "alpha: 1"), ("reinforce",)):
        section = minimum_risk(f"estimator: {estimator}", "samples: 10", *alpha)
        folder = finish(make_config(*fields, *section, f"name={estimator}"))
        assert expected_score(folder / "last.safetensors", text["validation"]) > before + 0.05


def test_stop_and_resume_change_no_bit(make_config: Callable[..., Config], monkeypatch: pytest.MonkeyPatch) -> None:
    fields = [*minimum_risk("likelihood: 0.1", "samples: 4"), "training.max_updates=6"]
    config = make_config(*fields)
    folder = run_and_stop(monkeypatch, config, 3)
    torch.manual_seed(99)
    finish(config, resume=True)
    assert_same_run(folder, finish(make_config(*fields, "name=straight")))
