"""Multi30k's raw text: fetched from its public repository on first use, each file checked by SHA-256.

Task 1 has captions and their translations. Of task 2 these are the five captions of each training image in German and
in English, written independently of each other: lines of the same number describe one image, and are no translations.

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

from tqdm import tqdm

from nmt.system import files
from nmt.system.errors import UserError

SPLITS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")
LANGUAGES = ("de", "en", "fr", "cs")
DESCRIPTIONS = "multi30k_descriptions"  # what configs call the captions of task 2, and the folder that holds them
FOLDER = Path("data/multi30k")
MIRROR_VARIABLE = "NMT_MULTI30K_MIRROR"
UPSTREAM = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
DESCRIPTIONS_UPSTREAM = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task2/raw"

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
_DESCRIPTIONS = {
    "train.1.de.gz": "0002241b52aba5160c08d644ea0d64a9bf46a2dfffcf619c9e3cdaa55b357004",
    "train.1.en.gz": "a0e057f07a9733199c0d755d77f6d583dc6f40a3180734b1130a216e2fdf3a3b",
    "train.2.de.gz": "ac7c29258b90aec0b64d677c5bfc831fc402e6296d0aa9cc7a3433ddbff85c37",
    "train.2.en.gz": "d79dd70a9eafb2d1fe40151621278c4ae69b3c148c5052a53d7c7a41bf3ba023",
    "train.3.de.gz": "ec5e6508813814aa31311b34e26e24f903dd7701f8d0668313259b7f975d7aa0",
    "train.3.en.gz": "86e16fdcc699bcb6bca0f87c3cf1051f7de5ee3674dd588cedc5200194282749",
    "train.4.de.gz": "bcee8ac6eb47d8a7dc8cff47d9a0fbd80b4363cfda22021bacd297f9604221a4",
    "train.4.en.gz": "3771b84e010ad6197806d2a1188cb07c12149e3e0d178dd5966dee5763733686",
    "train.5.de.gz": "dccb0ca6ff25e0b1f0d385f59fb809184e0db89622d88371725e3ec46d43bfc0",
    "train.5.en.gz": "73988689307fe836994eae59735dc840c15da9775455fa76e6ed22606a042a91",
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
        lacking = split in SPLITS and language in LANGUAGES
        choices = (
            f"the splits of {language!r} are {', '.join(splits(language))}"
            if lacking
            else f"choose the split from {', '.join(SPLITS)}, the language from {', '.join(LANGUAGES)}"
        )
        raise UserError(f"Multi30k has no {name!r}: {choices}")
    origin = _mirror(mirror)
    return _fetched(folder / name, _SHA256[name], [f"{origin or UPSTREAM}/{name}"], UPSTREAM)


def fetch_descriptions(language: str, folder: Path, mirror: str | None = None) -> list[Path]:
    """The paths of the five files of independent captions, `folder/train.N.language.gz`, fetched as `fetch` does.

    A mirror holds them beside task 1's files, or in a folder `multi30k_descriptions` beside its own.
    """
    names = [name for name in _DESCRIPTIONS if name.split(".")[2] == language]
    if not names:
        raise UserError(f"{DESCRIPTIONS} has captions in de and en, and none in {language!r}: choose one of these")
    origin = _mirror(mirror)
    folders = [origin, f"{origin.rpartition('/')[0]}/{DESCRIPTIONS}"] if origin else [DESCRIPTIONS_UPSTREAM]
    return [
        _fetched(folder / name, _DESCRIPTIONS[name], [f"{there}/{name}" for there in folders], DESCRIPTIONS_UPSTREAM)
        for name in names
    ]


def splits(language: str) -> list[str]:
    """The splits that Multi30k has in a language: Czech lacks the test sets of 2017."""
    return [split for split in SPLITS if f"{split}.{language}.gz" in _SHA256]


def _mirror(mirror: str | None) -> str | None:
    origin = os.environ.get(MIRROR_VARIABLE) or mirror
    if origin is None or "://" in origin:
        return origin and (origin if origin.endswith("://") else origin.rstrip("/"))
    return os.path.abspath(os.path.expanduser(origin))


def _fetched(path: Path, checksum: str, places: Sequence[str], upstream: str) -> Path:
    """The file at `path`, after fetching it, unless it is there already, from the first of the places that has it."""
    if path.is_file():
        if _checksum(_read(path)) == checksum:
            return path
        print(f"{path} is not the published file (its SHA-256 differs): fetching it again", file=sys.stderr)
    complaints = []
    for place in places:
        try:
            data = _download(place, path.name) if "://" in place else _read(Path(place))
            if _checksum(data) != checksum:
                raise UserError(f"{place} is not the published file (its SHA-256 differs)")
        except UserError as error:
            complaints.append(error)
        else:
            files.write(path, data)
            return path
    raise UserError(
        f"{complaints[0]}: download {upstream}/{path.name} into {path.parent}, "
        f"or set {MIRROR_VARIABLE} or data.mirror to a folder or URL that holds it"
    )


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


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
