"""Protected spans: what they are, and that they come out once each, unchanged, whatever the model."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from support.texts import data_config

from nmt.build import build_model
from nmt.config.data import DataConfig
from nmt.config.model import ModelConfig
from nmt.config.search import SearchConfig
from nmt.constraints.protect import PATTERNS, compiled, in_order, mask, mask_pair, spans
from nmt.constraints.translator import ConstrainedTranslator
from nmt.data.training_set import TrainingSet, load_training_set
from nmt.decoding.translation import Translation
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.text.tokenizers.base import MASKS

ONE, TWO = MASKS[:2]
KINDS = [("spacy", None), ("sentencepiece", 60), ("sentencepiece_cased", 60), ("whitespace", None), ("char", None)]
# Each text with its spans in ⟦ ⟧.
SPANS = [
    "Copied ⟦%d⟧ of ⟦%s⟧ (⟦%-5.2f⟧ ⟦%%⟧), ⟦%1$s⟧⟦%2$lu⟧: ⟦%(name)s⟧, ⟦%.*s⟧ in ⟦%d⟧s",
    "50 % of it, 100% sure, 20%discount, a %complete mess, don%'t",
    "⟦%1⟧ and ⟦%2⟧, ⟦%L1⟧, ⟦%n⟧ file(s), ⟦%1⟧⟦%2⟧",
    "⟦{}⟧ ⟦{0}⟧ ⟦{name!r:>10}⟧ ⟦{{ user.name }}⟧ ⟦{when, date, short}⟧ { a } {two words}",
    "⟦{n, plural, one {# file} other {{n} files}}⟧ gone",
    "⟦$(ARG1)⟧, ⟦${HOME}⟧, ⟦$name|⟧ pays $5, ⟦%PRODUCTNAME⟧, ⟦%<a b%>⟧ and ⟦%qE⟧",
    "See ⟦https://example.org/a?b=%20c#d⟧, (⟦www.example.org⟧). Write to ⟦jane.doe@mail.example.org⟧.",
    "In ⟦/etc/hosts⟧, ⟦~/.config/x.yaml⟧, ⟦src/main.py⟧ or ⟦C:\\Temp\\a.txt⟧, yes/no, and/or, e.g. 1/2, </b>",
    "⟦10 MB⟧, ⟦2.5GHz⟧, ⟦90°⟧, version ⟦2.10.4⟧, but 12 apples, 3.5 times, on 01.02.2003",
]


@pytest.mark.parametrize("text", SPANS)
def test_spans(text: str) -> None:
    plain, expected, begin = "", [], 0
    for piece in re.split("([⟦⟧])", text):
        if piece == "⟦":
            begin = len(plain)
        elif piece == "⟧":
            expected.append((begin, len(plain)))
        else:
            plain += piece
    assert [plain[a:b] for a, b in spans(plain, compiled(True))] == [plain[a:b] for a, b in expected]


def test_patterns_are_names_and_expressions() -> None:
    text = "%s at 10 MB for ACME: http://example.org"
    cases = {("numbers",): ["10 MB"], (r"\bACME\b", "placeholders"): ["%s", "ACME"], ("all", "ACME"): [*range(4)]}
    for patterns, expected in cases.items():
        assert len(spans(text, compiled(patterns))) == len(expected)
    assert compiled(True) == compiled(("all",)) == compiled(tuple(PATTERNS))
    assert compiled(None) == compiled(False) == ()
    for wrong in ("(", "x*"):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            DataConfig.model_validate({"protect": [wrong]})


def made_up(generator: random.Random, most: int) -> str:
    pieces = ["%s", "{0}", "%1$d", "a", "b ", " ", "(", "10 MB", ":", ONE, "http://example.org/%s"]
    return "".join(generator.choices(pieces, k=generator.randint(0, most)))


def test_restoring_undoes_masking_in_any_order() -> None:
    generator, patterns = random.Random(1), compiled(True)
    for most in (3, 10, 60):  # the last has more spans than there are masks
        for _ in range(200):
            text = made_up(generator, most)
            for join in (False, True):
                masked = mask(text, patterns, join=join)
                assert "".join(masked.restore(masked.text)) == masked.restore([masked.text])[0] == text
                assert not spans(masked.text, patterns) or set(masked.text) & set(MASKS)
            characters = list(masked.text)
            generator.shuffle(characters)
            assert Counter(masked.restore(characters)) == Counter(masked.restore(masked.text))


def test_pairs_have_the_same_masks_and_what_one_side_has_stays_text() -> None:
    patterns = compiled(True)
    assert mask_pair("%s of %d: %s", "%d: %s %s", patterns) == (
        f"{ONE} of {TWO}: {MASKS[2]}",
        f"{TWO}: {ONE} {MASKS[2]}",
    )
    assert mask_pair("%s of %s", "%s {0}", patterns) == (f"{ONE} of %s", f"{ONE} {{0}}")
    assert mask_pair("10 MB", "10 mb", patterns) == ("10 MB", "10 mb")
    generator = random.Random(2)
    for _ in range(300):
        pair = made_up(generator, 9).replace(ONE, ""), made_up(generator, 9).replace(ONE, "")
        source, target = mask_pair(*pair, patterns)
        masks = [Counter(character for character in side if character in MASKS) for side in (source, target)]
        assert masks[0] == masks[1]
        restored = [mask(pair[0], ()).restore([source])[0], target]  # without masks nothing is changed
        assert ("".join(restored) == "".join(pair)) == (not masks[0])


def test_order_counts_for_the_next_arguments_of_printf_alone() -> None:
    assert in_order(["%s", "%1$s", "%-5.2f", "{}", "%(a)s", "%2", "%qE", "10 MB", "%%"]) == [
        *(True, False, True, False, False, False, True, False, False)
    ]
    assert in_order(["%d", "%m", "%Y"]) == [False] * 3  # of strftime


WORDS = ["alt", "neu", "rot", "blau", "klein"]
SPANNING = ["%s", "{0}", "%1$d", "10 MB", "$(NAME)"]


def corpus() -> ParallelText:
    """Pairs with spans, in quotes, brackets and between words, and pairs without."""
    generator, source, target = random.Random(3), [], []
    for n in range(60):
        words = generator.sample(WORDS, 3)
        for span in generator.sample(SPANNING, n % 4):
            words[generator.randrange(3)] += generator.choice([" {}", ": ({})", ' "{}" x', " {}."]).replace("{}", span)
        source.append(" ".join(words))
        target.append(" ".join(reversed(words)))
    return ParallelText(source, target)


def learn(folder: Path, kind: str, size: int | None, protect: bool | None) -> TrainingSet:
    config = data_config(folder, corpus(), kind, size, joint=True, lowercase=False)
    return load_training_set(DataConfig.model_validate({**dict(config), "protect": protect}))


def translator(pairs: TrainingSet, seed: int) -> ConstrainedTranslator:
    sizes = {"embedding_size": 6, "encoder": {"hidden_size": 5}, "decoder": {"hidden_size": 7}}
    torch.manual_seed(seed)
    sides = pairs.source, pairs.target
    model = build_model(ModelConfig.model_validate(sizes), *(len(side.vocabulary) for side in sides)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 1)
    search = SearchConfig(beam_size=3, max_length=20, max_source_length=80, precision="float32")
    return ConstrainedTranslator(model, *sides, search, protect=pairs.config.protect)


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_training_pairs_have_masks_and_spell_the_text(tmp_path: Path, kind: str, size: int | None) -> None:
    pairs, text = learn(tmp_path, kind, size, True), corpus()
    ids = set(pairs.source.vocabulary.encode(MASKS[:3]))
    for number, example in enumerate(pairs.examples(range(len(pairs)), "0")):
        masked = mask(text.source[number], compiled(True))
        both = [[i for i in side if i in ids] for side in (example.source, example.target)]
        assert sorted(both[0]) == sorted(both[1])
        assert len(both[0]) == len(masked.spans) == number % 4
        assert pairs.source.vocabulary.decode(both[0]) == [character for character, _ in masked.pairs]
        if kind != "whitespace":  # whose text is spaced by tokens
            spelt = pairs.source.tokenizer.detokenize(pairs.source.vocabulary.decode(example.source))
            assert masked.restore([spelt]) == [text.source[number]]


@pytest.mark.parametrize("protect", [True, None], ids=["trained with masks", "without"])
@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_every_span_comes_once_whatever_the_weights(
    tmp_path: Path, kind: str, size: int | None, protect: bool | None
) -> None:
    pairs = learn(tmp_path, kind, size, protect)
    texts = [*corpus().source[:12], "", "%d %s? Neu %s. Alt %i %s!\nRot " + "{a}, " * 12, "Neu, http://example.org/%s"]
    for seed in (1, 2):
        model, reports = translator(pairs, seed), dict[int, Translation]()
        translations = model.translate(
            texts,
            protect=True,
            n_best=2,
            replace_unk=seed == 1,
            split=True,
            found=reports.__setitem__,
        )
        for number, (text, translation) in enumerate(zip(texts, translations, strict=True)):
            assert translation.source == text or translation.sentences
            expected = Counter(text[a:b] for a, b in spans(text, compiled(True)))
            for one in (translation, *translation.n_best):
                assert all(one.text.count(span) >= times for span, times in expected.items())
                copies = Counter(token for token in one.tokens if token in expected)
                assert copies == expected if protect else copies >= expected
                assert not set(one.text + "".join(one.tokens)) & set(MASKS)
            assert reports[number].text == translation.text
            for part in translation.sentences or (translation,):
                assert part.attention is not None
                for token, weights in zip(part.tokens, part.attention, strict=True):
                    if protect and token in expected:
                        assert token in part.source_tokens[int(weights.argmax())]  # unknown neighbours are part of it
            joined = [span for part in translation.sentences for span in part.tokens] or translation.tokens
            assert joined == translation.tokens


def test_plain_texts_are_translated_as_without(tmp_path: Path) -> None:
    model, texts = translator(learn(tmp_path, "sentencepiece", 60, None), 1), ["alt neu", "rot %s", "blau"]
    plain, protected = ([t.text for t in model.translate(texts, protect=one)] for one in (False, True))
    assert [plain[0], plain[2]] == [protected[0], protected[2]]
    with pytest.raises(UserError, match="not a regular expression"):
        model.translate(texts, protect=["("])
    with pytest.raises(UserError, match="sampling"):
        model.translate(texts, protect=True, sampling={"top_k": 2})


@pytest.mark.parametrize("protect", [True, None], ids=["trained with masks", "without"])
def test_names_that_the_model_cannot_spell_are_kept(tmp_path: Path, protect: bool | None) -> None:
    pairs = learn(tmp_path, "whitespace", None, protect)
    names = ["Łódź Œuvre", "Œuvre", "rot"]
    texts = ["alt Łódź Œuvre neu", "Œuvre rot, Œuvre neu", "Œuvres alt"]
    for seed in (1, 2):
        first, second, third = (t.text for t in translator(pairs, seed).translate(texts, keep=names))
        assert first.count("Łódź Œuvre") == 1
        assert second.count("Œuvre") == 2
        assert "rot" in second.split()
        assert "Œuvre" not in third  # another word


@pytest.mark.parametrize("protect", [True, None], ids=["trained with masks", "without"])
@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_names_are_kept_whatever_the_vocabulary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, size: int | None, protect: bool | None
) -> None:
    """Those in foreign letters exactly once for each whole word with the same capitals, apart from other words."""
    model = translator(learn(tmp_path, kind, size, protect), 1)
    texts = [
        "Neu Ωμέγα  λ, rot: Ωμέγα",
        "Ωμέγα-Ωμέγα ωμέγα ΩμέγαΩμέγα alt λ",
        "rot alt %s",
        "Łódź neu, Lo\u0301 rot. Łódź",
    ]
    keep = ["Ωμέγα", "Ωμέγα λ", "alt", " ", "Łódź", "L\u00f3"]
    for beam_size in (1, 3):
        results = [one.text for one in model.translate(texts, keep=keep, beam_size=beam_size, split=True)]
        assert [one.count("Ωμέγα") for one in results] == [2, 0, 0, 0]
        assert [one.count("Ωμέγα  λ") for one in results] == [1, 0, 0, 0]
        assert (results[3].count("Łódź"), results[3].count("Lo\u0301")) == (2, 1)
        assert all("alt" in one for one in results[1:3])
        if not protect:
            assert len(re.findall(r"\bΩμέγα\b|\bŁódź\b", " ".join(results))) == 4
    assert not capsys.readouterr().err
    with pytest.raises(UserError, match="sampling"):
        model.translate(texts, keep=keep, sampling={"top_k": 2})
    plain = model.translate(["neu rot"], keep=keep), model.translate(["neu rot"])
    assert plain[0][0].text == plain[1][0].text
