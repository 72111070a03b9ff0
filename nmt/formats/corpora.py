"""Corpora by mtdata's names (Gowda et al. 2021), such as `mtdata:Statmt-newstest_deen-2014-deu-eng`.

The command `mtdata get` downloads them, and this package has to be installed. They are kept in mtdata's folder.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from nmt.formats.columns import choose
from nmt.formats.paths import MTDATA, Address
from nmt.system.errors import UserError
from nmt.system.files import make_folder
from nmt.text.corpus import plain_lines
from nmt.text.language import code_meant

_NAME = re.compile(r"[\w.+]+-[\w.+]+-[\w.+]+-(\w+)-(\w+)", re.ASCII)


def texts(address: Address) -> Iterator[str]:
    """The lines of one side, by a language's code of two or three letters. Raises `UserError`."""
    match = _match(address)
    codes = [match[1], match[2]]
    position = choose(address, [*(code_meant(code.partition("_")[0]) or code for code in codes), *codes]) % 2
    return plain_lines(files(address)[position])


def files(address: Address) -> list[Path]:
    """The files of both languages, downloaded unless they are there. Raises `UserError` if mtdata cannot do it."""
    match = _match(address)
    folder = Path(os.environ.get("MTDATA", "~/.mtdata")).expanduser() / "nmt"
    paths = [folder / match[0] / "train-parts" / f"{match[0]}.{code}" for code in match.groups()]
    if not all(path.exists() for path in paths):
        if importlib.util.find_spec("mtdata") is None:
            raise UserError(f"{address} needs the package mtdata: run pip install mtdata")
        make_folder(folder)
        with TemporaryDirectory(dir=folder) as temporary:
            command = ["get", "-l", f"{match[1]}-{match[2]}", "-tr", match[0], "-o", str(Path(temporary) / "text")]
            done = subprocess.run([sys.executable, "-m", "mtdata", *command], capture_output=True, text=True)
            new = [Path(temporary) / "text" / path.relative_to(folder / match[0]) for path in paths]
            if done.returncode or not all(path.exists() for path in new):
                reason = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
                raise UserError(f"{address}: mtdata cannot get it ({reason}): check the name by mtdata list")
            for path, downloaded in zip(paths, new, strict=True):
                make_folder(path.parent)
                downloaded.replace(path)
    return paths


def _match(address: Address) -> re.Match[str]:
    name = str(address).removeprefix(MTDATA)
    match = _NAME.fullmatch(name)
    if match is None:
        raise UserError(f"{address} is not a name of two languages: write mtdata:GROUP-NAME-VERSION-deu-eng")
    return match
