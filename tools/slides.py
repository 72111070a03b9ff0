"""Write slides of the lessons: `python tools/slides.py NODE_MODULES build/docs/course/slides`, as `make course` does.

Text, formulas and tables are those of docs/course/lessons. A slide shows the first sentence of each paragraph and of
each list item; the whole text is in the speaker's notes (key S). NODE_MODULES holds reveal.js and KaTeX. Both are
copied, so the slides need no network.
"""

from __future__ import annotations

import re
import shutil
import sys
from html import escape
from pathlib import Path

import jupytext
from nbconvert.filters import markdown2html

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("reveal.js/dist", "reveal.js/plugin/math", "reveal.js/plugin/notes", "reveal.js/LICENSE", "katex/dist")
ROOM = 680  # characters on a slide; a line of a table or list has 55 at least
FIGURES = {  # beside a lesson's first slide whose heading begins so: a picture of docs, and what it shows
    ("1", "8."): ("images/bleu_by_length.png", "BLEU by source length, with and without attention"),
    ("2", "1."): ("images/serve_steps.png", "One step on the page of nmt serve: query, scores, weights, context"),
    ("2", "8."): ("images/serve_attention.png", "Weights on the page of nmt serve"),
    ("4", "4."): ("images/local_positions.png", "The centre of the window against the gold position"),
    ("5", "4."): ("images/serve_beam.png", "A beam search as a tree, on the page of nmt serve"),
    ("6", "6."): ("images/serve_set.png", "Two models on one test set, on the page of nmt serve"),
}
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<link rel="stylesheet" href="reveal.js/dist/reset.css">
<link rel="stylesheet" href="reveal.js/dist/reveal.css">
<link rel="stylesheet" href="reveal.js/dist/theme/white.css">
<style>
.reveal {{ font-family: system-ui, sans-serif; font-size: 28px; }}
.reveal .slides {{ text-align: left; }}
.reveal :is(h1, h2, h3) {{ font-family: inherit; text-transform: none; font-size: 1.4em; }}
.reveal :is(table, pre) {{ font-size: 0.65em; }}
.reveal .katex-display {{ font-size: 0.85em; }}
.reveal img {{ max-height: 480px; }}
.reveal .anchor-link {{ display: none; }}
</style>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script src="reveal.js/dist/reveal.js"></script>
<script src="reveal.js/plugin/math/math.js"></script>
<script src="reveal.js/plugin/notes/notes.js"></script>
<script>
const delimiters = [{{left: "$$", right: "$$", display: true}}, {{left: "$", right: "$", display: false}}];
Reveal.initialize({{hash: true, slideNumber: true, plugins: [RevealMath.KaTeX, RevealNotes],
  katex: {{local: "katex", delimiters, throwOnError: false}}}});
</script>
</html>
"""


def blocks(text: str) -> list[str]:
    """The paragraphs, lists, tables and formulas of markdown, without hints."""
    text = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    return [block for block in re.split(r"\n\s*\n", text) if block.strip()]


def sentence(text: str) -> str:
    """The first sentence, and the next one if it is very short."""
    sentences = re.split(r"(?<=[.?!:])\s+(?=[A-Z`$*(])", text.strip())
    return " ".join(sentences[: 1 if len(sentences[0]) > 40 else 2])


def short(block: str) -> str:
    """The first sentences of a paragraph or of a list's items, and a formula; anything else as it is."""
    if re.match(r"([-*]|\d+\.) ", block):
        return "\n".join(sentence(item) for item in re.split(r"\n(?=(?:[-*]|\d+\.) )", block))
    if re.match(r"[|>#`!]|\$\$|\*\*(?:Exercise|\d\.)", block):
        return block
    before, *formula = re.split(r"(\$\$.*?\$\$)", block, maxsplit=1, flags=re.DOTALL)
    return "\n\n".join([sentence(before), *formula[:1]])


def split(cell: list[str]) -> list[list[str]]:
    """The blocks of a cell, as many on each slide as there is room for."""
    slides, left = [], 0
    for block in cell:
        lines = short(block).splitlines()
        needed = sum(max(55, len(line)) if len(lines) > 2 else len(line) for line in lines) + 30
        if not slides or (needed > left and left < ROOM - 120):  # a short line does not stand alone
            slides.append([])
            left = ROOM
        slides[-1].append(block)
        left -= needed
    return slides


def slide(heading: str, content: str, notes: str = "") -> str:
    body = markdown2html(f"## {heading}\n\n{content}" if heading else content)
    return f"<section>\n{body}\n<aside class='notes'>{markdown2html(notes)}</aside>\n</section>"


def sections(path: Path) -> tuple[str, list[list[str]]]:
    """The title of a lesson, and its slides: a list for each of its sections."""
    number, title, heading, columns = path.stem[-1], "", "", []
    solution = False
    for cell in jupytext.read(path, fmt="py:percent").cells:
        if cell.cell_type == "raw":
            solution = {"# BEGIN SOLUTION": True, "# END SOLUTION": False}.get(cell.source.strip(), solution)
        if cell.cell_type != "markdown" or solution:
            continue
        for part in filter(None, re.split(r"(?m)^(?=#+ )", cell.source)):
            if match := re.match(r"#+ (.+)\n?", part):
                heading, title = match[1], title or match[1]
                columns.append([])
            parts = split(blocks(part[match.end() if match else 0 :]))  # none if there is a heading alone
            columns[-1] += [slide(heading, "\n\n".join(map(short, shown)), "\n\n".join(shown)) for shown in parts]
            name = next((name for name in FIGURES if name[0] == number and heading.startswith(name[1])), None)
            if name and match:
                picture, caption = FIGURES[name]
                columns[-1].append(slide(heading, f"![{caption}]({Path(picture).name})\n\n{caption}"))
    return title, columns


def main(modules: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        source, target = modules / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target, dirs_exist_ok=True) if source.is_dir() else shutil.copy(source, target)
    for picture, _ in FIGURES.values():
        shutil.copy(ROOT / "docs" / picture, folder)
    links = []
    for path in sorted(ROOT.glob("docs/course/lessons/lesson_*.py")):
        title, columns = sections(path)
        slides = "\n".join("\n".join(["<section>", *column, "</section>"]) for column in columns if column)
        (folder / f"{path.stem}.html").write_text(PAGE.format(title=escape(title), slides=slides), encoding="utf-8")
        links.append(f"- [{title}]({path.stem}.html)")
    index = slide("Slides of the course", "\n".join(links))
    (folder / "index.html").write_text(PAGE.format(title="Slides of the course", slides=index), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
