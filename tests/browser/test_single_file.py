"""The page that `nmt explain` writes, opened from disk (tests/page/test_html_report.py: what is in it)."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from nmt.cli import main
from nmt.page.explanation import explain
from nmt.translator import Translator

TEXT = "<b></script> Ein Hund läuft."


def test_a_single_file_works_without_a_server(tmp_path: Path, browser: Browser, translator: Translator) -> None:
    file = tmp_path / "sentence.html"
    assert main(["explain", TEXT, "--html", str(file), "--alternatives", "1", "--threads", "1"]) == 0
    page = browser.new_context(offline=True).new_page()
    complaints: list[str] = []
    page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(f"{file.as_uri()}#words=0")
    explained = explain(translator, TEXT)
    score, words, dialog = page.locator("#score"), page.locator("#said button"), page.get_by_role("dialog")
    expect(score).to_have_text(f"score {explained.translation.score:.3f}")
    expect(page.get_by_label("Sentence", exact=True)).to_have_value(TEXT)
    assert page.locator("svg.heat .cell").count() > 0
    page.locator("#tab-steps").click()
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".player .number")).to_contain_text("step 2 of")
    page.locator("#tab-beam").click()
    expect(page.locator(".node")).to_have_count(len(explained.tree))
    page.locator(".node.cut").first.focus()
    expect(page.locator(".detail .number")).to_contain_text("log-probability")
    page.locator("#tab-model").click()
    page.locator("#panel img").evaluate("(picture) => picture.decode()")  # it is in the file
    # What the file holds: another word at each step, and the second and third most read source words
    step, types = explained.steps[1], translator.target.vocabulary.tokens
    likeliest = [types[token] for token, _ in step.likeliest]
    other = next(token for token in likeliest if token not in ("<eos>", "<unk>", types[step.chosen]))
    words.nth(1).click()
    expect(page.get_by_label("Another word")).to_have_count(0)  # what it would be answered is not in the file
    dialog.locator("table button").nth(likeliest.index(other)).click()
    prefix = [explained.translation.tokens[0], other]
    [expected] = translator.translate([TEXT], prefix=[prefix], precision="float32")
    expect(score).to_have_text(f"score {expected.score:.3f}")
    page.get_by_role("button", name="Let it decide again").click()
    words.nth(1).click()
    assert step.attention is not None
    _, second, *_, least = step.attention.weights[0].argsort(descending=True).tolist()
    page.get_by_label("Or have this step read only").select_option(str(second))
    page.get_by_role("button", name="Force its attention").click()
    expect(score).to_have_text(f"score {explain(translator, TEXT, forced={1: second}).translation.score:.3f}")
    # What it does not hold is refused
    page.goto("about:blank")  # from the file itself only the part behind # would change, without loading it anew
    page.goto(f"{file.as_uri()}#forced=[[0,{least}]]")
    expect(page.get_by_role("status")).to_contain_text("nmt serve")
    page.get_by_role("button", name="Let it decide again").click()
    expect(score).to_have_text(f"score {explained.translation.score:.3f}")
    assert complaints == []
    assert page.locator("main b").count() == 0
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', file.read_text(encoding="utf-8"))
    page.context.close()
