"""Names that other modules and programs import from `poptorch._utils`; the work is in the engine."""

from __future__ import annotations

import functools
import inspect
import json
import logging
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.structure import (
    custom_parsers,
    flattenTensorStructure,
    parser_of,
    reconstructTensorStructure,
)

__all__ = [
    "ATTR_PREFIX",
    "accessAttributes",
    "assert_signatures_match",
    "combine_batch_tensors_gen",
    "combined_batch_generator",
    "custom_arg_parsers",
    "deprecated",
    "flattenTensorStructure",
    "getCustomParser",
    "getIpuTensorId",
    "isOnIpu",
    "reconstructTensorStructure",
]

ATTR_PREFIX = "attr:"

#: parsers for the user's own argument types, by type
custom_arg_parsers = custom_parsers
getCustomParser = parser_of

_logger = logging.getLogger("poptorch::python")


def deprecated(
    domain: str, since_version: str, reason: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator for functions of `domain` that warn at every call, with the `reason` and what to use instead."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def warn_and_call(*args: Any, **kwargs: Any) -> Any:
            _logger.warning(
                "%s.%s is deprecated since version %s and may be removed: %s.",
                domain,
                function.__name__,
                since_version,
                reason,
            )
            return function(*args, **kwargs)

        return warn_and_call

    return decorate


def assert_signatures_match(
    poptorch_method: Callable[..., Any], reference_method: Callable[..., Any]
) -> None:
    """Check that two callables take the same parameters."""
    ours = inspect.signature(poptorch_method).parameters
    theirs = inspect.signature(reference_method).parameters
    if ours != theirs:
        raise AssertionError(f"parameters differ: expected {theirs}, got {ours}")


def accessAttributes(attribute_id_str: str) -> dict[str, Any]:
    """The attributes of a custom op from the text that the op carries."""
    if not isinstance(attribute_id_str, str):
        raise ValueError(f"Wrong type for attribute_id_str: {type(attribute_id_str).__name__}, not str")
    if not attribute_id_str.startswith("{"):
        raise ValueError(
            f"Invalid attribute_id_str: {attribute_id_str!r} is not the text of a custom op's attributes"
        )
    attributes: dict[str, Any] = json.loads(attribute_id_str)
    return attributes


def isOnIpu(x: torch.Tensor) -> bool:
    """Whether a tensor is on the (emulated) device."""
    return x.device.type == "ipu"


def combine_batch_tensors_gen(tensors: list[list[torch.Tensor]]) -> Generator[torch.Tensor, None, None]:
    """For each tensor position, the tensors of all batches joined along dimension 0."""
    for same_position in zip(*tensors, strict=True):
        yield torch.cat(same_position)


def combined_batch_generator(
    dataloader_iterator: Iterable[Any], num_batches_to_combine: int, drop_last: bool = True
) -> Iterator[Any]:
    """Batches joined in groups along dimension 0; `drop_last` leaves out a last group with fewer batches."""
    group: list[list[torch.Tensor]] = []
    batch: Any = None
    for batch in dataloader_iterator:
        group.append(flattenTensorStructure(batch))
        if len(group) == num_batches_to_combine:
            yield reconstructTensorStructure(batch, combine_batch_tensors_gen(group))
            group = []
    if group and not drop_last:
        yield reconstructTensorStructure(batch, combine_batch_tensors_gen(group))


def getIpuTensorId(x: torch.Tensor) -> int:
    """A number that identifies a tensor of the device while it lives."""
    if not isOnIpu(x):
        raise Error("getIpuTensorId takes a tensor that is on the IPU; this one is on the host.")
    return id(x)
