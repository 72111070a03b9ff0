"""The sample corpus: synthetic German→English pairs with their exact word alignment, from a small grammar.

`generate` makes it from a seed, `write` saves it to files, and `python -m tools.sample_corpus FOLDER` does both.
"""

from pathlib import Path

from nmt.system import files
from nmt.system.errors import UserError
from tools.sample_corpus.phrase import Pair, detokenise
from tools.sample_corpus.stories import generate

__all__ = ["Pair", "detokenise", "generate", "write"]

README = """\
# Sample corpus

SYNTHETIC: nobody ever said these sentences. A small bilingual grammar (`tools/sample_corpus/`) generates German
captions and short stories together with their English translations, so the exact word alignment of every pair
is known. The sentences contain what makes German hard to align: the verb in second or last position, separable
verbs, participles and infinitives at the end of the clause, case and gender, compounds, contractions. A score
on this corpus shows that a model learns. It says nothing about real text.

| file | content |
|---|---|
| `train.*`, `validation.*`, `test.*` | 10,000, 500 and 1,000 pairs; no German text occurs twice |
| `*.de`, `*.en` | one text per line, UTF-8 |
| `*.align` | links `source-target`, counted from 0, between the tokens of `spacy.blank("de")` and `spacy.blank("en")` |

The test split has about equally many texts of 1-10, 11-20, 21-30, 31-40 and 41-50 German tokens, and a few longer ones.

    python -m tools.sample_corpus data/sample

generates these files again, byte for byte.
"""


def write(folder: Path, seed: int = 1) -> None:
    """Write the corpus and its README into a folder, which is created if necessary.

    Raises `UserError` if that is not possible, or if another text is there. Several processes may do this at the same
    time.
    """
    files.make_folder(folder)  # generating takes seconds: first see whether there is a place for it
    whole: dict[Path, bytes] = {}
    for split, pairs in generate(seed).items():
        lines = {
            "de": [detokenise(pair.source) for pair in pairs],
            "en": [detokenise(pair.target) for pair in pairs],
            "align": [" ".join(f"{source}-{target}" for source, target in pair.links) for pair in pairs],
        }
        for extension, content in lines.items():
            whole[folder / f"{split}.{extension}"] = ("\n".join(content) + "\n").encode()
    readme = folder / "README.md"
    if not _holds(readme, README.encode()):
        for path, data in whole.items():
            if path.exists() and not _holds(path, data):  # else an interrupted call has written it
                raise UserError(f"{path} is not the sample corpus: move it, or choose another folder (data.folder)")
    for path, data in whole.items():
        files.write(path, data)
    files.write(readme, README.encode())


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
