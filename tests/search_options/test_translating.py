"""The options in configs, translators and commands: what they do to a model, and what is refused."""

from itertools import pairwise

import pytest
import torch
from support.cli import error_of
from support.config_reading import read, refusal
from support.tiny_models import SOURCES, WIRINGS, parametrised, tiny_model

from nmt.checkpoint import contents as checkpoint
from nmt.cli import main
from nmt.config.reading import override_search, to_yaml
from nmt.config.search import SearchConfig
from nmt.decoding.batches import decode
from nmt.decoding.beam_search import best_candidates
from nmt.decoding.ensemble import Ensemble
from nmt.search_options.coverage import coverage_penalty
from nmt.system.errors import UserError
from nmt.translator import Translator

TEXTS = ["Ba De", "De Ba Ba", "Ba"]
ALL = {
    "min_length": 3,
    "block_ngrams": 2,
    "repetition_penalty": 1.3,
    "coverage_penalty": 0.4,
    "diverse_groups": 2,
    "diversity_strength": 0.7,
}


def decoded(model, sources=SOURCES, **options):
    search = SearchConfig(**{"beam_size": 4, "max_length": 9, "block_repeats": False} | options)
    return dict(decode(model, sources, search, n_best=4))


@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_a_batch_changes_no_result(variant):
    model = tiny_model(variant)
    options = ALL if model.has_attention else {**ALL, "coverage_penalty": 0.0}
    together = decoded(model, **options)
    for i, [first, *others] in together.items():
        [[alone, *rest]] = decoded(model, [SOURCES[i]], **options).values()
        assert [alone.ids, *(h.ids for h in rest)] == [first.ids, *(h.ids for h in others)]
        for ids in (h.ids for h in (first, *others)):
            assert len(ids) > 3
            assert len(set(pairwise(ids))) == len(ids) - 1
    assert decoded(model, batch_size=1, **options).keys() == together.keys()
    assert decoded(model) == decoded(model, diverse_groups=1, coverage_penalty=0, repetition_penalty=1)


@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_coverage_orders_the_same_hypotheses(variant):
    models = [tiny_model(variant), Ensemble([tiny_model(variant), tiny_model(variant, 2)])]
    for model in models if models[0].has_attention else []:
        plain, covered = decoded(model), decoded(model, coverage_penalty=3.0)
        for i, hypotheses in covered.items():
            assert sorted(h.ids for h in hypotheses) == sorted(h.ids for h in plain[i])
            values = [h.score + coverage_penalty(h.attention, 3.0) for h in hypotheses]
            assert values == sorted(values, reverse=True)
        assert any(covered[i] != plain[i] for i in plain)


def test_sampling_obeys_what_must_not_be_written():
    sampling = {"temperature": 1.5, "top_p": 0.95}
    model = tiny_model(WIRINGS[0])
    for hypotheses in decoded(model, sampling=sampling, min_length=4, block_ngrams=1).values():
        for ids in (h.ids for h in hypotheses):
            assert len(ids) >= 5
            assert len(set(ids)) == len(ids)
    free, penalised = (decoded(model, sampling=sampling, repetition_penalty=penalty) for penalty in (1, 50))
    assert free != penalised


def test_defaults_are_not_written_and_others_are_read_back(tmp_path):
    fields = ", ".join(f"{name}: {value}" for name, value in ALL.items())
    config = read(tmp_path, "name: x", f"search={{beam_size: 4, {fields}}}")
    assert read(tmp_path, to_yaml(config)) == config
    assert not any(name in to_yaml(read(tmp_path, "name: x")) for name in ALL)
    search = override_search(config.search, diverse_groups=1, diversity_strength=0.5, sampling=None, min_length=0)
    assert (search.diverse_groups, search.min_length, search.block_ngrams) == (1, 0, 2)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ("search={min_length: 9, max_length: 8}", "search: min_length (9) is above max_length (8); lower it"),
        (
            "search.diverse_groups=2",
            "beam_size (5) is not a multiple of diverse_groups (2); set beam_size",
        ),
        (
            "search={diverse_groups: 5, sampling: {top_k: 2}}",
            "diverse_groups (5) is for beam search, and sampling",
        ),
        ("search={coverage_penalty: 0.2, sampling: {top_k: 2}}", "coverage_penalty (0.2) is for beam search"),
        ("search.diversity_strength=0.9", "diversity_strength (0.9) has no effect with diverse_groups: 1; remove it"),
        ("search.coverage_penalty=0.2 & model.attention={wiring: none}", "needs attention, and wiring is none"),
        ("search.coverage_penalty=0.2 & model.attention={scope: local_m}", "to all source tokens, and scope is local"),
        ("search.block_ngram=2", "search.block_ngram: unknown field (did you mean block_ngrams?)"),
        ("search.repetition_penalty=0.5", "repetition_penalty: input should be greater than or equal to 1"),
        ("search.min_length=false", "min_length: input should be a"),
        ("search.sampling.top_p=1", "top_p: input should be less than 1"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_fix(tmp_path, overrides, words):
    assert words in refusal(tmp_path, "name: x", *overrides.split(" & "))


def test_groups_give_as_many_different_texts():
    """Hamming diversity alone gave two or three of each."""
    texts = ["Ein Mann schläft auf einem Sofa.", "Ein brauner Hund läuft hinter einem schwarzen her."]
    for translation in Translator.load(device="cpu").translate(texts, diverse_groups=5, beam_size=5, n_best=5):
        assert len({t.text.lower() for t in translation.n_best}) == 5


def test_a_translator_takes_them_and_refuses_what_does_not_fit_the_model(make_translator):
    _, translator = make_translator("search.beam_size=4")
    long = translator.translate(TEXTS, min_length=6, n_best=4)
    assert all(len(t.tokens) > 6 for one in long for t in one.n_best)
    assert translator.translate(TEXTS, prefix="tuk", diverse_groups=2, coverage_penalty=0.3, replace_unk=True)
    with pytest.raises(UserError, match="diverse_groups excludes glossary"):
        translator.translate(TEXTS, diverse_groups=2, constrain=lambda _: best_candidates)
    options = {"min_length": 3, "block_ngrams": 2, "coverage_penalty": 0.2}
    constrained = translator.translate(TEXTS, constrain=lambda _: best_candidates, **options)
    assert [t.text for t in constrained] == [t.text for t in translator.translate(TEXTS, **options)]
    _, bare = make_translator("model.attention={wiring: none}")
    with pytest.raises(UserError, match="coverage_penalty needs attention"):
        bare.translate(TEXTS, coverage_penalty=0.3)


def test_commands_have_an_option_for_each(make_translator, tmp_path, capsys):
    config, translator = make_translator("search.beam_size=4")
    path = str(tmp_path / "best.safetensors")
    checkpoint.save(tmp_path / "best.safetensors", config, translator.source, translator.target, translator.model)
    options = [text for name, value in ALL.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    torch.manual_seed(0)
    assert main(["translate", path, *TEXTS, *options]) == 0
    expected = [t.text for t in translator.translate(TEXTS, **ALL)]
    assert capsys.readouterr().out.splitlines() == expected
    assert main(["translate", path, "Ba", "--top-p", "0.5", "--min-length", "3"]) == 0
    capsys.readouterr()
    assert main(["translate", path, "Ba", "--diverse-groups", "3"]) == 2
    assert "set beam_size to a multiple" in error_of(capsys)
