"""Models of several languages on one page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from support.page import Opener, labels, said
from support.serving import served

from nmt.page.explanation import explain
from nmt.system import bundled
from nmt.translator import Translator

FIRST = "Im Park spielt ein Mann in einem blauen Hemd Gitarre."
TYPED = "Zwei Männer spielen Fußball."


@pytest.fixture(scope="module")
def into_german() -> Translator:
    return Translator.load(bundled.models()["en", "de"], device="cpu")


@pytest.fixture(scope="module")
def at(translator: Translator, into_german: Translator, greedy: Translator) -> Iterator[str]:
    models = {"1": ("from German", translator), "2": ("into German", into_german), "3": ("greedy", greedy)}
    with served(models, runs=Path("none")) as address:
        yield address


def test_each_model_begins_with_a_sentence_that_it_can_read(
    open_page: Opener, at: str, into_german: Translator
) -> None:
    def languages() -> list[str | None]:
        return [page.locator(place).get_attribute("lang") for place in ("#text", "#said")]

    page = open_page(at=at)
    text, model = page.get_by_label("Sentence", exact=True), page.locator("#model")
    expect(text).to_have_value(FIRST)
    assert languages() == ["de", "en"]
    model.select_option("into German")
    expect(text).not_to_have_value(FIRST)
    expected = explain(into_german, text.input_value()).translation
    expect(page.locator("#score")).to_have_text(f"score {expected.score:.3f}")
    assert said(page) == labels(expected.tokens)
    assert "Park" in expected.text
    assert languages() == ["en", "de"]
    model.select_option("greedy")
    expect(text).to_have_value(FIRST)
    page.go_back()
    expect(text).to_have_value("In the park a man in a blue shirt is playing the guitar.")
    expect(model).to_have_value("2")
    text.fill(TYPED)  # what was typed stays for the next model
    page.locator("#model").select_option("from German")
    expect(text).to_have_value(TYPED)
    expect(page.locator("#said")).to_contain_text("soccer")


def test_the_model_of_the_text_s_language_is_offered(open_page: Opener, at: str) -> None:
    page = open_page("#text=This is English, not German.", at=at)
    expect(page.get_by_role("status")).to_contain_text("It seems to be English.")
    page.get_by_role("button", name="Translate with into German instead").click()
    expect(page.locator("#model")).to_have_value("2")
    expect(page.locator("#said")).to_contain_text("Schäferhund")
    page.get_by_label("Sentence", exact=True).fill("Les enfants dansent.")  # no model here reads that
    expect(page.get_by_role("status")).to_contain_text("unlike the text")
    expect(page.locator("#switch")).to_be_hidden()


def test_only_models_that_read_the_same_language_are_compared(open_page: Opener, at: str) -> None:
    page = open_page("#view=compare&models=1,2", at=at)
    boxes = page.get_by_role("group", name="Models to compare").get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    expect(page.locator(".column h3")).to_have_text(["from German"])
    page.get_by_role("checkbox", name="greedy").check()
    expect(page.locator(".column h3")).to_have_text(["from German", "greedy"])
    page.locator("#model").select_option("into German")
    expect(page.locator(".column h3")).to_have_text(["into German"])
    expect(page.locator("[role=tab]:visible")).to_have_text(["Attention", "Step by step", "Beam", "Model", "Compare"])
    page = open_page("#view=set", at=at)  # there is none, and who asks for it learns how to have one
    expect(page.locator("#panel")).to_contain_text("--test-set SOURCE REFERENCE")
