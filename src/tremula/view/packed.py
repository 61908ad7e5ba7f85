"""Columns as they travel to a page: numbers as base64 of little-endian arrays, texts as lists.

`web/src/source.ts` unpacks them. Whole numbers that fit go as int32, others as float64; texts that repeat go once, with
a number for each row.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64] | NDArray[np.int32] | NDArray[np.float64]

#: characters of a text on a page
LONGEST = 300


def packed_numbers(values: Numbers | Sequence[float]) -> dict[str, str]:
    """Numbers as `{"i4": ...}` or `{"f8": ...}`."""
    array = np.asarray(values)
    if not len(array):
        return {"i4": ""}
    low, high = float(array.min()), float(array.max())
    fits = low >= -(2**31) and high < 2**31
    if fits and (array.dtype.kind in "iu" or bool((array == np.floor(array)).all())):
        return {"i4": _text(array.astype("<i4").tobytes())}
    return {"f8": _text(array.astype("<f8").tobytes())}


def packed_texts(values: Sequence[str]) -> dict[str, Any]:
    """Texts, cut to a bounded length, as `{"strings": [...]}` or `{"texts": [...], "at": numbers}`."""
    cut = [value[:LONGEST] for value in values]
    numbers: dict[str, int] = {}
    at = [numbers.setdefault(value, len(numbers)) for value in cut]
    if len(numbers) * 2 > len(cut):
        return {"strings": cut}
    return {"texts": list(numbers), "at": _text(np.asarray(at, dtype="<i4").tobytes())}


def packed_column(values: Numbers | Sequence[Any]) -> dict[str, Any]:
    """A column of numbers or of texts."""
    if not isinstance(values, np.ndarray) and len(values) and isinstance(values[0], str):
        return packed_texts(values)
    return packed_numbers(values)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
