"""What is inside a sentencepiece model's bytes: a message of protocol buffers, `ModelProto`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_TRAINER, _NORMALIZER = 2, 3  # fields of ModelProto
_MODEL_TYPE = 3  # a field of TrainerSpec
_BPE = 2
_CHARSMAP = 2  # a field of NormalizerSpec
_LEAF = 1 << 31


def is_bpe(model: bytes) -> bool:
    """Whether pieces are merges; otherwise the model is a unigram one."""
    return any(value == _BPE for value in _all(model, _TRAINER, _MODEL_TYPE))


def check_normalizer(model: bytes) -> None:
    """Raise `ValueError` if the model's table for normalising text would lead sentencepiece out of its bounds.

    The table holds a trie (a double array of 32-bit units, as in Darts-clone) and the texts that its leaves point to.
    sentencepiece follows both without looking where they end. A unit at place i leads to the places i ⊕ offset ⊕ byte.
    """
    for table in _all(model, _NORMALIZER, _CHARSMAP):
        if not isinstance(table, bytes):
            raise ValueError("its normalisation table is a number")
        if not table:
            continue
        size = int.from_bytes(table[:4], "little")
        units = np.frombuffer(table[4 : 4 + size], dtype="<u4") if size % 4 == 0 else np.zeros(0, dtype="<u4")
        texts = table[4 + size :]
        if not len(units) or size > len(table) - 4 or not texts.endswith(b"\0"):
            raise ValueError("its normalisation table is cut short")
        is_leaf = units >= _LEAF
        offsets = (units >> 10) << ((units & (1 << 9)) >> 6)
        reached = (np.arange(len(units), dtype=np.uint32) ^ offsets) | 255
        begins = np.flatnonzero(np.frombuffer(b"\0" + texts, dtype=np.uint8) == 0)  # a text stands behind each zero
        if (reached[~is_leaf] >= len(units)).any() or not np.isin(units[is_leaf] - _LEAF, begins[:-1]).all():
            raise ValueError("its normalisation table leads out of itself")
        texts.decode()  # a UnicodeDecodeError is a ValueError


def _all(message: bytes, field: int, *inner: int) -> Iterator[bytes | int]:
    """The values of a field, or of a field of the messages in it."""
    for number, value in _fields(message):
        if number == field and not inner:
            yield value
        elif number == field and isinstance(value, bytes):
            yield from _all(value, *inner)


def _fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a message, in their order. Raises `ValueError` if it is none."""
    place = 0
    while place < len(message):
        key, place = _number(message, place)
        match key & 7:
            case 0:
                value, place = _number(message, place)
                yield key >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, place = _number(message, place)
            case 5:
                size = 4
            case _:
                raise ValueError("it is not a message of protocol buffers")
        if place + size > len(message):
            raise ValueError("it is cut short")
        yield key >> 3, message[place : place + size]
        place += size


def _number(message: bytes, place: int) -> tuple[int, int]:
    """A number of variable length, seven bits a byte, and the place behind it."""
    value = shift = 0
    while True:
        if place >= len(message) or shift > 63:
            raise ValueError("it is cut short")
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
