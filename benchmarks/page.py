"""How soon the page of `nmt serve` is there, and how soon it has an answer, in Chromium on this machine.

    python benchmarks/page.py

First paint: from the navigation to the first content, of a browser that has nothing of it yet; medians of `--rounds`.
An answer: what the page asks for each sentence (`/api/explain`, beam 5, the bundled model), and what programs ask
(`/api/translate`), until its JSON is read; medians over captions of Multi30k's test set 2016.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

from load import sentences

TIMED = """async ([path, text]) => {
    const begun = performance.now();
    const options = {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify({text})};
    await (await fetch(path, options)).json();
    return performance.now() - begun;
}"""
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--captions", type=int, default=100)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright  # after --help, which needs none

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    command = [sys.executable, "-u", "-m", "nmt", "serve", "--port", "0", "--device", "cpu"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        texts = sentences(Path(folder)).read_text(encoding="utf-8").splitlines()[: options.captions]
        assert server.stdout is not None
        address = server.stdout.readline().removeprefix("Open ").partition(" ")[0]
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
        for path in ("/api/explain", "/api/translate"):
            times = [page.evaluate(TIMED, [path, text]) for text in texts]
            print(f"{path}: median {median(times):.0f} ms, p95 {quantiles(times, n=20)[-1]:.0f} ms, of {len(times)}")
        browser.close()
        server.terminate()


if __name__ == "__main__":
    main()
