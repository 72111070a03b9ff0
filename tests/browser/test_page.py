"""The page as people use it. What it shows is compared with what the translator gives."""

import math
import re

import pytest
import torch
from jaxtyping import Float
from playwright.sync_api import Locator, expect
from support.page import EXAMPLE, LOOKS, Keeper, Opener, assert_in_nobodys_way, labels, said
from support.toy_search import path_to
from torch import Tensor

from nmt.page.explanation import Explanation, explain, read
from nmt.translator import Translator

SENTENCE = "Zwei Männer spielen Fußball."
VIEWS = ["attention", "steps", "beam", "model", "compare", "neighbours", "set", "runs"]


def weights_of(explained: Explanation) -> Float[Tensor, "T S"]:
    """Of a model with one head."""
    return torch.cat([step.attention.weights for step in explained.steps if step.attention is not None])


def shown(heat: Locator) -> list[float]:
    return [float(title.rsplit(": ", 1)[1]) for title in heat.locator("title").all_text_contents()]


def column(table: Locator, number: int) -> list[float]:
    rows = table.locator("tr").all()[1:]
    return [float(row.locator("td.number").nth(number).inner_text().rstrip(" %")) for row in rows]


def test_it_translates_while_one_types_and_markup_is_text(open_page: Opener, translator: Translator) -> None:
    page = open_page()
    page.get_by_label("Sentence", exact=True).fill("")
    page.get_by_label("Sentence", exact=True).press_sequentially(SENTENCE, delay=20)
    expected = explain(translator, SENTENCE)
    expect(page.locator("#score")).to_have_text(f"score {expected.translation.score:.3f}")
    assert said(page) == labels(expected.translation.tokens)
    page.get_by_label("Sentence", exact=True).fill("")
    expect(page.locator("#panel")).to_contain_text("Type a sentence")
    page.get_by_label("whole words").check()
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))  # markup in a sentence is text
    page.get_by_label("Sentence", exact=True).fill("<img src=x onerror=alert(1)> <b>Hund</b>")
    expect(page.locator("svg.rays")).to_contain_text("onerror", timeout=30_000)  # a long translation
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        page.wait_for_timeout(400)
        assert page.locator("main img[src=x], main b").count() == 0


def test_terms_of_a_glossary_are_written_marked_and_in_the_address(open_page: Opener) -> None:
    page = open_page()
    page.get_by_label("Sentence", exact=True).fill("Ein Mann spielt Gitarre. Ein Hund schläft.")
    expect(page.locator("#sentences button")).to_have_count(2)
    glossary = page.get_by_label("Glossary")
    glossary.fill("Gitarre = banjo; Hund =")
    glossary.press("Enter")
    expect(page.locator("#said .term")).to_have_text(["banjo"])
    expect(page.locator("#sentences button").first).to_contain_text("banjo")
    again = page.context.new_page()
    again.goto(page.url)
    expect(again.locator("#said .term")).to_have_text(["banjo"])
    assert again.get_by_label("Glossary").input_value() == "Gitarre = banjo"


def test_attention_is_drawn_as_lines_and_cells(open_page: Opener, explained: Explanation, keep: Keeper) -> None:
    page = open_page("#words=0")
    weights = weights_of(explained)
    assert shown(page.locator("svg.heat")) == pytest.approx(weights.flatten().tolist(), abs=6e-4)
    widths = [float(ray.get_attribute("stroke-width") or 0) for ray in page.locator("svg.rays .ray").all()]
    assert widths == pytest.approx([max(0.4, 11 * w) for w in weights.flatten().tolist() if w > 0.015], abs=1e-3)
    page.locator("svg.rays [data-row='2']").hover()
    numbers = page.locator(".of-source").all_text_contents()
    assert [float(text or 0) for text in numbers] == pytest.approx(weights[2].tolist(), abs=6e-3)
    keep(page, "attention")
    page.locator("svg.rays [data-column='1']").hover()
    numbers = page.locator(".of-target").all_text_contents()
    assert [float(text or 0) for text in numbers] == pytest.approx(weights[:, 1].tolist(), abs=6e-3)


def test_whole_words_are_the_default(open_page: Opener, explained: Explanation) -> None:
    def in_words(row: Float[Tensor, " S"]) -> list[float]:
        return [row[:2].sum().item(), row[2:4].sum().item()]  # ⇧ ein, ⇧ hund

    page, weights = open_page(words=True), weights_of(explained)
    expect(page.locator("#said button")).to_have_text(["A", "dog", "runs", "through", "the", "grass", ".", "(end)"])
    assert shown(page.locator("svg.heat"))[:2] == pytest.approx(in_words(weights[:2].mean(dim=0)), abs=6e-4)  # ⇧ a
    expect(page.locator("#panel > .hint")).to_contain_text("look at the end of the sentence")
    page.locator("svg.rays [data-row='0']").click()
    expect(page.get_by_role("dialog")).to_contain_text("Instead of “A”")  # and not of the mark of its capital
    page.keyboard.press("Escape")
    page.locator("#tab-steps").click()
    reading, attention = page.locator("table").first, explained.steps[1].attention
    assert attention is not None
    sums = [math.log(value) for value in in_words(attention.scores[0].double().exp())]
    assert column(reading, 0)[:2] == pytest.approx(sums, abs=6e-3)
    assert column(reading, 1)[:2] == pytest.approx(in_words(weights[1]), abs=6e-4)
    names = {"query", "score", "weight", "context", "of the context", "probability"}
    assert names == set(page.locator(".formulas dt").all_text_contents())
    page.get_by_label("Example sentences").select_option(index=2)
    expect(page.locator("#said")).to_contain_text("People")


