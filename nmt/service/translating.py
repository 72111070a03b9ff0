"""Texts through the models of `nmt serve`: which model, in which parts, and how these are joined again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException

from nmt import addons
from nmt.system.values import is_unicode, shown
from nmt.text.sentences import split_text

MOST_PARTS = 1000  # sentences of a request
MOST_ALTERNATIVES = 10
_SPACES = re.compile(r"^(\s*)(.*?)(\s*)$", re.DOTALL)


class Job(NamedTuple):
    """A text, and the id of the model that translates it; None: the text is in the target language already."""

    text: str
    model: str | None


@dataclass(frozen=True)
class Translated:
    """A text's translation, others that differ from it, and the numbers of source and target tokens."""

    text: str
    alternatives: list[str]
    source_tokens: int
    target_tokens: int


def pairs(server: Any) -> dict[tuple[str, str], str]:
    """The id of the model for each pair of languages: the first one."""
    models: dict[tuple[str, str], str] = {}
    for number, served in server.models.items():
        models.setdefault(served.languages, number)
    return models


def languages_of(server: Any) -> list[str]:
    """All languages that models read or write."""
    return sorted({language for served in server.models.values() for language in served.languages})


async def translate_texts(server: Any, jobs: Sequence[Job], format: str, alternatives: int) -> list[Translated]:
    """Translate texts sentence by sentence; all of them share the queue's batches.

    Text is split into lines and sentences, HTML at the tags of blocks, and white space stays as it is. Raises
    `HTTPException` (400) for text that is not Unicode and for too many sentences, and what the server raises.
    """
    parts = [list(_parts(server, job, format)) for job in jobs]
    if sum(map(len, parts)) > MOST_PARTS:
        raise HTTPException(400, f"Invalid request: more than {MOST_PARTS} sentences: send fewer texts")
    questions = []
    for job, pieces in zip(jobs, parts, strict=True):
        for text, is_text in pieces:
            if is_text:
                more = {"format": format, "attention": False}
                if alternatives:
                    beam = max(server.models[job.model].search.beam_size, alternatives + 1)
                    more |= {"n_best": alternatives + 1, "beam_size": beam}
                questions.append(server.question(model=job.model, text=text, **more))
    answers = iter(await server.translate(questions))
    return [_joined([next(answers) if is_text else text for text, is_text in pieces]) for pieces in parts]


def _parts(server: Any, job: Job, format: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text, and whether each is translated."""
    if not is_unicode(job.text):
        raise HTTPException(400, "Invalid request: q is not valid Unicode text")
    if job.model is None:
        yield job.text, False
        return
    served = server.models[job.model]
    for piece, is_text in _html_parts(job.text) if format == "html" else [(job.text, True)]:
        before, text, after = _SPACES.match(piece).groups()  # type: ignore[union-attr]  # any text matches
        if not (is_text and text):
            yield piece, False
            continue
        is_split = served.splits and format == "text"  # of HTML the translator finds the sentences
        sentences, gaps = split_text(text, *served.languages) if is_split else ([text], [])
        yield before, False
        for sentence, gap in zip(sentences, [*gaps, after], strict=True):
            yield sentence, True
            yield gap, False


def _html_parts(source: str) -> Iterator[tuple[str, bool]]:
    """HTML cut at the tags of blocks, scripts and comments, which are not translated."""
    tags, end = addons.offered("tags"), 0
    if tags is None:
        raise HTTPException(400, "html format is not supported")
    for token in tags.tokens_of(source):
        if token.name in tags.BREAKS - {"br"} or token.text.startswith("<!") or token.name in ("script", "style"):
            yield source[end : token.start], True
            yield token.text, False
            end = token.end
    yield source[end:], True


def _joined(pieces: Sequence[str | dict[str, Any]]) -> Translated:
    """Of texts and answers: the n-th alternative joins the n-th of each answer, or the best where there are fewer."""
    answers = [piece for piece in pieces if isinstance(piece, dict)]
    count = max((len(answer.get("n_best", ())) for answer in answers), default=0)

    def text(n: int) -> str:
        return "".join(piece if isinstance(piece, str) else _nth(piece, n) for piece in pieces)

    best = text(0)
    others = [other for other in dict.fromkeys(text(n) for n in range(1, count)) if other != best]
    source, target = (sum(len(answer[name]) for answer in answers) for name in ("source_tokens", "tokens"))
    return Translated(best, others, source, target)


def _nth(answer: dict[str, Any], n: int) -> str:
    n_best = answer.get("n_best") or [answer]
    text: str = n_best[n if n < len(n_best) else 0]["text"] if n else answer["text"]
    return text


def quoted(value: object) -> str:
    """A value of a request in an error: short, without control characters."""
    return shown(value).encode("utf-8", "backslashreplace").decode()
