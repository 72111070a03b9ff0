"""Runs of training on the page, beside their own files, while they train."""

from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect
from support.page import RUNS, Keeper, Opener, cells, examples, measure, saved_words
from support.runs import events

from nmt.training.event_log import EventLog


def test_runs_are_shown_while_they_train(open_page: Opener, runs_folder: Path, keep: Keeper) -> None:
    page = open_page("#view=runs")
    rows = page.locator("table.list tr[data-run]")
    expect(rows).to_have_count(2)
    loss = page.locator("svg.chart").first
    expect(loss.locator("circle")).to_have_count(2 * (16 + 4))  # of training, and of validation
    logged = {name: events(runs_folder / name) for name in RUNS}
    for name, run in logged.items():
        numbers = rows.filter(has_text=name).locator("td.number").all_text_contents()
        assert float(numbers[1]) == pytest.approx([e["loss"] for e in run if e["event"] == "train"][-1], abs=1e-3)
        assert numbers[3] == f"{max(e['bleu'] for e in run if e['event'] == 'validation'):.2f}"
    numbers = rows.filter(has_text="sweep/bahdanau").locator("td.number")
    expect(numbers.nth(0)).to_have_text("800")
    expect(rows.filter(has_text="sweep/luong").locator("td.number").last).to_have_text("ended: 800 updates")
    for place, kind in ((0, "loss"), (2, "learning_rate"), (3, "target_tokens_per_second")):
        titles = page.locator("svg.chart").nth(place).locator("circle title").all_text_contents()
        values = [float(title.split(": ")[1].split(" at ")[0].replace(",", "")) for title in titles[:16]]
        run = logged[titles[0].split(":")[0]]
        assert values == pytest.approx([e[kind] for e in run if e["event"] == "train"], rel=1e-3)
    expect(page.locator("table.samples")).to_contain_text("a dog runs 800")
    keep(page, "runs")
    with closing(EventLog(runs_folder / "sweep" / "bahdanau", 1 << 30)) as log:
        measure(log, range(850, 1050, 50), 0.5)
        log.write("validation", 1001, 1, loss=1.0, bleu=99.5, examples=examples("<img src=x onerror=alert(1)>"))
    expect(numbers.nth(0)).to_have_text("1,001")
    expect(numbers.nth(3)).to_have_text("99.50")
    expect(loss.locator("circle")).to_have_count(2 * (16 + 4) + 4 + 1 + 1)
    expect(page.locator("table.samples")).to_contain_text("<img src=x")
    assert page.locator("main img").count() == 0


def test_settings_and_chosen_runs_are_shown_shared_and_saved(open_page: Opener) -> None:
    page = open_page("#view=runs")
    table = page.locator("table.settings-table")
    page.get_by_label("only those that differ").wait_for()
    header, *rows = cells(table)
    assert {row[0] for row in rows} == {"name", "model.attention.scope"}
    [scopes] = [row for row in rows if row[0] == "model.attention.scope"]
    assert {name: scopes[header.index(name)] for name in RUNS} == RUNS
    page.get_by_label("only those that differ").uncheck()
    assert {row[0] for row in cells(table)[1:]} == {"name", "model.attention.scope", "model.cell"}
    page.get_by_role("checkbox", name="sweep/luong").uncheck()
    expect(table.locator("th")).not_to_contain_text(["sweep/luong"])
    other = open_page(page.url[page.url.index("#") :])
    expect(other.get_by_role("checkbox", name="sweep/bahdanau")).to_be_checked()
    expect(other.get_by_role("checkbox", name="sweep/luong")).not_to_be_checked()
    assert {"sweep/bahdanau", "Learning", "rate", "setting"} <= saved_words(other)
    page.get_by_role("checkbox", name="sweep/bahdanau").uncheck()
    none = open_page(page.url[page.url.index("#") :])
    for name in RUNS:
        expect(none.get_by_role("checkbox", name=name)).not_to_be_checked()
