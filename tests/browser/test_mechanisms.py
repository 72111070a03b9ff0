"""What the page shows of heads, of a local window and of two levels: tiny models beside their own values."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
import torch
from playwright.sync_api import Browser, Page
from support.tiny_models import Variant, tiny_codecs, tiny_model

from nmt.config.search import SearchConfig
from nmt.explanation import explain
from nmt.translator import Translator

TEXT = "a b c d e f g h"
VARIANTS = [
    Variant("luong", "general", extra="heads"),
    Variant("luong", scope="local_p"),
    Variant("bahdanau", scope="hierarchical"),
]


def shown(page: Page) -> list[float]:
    return [float(title.rsplit(": ", 1)[1]) for title in page.locator("svg.heat title").all_text_contents()]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_each_mechanism_shows_what_it_does(
    browser: Browser, serving: Callable[..., AbstractContextManager[str]], variant: Variant
) -> None:
    search = SearchConfig(beam_size=2, max_length=6, precision="float32")
    translator = Translator(tiny_model(variant), *tiny_codecs(), search)
    found = explain(translator, TEXT)
    looks = [step.look for step in found.steps if step.look is not None]
    with serving({"1": ("tiny", translator)}) as address:
        context = browser.new_context(viewport={"width": 1200, "height": 800})
        page = context.new_page()
        page.goto(f"{address}#text={TEXT}")
        page.locator("svg.heat").wait_for()
        choice = page.get_by_label("Which part of the attention")
        assert shown(page) == pytest.approx([w for look in looks for w in look.weights.mean(dim=0).tolist()], abs=6e-4)
        if variant.extra == "heads":
            for head in (0, 1):
                choice.select_option(label=f"head {head + 1}")
                assert shown(page) == pytest.approx(
                    [w for look in looks for w in look.weights[head].tolist()], abs=6e-4
                )
        elif variant.scope == "local_p":
            assert choice.count() == 0
            page.locator("svg.rays [data-row='0']").hover()
            lit = [node.get_attribute("opacity") for node in page.locator("svg.rays .window").all()]
            assert lit == ["1" if row == 0 else "0" for row in range(len(looks))]
        else:
            levels = found.translation.levels
            assert levels is not None
            of_sentences, within = (level.flatten().tolist() for level in levels)
            choice.select_option(label="which sentence")
            assert shown(page) == pytest.approx(of_sentences, abs=6e-4)
            choice.select_option(label="which word of each sentence")
            assert shown(page) == pytest.approx(within, abs=6e-4)
            assert torch.tensor(of_sentences).numel() < torch.tensor(within).numel()
        context.close()
