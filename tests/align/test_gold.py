"""Gold links in the formats of public test sets, in made-up files."""

import gzip
from pathlib import Path

import pytest

from nmt.evaluation.alignment import Links, read_links
from nmt.system.errors import UserError

LINKS = [  # of three pairs
    Links(frozenset({(0, 0), (2, 1)}), frozenset({(0, 0), (2, 1), (2, 2)})),
    Links(frozenset(), frozenset()),
    Links(frozenset({(10, 9)}), frozenset({(10, 9)})),
]
FILES = {
    "pharaoh.align": "0-0 2-1 2?2\n\n10-9\n",
    "letters": "1S1 3s2 3P3\n\n11S10\n",
    "lines.talp": "1-1 3-2 3p3\n\n11-10\n",
    "naacl": "0001 1 1 S 1.0\n0001 3 2 S\n0001 3 3 P 0.5\n1 0 3 S\n1 2 0 P\n\n0003 11 10\n",
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_has_the_same_links(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(FILES[name].encode()))
    assert read_links(tmp_path / name) == read_links(tmp_path / f"{name}.gz") == LINKS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1S1\n0S1\n", "line 2: '0S1' is not a link of the talp format; write 2S3 .* counted from 1"),
        ("1S1 2?2\n", r"line 1: '2\?2' is not a link of the talp format"),
        ("1 1 1 S\n1 2 S\n", "line 2: '1 2 S' is not a link of the NAACL format; write .* as in 0001 2 3 S"),
        ("\n1 1 1 S\n0 1 1\n", "line 3: '0 1 1' is not"),
        ("9999999 1 1\n", "line 1: '9999999 1 1' is not"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "gold").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=f"gold, {message}"):
        read_links(tmp_path / "gold")
