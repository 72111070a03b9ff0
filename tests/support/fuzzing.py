"""What fuzzing draws, and what it expects."""

from collections.abc import Callable

from hypothesis import strategies as st

from nmt.system.errors import UserError

# What breaks programs: controls, other line ends, right to left, combining, joined, half characters' neighbours, marks.
AWKWARD = "\x00\x1b\t\r\x0b\x0c\x85\u2028\u2029\ufeff\u200b\u200d\u202e\u0301\u0660אבאدİßﬁ👩🏽日本▁⁄½<>|\"'&;-.,  aB1"
TEXT = st.one_of(
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=40),
    st.text(AWKWARD, max_size=40),
    st.lists(st.sampled_from(["ba", "DE", "fi.", "<unk>", "<eos>", "<pad>", "|||", "▁", "👩‍👩‍👧‍👦"])).map(" ".join),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["luong", "files", "dot"]),
)


def one_line(function: Callable[[], object], *beginnings: object) -> object:
    """The function's result, or None if it refused with one line that begins with one of these."""
    try:
        return function()
    except UserError as error:
        said = str(error)
    assert len(said.splitlines()) == 1
    assert any(said.startswith(str(UserError(str(beginning)))) for beginning in beginnings), said
    return None
