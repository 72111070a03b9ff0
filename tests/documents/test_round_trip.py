"""A document whose sentences are translated by themselves has the same bytes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.documents.document import opened, translate_document
from nmt.translator import Translator

MARKDOWN = """\
---
title: front matter
---
# A *great* title #

Some **bold [link](http://x "t") words** and `code` here\\* 2 * 3 &amp; &eacute;
go on with a snake\\_case name. A second sentence.  Another  one.\u00a0One more.{br}
After a <b>hard</b> break ![alt text](img.png "t") and <http://auto.link>.

> quoted text
> > nested *emphasis
> > over* lines

- [ ] an item
  goes on
  1. a [reference] ***both*** ~~gone~~

| head | b |
|---|:-:|
| cell *one* | x \\| y |

    indented code

```py
fenced = "code"
```

<div>
raw html
</div>

Setext
heading
===

[reference]: http://foo "title"
"""
HTML = """\
<!DOCTYPE html>
<html lang="en"><head><title>A page &amp; more</title><style>a{b:c}</style><script>if (a < b) "text"</script></head>
<body><!-- comment --><p title="Hi 'you' &quot;there&quot;">Some <b>big
   words</b>.<br>
 Next&nbsp;line: <img alt="A dog" src=x>, <code>make</code>, <span translate=no>ACME</span>; a < b. Caf&eacute;s, café.
</p><pre>as it  is</pre><ul><li>One<li class="notranslate">Two</ul><input placeholder='A "name"'/></body></html>
"""
SRT = """\
1
00:00:01,000 --> 00:00:02,000
<i>Hello there,
all of you.</i>

2
0:00:03,000 --> 0:00:04,000
- Yes.
- No!
"""
TXT = """\
A title

This is a paragraph that some editor has wrapped at a width,
and that goes on until it ends. A second sentence ends here.

- an item\tin columns
  1. Another item.   Far right.
"""
FIXED = {".md": MARKDOWN.replace("{br}", "  "), ".html": HTML, ".srt": SRT, ".txt": TXT}
WORDS = [
    *(
        "a",
        "Words",
        "two words",
        "é",
        "1",
        ".",
        ". ",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\t",
        "\u00a0",
        "&",
        "<",
        ">",
        "*",
        "\\",
    ),
    *("- ", "1. ", "# ", "> ", "Some words that make a long line, which an editor may have wrapped"),
]
FRAGMENTS = {
    ".md": [
        *("_", "`", "[", "]", "(", ")", "!", "+", "|", "~", ":", "=", "**", "~~", "](x)", "  \n", "\\\n", "\n    "),
        *("&amp;", "\n```\n", "<b>", "</b>", "<br>", "\n---\n", "| a | b |\n|--|--|\n"),
    ],
    ".html": [
        *("<b>", "</b>", "<p>", "</p>", "<br>", "<br/>", "<i title='a b'>", "</i>", "<code>", "</code>", "<!-- c -->"),
        *("&amp;", "&eacute;", "&nbsp;", '<img alt="A b">', "<script>", "<b translate=no>", "<!", "</", '"', "'", "="),
    ],
    ".srt": ["1\n0:00:01,000 --> 0:00:02,000\n", "<i>", "</i>", "{\\an8}"],
    ".txt": [],
}


MARKED = {  # with words between blanks
    ".md": ["**bold *and* more**", "[a link](x)", "`code`", "<b>b</b>", "![An image](x)", "\\\n", "\n\n- ", "2 \\* 3"],
    ".html": ["<b>bold <i>and</i> more</b>", "<a href='x' title='A title'>a link</a>", "<code>c</code>", "<br>", "<p>"],
    ".srt": ["<i>some words</i>", "\n\n2\n0:00:01,000 --> 0:00:02,000\n"],
    ".txt": ["\n\n", "\t", "\n- "],
}


@pytest.mark.parametrize("ending", FIXED)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_documents_of_an_identity_model_have_the_same_bytes(
    identity: Translator, ending: str, mark: str, line_end: str
) -> None:
    content = (mark + FIXED[ending]).replace("\n", line_end).encode()
    assert translate_document(identity, content, ending) == content
    texts = [segment.text for segment in opened(content, ending).segments(identity.languages)[0]]
    assert len(texts) == {".md": 12, ".html": 6, ".srt": 3, ".txt": 6}[ending]


class Copies:
    """A translator without anything around it: what it gets is what it gives."""

    languages = ("de", "en")

    def translate(self, texts: list[str], *, markup: bool = False) -> Any:
        assert all(text == " ".join(text.split()) for text in texts) or not markup
        return [SimpleNamespace(text=text) for text in texts]


@pytest.mark.parametrize("ending", FIXED)
def test_any_text_is_a_document_that_keeps_its_bytes(ending: str) -> None:
    @given(st.lists(st.sampled_from([*WORDS, *FRAGMENTS[ending]]), max_size=30).map("".join))
    def same(text: str) -> None:
        assert translate_document(Copies(), text.encode(), ending).decode() == text  # type: ignore[arg-type]

    same()


@pytest.mark.parametrize("ending", FIXED)
def test_sentences_with_markup_keep_their_bytes(identity: Translator, ending: str) -> None:
    units = ["Some words", "a", "Ends here.", "Café & more", "\n", "\u00a0", *MARKED[ending]]

    @given(st.lists(st.sampled_from(units), max_size=20).map(" ".join))
    def same(text: str) -> None:
        start = "1\n0:00:01,000 --> 0:00:02,000\n" if ending == ".srt" else ""
        assert translate_document(identity, (start + text).encode(), ending).decode() == start + text

    same()
