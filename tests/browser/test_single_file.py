"""The page that `nmt explain` writes, opened from disk."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from nmt.cli import main
from nmt.page.explanation import Explanation, explain
from nmt.translator import Translator

DOUBTS = "This sentence is unlike the text that the model was trained on: do not trust the translation."
TEXT = "<b></script> Ein Hund läuft."


def test_a_single_file_works_without_a_server(tmp_path: Path, browser: Browser, translator: Translator) -> None:
    file, text = tmp_path / "sentence.html", TEXT
    assert main(["explain", text, "--html", str(file), "--alternatives", "1", "--threads", "1"]) == 0
    context = browser.new_context(offline=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(file.as_uri())
    found = explain(translator, text)
    expect(page.locator("#score")).to_have_text(f"score {found.translation.score:.3f}")
    expect(page.get_by_label("Sentence", exact=True)).to_have_value(text)
    assert page.locator("svg.heat .cell").count() > 0
    page.locator("#tab-steps").click()
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".player .number")).to_contain_text("step 2 of")
    page.locator("#tab-beam").click()
    expect(page.locator(".node")).to_have_count(len(found.tree))
    place = next(i for i, node in enumerate(found.tree) if node.fate == "cut" and node.length == 2)
    page.locator(".node").nth(place).focus()
    expect(page.locator(".detail svg.heat")).to_be_visible()
    expect(page.locator(".detail .hint")).to_have_count(0)
    page.locator("#said button").nth(1).click()
    types = translator.target.vocabulary.tokens
    words = [types[token] for token, _ in found.steps[1].likeliest if token != found.steps[1].chosen]
    other = next(word for word in words if word not in ("<eos>", "<unk>"))
    place = [types[token] for token, _ in found.steps[1].likeliest].index(other)
    page.get_by_role("dialog").locator("table button").nth(place).click()
    prefix = [found.translation.tokens[0], other]
    [expected] = translator.translate([text], prefix=[prefix], precision="float32")
    expect(page.locator("#score")).to_have_text(f"score {expected.score:.3f}")
    _force(page, translator, text, found)
    _ask_for_more(page, file, found)
    assert complaints == []
    assert page.locator("main b").count() == 0
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', file.read_text(encoding="utf-8"))
    context.close()


def _force(page: Page, translator: Translator, text: str, found: Explanation) -> None:
    """Force the third step's attention onto the source token with the second largest weight."""
    page.get_by_role("button", name="Let it decide again").click()
    expect(page.locator("#score")).to_have_text(f"score {found.translation.score:.3f}")
    page.locator("#said button").nth(2).click()
    trace = found.steps[2].attention
    assert trace is not None
    _, second, third, *_ = trace.weights[0].argsort(descending=True).tolist()
    select = page.get_by_label("Or have this step read only")
    disabled = select.locator("option").evaluate_all("all => all.map((one) => one.disabled)")
    assert [s for s, off in enumerate(disabled) if not off] == sorted([second, third])
    select.select_option(str(second))
    page.get_by_role("button", name="Force its attention").click()
    forced = explain(translator, text, forced={2: second})
    expect(page.locator("#score")).to_have_text(f"score {forced.translation.score:.3f}")
    expect(page.locator("#said")).to_contain_text(forced.translation.text.split()[-1])


def _ask_for_more(page: Page, file: Path, found: Explanation) -> None:
    """What the file does not hold cannot be chosen, and an address that asks for it is refused."""
    page.locator("#said button").nth(0).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.get_by_label("Another word")).to_have_count(0)  # what it would be answered is not in the file
    page.get_by_role("button", name="Close").click()
    expect(page).not_to_have_url(re.compile("mind="))  # the page goes back by itself, a moment later
    trace = found.steps[0].attention
    assert trace is not None
    page.goto("about:blank")  # from the file itself only the part behind # would change, without loading it anew
    page.goto(f"{file.as_uri()}#forced=[[0,{int(trace.weights[0].argmin())}]]")
    expect(page.get_by_role("status")).to_contain_text("nmt serve")
    expect(page.locator("#told")).to_contain_text("step 1 reads only")
    page.get_by_role("button", name="Let it decide again").click()
    expect(page.locator("#score")).to_have_text(f"score {found.translation.score:.3f}")
    expect(page.get_by_role("status")).to_have_text(DOUBTS if found.translation.is_unlike_training else "")
