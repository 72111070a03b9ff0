"""Multi30k's raw text: fetched from its public repository on first use, each file checked by SHA-256.

Elliott, Frank, Sima'an, Specia: Multi30K: Multilingual English-German Image Descriptions. VL 2016. French and the test
sets of 2017: Elliott et al., WMT 2017. Czech and those of 2018: Barrault et al., WMT 2018.
"""

import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from nmt.system import files
from nmt.system.errors import UserError

SPLITS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")
LANGUAGES = ("de", "en", "fr", "cs")
FOLDER = Path("data/multi30k")
MIRROR_VARIABLE = "NMT_MULTI30K_MIRROR"
UPSTREAM = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"

_SHA256 = {
    "test_2016_flickr.cs.gz": "200a4a74cc9560f051924abb9803be008d1908d77f747e9141aeb86dfd2797f1",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "test_2017_flickr.de.gz": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_flickr.en.gz": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    "test_2017_flickr.fr.gz": "3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496",
    "test_2017_mscoco.de.gz": "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338",
    "test_2017_mscoco.en.gz": "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58",
    "test_2017_mscoco.fr.gz": "754f3072ba9f124569ba5258b32730fc1d214bbf8e0c6dfb2b74401676220db0",
    "test_2018_flickr.cs.gz": "7d0a9db904f94c554a8c58049a9f3a5357c27f46cc3d710d70cb0b4a2585b8c2",
    "test_2018_flickr.de.gz": "ddd0130c7d97482dc5197a02141dae8dd79f20f03586c480d675c09a32daf608",
    "test_2018_flickr.en.gz": "ef4f4844037d4c5dea75c9a8ed5fd78905967a26f67c255e230cc9780032654d",
    "test_2018_flickr.fr.gz": "fb2b83fcceb937a4f7e3e93c1c51c22aba92f1e342391e6b5ba392b16a920501",
    "train.cs.gz": "a65adb8b32e3bc664f21ecba7a6e7f6950fd1f405e135f7c312faabdb6255077",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.cs.gz": "b63226e05c4bd5dd6a42897d74b86a1b9d2c31498252c572b1ea7f7996927fcc",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
}
_TIMEOUT = 30.0  # seconds without an answer


def splits(language: str) -> list[str]:
    """The splits that Multi30k has in a language: Czech lacks the test sets of 2017."""
    return [split for split in SPLITS if f"{split}.{language}.gz" in _SHA256]


def fetch(split: str, language: str, folder: Path = FOLDER, mirror: str | None = None) -> Path:
    """The path of one file of Multi30k, `folder/split.language.gz`, after fetching it unless it is there already.

    It comes from the environment variable NMT_MULTI30K_MIRROR, else from `mirror` (each a folder or a URL that
    holds the file), else from the public repository. It is written whole or not at all.

    Raises UserError for an unknown split or language, and if the file cannot be fetched, is not upstream's
    (by SHA-256), or cannot be written.
    """
    name = f"{split}.{language}.gz"
    if name not in _SHA256:
        if split in SPLITS and language in LANGUAGES:
            choices = f"the splits of {language!r} are {', '.join(splits(language))}"
        else:
            choices = f"choose the split from {', '.join(SPLITS)}, the language from {', '.join(LANGUAGES)}"
        raise UserError(f"Multi30k has no {name!r}: {choices}")
    return fetch_file(folder / name, _SHA256[name], [origin_of(mirror) or UPSTREAM], UPSTREAM)


def origin_of(mirror: str | None) -> str | None:
    """The folder or URL that replaces the public repository, if there is one: the environment's, else the mirror."""
    origin = os.environ.get(MIRROR_VARIABLE) or mirror
    if not origin or origin.endswith("://"):
        return origin
    return origin.rstrip("/") if "://" in origin else os.path.abspath(os.path.expanduser(origin))


def fetch_file(path: Path, checksum: str, origins: Sequence[str], upstream: str) -> Path:
    """The path, after fetching its file, unless it is there already, from the first of the origins that has it.

    Raises UserError as `fetch` does; it names `upstream`, where people can get the file.
    """
    if path.is_file():
        if _checksum(_read(path)) == checksum:
            return path
        print(f"{path} is not the published file (its SHA-256 differs): fetching it again", file=sys.stderr)
    errors = []
    for origin in origins:
        address = f"{origin}/{path.name}"
        try:
            data = _download(address) if "://" in address else _read(Path(address))
            if _checksum(data) != checksum:
                raise UserError(f"{address} is not the published file (its SHA-256 differs)")
        except UserError as error:
            errors.append(error)
        else:
            files.write(path, data)
            return path
    raise UserError(
        f"{errors[0]}: download {upstream}/{path.name} into {path.parent}, "
        f"or set {MIRROR_VARIABLE} or data.mirror to a folder or URL that holds it"
    )


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path and its permissions") from None


def _download(url: str) -> bytes:
    """The file at the URL. Raises UserError if it cannot be fetched completely."""
    print(f"Fetching {url}", file=sys.stderr)
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
            return response.read()
    except urllib.error.HTTPError as error:
        error.close()
        raise UserError(f"{url} cannot be fetched (HTTP {error.code} {error.reason})") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        text = " ".join(str(reason).split()) or type(error).__name__  # a server's garbage may hold line ends
        raise UserError(f"{url} cannot be fetched ({text})") from None
