"""Notes with a checksum: what is read is what was written, to the byte."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.system.checksum import with_checksum, without_checksum

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=8,
)
NOTES = st.dictionaries(st.sampled_from(["sentences", "bytes", "ä", ""]), PLAIN)


@given(NOTES)
def test_what_is_written_is_read_as_it_was(values: dict[str, object]) -> None:
    assert without_checksum(with_checksum(values)) == values


@given(NOTES, st.data())
def test_any_other_byte_is_noticed(values: dict[str, object], data: st.DataObject) -> None:
    content = bytearray(with_checksum(values))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="cut off or changed"):
        without_checksum(bytes(content))


FALSE = json.dumps({"a": 1, "sha256": "0" * 64}, indent=1).encode()


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"sha256": 1}', FALSE])
def test_what_has_no_right_checksum_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="cut off or changed"):
        without_checksum(content)
