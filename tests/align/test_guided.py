"""Guided alignment: its loss by the formula, its gradients in fast and plain training, and links of a file."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from support.tiny_config import WORDS
from support.tiny_models import VARIANTS, Variant, parametrised, tiny_model

from nmt.align.config import GuidedAlignmentConfig
from nmt.align.guided import with_empty_word
from nmt.config.run import Config
from nmt.data.batching import Example, collate
from nmt.data.store import Rows
from nmt.decoding.word_alignment import best_links
from nmt.fast import accelerate
from nmt.model.attention import Alignment
from nmt.system.errors import UserError
from nmt.training.interruption import StopSignals
from nmt.training.loss import BatchLoss
from nmt.training.run import run
from nmt.training.update import set_global_step
from nmt.translator import Translator

LINKS = [np.array([[0, 0], [1, 0], [2, 1], [3, 1], [1, 2]]), np.array([[0, 1]])]
BATCH = collate(
    [Example([5, 6, 7, 4], [4, 5, 6], LINKS[0]), Example([4, 4], [7, 8], LINKS[1]), Example([6], [4], None)]
)
GUIDED = GuidedAlignmentConfig(weight=0.5)
ATTENTIVE = [variant for variant in VARIANTS if variant.wiring != "none"]


def test_a_batch_has_the_share_of_each_link() -> None:
    expected = torch.zeros(
        3, 4, 5
    )  # each target position's links share 1; padding, <eos> and other positions have none
    expected[0, 0, :2] = expected[0, 1, 2:4] = 0.5
    expected[0, 2, 1] = expected[1, 1, 0] = 1
    assert BATCH.links is not None
    assert BATCH.links.equal(expected)
    assert collate([Example([5], [5])]).links is None


def test_the_loss_is_the_cross_entropy_of_the_links() -> None:
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.0, 0.2, 0.8]]])
    links = torch.tensor([[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]])
    expected = -0.5 * (0.5 * np.log(0.5) + 0.5 * np.log(0.25))  # the weight 0 of the second row is not seen
    assert GUIDED.loss(Alignment(weights, None), links).item() == pytest.approx(expected)
    fading = GuidedAlignmentConfig(weight=0.5, half_life=10)
    assert fading.loss(Alignment(weights, None), links, step=20).item() == pytest.approx(expected / 4)
    window = Alignment(weights[:, :, :2], torch.tensor([[[1, 2], [2, 3]]]))  # position 3 is behind the source's end
    assert GUIDED.loss(window, links).item() == pytest.approx(-0.5 * 0.5 * np.log(0.5))


@pytest.mark.parametrize("variant", **parametrised(ATTENTIVE))
def test_every_attention_learns_from_links(variant: Variant) -> None:
    """The fast modules' gradients are those of the plain model, and differ from those without links."""
    model = tiny_model(variant)
    gradients = []
    for guidance, fast in ((GUIDED.loss, False), (GUIDED.loss, True), (None, False)):
        losses = BatchLoss(deepcopy(model), 0.1, guidance)
        if fast:
            accelerate(losses, "float32")
        losses(BATCH).smoothed.backward()
        gradients.append([p.grad if p.grad is not None else torch.zeros_like(p) for p in losses.parameters()])
    plain, of_fast, without = gradients
    torch.testing.assert_close(of_fast, plain, rtol=1e-6, atol=1e-8)
    assert any(not one.allclose(other, atol=1e-6) for one, other in zip(plain, without, strict=True))


def test_a_target_position_without_links_is_linked_to_the_end_of_its_source() -> None:
    links = Rows(np.array([[1, 0], [0, 2], [2, 2], [0, 1]]), np.array([3, 0, 1], dtype=np.int32))
    whole = with_empty_word(links, np.array([3, 2, 1]), np.array([4, 2, 2]))
    assert [sorted(map(tuple, whole[n].tolist())) for n in range(3)] == [
        [(0, 2), (1, 0), (2, 2), (3, 1), (3, 3)],
        [],  # a pair without links has no loss
        [(0, 1), (1, 0)],
    ]


def test_links_of_guided_attention_are_of_half_the_largest_weight_and_none_where_the_end_has_more() -> None:
    weights = np.array([[0.5, 0.2, 0.3], [0.1, 0.1, 0.2], [0.3, 0.0, 0.1], [0.0, 0.0, 0.0]])
    assert best_links(weights) == {(0, 0), (2, 1), (0, 2)}
    assert best_links(weights, guided=True) == {(0, 0), (2, 0)}
    assert best_links(np.zeros((2, 0)), guided=True) == best_links(np.zeros((2, 0))) == frozenset()


def test_attention_follows_the_links_of_a_file(make_config: Callable[..., Config], tmp_path: Path) -> None:
    """Whatever they are: here of each word to the last but one, which no model would learn by itself."""
    draw = Random(8)
    lines = [draw.sample(list(WORDS), k=draw.randint(3, 7)) for _ in range(200)]
    names = ("src", "tgt", "links")
    contents = (lines, [[WORDS[word] for word in line] for line in lines], [])
    contents[2].extend([f"{len(line) - 2}-{t}" for t in range(len(line))] for line in lines)
    for name, text in zip(names, contents, strict=True):
        (tmp_path / f"more.{name}").write_text("".join(f"{' '.join(line)}\n" for line in text), encoding="utf-8")
    fields = [f"data.source.train={tmp_path / 'more.src'}", f"data.target.train={tmp_path / 'more.tgt'}"]
    fields += ["training.max_updates=120", "training.validate_every=120", "training.batch_size=20"]
    fields += [f"training.guided_alignment={{weight: 2, links: {tmp_path / 'more.links'}}}"]
    config = make_config(*fields)
    translator = Translator.load(run(config, StopSignals(), resume=False) / "last.safetensors", device="cpu")
    attention = translator.forced_attention(*(list(map(" ".join, side[:50])) for side in contents[:2]))
    right = [w[:-1].argmax(dim=1) == len(line) - 2 for w, line in zip(attention, lines, strict=False)]
    assert torch.cat(right).float().mean() > 0.95
    [translation] = translator.translate([" ".join(lines[0])])
    assert translation.alignment == tuple((len(lines[0]) - 2, t) for t in range(len(translation.text.split())))

    (tmp_path / "more.links").write_text("0-0\n7-0\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"more\.links has 2 lines, and the training text 200"):
        run(config.model_copy(update={"name": "other"}), StopSignals(), resume=False)
    (tmp_path / "more.links").write_text("0-0\n" * 199 + "7-0\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"more\.links, line 200: link 7-0 points outside"):
        run(config.model_copy(update={"name": "other"}), StopSignals(), resume=False)


def test_guided_alignment_needs_attention(make_config: Callable[..., Config]) -> None:
    config = make_config("model.attention.wiring=none", "training.guided_alignment={weight: 1}")
    with pytest.raises(UserError, match=r"set model\.attention\.wiring to bahdanau or luong"):
        run(config, StopSignals(), resume=False)


def test_the_weight_fades_with_the_updates() -> None:
    losses = BatchLoss(tiny_model(ATTENTIVE[0]), 0.0, GuidedAlignmentConfig(weight=2, half_life=5).loss)
    without = BatchLoss(losses.model, 0.0)(BATCH).smoothed
    added = []
    for step in (0, 5):
        set_global_step(losses, step)
        added.append((losses(BATCH).smoothed - without).item())
    assert added[0] > 0
    assert added[1] == pytest.approx(added[0] / 2, rel=1e-5)
