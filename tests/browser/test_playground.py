"""The page on which attention is trained in the browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.staticfiles import StaticFiles
from support.page import LOOKS, assert_in_nobodys_way
from support.serving import running

from nmt.playground.writing import captions, write_playground
from nmt.translator import Translator

LARGEST = 1.5e6  # bytes
Opener = Callable[..., Page]
# The largest difference between a cell's opacity and what its weight, in words, should give.
PAINTED = """() => {
  const canvas = document.querySelector("#models canvas");
  const titles = [...document.querySelectorAll("svg.heat title")];
  const weights = titles.map((title) => Number(title.textContent.split(" ").pop()));
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return Math.max(...weights.map((weight, i) => Math.abs(data[4 * i + 3] / 255 - weight ** 0.75)));
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("playground") / "page"
    write_playground(folder)
    return folder


@pytest.fixture
def open_playground(browser: Browser, folder: Path) -> Iterator[Opener]:
    """`open_playground(HASH, …)`: a page of its own, which must not complain and asks no other server for anything."""
    complaints: list[str] = []
    with running(StaticFiles(directory=folder, html=True)) as address:

        def open_it(place: str = "", **options: object) -> Page:
            page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
            page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda request: request.url.startswith(address) or complaints.append(request.url))
            page.goto(address + place)
            expect(page.locator(".exact").first).to_contain_text("after 0 updates")
            return page

        yield open_it
        assert complaints == []


def train(page: Page) -> None:
    page.get_by_role("button", name="Train", exact=True).click()


def sharpness(page: Page) -> float:
    """The mean of the rows' largest weights."""
    rows: dict[str, float] = {}
    for title in page.locator("svg.heat title").all_text_contents():
        row, weight = title.split(" ← ")[0], float(title.rsplit(" ", 1)[1])
        rows[row] = max(rows.get(row, 0), weight)
    return sum(rows.values()) / len(rows)


def test_it_learns_to_reverse_and_shows_how_the_matrix_became_sharp(open_playground: Opener) -> None:
    page = open_playground("#task=reverse")
    expect(page.locator("svg.heat")).to_be_visible()
    assert sharpness(page) < 0.3
    train(page)
    expect(page.locator(".exact")).to_contain_text(re.compile(r": (9[5-9]|100) %"), timeout=180_000)
    expect(page.locator("#models mark").first).to_be_visible()
    expect(page.locator(".written.right")).to_be_visible(timeout=60_000)  # the longest word is right later than most
    expect(page.locator("#models")).to_contain_text("Output: as the reference")
    page.get_by_role("button", name="Pause").click()
    assert sharpness(page) > 0.5
    assert page.evaluate(PAINTED) < 0.02
    page.get_by_label("History").fill("0")
    expect(page.locator("#shown")).to_have_text("after 0 updates")
    expect(page.locator(".exact")).to_contain_text("after 0 updates")
    assert sharpness(page) < 0.3
    for chart in page.locator("#curves svg").all():
        assert "nothing yet" not in str(chart.get_attribute("aria-label"))


def test_the_last_example_that_is_chosen_is_shown(open_playground: Opener) -> None:
    """Also where snapshots of an earlier one are still on their way."""
    page = open_playground("#task=reverse&seed=2")
    train(page)
    expect(page.locator("#updates")).to_contain_text(re.compile(r"^\d{3,} updates"), timeout=60_000)
    page.get_by_label("History").fill("3")
    page.evaluate("""() => {
      const [select] = document.querySelectorAll("#example");
      for (const place of [40, 90, 60]) {
        select.selectedIndex = place;
        select.dispatchEvent(new Event("change"));
      }
    }""")
    word = page.locator("#example option").nth(60).inner_text()
    expect(page.locator("svg.heat")).to_contain_text(word)
    expect(page.get_by_role("status")).to_have_text("")


def test_unknown_settings_of_the_address_are_named(open_playground: Opener) -> None:
    page = open_playground("#task=foo&seed=2&model=none&colour=red")
    expect(page.get_by_role("status")).to_have_text("Ignored in the address, as unknown here: task, colour.")
    expect(page.get_by_label("Seed")).to_have_value("2")


