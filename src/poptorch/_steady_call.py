"""Recognises a call that passes plain tensors of the same types and shapes as one that was bound and checked before.
Any other call takes the slow path, which checks everything and explains
mistakes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.session import Session
from tremula.frontends.torch.structure import LEAVES, custom_parsers, rebuilder

from ._args_parser import ArgsParser

_Tensor = torch.Tensor


@dataclass(frozen=True)
class _Place:
    """Stands for the argument at `index` of a call while it is found out which parameter that is."""

    index: int


class SteadyCall:
    """The calls of one compiled program; the arguments it was compiled for give the order of the tensors."""

    def __init__(self, session: Session, compiled_for: ArgsParser.Args) -> None:
        self.session = session
        self.mutated_inputs = session.program.mutated_inputs
        #: puts outputs in the place of the tensors that `forward` returned
        self.as_returned = rebuilder(session.result, lambda tensor: isinstance(tensor, FakeTensor))
        self._compiled_for = compiled_for
        self._style: tuple[int, tuple[str, ...]] | None = None
        self._names: tuple[str, ...] = ()
        self._count = -1  # no call has as many arguments
        self._tensors: list[tuple[int, torch.dtype, torch.Size]] = []
        self._constants: list[tuple[int, Any]] = []
        self._narrowed: list[tuple[int, torch.dtype]] = []

    def learn(self, parser: ArgsParser, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Recognise calls like this one, which was found to fit, from now on."""
        style = (len(args), tuple(kwargs))
        if style == self._style:
            return  # known, or known to be of a kind that is not recognised
        self._style, self._count = style, -1
        names = style[1]
        bound = parser.bound(
            [_Place(index) for index in range(len(args))],
            {name: _Place(len(args) + index) for index, name in enumerate(names)},
        )
        given = (*args, *kwargs.values())
        tensors, constants = [], []
        for value in (*bound.args, *(bound.kwargs[key] for key in self._compiled_for.kwargs)):
            if not isinstance(value, _Place):
                if type(value) not in LEAVES:
                    return
                continue  # a default, which stays what it is
            argument = given[value.index]
            if type(argument) is _Tensor:
                tensors.append((value.index, argument.dtype, argument.shape))
            elif type(argument) in LEAVES:
                constants.append((value.index, argument))
            else:
                return
        self._names, self._count = names, len(given)
        self._tensors, self._constants = tensors, constants
        self._narrowed = [
            (position, device_dtype(dtype))
            for position, (_, dtype, _) in enumerate(tensors)
            if device_dtype(dtype) != dtype
        ]

    def recognised(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[torch.Tensor] | None:
        """The tensors of a call in the program's order, or None if it has to be looked at closely."""
        if kwargs or self._names:
            if tuple(kwargs) != self._names:
                return None
            args = (*args, *kwargs.values())
        if len(args) != self._count or custom_parsers:
            return None
        for index, constant in self._constants:
            if args[index] is not constant:
                return None
        tensors = []
        for index, dtype, shape in self._tensors:
            tensor = args[index]
            if (
                type(tensor) is not _Tensor
                or tensor.dtype is not dtype
                or tensor.shape != shape
                or tensor.requires_grad
                or not tensor.is_contiguous()
            ):
                return None
            tensors.append(tensor)
        return tensors

    def as_device(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """What `recognised` returned, in device dtypes."""
        if not self._narrowed:
            return tensors
        given = tensors.copy()
        for position, dtype in self._narrowed:
            given[position] = given[position].to(dtype)
        return given

    def run(
        self, tensors: list[torch.Tensor], given: list[torch.Tensor], *, synthetic: bool
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Outputs and anchored tensors of a call; the device takes `tensors` as `given`, or `synthetic` data."""
        if synthetic:
            outputs, anchors = self.session.run([_synthetic(tensor) for tensor in given])
            return [torch.zeros_like(output) for output in outputs], anchors
        outputs, anchors = self.session.run(given)
        for index in self.mutated_inputs:
            if given[index] is not tensors[index]:
                with torch.no_grad():
                    tensors[index].copy_(given[index])
        return outputs, anchors


def _synthetic(tensor: torch.Tensor) -> torch.Tensor:
    """Data that does not come from the host: random for floating point, zeros otherwise."""
    return torch.randn_like(tensor) if tensor.is_floating_point() else torch.zeros_like(tensor)
