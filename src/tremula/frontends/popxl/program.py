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
from tremula.frontends.popxl.machine import Machine, empty_tensor
from tremula.frontends.popxl.model import Ir, Tensor

Array = np.ndarray[Any, Any]


class LoadedProgram:
    """An IR that is compiled, with its state on all replicas."""

    def __init__(self, ir: Ir) -> None:
        self.ir = ir
        self.machine = Machine(ir)
        self.main: CompiledGraph
        self._steps: dict[Fragment, list[Step]]
        self.main, self._steps = Compiler(self.machine).fragments(ir.main)
        self._frames: list[Frame] = []
        self.variables = [each for each in ir.main.tensors.values() if each.kind is TensorKind.VARIABLE]

    def load(self) -> None:
        """Copy the host's variables to all replicas, and run what has to run then."""
        self._frames = [self.main.frame(replica) for replica in range(self.ir.replicas)]
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
            shape = (self.ir.host_transfers, self.ir.replicas, *info.shape)
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
        for replica, group in enumerate(settings.assignment):
            each = settings.all_replicas and values.shape[0] == self.ir.replicas
            value = values[replica if each else group]
            if settings.remote_buffer is None:
                self._frames[replica][self.main.slots[tensor]] = value.clone()
            elif settings.sharded:
                self._load_shard(tensor, replica, value)
            else:
                buffer = self.machine.buffer(replica, settings.remote_buffer)
                buffer[settings.remote_offset] = value.reshape(buffer.shape[1:])

    def _shards(self, tensor: Tensor, replica: int) -> tuple[torch.Tensor, int, int, int]:
        """The buffer of a replica, the number of its shard, shards, and the elements of one."""
        settings = variable_settings(tensor)
        buffer = self.machine.buffer(replica, settings.remote_buffer or 0)
        length = buffer[settings.remote_offset].numel()
        members = [
            each for each, group in enumerate(settings.assignment) if group == settings.assignment[replica]
        ]
        shards = min(len(members), -(-tensor.type.elements // length))
        return buffer, members.index(replica) % shards, shards, length

    def _load_shard(self, tensor: Tensor, replica: int, value: torch.Tensor) -> None:
        buffer, rank, shards, length = self._shards(tensor, replica)
        padded = empty_tensor(tensor.type, (shards * length,))
        padded[: value.numel()] = value.reshape(-1)
        shard = padded[rank * length : (rank + 1) * length]
        offset = variable_settings(tensor).remote_offset
        buffer[offset] = shard.reshape(buffer.shape[1:])

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
        settings = variable_settings(tensor)
        if settings.remote_buffer is None:
            value: torch.Tensor = self._frames[replica][self.main.slots[tensor]]
            return value
        if not settings.sharded:
            return self.machine.buffer(replica, settings.remote_buffer)[settings.remote_offset]
        members = [
            each for each, group in enumerate(settings.assignment) if group == settings.assignment[replica]
        ]
        _, _, shards, _ = self._shards(tensor, replica)
        parts = [
            self.machine.buffer(each, settings.remote_buffer)[settings.remote_offset].reshape(-1)
            for each in members[:shards]
        ]
        return torch.cat(parts)[: tensor.type.elements].reshape(tensor.type.shape)