def test_two_models_train_on_the_same_batches_step_by_step(open_playground: Opener) -> None:
    page = open_playground("#task=dates&hidden=16&model=luong.dot.local_p.3&model=none")
    expect(page.locator(".exact")).to_have_count(2)
    for count in (1, 2):
        page.get_by_role("button", name="One update").click()
        expect(page.locator("#updates")).to_contain_text(f"{count} update")
    expect(page.locator("#models .empty")).to_contain_text("No attention, and no matrix")
    train(page)
    expect(page.locator("#updates")).to_contain_text(re.compile(r"^([5-9]\d|\d{3}) updates"), timeout=60_000)
    page.get_by_role("button", name="Back to the start").click()
    expect(page.locator("#updates")).to_contain_text("0 updates")
    page.get_by_role("button", name="Remove").last.click()
    expect(page.locator("#models > section")).to_have_count(1)
    assert page.url.endswith("#task=dates&hidden=16&encoder=half&rate=0.005&forcing=1&seed=1&model=luong.dot.local_p.3")


def test_settings_are_in_the_address_and_an_experiment_sets_them(open_playground: Opener) -> None:
    page = open_playground()
    page.get_by_label("Task").select_option("dates")
    expect(page.locator("#reference")).to_have_text(re.compile(r"^→ \d{4}-\d\d-\d\d$"))
    page.get_by_label("Score").focus()
    page.get_by_label("Score").select_option("general")
    assert page.evaluate("document.activeElement.id") == "model-0-score"
    sizes = "hidden=64&encoder=half"
    assert page.url.endswith(f"#task=dates&{sizes}&rate=0.005&forcing=1&seed=1&model=bahdanau.general.global")
    page.get_by_text("Guided experiments").click()
    page.get_by_role("link", name="Why attention").click()
    expect(page.locator("#models h2")).to_have_text(["Bahdanau, additive, global", "no attention"])
    expect(page.get_by_label("Task")).to_have_value("reverse")


def test_dot_with_unequal_sizes_says_what_to_change(open_playground: Opener) -> None:
    page = open_playground()
    page.get_by_text("Guided experiments").click()
    page.get_by_role("link", name="Dot with unequal sizes").click()
    message = "64 elements, a memory vector 2 · 16 = 32. Set the encoder size to 32, or choose the score general"
    expect(page.get_by_role("status")).to_contain_text(message)
    train(page)
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()
    page.get_by_label("Score").select_option("general")
    page.get_by_role("button", name="One update").click()
    expect(page.locator("#updates")).to_contain_text("1 update,")
    expect(page.get_by_role("status")).to_have_text("")


def test_terms_are_explained_where_they_are(open_playground: Opener) -> None:
    page = open_playground("#task=pairs&hidden=16")
    for name in ("attends", "token", "held out", "exact matches", "BLEU", "gradient norm"):
        meaning = page.locator(f"#{page.get_by_role('button', name=name).first.get_attribute('popovertarget')}")
        expect(meaning).to_be_hidden()
        page.get_by_role("button", name=name).first.press("Enter")
        expect(meaning).to_be_visible()
        page.keyboard.press("Escape")
        expect(meaning).to_be_hidden()


def test_a_phone_shows_the_matrix_and_what_starts_it_at_once(open_playground: Opener) -> None:
    page = open_playground("#task=reverse", viewport={"width": 390, "height": 844}, has_touch=True)
    for place in (page.get_by_role("button", name="Train", exact=True), page.locator("#models canvas")):
        box = place.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 844
    expect(page.get_by_label("Score")).to_be_hidden()
    page.get_by_text("Settings of this model").tap()
    page.get_by_label("Score").select_option("dot")
    expect(page.locator("#models h2")).to_have_text("Bahdanau, dot, global")
    expect(page.get_by_label("Score")).to_be_visible()


def test_a_checkpoint_is_saved_and_goes_on_where_it_was(open_playground: Opener, tmp_path: Path) -> None:
    page = open_playground("#task=dates&hidden=16&model=luong.dot.local_m.5")
    train(page)
    expect(page.locator(".exact")).to_contain_text(re.compile(r"after [1-9]\d* updates"), timeout=60_000)
    page.get_by_role("button", name="Pause").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save checkpoint").click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    (translation,) = Translator.load(file, device="cpu").translate(["1. Mai 1987"])
    assert set(translation.text) <= set("0123456789-")
    page = open_playground("#task=reverse")
    open_checkpoint(page, file)
    expect(page.locator("#models h2")).to_have_text("Luong, dot, local-m, D = 5")
    expect(page.locator("#models")).to_contain_text("began with the weights of playground-dates.safetensors")
    expect(page.get_by_label("Task")).to_have_value("dates")
    page.get_by_role("button", name="One update").click()
    expect(page.locator("#curves svg").first).to_have_attribute("aria-label", re.compile("the last [01]"))
    file.write_bytes(file.read_bytes()[:-1])
    open_checkpoint(page, file)
    expect(page.get_by_role("status")).to_contain_text("playground-dates.safetensors: The checkpoint is damaged")


