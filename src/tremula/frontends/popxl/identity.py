"""What a PopXL program is, and its variables, as files of executables have them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from tremula.errors import Error
from tremula.frontends.popxl.description import described
from tremula.frontends.popxl.info import TensorKind
from tremula.frontends.popxl.invariants import present_data, variable_settings
from tremula.frontends.popxl.model import Ir, Tensor
from tremula.frontends.sessions.executables import POPXL_PROGRAM, Identity, check_variables, plain

#: types that torch computes little with, as types of the same size
_CARRIERS = {"uint16": np.int16, "uint32": np.int32, "uint64": np.int64}


def identity_of(ir: Ir, settings: Mapping[str, Any]) -> Identity:
    """What a session runs; `settings` are what was asked of it besides."""
    program = json.dumps(described(ir), sort_keys=True, separators=(",", ":")).encode()
    return Identity(POPXL_PROGRAM, program, plain(settings))


def variables_of(ir: Ir) -> dict[str, torch.Tensor]:
    """The host's values of the variables, one for each group of replicas, as tensors that files can hold."""
    return {tensor.identifier: _stored(_by_group(tensor)) for tensor in _variables(ir)}


def take_variables(ir: Ir, values: Mapping[str, torch.Tensor], path: str) -> None:
    """Make these the host's values.

    Raises Error if they are not exactly the variables of the program, or cannot be written; then nothing is changed.
    """
    check_variables(variables_of(ir), values, path)
    own = {tensor: _by_group(tensor) for tensor in _variables(ir)}
    fixed = [tensor.identifier for tensor, array in own.items() if not array.flags.writeable]
    if fixed:
        raise Error(
            f"The variable {fixed[0]} is a read-only array: the values in {path} cannot be put there."
        )
    for tensor, array in own.items():
        array[...] = values[tensor.identifier].numpy().view(array.dtype).reshape(array.shape)
        tensor.data = array


def _variables(ir: Ir) -> list[Tensor]:
    return [each for each in ir.main.tensors.values() if each.kind is TensorKind.VARIABLE]


def _by_group(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The host's array with the values of each group once: it may have those of each replica."""
    array, settings = present_data(tensor), variable_settings(tensor)
    if not settings.all_replicas or array.size != len(settings.assignment) * tensor.type.elements:
        return array
    if settings.groups == len(settings.assignment):
        return array
    firsts = [settings.assignment.index(group) for group in range(settings.groups)]
    rows = array.reshape(len(settings.assignment), *tensor.type.shape)[firsts]
    return rows if settings.groups > 1 else rows[0]


def _stored(array: np.ndarray[Any, Any]) -> torch.Tensor:
    own = np.array(array, order="C", copy=True)
    if own.dtype.fields is not None:  # float8 as bytes
        own = own.view(np.uint8)
    return torch.from_numpy(own.view(_CARRIERS.get(own.dtype.name, own.dtype)))
