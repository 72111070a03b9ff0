"""Hierarchical attention: what a segment is, and how both levels are shown."""

import json
from argparse import Namespace

import pytest
import torch
from support.parameters import encode_alone
from support.tiny_models import ENDS, SOURCES, Variant, tiny_codecs, tiny_model

from nmt.build import segment_ends
from nmt.commands.output import format_lines
from nmt.config.model import AttentionConfig
from nmt.config.search import SearchConfig
from nmt.model.variants.hierarchical import segments
from nmt.system.errors import UserError
from nmt.text.vocabulary import EOS, PAD, SPECIALS, Vocabulary
from nmt.translator import Translator

A, DOT, MARK = 8, 5, 7  # a word, and two ids that end a segment


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        ([A, A, DOT, EOS], [0, 0, 0, 0]),  # the end of the source is no segment of its own
        ([A, DOT, A, A, MARK, EOS, PAD, PAD], [0, 0, 1, 1, 1, 1, 1, 1]),
        ([A, DOT, DOT, MARK, A, EOS], [0, 0, 0, 0, 1, 1]),  # several ends belong together
        ([DOT, A, EOS], [0, 1, 1]),
        ([A, A, EOS], [0, 0, 0]),
        ([EOS, PAD], [0, 0]),
    ],
)
def test_a_segment_ends_behind_an_end_that_a_word_follows(source, numbers):
    assert segments(torch.tensor([source]), (DOT, MARK)).tolist() == [numbers]
    assert segments(torch.tensor([source]), ()).tolist() == [[0] * len(source)]


def test_the_ends_are_found_among_the_source_tokens():
    config = AttentionConfig.model_validate({"scope": "hierarchical", "segment_ends": [".", "?"]})
    vocabulary = Vocabulary((*SPECIALS, "▁.", "a", ".", "!", "etc."))
    assert segment_ends(config, vocabulary) == (4, 6)
    assert segment_ends(AttentionConfig(), vocabulary) == ()
    with pytest.raises(UserError, match=r"segment_ends: none of \., \? is a source token.*scope to global"):
        segment_ends(config, Vocabulary((*SPECIALS, "a", "b.")))


def test_both_levels_are_written_and_drawn(tmp_path):
    model = tiny_model(Variant("luong", "general", "hierarchical", True))
    translator = Translator(model, *tiny_codecs(), SearchConfig(beam_size=2, max_length=6))
    text = " ".join(translator.source.vocabulary.decode(SOURCES[1]))
    (translation,) = translator.translate([text])
    numbers = encode_alone(model, [*SOURCES[1], EOS])[0].segments
    assert translation.segments == tuple(numbers)
    assert len(set(numbers)) == 3
    of_segments, within = translation.levels
    torch.testing.assert_close(of_segments[:, numbers] * within, translation.attention, rtol=0, atol=1e-12)
    for weights in (of_segments, *(within[:, torch.tensor(numbers) == number] for number in range(3))):
        torch.testing.assert_close(weights.sum(1), torch.ones(len(weights)).double(), rtol=0, atol=1e-12)
    (line,) = format_lines([translation], 0, Namespace(json=True, n_best=1))
    written = json.loads(line)
    expected = numbers, of_segments.tolist(), within.tolist()
    assert (written["segments"], written["segment_attention"], written["word_attention"]) == expected
    figure = translation.plot(tmp_path / "levels.svg")
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["Which sentence", "Which word of each sentence"]
    assert translator.translate([text], attention=False)[0].levels is None
    assert model.segment_ends == ENDS
