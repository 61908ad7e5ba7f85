"""What a running program reaches outside of its graphs: streams, remote buffers, and replicas of other instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tremula.frontends.popxl.elements import ELEMENTS, to_array
from tremula.frontends.popxl.errors import graph_error
from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Ir

if TYPE_CHECKING:
    from tremula.distributed.replica_exchange import ReplicaExchange


class Machine:
    """State of one loaded program on the replicas of this instance, which are numbered from 0.

    Attributes:
        share: these replicas among those of the run.
    """

    def __init__(self, ir: Ir) -> None:
        self.share = ir.share
        self.replicas = ir.share.local
        self._exchange: ReplicaExchange | None = None
        #: while a program is only described to the chip model nothing is computed
        self.describing = False
        self._buffers: list[dict[int, torch.Tensor]] = []
        self._infos = dict(ir.remote_buffers)
        self._given: dict[str, torch.Tensor] = {}
        self._taken: dict[str, list[int]] = {}
        self._returned: dict[str, list[list[torch.Tensor]]] = {}
        self.reset_buffers()

    @property
    def exchange(self) -> ReplicaExchange:
        """What talks to the other instances."""
        if self._exchange is None:
            # imported here, because it takes a moment and a run of one instance does not need it
            from tremula.distributed.replica_exchange import ReplicaExchange

            self._exchange = ReplicaExchange(self.share)
        return self._exchange

    def from_owners(
        self, replicas: Sequence[int], own: Callable[[int], torch.Tensor], like: torch.Tensor
    ) -> list[torch.Tensor]:
        """The tensors of some replicas of the run; `own` gives that of a replica of this instance."""
        if not self.share.several:
            return [own(replica) for replica in replicas]
        return self.exchange.from_owners(replicas, lambda each: own(each - self.share.first), like)

    def reset_buffers(self) -> None:
        """Remote buffers of zeros."""
        self._buffers = [{} for _ in range(self.replicas)]

    def buffer(self, replica: int, number: int) -> torch.Tensor:
        """A remote buffer of a replica, its entries in front."""
        found = self._buffers[replica].get(number)
        if found is None:
            buffer = self._infos[number]
            found = empty_tensor(buffer.type, (buffer.entries, *buffer.type.shape))
            self._buffers[replica][number] = found
        return found

    def remote_load(self, replica: int, number: int, offset: torch.Tensor) -> torch.Tensor:
        """A copy of an entry."""
        if self.describing:
            return empty_tensor(self._infos[number].type, self._infos[number].type.shape)
        buffer = self.buffer(replica, number)
        place = offset.reshape(1).long()
        _check_entry(int(place), buffer.shape[0], number)
        return _bits(buffer).index_select(0, place).view(buffer.dtype).reshape(buffer.shape[1:])

    def remote_store(self, replica: int, number: int, offset: torch.Tensor, value: torch.Tensor) -> None:
        """Store a copy as an entry."""
        if self.describing:
            return
        buffer = self.buffer(replica, number)
        place = offset.reshape(1).long()
        _check_entry(int(place), buffer.shape[0], number)
        _bits(buffer).index_copy_(0, place, _bits(value.reshape(1, *buffer.shape[1:])))

    def give(self, inputs: Mapping[str, torch.Tensor]) -> None:
        """What the streams bring in the next run, transfers and replicas in front."""
        self._given = dict(inputs)
        self._taken = {name: [0] * self.replicas for name in inputs}
        self._returned = {}

    def host_load(self, replica: int, stream: str) -> torch.Tensor:
        """The next value of a stream."""
        values = self._given.get(stream)
        if values is None:
            raise graph_error(f"Nothing was given for the stream {stream}.")
        if self.describing:
            return values[0, 0]
        number = self._taken[stream][replica]
        if number >= values.shape[0]:
            raise graph_error(
                f"The program loads more than {values.shape[0]} times from the stream {stream} in one run: set "
                "ir.num_host_transfers to the number of its host loads."
            )
        self._taken[stream][replica] = number + 1
        return values[number, replica]

    def host_store(self, replica: int, stream: str, value: torch.Tensor) -> None:
        """Append a value to a stream."""
        returned = self._returned.setdefault(stream, [[] for _ in range(self.replicas)])
        returned[replica].append(value.clone())

    def stored(self) -> list[torch.Tensor]:
        """All values that went through streams to the host."""
        return [value for replicas in self._returned.values() for values in replicas for value in values]

    def returned(self, stream: str, info: TensorInfo, into: np.ndarray[Any, Any]) -> None:
        """Write what went through a stream to the host's array, transfers and replicas in front."""
        values = self._returned.get(stream)
        if values is None:
            return
        transfers = into.reshape(-1, self.replicas, *info.shape)
        for replica, stored in enumerate(values):
            if len(stored) > transfers.shape[0]:
                raise graph_error(
                    f"The program stores {len(stored)} times to the stream {stream} in one run, but "
                    f"ir.num_host_transfers is {transfers.shape[0]}."
                )
            for number, value in enumerate(stored):
                transfers[number, replica] = to_array(value, info.dtype)


def _check_entry(place: int, entries: int, number: int) -> None:
    if not 0 <= place < entries:
        raise graph_error(f"The remote buffer {number} has {entries} entries; there is no entry {place}.")


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """Float8 as plain bytes, which torch can index."""
    if tensor.is_floating_point() and tensor.dtype.itemsize == 1:
        return tensor.view(torch.uint8)
    return tensor


def empty_tensor(info: TensorInfo, shape: Sequence[int]) -> torch.Tensor:
    """Zeros of the element type of `info`."""
    carrier = ELEMENTS[info.dtype].carrier
    if carrier.is_floating_point and carrier.itemsize == 1:
        return torch.zeros(list(shape), dtype=torch.uint8).view(carrier)
    return torch.zeros(list(shape), dtype=carrier)


def meta_tensor(info: TensorInfo) -> torch.Tensor:
    """A tensor of this shape and the element type that carries it, without values."""
    return torch.empty(info.shape, dtype=ELEMENTS[info.dtype].carrier, device="meta")
