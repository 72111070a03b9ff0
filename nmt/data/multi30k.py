"""Multi30k's raw text: fetched from its public repository on first use, each file checked by SHA-256.

Elliott, Frank, Sima'an, Specia: Multi30K: Multilingual English-German Image Descriptions. VL 2016. French and the test
sets of 2017: Elliott et al., WMT 2017. Czech and those of 2018: Barrault et al., WMT 2018.
"""

import hashlib
import http.client
import os
import sys
import urllib.request
from pathlib import Path

from nmt.system import files
from nmt.system.errors import UserError
from nmt.text.corpus import report_read_errors

SPLITS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")
LANGUAGES = ("de", "en", "fr", "cs")
FOLDER = Path("data/multi30k")
MIRROR_VARIABLE = "NMT_MULTI30K_MIRROR"
UPSTREAM = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
TIMEOUT = 30.0  # seconds without an answer
_LINES = Path(__file__).with_suffix(".sha256").read_text(encoding="utf-8").splitlines()
_SHA256 = {name: checksum for checksum, name in map(str.split, _LINES)}


def splits(language: str) -> list[str]:
    """The splits that Multi30k has in a language: Czech lacks the test sets of 2017."""
    return [split for split in SPLITS if f"{split}.{language}.gz" in _SHA256]


def fetch(split: str, language: str, folder: Path = FOLDER, mirror: str | None = None) -> Path:
    """The path of one file of Multi30k, `folder/split.language.gz`, after fetching it unless it is there already.

    It comes from the environment variable NMT_MULTI30K_MIRROR, else from `mirror` (each a folder or a URL), else from
    the public repository. Raises UserError if there is no such file, or if it cannot be fetched, checked or written.
    """
    name = f"{split}.{language}.gz"
    if name not in _SHA256:
        choices = f"choose the split from {', '.join(SPLITS)}, the language from {', '.join(LANGUAGES)}"
        raise UserError(f"Multi30k has no {name!r}: {choices} (cs lacks the test sets of 2017)")
    return fetch_file(folder / name, _SHA256[name], origin_of(mirror), UPSTREAM)


def origin_of(mirror: str | None) -> str:
    """The folder or URL that replaces the public repository: the environment's, else the mirror, else ""."""
    origin = (os.environ.get(MIRROR_VARIABLE) or mirror or "").rstrip("/")
    return os.path.abspath(os.path.expanduser(origin)) if origin and "://" not in origin else origin


def fetch_file(path: Path, checksum: str, origin: str, upstream: str) -> Path:
    """The path, after fetching its file from the origin ("": upstream), if necessary. Errors name `upstream`."""
    if path.is_file():
        if hashlib.sha256(_read(str(path))).hexdigest() == checksum:
            return path
        print(f"{path} is not the published file (its SHA-256 differs): fetching it again", file=sys.stderr)
    address = f"{origin or upstream}/{path.name}"
    try:
        data = _read(address)
        if hashlib.sha256(data).hexdigest() == checksum:
            files.write(path, data)
            return path
        reason = f"{address} is not the published file (its SHA-256 differs)"
    except UserError as error:
        reason = str(error)
    raise UserError(f"{reason}: download {upstream}/{path.name} into {path.parent}, or set {MIRROR_VARIABLE}")


def _read(address: str) -> bytes:
    """The content of a file or URL. Raises UserError if it cannot be read completely."""
    if "://" not in address:
        with report_read_errors(Path(address)):
            return Path(address).read_bytes()
    print(f"Fetching {address}", file=sys.stderr)
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as response:
            return response.read()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UserError(f"{address} cannot be fetched ({str(error) or type(error).__name__})") from None
