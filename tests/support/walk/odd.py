"""What breaks programs: numbers at the ends of their types, text that is hardly text, YAML that is more than values."""

from __future__ import annotations

from random import Random

NUMBERS = [
    *("0", "-1", "1", "2", "3", "0.5", "-0.0", "1e-300", "1e300", ".inf", "-.inf", ".nan", "33", "1025"),
    *("999999999", "1000000000", "4294967296", "9223372036854775807", "9223372036854775808", "0x" + "f" * 5000),
]
VALUES = [
    *("null", "true", "yes", "''", "' '", "x", "X", "é", "../../x", "a/b", "/dev/zero", "-", ".", "..", "x" * 20_000),
    *(r'"\ud83d"', r'"\ud83d\udc69"', '"a\\0b"', r'"a\nb"', "'\x1b[2J'", "'\u2028'", "\u202e", "'" + "(" * 3000 + "'"),
    *("[]", "[1, [2]]", "[x, x, x]", "[/dev/zero]", "[../x, '']", "{}", "{a: 1}", "{<<: {a: 1}}", "{? [1]: 2}"),
    *("!!python/object:os.system x", "!!binary aGk=", "!!set {a}", "2024-02-30", "2024-01-01", "12:30:45", "&a [*a]"),
    *("luong", "none", "spacy", "sentencepiece", "char", "location", "local_p", "cosine", "tokens", "bf16", "cuda:7"),
]
ODD = NUMBERS + VALUES
CHARACTERS = (
    "\x00\x01\x1b\t\r\x0b\x0c\x7f\x85\xa0\xad\u2028\u2029\ufeff\ufffe\u200b\u200d\u202e\u0301\u0660אبאدİıßﬁ👩🏽日本▁⁄½"
    "\U0010ffff\U000e0001<>|\"'&;-.,:/#@(){}[]*?!%  aAbB01"
)
WORDS = [
    *("ba", "DE", "fi.", "go", "hu", "<unk>", "<eos>", "<pad>", "<bos>", "|||", "▁", "▁ba", "http://a.b", "a@b.c", "-"),
    *("don't", "z.B.", "1.000,5", "--", "...", "'s", ":-)", "\u0301", "a" * 60, "(" * 40, "#" * 40, "\u200d" * 30),
    "👩\u200d👩\u200d👧\u200d👦",
]
SYNTAX = "{}[]:-&*!|>#%@? \n'\"ab1,~<="


def text(chance: Random) -> str:
    """A line, without its end, that UTF-8 can write."""
    match chance.randrange(8):
        case 0:
            return "".join(map(chr, chance.choices(range(32, 0xD7FF), k=chance.randrange(40)))).replace("\n", "")
        case 1 | 2:
            return "".join(chance.choices(CHARACTERS, k=chance.randrange(60)))
        case 3 if chance.random() < 0.1:
            return chance.choice([*CHARACTERS, *WORDS]) * chance.randrange(1, 3000)
        case _:
            return " ".join(chance.choices(WORDS, k=chance.randrange(9)))


def altered(whole: bytes, chance: Random) -> bytes:
    """Some bytes cut off, cut out, put in, moved, or with bits flipped; never the same."""
    while True:
        begin, end = sorted(chance.choices(range(len(whole) + 1), k=2))
        match chance.randrange(6):
            case 0:
                changed = whole[:begin]
            case 1:
                changed = whole[:begin] + whole[min(end, begin + chance.randrange(1, 20)) :]
            case 2:
                changed = whole[:begin] + chance.randbytes(chance.randrange(1, 20)) + whole[begin:]
            case 3:
                changed = whole[begin:end] + whole[:begin] + whole[end:]
            case _:
                flipped = bytearray(whole)
                for _ in range(chance.choice([1, 1, 2, 8])):
                    if flipped:
                        flipped[chance.randrange(len(flipped))] ^= chance.choice([1, 2, 4, 8, 16, 32, 64, 128, 255])
                changed = bytes(flipped)
        if changed != whole:
            return changed
        if not whole:
            return b"\0"
