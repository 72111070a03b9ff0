"""Multi30k, task 1, raw text: fetched from its public repository on first use, each file checked by SHA-256.

Elliott, Frank, Sima'an, Specia: Multi30K: Multilingual English-German Image Descriptions. VL 2016.
"""

import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

from tqdm import tqdm

from nmt.system import files
from nmt.system.errors import UserError

SPLITS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")
LANGUAGES = ("de", "en")
FOLDER = Path("data/multi30k")
MIRROR_VARIABLE = "NMT_MULTI30K_MIRROR"
UPSTREAM = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"

_SHA256 = {
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2017_flickr.de.gz": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_flickr.en.gz": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    "test_2017_mscoco.de.gz": "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338",
    "test_2017_mscoco.en.gz": "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58",
    "test_2018_flickr.de.gz": "ddd0130c7d97482dc5197a02141dae8dd79f20f03586c480d675c09a32daf608",
    "test_2018_flickr.en.gz": "ef4f4844037d4c5dea75c9a8ed5fd78905967a26f67c255e230cc9780032654d",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
}
_TIMEOUT = 30.0  # seconds without an answer
_CHUNK = 1 << 16  # bytes


def fetch(split: str, language: str, folder: Path = FOLDER, mirror: str | None = None) -> Path:
    """The path of one file of Multi30k, `folder/split.language.gz`, after fetching it unless it is there already.

    It comes from the environment variable NMT_MULTI30K_MIRROR, else from `mirror` (each a folder or a URL that
    holds the file), else from the public repository. It is written whole or not at all.

    Raises UserError for an unknown split or language, and if the file cannot be fetched, is not upstream's
    (by SHA-256), or cannot be written.
    """
    name = f"{split}.{language}.gz"
    if name not in _SHA256:
        choices = f"choose the split from {', '.join(SPLITS)}, the language from {', '.join(LANGUAGES)}"
        raise UserError(f"Multi30k has no {name!r}: {choices}")
    path = folder / name
    if path.is_file():
        if _is_upstreams(name, _read(path)):
            return path
        print(f"{path} is not the published file (its SHA-256 differs): fetching it again", file=sys.stderr)
    origin = os.environ.get(MIRROR_VARIABLE) or mirror or UPSTREAM
    place = f"{origin.rstrip('/')}/{name}"
    try:
        data = _download(place, name) if "://" in origin else _read(Path(os.path.expanduser(place)))
        if not _is_upstreams(name, data):
            raise UserError(f"{place} is not the published file (its SHA-256 differs)")
    except UserError as error:
        raise UserError(
            f"{error}: download {UPSTREAM}/{name} into {folder}, "
            f"or set {MIRROR_VARIABLE} or data.mirror to a folder or URL that holds it"
        ) from None
    files.write(path, data)
    return path


def _is_upstreams(name: str, data: bytes) -> bool:
    return hashlib.sha256(data).hexdigest() == _SHA256[name]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path and its permissions") from None


def _download(url: str, name: str) -> bytes:
    """The file at the URL, with its progress on stderr. Raises UserError if it cannot be fetched completely."""
    data = bytearray()
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
            size = int(response.headers.get("Content-Length", 0))
            with tqdm(total=size or None, desc=name, unit="B", unit_scale=True) as progress:
                while chunk := response.read(_CHUNK):
                    data += chunk
                    progress.update(len(chunk))
    except urllib.error.HTTPError as error:
        error.close()
        raise UserError(f"{url} cannot be fetched (HTTP {error.code} {error.reason})") from None
    except urllib.error.URLError as error:
        raise UserError(f"{url} cannot be fetched ({error.reason})") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        what = " ".join(str(error).split()) or type(error).__name__  # a server's garbage may hold line ends
        raise UserError(f"{url} cannot be fetched ({what})") from None
    if len(data) < size:  # a connection that ends early is no error to urllib
        raise UserError(f"{url} is incomplete: {len(data)} of {size} bytes arrived")
    return bytes(data)
