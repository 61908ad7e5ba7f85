"""A loaded PopXL program: variables on the replicas, runs, and what comes back to the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from tremula.frontends.popxl.compiled import CompiledGraph, Compiler, Frame, Step
from tremula.frontends.popxl.elements import to_array, to_carrier
from tremula.frontends.popxl.info import Fragment, TensorKind
from tremula.frontends.popxl.invariants import present_data, variable_settings
from tremula.frontends.popxl.machine import Machine, empty_tensor, meta_tensor
from tremula.frontends.popxl.model import Ir, Tensor, VariableSettings

Array = np.ndarray[Any, Any]


class LoadedProgram:
    """An IR that is compiled, with its state on the replicas of this instance.

    In a run of several instances each of them has the host's variables as a whole.
    """

    def __init__(self, ir: Ir) -> None:
        self.ir = ir
        self.machine = Machine(ir)
        self.main: CompiledGraph
        self._steps: dict[Fragment, list[Step]]
        self.main, self._steps = Compiler(self.machine).fragments(ir.main)
        self._frames: list[Frame] = []
        self.variables = [each for each in ir.main.tensors.values() if each.kind is TensorKind.VARIABLE]

    def load(self) -> None:
        """Copy the host's variables to the replicas, and run what has to run then."""
        self._frames = [self.main.frame(replica) for replica in range(self.machine.replicas)]
        for tensor in self.variables:
            self._load(tensor)
        self._run(Fragment.WEIGHTS_FROM_HOST)

    def save(self) -> None:
        """Copy the variables back to the host."""
        self._run(Fragment.WEIGHTS_TO_HOST)
        for tensor in self.variables:
            self._save(tensor)

    def run(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        """One run; streams by identifier, transfers and replicas in front."""
        given = {}
        for name, array in inputs.items():
            info = self.ir.main.tensors[name].type
            shape = (self.ir.host_transfers, self.machine.replicas, *info.shape)
            given[name] = to_carrier(array, info.dtype).reshape(shape)
        self.machine.give(given)
        self._run(Fragment.NORMAL)
        for name, array in outputs.items():
            self.machine.returned(name, self.ir.main.tensors[name].type, array)

    def _run(self, fragment: Fragment) -> None:
        with torch.no_grad():
            for step in self._steps[fragment]:
                step(self._frames)

    def _load(self, tensor: Tensor) -> None:
        settings = variable_settings(tensor)
        values = to_carrier(present_data(tensor), tensor.type.dtype)
        values = values.reshape(-1, *tensor.type.shape)
        each = settings.all_replicas and values.shape[0] == self.ir.replicas
        for replica in range(self.ir.share.local):
            number = self.ir.share.first + replica
            value = values[number if each else settings.assignment[number]]
            if settings.remote_buffer is None:
                self._frames[replica][self.main.slots[tensor]] = value.clone()
                continue
            entry = self._entry(settings, replica)
            if settings.sharded:
                members = _members(settings, number)
                shards = self._shards(tensor, len(members))
                value = _shard(value, members.index(number) % shards, shards, entry.numel(), tensor)
            entry.copy_(value.reshape(entry.shape))

    def _entry(self, settings: VariableSettings, replica: int) -> torch.Tensor:
        """Where a replica of this instance has a variable in its remote buffer."""
        return self.machine.buffer(replica, settings.remote_buffer or 0)[settings.remote_offset]

    def _shards(self, tensor: Tensor, members: int) -> int:
        """How many shards make up a tensor; a group may have several sets of them."""
        settings = variable_settings(tensor)
        length = self.ir.remote_buffers[settings.remote_buffer or 0].type.elements
        return min(members, -(-tensor.type.elements // length))

    def _save(self, tensor: Tensor) -> None:
        settings = variable_settings(tensor)
        host = present_data(tensor)
        if settings.all_replicas and self.ir.replicas > 1:
            host = np.empty((self.ir.replicas, *tensor.type.shape), host.dtype)
            tensor.data = host
        rows = host.reshape(-1, *tensor.type.shape)
        done = set()
        for replica, group in enumerate(settings.assignment):
            place = replica if settings.all_replicas else group
            if place in done or place >= rows.shape[0]:
                continue
            done.add(place)
            value = to_array(self._value(tensor, replica), tensor.type.dtype)
            rows[place] = value.reshape(tensor.type.shape)

    def _value(self, tensor: Tensor, replica: int) -> torch.Tensor:
        """The value of a replica of the run, which instances with parts of it give to the others."""
        settings = variable_settings(tensor)
        if settings.remote_buffer is None:
            slot, like = self.main.slots[tensor], meta_tensor(tensor.type)
            return self.machine.from_owners([replica], lambda own: self._frames[own][slot], like)[0]
        holders, like = [replica], meta_tensor(self.ir.remote_buffers[settings.remote_buffer].type)
        if settings.sharded:
            members = _members(settings, replica)
            holders = members[: self._shards(tensor, len(members))]
        parts = self.machine.from_owners(holders, lambda own: self._entry(settings, own), like)
        if not settings.sharded:
            return parts[0]
        return torch.cat([part.reshape(-1) for part in parts])[: tensor.type.elements].reshape(
            tensor.type.shape
        )


def _members(settings: VariableSettings, replica: int) -> list[int]:
    """The replicas in the group of a replica."""
    return [each for each, group in enumerate(settings.assignment) if group == settings.assignment[replica]]


def _shard(value: torch.Tensor, rank: int, shards: int, length: int, tensor: Tensor) -> torch.Tensor:
    padded = empty_tensor(tensor.type, (shards * length,))
    padded[: value.numel()] = value.reshape(-1)
    return padded[rank * length : (rank + 1) * length]