def test_the_steps_are_played(open_page: Opener, explained: Explanation, translator: Translator, keep: Keeper) -> None:
    page = open_page("#view=steps")
    types, title = translator.target.vocabulary.tokens, page.locator(".player .number")
    forward = page.get_by_role("button", name="Next")
    for number, step in enumerate(explained.steps, start=1):
        expect(title).to_have_text(f"step {number} of {len(explained.steps)}")
        reading, candidates = page.locator("table").all()
        assert step.attention is not None
        assert column(reading, 0) == pytest.approx(step.attention.scores[0].tolist(), abs=6e-3)
        assert column(reading, 1) == pytest.approx(step.attention.weights[0].tolist(), abs=6e-4)
        assert column(reading, 2) == pytest.approx((100 * step.attention.contributions).tolist(), abs=0.6)
        for strip, vector in zip(page.locator(".strip svg").all(), (step.query, step.context), strict=True):
            numbers = re.findall(r"-?[\d.]+", strip.get_attribute("aria-label") or "")
            ends = [len(vector), vector.min().item(), vector.max().item()]
            assert list(map(float, numbers)) == pytest.approx(ends, abs=6e-3)
        assert candidates.locator("button").all_text_contents() == [labels([types[t]]) for t, _ in step.likeliest]
        assert column(candidates, 0) == pytest.approx([p for _, p in step.likeliest], abs=6e-4)
        keep(page, "steps") if number == 3 else None
        forward.click() if number < len(explained.steps) else None
    expect(forward).to_have_attribute("aria-disabled", "true")
    forward.press("Enter")
    expect(forward).to_be_focused()
    page.get_by_role("button", name="Back").click()
    expect(title).to_contain_text(f"step {len(explained.steps) - 1} of")
    slider = page.get_by_label("Step", exact=True)
    slider.fill("3")
    expect(title).to_contain_text("step 4 of")
    slider.press("Home")
    page.get_by_role("button", name="Play").click()
    expect(title).to_contain_text("step 2 of")
    page.get_by_role("button", name="Pause").click()


def test_the_beam_is_a_tree(open_page: Opener, explained: Explanation, translator: Translator, keep: Keeper) -> None:
    page = open_page("#view=beam")
    nodes, detail = page.locator(".node"), page.locator(".detail")
    expect(nodes).to_have_count(len(explained.tree))
    for fate in ("kept", "cut", "finished"):
        assert page.locator(f".node.{fate}").count() == sum(node.fate == fate for node in explained.tree)
    types = translator.target.vocabulary.tokens
    paths = [[types[token] for token in path_to(explained.tree, place)] for place in range(len(explained.tree))]
    greedy = [path == explained.greedy.tokens[: len(path)] for path in paths]
    assert any(greedy)
    assert nodes.evaluate_all("all => all.map((one) => one.classList.contains('greedy'))") == greedy
    [best] = [node for node in explained.tree if node.rank == 0]
    assert page.locator(".node.best").count() == best.length
    place, node = next((i, one) for i, one in enumerate(explained.tree) if one.fate == "cut" and one.length == 2)
    nodes.nth(place).hover()
    expect(detail.locator(".sentence")).to_have_text(translator.target.tokenizer.detokenize(paths[place]))
    expect(detail).to_contain_text(f"÷ length penalty {node.penalty:.3f} = score {node.score:.3f}")
    detail.locator("svg.heat").wait_for()
    columns = len(explained.translation.source_tokens)
    assert detail.locator("svg.heat g > g").count() == columns * len(paths[place])
    keep(page, "beam")
    page.get_by_role("button", name="Go on from here").click()
    expect(page.locator("#said button.fixed")).to_have_count(2)


