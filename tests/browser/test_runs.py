"""Runs of training on the page, beside their own files, while they train."""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from support.page import LOOKS, Keeper, Opener, assert_in_nobodys_way, cells, saved_words
from support.runs import events

from nmt.training.event_log import EventLog
from nmt.translator import Translator

SETTINGS = {"luong": "scope: local_p", "bahdanau": "scope: global"}


def examples(words: str) -> list[dict[str, str]]:
    return [{"source": "Ein Hund läuft.", "reference": "A dog runs.", "hypothesis": f"a dog {words}"}]


def measure(log: EventLog, updates: range, better: float) -> None:
    for update in updates:
        loss, rate = 1.5 + 5 * math.exp(-update / 250) - better, 0.001 * min(1, update / 300)
        speed = 3000 + 500 * better + 40 * math.sin(update)
        log.write("train", update, 1, loss=loss, learning_rate=rate, target_tokens_per_second=speed)
        if update % 200 == 0:
            said = examples(f"runs {update}")
            log.write("validation", update, 1, loss=loss + 0.3, bleu=40 - 7 * loss, examples=said)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    for better, (name, settings) in enumerate(SETTINGS.items()):
        (folder / "sweep" / name).mkdir(parents=True)
        (folder / "sweep" / name / "config.yaml").write_text(
            f"name: {name}\nmodel: {{cell: gru, attention: {{{settings}}}}}\n", encoding="utf-8"
        )
        with closing(EventLog(folder / "sweep" / name)) as log:
            measure(log, range(50, 850, 50), better / 2)
            if name == "luong":
                log.write("end", 800, 1, reason="800 updates", best=30.0, seconds=9.0)
    return folder


@pytest.fixture(scope="module")
def runs_address(
    serving: Callable[..., AbstractContextManager[str]], translator: Translator, folder: Path
) -> Iterator[str]:
    with serving({"1": ("bundled", translator)}, runs=folder) as address:
        yield address


def test_runs_are_shown_while_they_train(open_page: Opener, runs_address: str, folder: Path, keep: Keeper) -> None:
    page = open_page("#view=runs", at=runs_address)
    rows = page.locator("table.list tr[data-run]")
    expect(rows).to_have_count(2)
    by_name = {row.locator("label").inner_text().strip(): row for row in rows.all()}
    assert set(by_name) == {"sweep/luong", "sweep/bahdanau"}
    own = events(folder / "sweep" / "bahdanau")
    train = [event for event in own if event["event"] == "train"]
    numbers = by_name["sweep/bahdanau"].locator("td.number")
    expect(numbers.nth(0)).to_have_text("800")
    assert float(numbers.nth(1).inner_text()) == pytest.approx(train[-1]["loss"], abs=1e-3)
    assert numbers.nth(3).inner_text() == f"{max(e['bleu'] for e in own if e['event'] == 'validation'):.2f}"
    expect(by_name["sweep/luong"].locator("td.number").last).to_have_text("ended: 800 updates")
    loss = page.locator("svg.chart").first
    titles = loss.locator("circle title").all_text_contents()
    assert {f"sweep/bahdanau: {event['loss']:.4g} at {event['update']}" for event in train} <= set(titles)
    assert len(titles) == 2 * (16 + 4)  # of training, and of validation
    for place, kind in ((2, "learning_rate"), (3, "target_tokens_per_second")):
        titles = page.locator("svg.chart").nth(place).locator("circle title").all_text_contents()
        values = [float(title.split(": ")[1].split(" at ")[0].replace(",", "")) for title in titles[:16]]
        own = events(folder / titles[0].split(":")[0])
        assert values == pytest.approx([e[kind] for e in own if e["event"] == "train"], rel=1e-3)
    expect(page.locator("table.samples")).to_contain_text("a dog runs 800")
    keep(page, "runs")
    with closing(EventLog(folder / "sweep" / "bahdanau", 1 << 30)) as log:
        measure(log, range(850, 1050, 50), 0.5)
        log.write("validation", 1001, 1, loss=1.0, bleu=99.5, examples=examples("<img src=x onerror=alert(1)>"))
    expect(numbers.nth(0)).to_have_text("1,001")
    expect(numbers.nth(3)).to_have_text("99.50")
    expect(loss.locator("circle")).to_have_count(2 * (16 + 4) + 4 + 1 + 1)
    expect(page.locator("table.samples")).to_contain_text("<img src=x")
    assert page.locator("main img").count() == 0


