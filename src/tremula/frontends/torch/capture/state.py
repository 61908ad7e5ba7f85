"""A module's parameters and buffers as inputs of the captured graph: one slot per distinct tensor, under its first
name. During a capture the slots' places hold the graph's inputs; afterwards the module has its tensors back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from tremula.errors import Error
from tremula.frontends.torch.dtypes import device_dtype

# These keep working when a buffer is replaced in forward: num_batches_tracked is reassigned by torch itself.
_MAY_REASSIGN = (torch.nn.modules.batchnorm._BatchNorm,)


@dataclass
class _Slot:
    name: str
    tensor: torch.Tensor
    places: list[tuple[torch.nn.Module, str]] = field(default_factory=list)


class StateSlots:
    """The slots of one module tree, parameters first."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._owners = list(module.modules())
        self._parameters: dict[int, _Slot] = {}
        self._buffers: dict[int, _Slot] = {}
        for prefix, owner in module.named_modules(remove_duplicate=False):
            for table, slots in ((owner._parameters, self._parameters), (owner._buffers, self._buffers)):
                for key, tensor in table.items():
                    if tensor is None:
                        continue
                    name = f"{prefix}.{key}" if prefix else key
                    slot = slots.setdefault(id(tensor), _Slot(name, tensor))
                    if (owner, key) not in slot.places:
                        slot.places.append((owner, key))
        self._slots = [*self._parameters.values(), *self._buffers.values()]
        self._changed: Error | None = None

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def names(self) -> list[str]:
        """Names in graph order: parameters, then buffers."""
        return [slot.name for slot in self._slots]

    @property
    def parameter_names(self) -> list[str]:
        return [slot.name for slot in self._parameters.values()]

    @property
    def buffer_names(self) -> list[str]:
        return [slot.name for slot in self._buffers.values()]

    def tensors(self) -> dict[str, torch.Tensor]:
        """The host tensors by name."""
        return {slot.name: slot.tensor for slot in self._slots}

    def fake(
        self,
        mode: FakeTensorMode,
        shapes: Mapping[str, torch.Size],
        dtype_of: Callable[[torch.dtype], torch.dtype] = device_dtype,
    ) -> list[torch.Tensor]:
        """Fake tensors of the slots, in device dtypes; parameters keep requires_grad."""
        fakes: list[torch.Tensor] = []
        for slot in self._slots:
            tensor = slot.tensor
            with mode:
                fake = torch.empty(shapes.get(slot.name, tensor.shape), dtype=dtype_of(tensor.dtype))
            if isinstance(tensor, torch.nn.Parameter):
                fake.requires_grad_(tensor.requires_grad and fake.dtype.is_floating_point)
                fake._is_param = True
            fakes.append(fake)
        return fakes

    @contextlib.contextmanager
    def filled(self, values: Sequence[torch.Tensor]) -> Iterator[None]:
        """The module holds `values` in its slots; afterwards it has its tensors back, plain attributes included."""
        plain = [
            (vars(owner), key, value)
            for owner in self._owners
            for key, value in vars(owner).items()
            if isinstance(value, torch.Tensor)
        ]
        for slot, value in zip(self._slots, values, strict=True):
            for owner, key in slot.places:
                self._table(slot, owner)[key] = value
        try:
            yield
            self._note_changes(values)
        finally:
            for slot in self._slots:
                for owner, key in slot.places:
                    self._table(slot, owner)[key] = slot.tensor
            for attributes, key, tensor in plain:
                if isinstance(
                    attributes.get(key), FakeTensor
                ):  # assigned in forward: self.x = self.x.to(device)
                    attributes[key] = tensor

    def check_unchanged(self) -> None:
        """Raise if forward replaced or removed a parameter or buffer."""
        if self._changed is not None:
            raise self._changed

    def _table(self, slot: _Slot, owner: torch.nn.Module) -> dict[str, torch.Tensor | None]:
        parameters = id(slot.tensor) in self._parameters
        # vars(): a wrapped model's attribute access would copy weights from the device
        table: dict[str, torch.Tensor | None] = vars(owner)["_parameters" if parameters else "_buffers"]
        return table

    def _note_changes(self, values: Sequence[torch.Tensor]) -> None:
        for slot, value in zip(self._slots, values, strict=True):
            kind = "Parameter" if id(slot.tensor) in self._parameters else "Buffer"
            for owner, key in slot.places:
                if isinstance(owner, _MAY_REASSIGN):
                    continue
                table = self._table(slot, owner)
                if key not in table:
                    self._changed = Error(
                        f"{kind} {slot.name} is removed from the model by forward(). The graph is compiled once: a "
                        "module must have the same state after every call."
                    )
                elif not _same(table[key], value):
                    self._changed = Error(
                        f"{kind} {slot.name} is reassigned within the model by forward(), which would lose its "
                        f"place on the device. Write into it instead: self.{key}.copy_(value)."
                    )


def _same(now: torch.Tensor | None, given: torch.Tensor) -> bool:
    if now is given:
        return True
    if isinstance(now, FakeTensor) and isinstance(given, FakeTensor):
        return bool(now.untyped_storage()._cdata == given.untyped_storage()._cdata)
    return False
