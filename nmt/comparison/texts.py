"""What is compared: the translations of several systems, their references, and the sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt.evaluation.report import text_names
from nmt.system.errors import UserError
from nmt.text.corpus import of_language, read_lines, report_read_errors
from nmt.text.language import base_language, language_name
from nmt.text.normalization import normalized
from nmt.text.tokenizers.spacy import SpacyTokenizer, language_of_rules

ANY = "xx"  # the language of rules for text whose language is not known
FEWEST = "give two or more files of translations, or the folder of one nmt evaluate --output with two models"


@dataclass(frozen=True)
class Texts:
    """Sentences of each system (name → one per reference), normalised; `sources` is None where they are not known."""

    systems: dict[str, list[str]]
    references: list[str]
    sources: list[str] | None
    language: str  # of references and translations
    source_language: str


def read(
    paths: Sequence[Path], reference: Path | None, source: Path | None, languages: tuple[str, str] | None
) -> Texts:
    """Read the translations, of several files or of a folder that `nmt evaluate --output` wrote.

    Raises UserError if a file cannot be read, or has another number of lines than the references.
    """
    if len(paths) == 1 and paths[0].is_dir():
        folder = paths[0] / "translations"
        reference, source = reference or folder / "reference.txt", source or folder / "source.txt"
        paths = _models_of(paths[0])
    if len(paths) < 2:
        raise UserError(FEWEST)
    if reference is None:
        raise UserError("no references: add --reference FILE")
    source_code, code = map(base_language, languages or (_language_of(source), _language_of(reference)))
    references = _read(reference, code)
    texts = {name: _read(path, code) for name, path in zip(_names(paths), paths, strict=True)}
    sources = None if source is None else _read(source, source_code)
    if not references:
        raise UserError(f"{reference} has no line: give at least one sentence")
    for path, lines in [*zip(paths, texts.values(), strict=True), (source, sources)]:
        if lines is not None and len(lines) != len(references):
            counts = f"{path} has {len(lines)} lines but {reference} has {len(references)}"
            raise UserError(f"{counts}: line n of each must belong to the same sentence")
    return Texts(texts, references, sources, code, source_code)


def words_of(sentences: Sequence[str], language: str) -> list[list[str]]:
    """The words of each sentence by spaCy's rules for the language, without a model."""
    tokenizer = SpacyTokenizer(language_of_rules(language), lowercase=False)
    return [tokenizer.words(sentence) for sentence in sentences]


def lowercased(texts: Texts) -> Texts:
    """The same with translations and references in lower case."""
    systems = {name: [sentence.lower() for sentence in lines] for name, lines in texts.systems.items()}
    references = [sentence.lower() for sentence in texts.references]
    return Texts(systems, references, texts.sources, texts.language, texts.source_language)


def _models_of(folder: Path) -> list[Path]:
    """The files of translations that an evaluation wrote, in its order. Raises UserError if there is none."""
    evaluation = folder / "evaluation.json"
    if not evaluation.exists():
        raise UserError(f"{folder} is no folder of nmt evaluate --output: it has no evaluation.json")
    with report_read_errors(evaluation):
        content = evaluation.read_bytes()
    try:
        names = text_names([str(model["checkpoint"]) for model in json.loads(content)["models"]])
    except (ValueError, LookupError, TypeError):
        raise UserError(f"{evaluation} is not what nmt evaluate wrote: evaluate again") from None
    return [folder / "translations" / f"{name}.txt" for name in names]


def _read(path: Path, language: str) -> list[str]:
    return [normalized(line) for line in read_lines(of_language(path, language))]


def _names(paths: Sequence[Path]) -> list[str]:
    """The files' names without their last ending, or the whole paths where these are the same."""
    stems = [path.name.removesuffix(".gz").rsplit(".", 1)[0] or path.name for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    names = [str(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{name} is given twice: compare two different files")
    return names


def _language_of(path: Path | None) -> str:
    """The code of a language that ends a path, behind `#` or as its suffix; `ANY` for another ending."""
    name = "" if path is None else path.name.removesuffix(".gz")
    code = name.rpartition("#")[2] if "#" in name else name.rpartition(".")[2]
    base = base_language(code)
    return ANY if language_name(base) == base else base