def test_settings_stand_beside_each_other(open_page: Opener, runs_address: str) -> None:
    page = open_page("#view=runs", at=runs_address)
    table = page.locator("table.settings-table")
    page.get_by_label("only those that differ").wait_for()
    header, *rows = cells(table)
    columns = {name.removeprefix("sweep/"): place for place, name in enumerate(header)}
    assert {row[0] for row in rows} == {"name", "model.attention.scope"}
    [scopes] = [row for row in rows if row[0] == "model.attention.scope"]
    assert (scopes[columns["luong"]], scopes[columns["bahdanau"]]) == ("local_p", "global")
    page.get_by_label("only those that differ").uncheck()
    assert {row[0] for row in cells(table)[1:]} == {"name", "model.attention.scope", "model.cell"}


def test_chosen_runs_are_in_the_address_and_in_the_picture(open_page: Opener, runs_address: str) -> None:
    page = open_page("#view=runs", at=runs_address)
    page.get_by_role("checkbox", name="sweep/luong").uncheck()
    expect(page.locator("table.settings-table th")).not_to_contain_text(["sweep/luong"])
    other = open_page(page.url[page.url.index("#") :], at=runs_address)
    expect(other.get_by_role("checkbox", name="sweep/bahdanau")).to_be_checked()
    expect(other.get_by_role("checkbox", name="sweep/luong")).not_to_be_checked()
    words = saved_words(other)
    assert {"sweep/bahdanau", "Learning", "rate", "setting"} <= words


def test_no_run_may_be_chosen(open_page: Opener, runs_address: str) -> None:
    page = open_page("#view=runs", at=runs_address)
    for name in SETTINGS:
        page.get_by_role("checkbox", name=name).uncheck()
    other = open_page(page.url[page.url.index("#") :], at=runs_address)
    for name in SETTINGS:
        expect(other.get_by_role("checkbox", name=name)).not_to_be_checked()


def test_a_page_that_nobody_sees_follows_no_run(open_page: Opener, runs_address: str) -> None:
    """A browser opens six connections to a server: pages in other tabs must leave some."""
    page = open_page(at=runs_address)
    page.evaluate("""() => {
        window.sources = [];
        window.EventSource = class extends EventSource { constructor(place) { super(place); sources.push(this); } };
        window.show = (hidden) => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        };
    }""")
    page.locator("#tab-runs").click()
    expect(page.locator("table.samples")).to_be_visible()
    states = "sources.map((one) => one.readyState === EventSource.CLOSED)"
    assert page.evaluate(states) == [False]
    page.evaluate("show(true)")
    assert page.evaluate(states) == [True]
    page.evaluate("show(false)")
    assert page.evaluate(states) == [True, False]
    page.locator("#tab-attention").click()
    page.evaluate("show(false)")
    assert page.evaluate(states) == [True, True]


def test_who_may_not_follow_yet_is_told_and_asks_again(browser: Browser, runs_address: str) -> None:
    page = browser.new_context().new_page()
    refused = iter([True])

    def answer(route: Route) -> None:
        if next(refused, False):
            route.fulfill(status=503, json={"error": "too many are listening"})
        else:
            route.continue_()

    page.route("**/api/runs/events?*", answer)
    page.goto(f"{runs_address}#view=runs")
    expect(page.locator("#panel .hint")).to_contain_text("The server is busy")
    expect(page.locator("table.samples")).to_be_visible(timeout=10_000)
    expect(page.locator("#panel .hint")).to_have_text("Curves grow while a run trains.")
    page.context.close()


@pytest.mark.parametrize("look", LOOKS)
def test_runs_stand_in_nobodys_way(open_page: Opener, runs_address: str, look: str) -> None:
    page = open_page("#view=runs", at=runs_address, **LOOKS[look])
    expect(page.locator("table.samples")).to_be_visible()
    assert_in_nobodys_way(page)
    page.locator("#tab-runs").focus()
    page.keyboard.press("ArrowRight")  # around, to the first
    expect(page.locator("svg.rays")).to_be_visible()
