"""The page on which attention is trained in the reader's browser, as a folder of static files.

It shares style and drawing with the page that the add-on `nmt.page` offers, and `nmt.export`'s service worker.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from nmt.addons import offered
from nmt.system.bundled import SAMPLE
from nmt.system.errors import UserError

STATIC = Path(__file__).parent / "static"
SHARED = (
    *("chart.js", "drawing.js", "elements.js", "heat.js"),
    *("icon.svg", "page.css", "theme.js", "theme_button.js", "vendor"),
)
LONGEST = 8  # words of a caption


def captions() -> Iterator[str]:
    """Short pairs of the sample corpus, a line each, with a tab between German and English."""
    sides = [(SAMPLE / f"train.{code}").read_text(encoding="utf-8").splitlines() for code in ("de", "en")]
    short = (pair for pair in zip(*sides, strict=True) if max(len(side.split()) for side in pair) <= LONGEST)
    return ("\t".join(pair) + "\n" for pair in dict.fromkeys(short))


def preloading(folder: Path) -> str:
    """The page, which names all modules in `folder`: a browser loads them at once, not as each finds the next."""
    names = sorted(path.relative_to(folder).as_posix() for path in (folder / "playground" / "static").rglob("*.js"))
    links = "".join(f'    <link rel="modulepreload" href="{name}" />\n' for name in names)
    return (STATIC / "index.html").read_text(encoding="utf-8").replace("  </head>\n", f"{links}  </head>\n")


def write_playground(folder: Path) -> None:
    """Write the page into an empty folder, or one that does not exist. Raises `UserError` without the add-on page.

    Without the add-on export the page has no service worker, and needs its server on each visit.
    """
    page, site = offered("static_page"), offered("static_site")
    if page is None:
        raise UserError("the playground draws with the add-on nmt.page, which is not installed")
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder} is not empty: remove it first")
    shutil.copytree(STATIC, folder / "playground" / "static", ignore=shutil.ignore_patterns("index.html"))
    shared = folder / "page" / "static"
    shared.mkdir(parents=True)
    for name in SHARED:
        path = page.STATIC / name
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, shared / name)
    style = shared / "page.css"
    style.write_text(style.read_text(encoding="utf-8").replace("/static/icon.svg", "icon.svg"), encoding="utf-8")
    (folder / "index.html").write_text(preloading(folder), encoding="utf-8")
    (folder / "playground" / "captions.tsv").write_text("".join(captions()), encoding="utf-8")
    if site is not None:
        shutil.copyfile(site.ENGINE / "offline.js", folder / "offline.js")
        site.write_offline(folder, ("page/", "playground/"))
