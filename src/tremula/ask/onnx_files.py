"""ONNX files as words of a command line: the file, then its settings as `name=value`.

    model.onnx loss=cross_entropy shape:input=1,3,224,224 dimension:sequence=128

In this form a file and its settings can be passed on like any other subject, also to other processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from tremula.errors import Error

if TYPE_CHECKING:
    from tremula.study.subject import Subject


def is_onnx_file(word: str) -> bool:
    """Whether a word names an ONNX file."""
    return word.lower().endswith(".onnx")


def words_of(loss: str | None, shapes: Sequence[str], dimensions: Sequence[str]) -> list[str]:
    """The options of a file as words. Shapes are `input=1,3,224,224`, dimensions `name=128`."""
    words = [f"loss={loss}"] if loss else []
    words += [f"shape:{each}" for each in shapes]
    return words + [f"dimension:{each}" for each in dimensions]


def onnx_file(
    path: str | PathLike[str],
    words: Sequence[str] = (),
    *,
    training: bool | None = None,
    optimizer: str | None = None,
    values: bool = False,
    **settings: Any,
) -> Subject:
    """The model in an ONNX file. Weights are not read unless `values` is set.

    Args:
        path: the file.
        words: its settings (see above).
        training: None: if a loss or an optimizer is given.
        optimizer: by name (sgd, adam ...).
        values: keep weights, to run the model.
        settings: `loss`, `shapes` and `dimensions`, for scripts.

    Raises:
        Error: the file cannot be read, or a required setting is missing.
    """
    from tremula.frontends.onnx.subject import Request, subject_of_file

    given: dict[str, Any] = {"shapes": {}, "dimensions": {}, **settings}
    for word in words:
        kind, name, value = _split(word)
        if kind == "loss":
            given["loss"] = value
        elif kind == "shape":
            given["shapes"][name] = [_number(each, word) for each in value.split(",")]
        else:
            given["dimensions"][name] = _number(value, word)
    return subject_of_file(path, Request(training=training, optimizer=optimizer, values=values, **given))


def _split(word: str) -> tuple[str, str, str]:
    # names of inputs may have colons and equal signs in them
    name, equals, value = word.rpartition("=")
    kind, _, named = name.partition(":")
    if not equals or kind not in ("loss", "shape", "dimension") or bool(named) == (kind == "loss"):
        raise Error(
            f"{word!r} is not a setting of an ONNX file. Use loss=NAME, shape:INPUT=1,2,3 or dimension:NAME=N."
        )
    return kind, named, value


def _number(text: str, word: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:12]) < 2**31):
        raise Error(f"{word!r}: {text!r} is not a positive number.")
    return int(text)
