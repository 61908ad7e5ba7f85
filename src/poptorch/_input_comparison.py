"""Whether the argument of a call looks like the one that a model was compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from tremula.frontends.torch.structure import custom_parsers, flattenTensorStructure, parser_of


class Mismatch(Exception):
    """An argument that is not like the one that was compiled for."""


def check_keys(name: str, compiled: Mapping[Any, Any], given: Mapping[Any, Any]) -> None:
    """Refuse arguments or dictionaries with other keys."""
    if compiled.keys() == given.keys():
        return
    details = []
    extra = given.keys() - compiled.keys()
    if extra:
        details.append("Unexpected arguments: " + ", ".join(sorted(map(str, extra))))
    missing = compiled.keys() - given.keys()
    if missing:
        details.append("Missing arguments: " + ", ".join(sorted(map(str, missing))))
    raise Mismatch(f"Keys mismatch for {name}: {'. '.join(details)}.")


def surely_alike(compiled: Any, given: Any) -> bool:
    """The quick check of each call; where it says no, `check_alike` decides, and names what differs."""
    kind = type(compiled)
    if kind is not type(given) or custom_parsers:
        return False
    if kind is torch.Tensor:
        return compiled.dtype is given.dtype and compiled.shape == given.shape
    if kind is tuple or kind is list:
        if len(compiled) != len(given):
            return False
        for element, other in zip(compiled, given, strict=True):  # noqa: SIM110 (faster than all())
            if not surely_alike(element, other):
                return False
        return True
    return compiled is given


def check_alike(name: str, compiled: Any, given: Any) -> None:
    """Refuse a value that is not like the one that was compiled for, and name what differs."""
    kind = type(compiled)
    # A parameter or buffer may stand in for a plain tensor, hence no comparison of types for tensors.
    if (
        (kind is torch.Tensor or isinstance(compiled, torch.Tensor))
        and isinstance(given, torch.Tensor)
        and (not custom_parsers or parser_of(compiled) is None)
    ):
        if compiled.dtype is not given.dtype:
            raise _mismatch("Data type", name, compiled.dtype, given.dtype)
        if compiled.shape != given.shape:
            raise _mismatch("Shape", name, compiled.shape, given.shape)
        return
    if kind is not type(given):
        raise _mismatch("Type", name, kind, type(given))
    if parser_of(compiled) is not None:
        compiled, given = tuple(flattenTensorStructure(compiled)), tuple(flattenTensorStructure(given))
    if isinstance(compiled, (tuple, list)):
        if len(compiled) != len(given):
            raise _mismatch("Length", name, f"{len(compiled)} elements", len(given))
        for index, (element, other) in enumerate(zip(compiled, given, strict=True)):
            check_alike(f"{name}[{index}]", element, other)
    elif isinstance(compiled, dict):
        check_keys(name, compiled, given)
        for key, element in compiled.items():
            check_alike(f"{name}[{key}]", element, given[key])
    elif not _equal(compiled, given):
        # What is not a tensor is a constant of the compiled program.
        raise _mismatch("Value", name, compiled, given)


def _mismatch(what: str, name: str, expected: object, given: object) -> Mismatch:
    return Mismatch(f"{what} mismatch for {name}: expected {expected} but got {given}.")


def _equal(compiled: Any, given: Any) -> bool:
    if compiled is given:
        return True
    verdict = compiled == given
    try:
        return bool(verdict)
    except (ValueError, RuntimeError):
        # arrays compare element by element
        return bool(verdict.all()) and compiled.shape == given.shape
