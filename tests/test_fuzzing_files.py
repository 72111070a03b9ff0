"""Whatever stands in a config, a corpus or an alignment, there is a result or one clear line.

Each property gets a hundred inputs; with `--hypothesis-profile long` 5,000.
"""

import gzip
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.fuzzing import SCALARS, TEXT, one_line

from nmt.config.reading import load_config, to_yaml
from nmt.config.run import Config
from nmt.evaluation.alignment import read_links
from nmt.parts import Section
from nmt.text.corpus import ParallelText, read_pairs


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzzing")


# The config

NAMES = sorted(
    {name for section in (Config, *Section.__subclasses__()) for name in section.model_fields} | {"", "a.b", "Name"}
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(values=VALUES)
def test_any_yaml_as_config(place: Path, values: object) -> None:
    path = place / "any.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8", errors="replace")
    config = one_line(lambda: load_config(path), path)
    if config is not None:
        path.write_text(to_yaml(config), encoding="utf-8")
        assert load_config(path) == config


@given(
    data=st.binary(max_size=60) | TEXT.map(str.encode) | st.text("{}[]:-&*!|>#%@ \n'\"ab1", max_size=40).map(str.encode)
)
def test_any_bytes_as_config(place: Path, data: bytes) -> None:
    path = place / "any.yaml"
    path.write_bytes(data)
    one_line(lambda: load_config(path), path)


FIELDS = st.sampled_from(NAMES)


@given(override=TEXT | st.tuples(FIELDS, FIELDS, SCALARS).map(lambda parts: "{}.{}={}".format(*parts)))
def test_any_override(place: Path, override: str) -> None:
    path = place / "good.yaml"
    path.write_text("name: good\n", encoding="utf-8")
    one_line(lambda: load_config(path, [override]), path, " ".join(f"--set {override}".splitlines()))


# Text

BYTES = st.one_of(
    st.binary(max_size=80),
    st.lists(TEXT, max_size=5).map(lambda lines: "\n".join(lines).encode()),
    st.lists(TEXT, max_size=5).map(lambda lines: gzip.compress("\n".join(lines).encode())),
)


@given(source=BYTES, target=BYTES, ending=st.sampled_from(["txt", "gz"]))
def test_any_bytes_as_corpus(place: Path, source: bytes, target: bytes, ending: str) -> None:
    paths = place / f"source.{ending}", place / f"target.{ending}"
    for path, data in zip(paths, (source, target), strict=True):
        path.write_bytes(data)
    pairs = one_line(lambda: read_pairs(*paths), *paths)
    if isinstance(pairs, ParallelText):
        assert len(pairs.source) == len(pairs.target) > 0
        assert not any("\n" in line for line in pairs.source + pairs.target)


@given(data=BYTES | st.text("0123456789-?: \n", max_size=60).map(str.encode))
def test_any_bytes_as_alignment(place: Path, data: bytes) -> None:
    path = place / "any.align"
    path.write_bytes(data)
    one_line(lambda: read_links(path), path)
