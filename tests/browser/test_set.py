"""A test set on the page, beside the translator's own translations and sacreBLEU's scores of them."""

import re

import pytest
import sacrebleu
from playwright.sync_api import Page, Route, expect
from support.page import PAIRS, Keeper, Opener, cells, saved_words

from nmt.evaluation.alignment import attend_words, best_links, score_alignment
from nmt.evaluation.checkpoints import TestSet as Set
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

SOURCES, REFERENCES = list(PAIRS), list(PAIRS.values())


def scores(translator: Translator) -> list[float]:
    texts = [one.text for one in translator.translate(SOURCES)]  # with capitals, as these models write
    return [sacrebleu.sentence_chrf(h, [r]).score for h, r in zip(texts, REFERENCES, strict=True)]


def sentences(page: Page) -> list[list[str]]:
    return cells(page.locator("table.list").last)[1:]


def ready(page: Page) -> None:
    expect(page.locator("svg.chart")).to_be_visible(timeout=30_000)
    expect(page.locator("progress")).to_have_count(0, timeout=30_000)


def test_sentences_have_scores_and_an_order(
    open_page: Opener, translator: Translator, greedy: Translator, keep: Keeper
) -> None:
    page = open_page("#view=set")
    ready(page)
    one, other = scores(translator), scores(greedy)
    assert one != other
    assert [row[0] for row in sentences(page)] == SOURCES
    assert [row[2:] for row in sentences(page)] == [[f"{a:.1f}", f"{b:.1f}"] for a, b in zip(one, other, strict=True)]
    summary = cells(page.locator("table.list").first)
    texts = [translation.text for translation in greedy.translate(SOURCES)]
    assert summary[2][1:3] == [
        f"{sacrebleu.corpus_bleu(texts, [REFERENCES], force=True).score:.2f}",
        f"{sacrebleu.corpus_chrf(texts, [REFERENCES]).score:.2f}",
    ]
    page.get_by_role("combobox", name="Score", exact=True).select_option(label="BLEU")
    bleu = [sacrebleu.sentence_bleu(h, [r]).score for h, r in zip(texts, REFERENCES, strict=True)]
    assert [row[3] for row in sentences(page)] == [f"{score:.1f}" for score in bleu]
    page.get_by_role("combobox", name="Score", exact=True).select_option(label="chrF")
    by_order = {
        "longest first": [4, 2, 5, 0, 1, 3],
        "worst of bundled, greedy first": sorted(range(6), key=lambda i: other[i]),
        "where bundled is better than bundled, greedy": sorted(range(6), key=lambda i: other[i] - one[i]),
    }
    for name, order in by_order.items():
        page.get_by_label("Order").select_option(label=name)
        assert [row[0] for row in sentences(page)] == [SOURCES[i] for i in order]
    page.get_by_role("button", name=SOURCES[0]).click()
    expect(page.locator("svg.heat")).to_have_count(2)
    keep(page, "set")
    assert page.locator("main b").count() == 0
    again = open_page(page.url[page.url.index("#") :])
    ready(again)
    assert sentences(again) == sentences(page)
    expect(again.locator("svg.heat")).to_have_count(2)
    assert {"Wiese.", "chrF", "BLEU"} <= saved_words(again)


def test_gold_links_are_outlined(open_page: Opener, translator: Translator, own_set: Set) -> None:
    page = open_page("#view=set&line=0")
    ready(page)
    expect(page.locator("svg.heat")).to_have_count(2)
    heat = page.locator("svg.heat").first
    assert (heat.locator(".gold.sure").count(), heat.locator(".gold.possible").count()) == (4, 2)
    assert own_set.words is not None
    assert own_set.words.links is not None
    text = ParallelText(SOURCES, REFERENCES)
    weights = list(attend_words(translator, text, own_set.words))
    shown = [float(title.rsplit(": ", 1)[1]) for title in heat.locator("title").all_text_contents()]
    assert shown == pytest.approx(weights[0].flatten().tolist(), abs=6e-4)
    links = [best_links(matrix) for matrix in weights]
    rate = score_alignment(links, own_set.words.links).error_rate
    assert cells(page.locator("table.list").first)[1][3] == f"{100 * rate:.1f} %"
    column = page.locator(".column", has_text="attention while it writes").first
    expect(column).to_contain_text(f"{100 * score_alignment(links[:1], own_set.words.links[:1]).error_rate:.1f} %")


def test_a_point_of_the_figure_opens_its_sentences(open_page: Opener, own_set: Set) -> None:
    assert own_set.words is not None
    lengths = [len(words) for words in own_set.words.source]
    page = open_page("#view=set")
    ready(page)
    points = page.locator("svg.chart circle[aria-label^='bundled, ']:not([aria-label^='bundled, greedy'])")
    labels = [point.get_attribute("aria-label") or "" for point in points.all()]
    buckets = [(1, 5), (6, 10), (11, 15), (16, 20), (21, 30)]
    counts = {bucket: sum(bucket[0] <= length <= bucket[1] for length in lengths) for bucket in buckets}
    assert [(label.split(":")[0], label.split(", ")[-1]) for label in labels] == [
        (f"bundled, {low}–{high} words", f"{count} sentences") for (low, high), count in counts.items() if count
    ]
    points.first.focus()
    page.keyboard.press("Enter")
    expect(points.first).to_be_focused()
    assert [row[0] for row in sentences(page)] == [s for s, n in zip(SOURCES, lengths, strict=True) if n <= 5]
    page.get_by_role("button", name="All lengths").click()
    assert len(sentences(page)) == 6
    sentence = page.get_by_role("button", name=SOURCES[1])
    sentence.press("Enter")
    expect(sentence).to_be_focused()
    expect(sentence).to_have_attribute("aria-expanded", "true")
    page.get_by_role("button", name="Watch it being translated").click()
    expect(page.get_by_label("Sentence", exact=True)).to_have_value(SOURCES[1])
    expect(page.locator("#score")).not_to_be_empty()


def test_a_sentence_is_drawn_once_however_fast_one_looks(open_page: Opener) -> None:
    page = open_page("#view=set")
    ready(page)
    held: list[Route] = []
    page.route("**/api/sets/1/sentences/*", lambda route: held.append(route))
    for count, line in enumerate((0, 1, 0), start=1):
        page.get_by_role("button", name=SOURCES[line]).click()
        while len(held) < count:
            page.wait_for_timeout(20)
    for route in held:
        route.continue_()
    expect(page.locator("svg.heat")).to_have_count(2)
    page.wait_for_timeout(300)
    expect(page.locator("svg.heat")).to_have_count(2)


def test_an_open_sentence_gets_the_models_that_finish_later(open_page: Opener) -> None:
    page = open_page("#view=runs")
    is_done = False

    def progress(route: Route) -> None:
        answer = route.fetch()
        values = answer.json()
        if not is_done and answer.url.endswith("sentences"):
            del values["models"][1:]  # there is none if the server itself is not done
        elif not is_done:
            values["models"][1]["summary"] = None
        route.fulfill(response=answer, json=values)

    page.route(re.compile(r"/api/sets/1(/sentences)?$"), progress)
    page.locator("#tab-set").click()
    page.get_by_role("button", name=SOURCES[0]).click()
    rows = page.locator("table.samples tr")
    expect(rows).to_have_count(3)  # source, reference, and one model
    is_done = True
    expect(rows).to_have_count(4)
    expect(page.locator("svg.heat")).to_have_count(2)