def open_checkpoint(page: Page, file: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a checkpoint").click()
    chooser.value.set_files(file)


def test_a_report_has_all_that_is_seen_and_needs_nothing_else(open_playground: Opener, tmp_path: Path) -> None:
    page = open_playground("#task=dates&hidden=16&model=bahdanau.dot.global&model=none", color_scheme="dark")
    page.get_by_role("button", name="One update").click()
    expect(page.locator("#updates")).to_contain_text("1 update")
    page.get_by_text("Take it home").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the report").click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    text = file.read_text(encoding="utf-8")
    assert not re.search("src=|<script|<link", text)
    page = page.context.new_page()
    page.goto(file.as_uri())
    expect(page.locator("h1")).to_have_text("Attention, trained to write out a date")
    expect(page.locator("h2")).to_have_text(["Bahdanau, dot, global", "no attention"])
    assert "1 update, 32 pairs each" in page.inner_text("body")
    assert page.locator("svg").count() == 3  # two curves, and a matrix
    assert_in_nobodys_way(page)


def test_captions_and_pasted_pairs(open_playground: Opener) -> None:
    page = open_playground("#task=pairs&hidden=16")
    expect(page.locator(".exact")).to_contain_text(re.compile(r"of 100 held-out examples, BLEU \d"))
    assert page.get_by_label("Pairs, at least 20").input_value() == "".join(captions())
    page.get_by_label("Pairs, at least 20").fill("eins\tone\n")
    page.get_by_role("button", name="Use these pairs").click()
    expect(page.get_by_role("status")).to_have_text("At least 20 different pairs are needed: paste more (here: 1).")
    page.get_by_label("Pairs, at least 20").fill("".join(f"das {i}\tthe {i}\n" for i in range(30)))
    page.get_by_role("button", name="Use these pairs").click()
    expect(page.locator(".exact")).to_contain_text("of 3 held-out")
    few = "Exact matches move in steps of 33 %: paste 200 pairs or more."
    expect(page.locator("#held")).to_have_text(f"One pair in ten is held out, at most 100: here 3. {few}")
    page.get_by_role("button", name="One update").click()
    expect(page.locator("#updates")).to_have_text("1 update, 32 pairs each")
    page.reload()
    expect(page.locator(".exact")).to_contain_text("of 3 held-out")
    assert page.get_by_label("Pairs, at least 20").input_value().startswith("das 0\tthe 0\n")
    many = "".join(f"{i * i * 7919 % 10007} {i}\t{i * 104729 % 9973} {i}\n" for i in range(3000))
    page.evaluate("many => { document.getElementById('pairs').value = many; }", many)
    page.get_by_role("button", name="Use these pairs").click()
    expect(page.get_by_role("status")).to_contain_text("too long for the address")
    assert "pairs=" not in page.url.replace("task=pairs", "")


def test_it_loads_once_is_small_and_then_works_without_a_network(browser: Browser, folder: Path) -> None:
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < LARGEST
    context = browser.new_context()
    with running(StaticFiles(directory=folder, html=True)) as address:
        page = context.new_page()
        page.goto(address)
        page.evaluate("navigator.serviceWorker.ready")
        page.close()
    page = context.new_page()
    page.goto(address)
    expect(page.locator(".exact")).to_contain_text("after 0 updates")
    page.get_by_role("button", name="One update").click()
    expect(page.locator("#updates")).to_have_text("1 update, 32 pairs each")
    context.close()


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_stands_in_anyones_way(open_playground: Opener, look: str) -> None:
    page = open_playground("#task=dates&model=bahdanau.dot.global&model=none", **LOOKS[look])
    page.get_by_text("Guided experiments").click()
    page.get_by_role("button", name="One update").click()
    expect(page.locator("#updates")).to_contain_text("1 update")
    assert_in_nobodys_way(page)
