"""Configs with latent attention, and runs of them."""

import os
import socket
from functools import partial

import pytest
import torch
from support.crashes import begin, folder_of, write_corpus
from support.runs import HARD, assert_same_run, contents, finish, run_and_stop
from support.tiny_config import config_maker

from nmt.system.errors import UserError
from nmt.translator import Translator

ESTIMATORS = [f"estimator: {text}" for text in ("exact", "variational, samples: 2", "reinforce")]
FITTING = "wiring: luong, input_feeding: false"


def latent(fields, others=FITTING):
    return f"model.attention={{{others}, latent: {{{fields}}}}}"


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (
            "wiring: bahdanau",
            "wiring: bahdanau, input_feeding: true with latent, .* set wiring to luong, set input_feeding to",
        ),
        ("wiring: luong", "input_feeding: true with latent, .* set input_feeding to false, or remove latent"),
        (f"{FITTING}, scope: local_m", "scope: local_m with latent, .* set scope to global"),
        (f"{FITTING}, normalizer: sparsemax", "normalizer: sparsemax with latent, .* set normalizer to softmax"),
        (f"{FITTING}, hard: true", "hard: true with latent, .* set hard to false"),
        (f"{FITTING}, key_value: true", "key_value: true with latent, .* set key_value to false"),
        (f"{FITTING}, heads: 2", "heads: 2 with latent, .* set heads to 1"),
        (f"{FITTING}, projected: true", "projected: true with latent, .* set projected to false"),
        (f"{FITTING}, coverage: true", "coverage: true with latent, .* set coverage to false"),
        (f"{FITTING}, monotonic: {{}}", "monotonic with latent: .* remove one of them"),
        ("wiring: none", "latent .* has no effect with wiring: none"),
    ],
)
def test_attention_that_does_not_fit_is_refused(make_config, others, message):
    with pytest.raises(UserError, match=message):
        make_config(latent("estimator: exact", others))


@pytest.mark.parametrize(
    ("fields", "others", "message"),
    [
        ("samples: 2", [], r"samples \(2\) has no effect with estimator: exact; .* reinforce or variational"),
        ("estimator: variational, entropy: 0.1", [], r"entropy \(0.1\) has no effect with estimator: variational"),
        ("estimator: reinforse", [], "estimator"),
        ("sample: 1", [], "did you mean samples"),
        ("estimator: exact", ["training.sampled_softmax=9"], "sampled_softmax with model.attention.latent, .* remove"),
        (
            "estimator: reinforce",
            ["training.minimum_risk={likelihood: 1}"],
            "training.minimum_risk with model.attention.latent.estimator: reinforce: .* set estimator to exact",
        ),
        (
            "estimator: variational",
            ["training.teacher_forcing=0.5"],
            "training.teacher_forcing with model.attention.latent.estimator: variational, .* set teacher_forcing to 1",
        ),
        ("estimator: variational", ["training.teacher_forcing.schedule=linear"], "set teacher_forcing to 1"),
    ],
)
def test_training_that_does_not_fit_is_refused(make_config, fields, others, message):
    with pytest.raises(UserError, match=message):
        make_config(latent(fields), *others)


@pytest.mark.parametrize("fields", ESTIMATORS)
def test_a_stopped_run_resumes_as_if_it_had_not_stopped(make_config, monkeypatch, fields):
    """Batches, dropout and samples are the same."""
    hard = [field for field in HARD if "teacher_forcing" not in field or fields == ESTIMATORS[0]]
    whole, stopped = (make_config(latent(fields), f"name={name}", *hard) for name in ("whole", "stopped"))
    run_and_stop(monkeypatch, stopped, 7)
    assert_same_run(finish(stopped, resume=True), finish(whole))


@pytest.mark.parametrize("fields", ESTIMATORS)
def test_a_model_learns_to_translate(make_config, corpus, fields):
    """A language whose words translate one by one, in reverse order."""
    sizes = [f"model.{side}={{hidden_size: 16, dropout: 0}}" for side in ("encoder", "decoder")]
    training = ["training.max_updates=300", "training.validate_every=300", "training.batch_size=15"]
    config = make_config(latent(fields), *sizes, "model.embedding_size=16", *training, "training.learning_rate=0.02")
    folder = finish(config)
    translator = Translator.load(folder / "last.safetensors", device="cpu")
    files = [corpus / f"train.{side}" for side in ("src", "tgt")]
    source, target = (file.read_text(encoding="utf-8").split("\n")[:30] for file in files)
    right = [t.text == line for t, line in zip(translator.translate(source), target, strict=True)]
    assert sum(right) >= 24


def become(environment):
    """One of several processes."""
    os.environ.update(environment)


@pytest.mark.parametrize("estimator", ["exact", "variational"])
def test_two_processes_learn_as_one(tmp_path, estimator):
    """Each with half of a batch: every weight has a gradient in both."""
    write_corpus(tmp_path)
    make, weights = config_maker(tmp_path, tmp_path), []
    sizes = "embedding_dropout: 0, encoder: {hidden_size: 5, dropout: 0}, decoder: {hidden_size: 7, dropout: 0}"
    for count in (2, 1):
        fields = [f"model={{{sizes}, embedding_size: 6}}", latent(f"estimator: {estimator}"), f"name=of-{count}"]
        config = make(*fields, f"training.batch_size={12 // count}", "training.max_updates=7")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": str(count)}
        shared |= {"TORCHELASTIC_RUN_ID": "same"}
        processes = [begin(config, partial(become, shared | {"RANK": str(rank)})) for rank in range(count)]
        for process in processes:
            process.join()
            assert process.exitcode == 0
        weights.append(contents(folder_of(config))["model"])
    for name, weight in weights[1].items():
        torch.testing.assert_close(weights[0][name], weight, rtol=1e-5, atol=1e-5)
