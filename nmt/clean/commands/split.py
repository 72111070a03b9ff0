"""Draw validation and test sets from two parallel files.

The same files and seed give the same sets on every machine, and no sentence is in two of them.
"""

import argparse
import re
from pathlib import Path

from nmt.commands.options import Parser, positive, seed
from nmt.config.yaml_text import in_yaml
from nmt.system.errors import UserError
from nmt.system.wording import counted


def parser() -> Parser:
    parser = Parser(prog="nmt split", description=__doc__)
    add = parser.add_argument
    add("source", type=Path, metavar="SOURCE", help="the sentences, one per line, such as text.de or text.de.gz")
    add("target", type=Path, metavar="TARGET", help="their translations, such as text.en")
    add("--output", type=Path, required=True, metavar="FOLDER", help="where the six files are written")
    add("--validation", type=positive, default=1000, metavar="N", help="pairs in the validation set (default: 1000)")
    add("--test", type=positive, default=1000, metavar="N", help="pairs in the test set (default: 1000)")
    add("--seed", type=seed, default=1, metavar="N", help="seed of the random sets (default: 1)")
    return parser


def run(options: argparse.Namespace) -> int:
    from nmt.clean.splitting import split
    from nmt.data.splits import SPLITS

    paths, sizes = (options.source, options.target), {"validation": options.validation, "test": options.test}
    languages = _languages(*paths)
    counts = split(paths, options.output, languages, seed=options.seed, **sizes)
    print(f"Written to {options.output}: {', '.join(f'{counts[name]} {name}' for name in SPLITS)} pairs.")
    if counts["empty"]:
        print(f"Left out: {counted(counts['empty'], 'pair')} with an empty side.")
    if counts["copies"]:
        print(f"Left out: {counts['copies']} more of the same pairs as in the validation and test sets.")
    if counts["moved"]:
        print(f"Moved: {counted(counts['moved'], 'pair')} into the set that has one of their sentences.")
    if counts["surplus"]:
        print(f"Left out: {counted(counts['surplus'], 'pair')} that share a sentence with a full set.")
    print("\nIn the config:\n\ndata:\n  corpus: files")
    for side, language in zip(("source", "target"), languages, strict=True):
        print(f"  {side}:\n    language: {in_yaml(language)}")
        for name in SPLITS:
            print(f"    {name}: {in_yaml(str(options.output / f'{name}.{language}'))}")
    return 0


def _languages(*paths: Path) -> tuple[str, str]:
    """The codes that end the files' names. Raises `UserError` if they are unusable."""
    source, target = (re.split(r"[.#]", re.sub(r"\.(gz|xz|zst)$", "", path.name))[-1] for path in paths)
    if source == target or not all(re.fullmatch(r"[A-Za-z]{2,3}([-_]\w+)?", code) for code in (source, target)):
        names = " and ".join(path.name for path in paths)
        raise UserError(f"{names}: end the names with the codes of the two languages, such as text.de and text.csv#en")
    return source, target