def test_the_model_is_told_otherwise(
    open_page: Opener, explained: Explanation, translator: Translator, keep: Keeper
) -> None:
    page = open_page()
    types, dialog, score = translator.target.vocabulary.tokens, page.get_by_role("dialog"), page.locator("#score")

    def put(word: str) -> None:
        page.get_by_label("Another word").fill(word)
        page.get_by_role("button", name="Put it there").click()
        expect(page.locator("#told")).to_contain_text(f"begins with “{word.capitalize()}”")

    page.locator("#said button").nth(2).click()
    other = next(types[t] for t, _ in explained.steps[2].likeliest if types[t] != explained.translation.tokens[2])
    keep(page, "change")
    dialog.get_by_role("button", name=labels([other]), exact=True).click()
    prefix = [*explained.translation.tokens[:2], other]
    [expected] = translator.translate([EXAMPLE], prefix=[prefix], precision="float32")
    expect(score).to_have_text(f"score {expected.score:.3f}")
    assert said(page) == labels(expected.tokens)
    back = page.get_by_role("button", name="Let it decide again")
    back.click()
    expect(score).to_have_text(f"score {explained.translation.score:.3f}")
    page.locator("#said button").nth(1).click()
    put("giraffe")
    back.click()
    page.locator("svg.rays [data-row='1']").click()
    expect(dialog).to_contain_text("Instead of “a”")
    put("Two")
    [expected] = translator.translate([EXAMPLE], prefix=[["⇧▁", "▁two"]], precision="float32")
    expect(score).to_have_text(f"score {expected.score:.3f}")
    back.click()
    page.locator("#said button").nth(1).click()
    page.get_by_label("Or have this step read only").select_option(label="9. wiese")
    page.get_by_role("button", name="Force its attention").click()
    forced = explain(translator, EXAMPLE, forced={1: 8})
    expect(score).to_have_text(f"score {forced.translation.score:.3f}")
    assert said(page) == labels(forced.translation.tokens)
    expect(page.locator("#told")).to_contain_text("step 2 reads only “wiese”")


def test_models_and_a_reference_stand_side_by_side(open_page: Opener, translator: Translator, keep: Keeper) -> None:
    reference = "a dog is running over the meadow."
    page = open_page("#view=compare")
    page.get_by_label("A translation of your own").fill(reference)
    page.get_by_label("A translation of your own").press("Enter")
    columns = page.locator(".column")
    expect(columns).to_have_count(3)
    tokens, steps = read(translator, EXAMPLE, reference)
    expect(columns.nth(2)).to_contain_text(f"{len(tokens)} tokens")
    expect(columns.nth(2)).to_contain_text(f"probability {min(step.probability for step in steps):.3f}")
    greedy = translator.translate([EXAMPLE], beam_size=1)[0]
    expect(columns.nth(1)).to_contain_text(f"score {greedy.score:.3f}")
    assert {"grass."} <= set(columns.nth(0).locator("ins").all_text_contents())
    expect(page.locator("#panel > .hint")).to_have_text("Marked: words that are not in “Your translation”.")
    keep(page, "compare")


def test_the_blocks_of_the_model_open_in_place(open_page: Opener, explained: Explanation) -> None:
    page = open_page("#view=model", words=True)
    expect(page.locator("#panel")).to_contain_text("non-commercial research and education only")
    blocks, opened = page.locator(".diagram button"), page.locator("#opened")
    expect(blocks).to_have_text(["Tokens", "Encoder", "Decoder", "Attention", "Output", "Beam search"])
    blocks.nth(4).press("Enter")
    expect(opened).to_contain_text(f"{max(p for _, p in explained.steps[1].likeliest):.3f}")  # of the first word
    blocks.nth(3).press("Space")
    expect(blocks.nth(3)).to_be_focused()
    expect(page.locator("[aria-expanded=true]")).to_have_text(["Attention"])
    expect(opened).to_contain_text("tanh(Wa h + Ua vs)")
    opened.get_by_role("button", name="See it in Attention").click()
    expect(page.locator("svg.heat")).to_be_visible()
    blocks.nth(3).click()
    expect(opened).to_be_hidden()


def test_the_keyboard_is_enough(open_page: Opener) -> None:
    page = open_page()
    page.locator("#tab-attention").focus()
    for view in (*VIEWS[1:], VIEWS[0]):
        page.keyboard.press("ArrowRight")
        expect(page.locator(f"#tab-{view}")).to_be_focused()
        expect(page.locator(f"#tab-{view}")).to_have_attribute("aria-selected", "true")
    page.locator("svg.rays [data-row='1']").focus()
    assert any(page.locator(".of-source").all_text_contents())
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    page.get_by_label("whole words").press("Space")
    expect(page.get_by_label("whole words")).to_be_focused()  # though all around it was drawn anew


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_stands_in_anyones_way(open_page: Opener, look: str, keep: Keeper) -> None:
    page = open_page("#line=0", words=True, **LOOKS[look])
    drawn = {"model": "#panel img", "neighbours": "#panel table tr", "set": "#panel svg.heat", "runs": "table.samples"}
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        expect(page.locator(drawn.get(view, "#panel svg")).first).to_be_visible()
        page.wait_for_timeout(700)
        assert_in_nobodys_way(page)
        if look == "dark" and view == "steps":
            keep(page, "dark")
        if look == "phone" and view == "attention":
            keep(page, "phone")
            heat = page.locator(".pair .scroll")  # a short sentence needs no scrolling
            assert heat.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    page.locator("#tab-runs").press("ArrowRight")  # around, to the first
    page.locator("#said button").first.click()
    assert_in_nobodys_way(page)
    page.keyboard.press("Escape")
    if look == "light":
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name=re.compile("^Dark$")).click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != background
        page.reload()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
