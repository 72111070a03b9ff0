"""How soon the page of `nmt serve` is there, and how soon it has an answer, in Chromium on this machine.

    python benchmarks/page.py
    python benchmarks/page.py --page build/demo

First paint: from the navigation to the first content, of a browser that has nothing of it yet; medians of `--rounds`.
An answer: what the page asks for each sentence (`/api/explain`, beam 5, the bundled model), and what programs ask
(`/api/translate`), until it is there; medians over captions of Multi30k's test set 2016. With `--page`, a page whose
model runs in the browser (`make demo`) is timed instead; it answers only what a page asks.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from load import sentences

TIMED = """async ([path, text]) => {
    const { ask } = await import(new URL("static/api.js", location.href).href);
    const begun = performance.now();
    await ask(path, { text });
    return performance.now() - begun;
}"""
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--captions", type=int, default=100)
    parser.add_argument("--page", type=Path, metavar="FOLDER", help="a page that `nmt export --page` has written")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright  # after --help, which needs none

    chromium = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, serving(options.page) as address, sync_playwright() as playwright:
        texts = sentences(Path(folder)).read_text(encoding="utf-8").splitlines()[: options.captions]
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        paints = []
        for _ in range(options.rounds):
            page = browser.new_context().new_page()
            page.goto(address)
            page.locator("svg.rays").wait_for()
            paints.append(page.evaluate(PAINTED))
            page.context.close()
        print(f"first paint: median {median(paints):.0f} ms, largest {max(paints):.0f} ms, of {len(paints)}")
        page = browser.new_page()
        page.goto(address)
        page.locator("svg.rays").wait_for()
        for path in ("/api/explain", "/api/translate")[: 1 if options.page else 2]:
            times = [page.evaluate(TIMED, [path, text]) for text in texts]
            print(f"{path}: median {median(times):.0f} ms, p95 {quantiles(times, n=20)[-1]:.0f} ms, of {len(times)}")
        browser.close()


@contextmanager
def serving(page: Path | None) -> Iterator[str]:
    """The address of `nmt serve`, or of a folder of static files."""
    own = ["nmt", "serve", "--port", "0", "--device", "cpu"]
    static = ["http.server", "0", "--bind", "127.0.0.1", "--directory", str(page)]
    command = [sys.executable, "-u", "-m", *(static if page else own)]
    quiet = subprocess.DEVNULL if page else None  # http.server prints each request
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True) as server:
        assert server.stdout is not None
        try:
            addresses = [word.strip("()") for word in server.stdout.readline().split() if "://" in word]
            if not addresses:
                raise SystemExit(f"the server did not start: {' '.join(command)}")
            yield addresses[0]
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
