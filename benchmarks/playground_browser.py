"""How soon the playground's models are right in headless Chromium, and what drawing costs.

    python benchmarks/playground_browser.py [reverse|dates|pairs|memory …]

For each task: seconds until the first update after a first visit, and until the page shows the goal after a click on
Train, on the clock and of the CPU; how often the matrix is redrawn, the share of the CPU's time that drawing takes, in
other threads than the model's; and the machine's load, the mean of a minute.
`memory`: the page's memory, a minute after a minute of training on dates.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from playwright.sync_api import Page, sync_playwright

from nmt.playground.writing import write_playground

GOALS = {"reverse": ("%", 99), "dates": ("%", 95), "pairs": ("BLEU", 80)}
OTHERS = (b"DedicatedWorker", b"ThreadPool")  # names of threads
LONGEST = 600  # seconds
MINUTES = 10
COUNT = """
  window.redraws = 0;
  const { putImageData } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.putImageData = function (...image) {
    window.redraws += 1;
    putImageData.apply(this, image);
  };
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def address() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "page"
        write_playground(folder)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        print(f"the page: {size / 1e6:.2f} MB")
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}/"
            server.shutdown()


def renderer(page: Page) -> Path:
    """The folder in /proc of the process that shows the page: the one that takes most time while it computes."""
    page.evaluate("() => { const end = performance.now() + 300; while (performance.now() < end); }")
    folders = [path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if b"--type=renderer" in read(path)]
    return max(folders, key=cpu_seconds)


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # a process that has ended
        return b""


def cpu_seconds(process: Path) -> float:
    fields = read(process / "stat").rpartition(b")")[2].split()
    return sum(map(int, fields[11:13])) / 100 if fields else 0


def drawing_seconds(process: Path) -> float:
    """The CPU's time of the threads that draw: not the models', nor those that compile their code."""
    names = {path.parent: read(path) for path in process.glob("task/*/comm")}
    return sum(cpu_seconds(thread) for thread, name in names.items() if not name.startswith(OTHERS))


def shown(page: Page, unit: str) -> float:
    text = page.locator(".exact").first.inner_text()
    found = re.search(r"(\d+) %" if unit == "%" else r"BLEU ([\d.]+)", text)
    return float(found[1]) if found else 0


def measure(page: Page, where: str, task: str) -> None:
    page.goto(f"{where}#task={task}")
    page.locator(".exact").first.wait_for()
    page.get_by_role("button", name="One update").click()
    page.get_by_text(re.compile("^1 update,")).wait_for()
    first = page.evaluate("performance.now() / 1000")
    process = renderer(page)
    begin, cpu, drawn = time.perf_counter(), cpu_seconds(process), drawing_seconds(process)
    redraws = page.evaluate("redraws")
    page.get_by_role("button", name="Train", exact=True).click()
    unit, goal = GOALS[task]
    while (value := shown(page, unit)) < goal and time.perf_counter() < begin + LONGEST:
        time.sleep(0.2)
    seconds = time.perf_counter() - begin
    rate = (page.evaluate("redraws") - redraws) / seconds
    used = cpu_seconds(process) - cpu
    share = (drawing_seconds(process) - drawn) / used
    updates = page.locator("#updates").inner_text()
    print(
        f"{task}: first update after {first:.1f} s; {value:g} {unit} after {seconds:.1f} s, "
        f"{used:.1f} s of the CPU, {100 * share:.0f} % of them for {rate:.0f} redraws a second "
        f"({updates}; load {os.getloadavg()[0]:.1f})"
    )


def measure_memory(page: Page, where: str) -> None:
    page.goto(f"{where}#task=dates")
    page.locator(".exact").first.wait_for()
    process = renderer(page)
    page.get_by_role("button", name="Train", exact=True).click()
    for minute in range(1, MINUTES + 1):
        page.wait_for_timeout(60_000)
        kilobytes = re.search(rb"VmRSS:\s+(\d+)", read(process / "status"))
        updates = page.locator("#updates").inner_text()
        print(f"after {minute} min, {updates}: {int(kilobytes[1]) / 1000 if kilobytes else 0:.0f} MB")


def main(kinds: list[str]) -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
    with address() as where, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for kind in kinds or [*GOALS, "memory"]:
            page = browser.new_context().new_page()
            page.add_init_script(COUNT)
            if kind == "memory":
                measure_memory(page, where)
            else:
                measure(page, where, kind)
            page.context.close()


if __name__ == "__main__":
    main(sys.argv[1:])
