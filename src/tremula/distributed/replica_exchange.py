"""Tensors of replicas that are divided among instances: handed to all instances, sent from their owners, summed.

All instances make the same calls in the same order.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tremula import log
from tremula.distributed import collectives, consistency, independent_models, protocol, rendezvous
from tremula.distributed.collectives import Group
from tremula.distributed.instances import sync_timeout
from tremula.distributed.missing_ranks import named
from tremula.distributed.replica_share import ReplicaShare

#: tensors begin at multiples of it in a message, so that any element type can be read there
_ALIGNED = 16
#: at most so many bytes are summed in one message, besides tensors that are larger themselves
_SUMMED_BYTES = 64 << 20


class ReplicaExchange:
    """Talks for the replicas of this instance; connects to the other instances when it first has to."""

    def __init__(self, share: ReplicaShare, engine_options: Mapping[str, str] | None = None) -> None:
        """`engine_options` may say how long instances wait for each other.

        Raises Error if the launcher has started another number of instances.
        """
        share.check_launched()
        self.share = share
        self._engine_options = engine_options

    @property
    def group(self) -> Group:
        """All instances of the run; raises Error if they do not come together in time."""
        rendezvous.write_note(protocol.NOTE_DISTRIBUTED)
        found = collectives.whole(
            self.share.instance, self.share.instances, sync_timeout(self._engine_options)
        )
        independent_models.add_distributed_compilation()
        return found

    def gathered(
        self, own: Mapping[int, Sequence[Tensor]], like: Sequence[Tensor]
    ) -> dict[int, list[Tensor]]:
        """The tensors of all replicas that give some, by the number of the replica in the run.

        Args:
            own: tensors of replicas of this instance; a replica may be left out.
            like: tensors of the same shapes and types, which need no values.
        """
        share, sizes = self.share, [_padded(each.numel() * each.element_size()) for each in like]
        row = _ALIGNED + sum(sizes)
        message = torch.zeros(share.local, row, dtype=torch.uint8)
        for replica, tensors in own.items():
            line = message[replica - share.first]
            line[0] = 1
            for place, tensor in zip(_places(sizes), tensors, strict=True):
                flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
                line[place : place + flat.numel()] = flat
        found: dict[int, list[Tensor]] = {}
        for instance, rows in enumerate(self.group.gather(message)):
            for number, line in enumerate(rows):
                if line[0]:
                    found[instance * share.local + number] = _read(line, sizes, like)
        return found

    def from_owners(
        self, replicas: Sequence[int], own: Callable[[int], Tensor], like: Tensor
    ) -> list[Tensor]:
        """A tensor of each of some replicas of the run.

        Args:
            replicas: their numbers in the run, the same on all instances.
            own: gives the tensor of a replica of this instance.
            like: a tensor of the same shape and type, which needs no values.
        """
        found = []
        for replica in replicas:
            if self.share.has(replica):
                tensor = own(replica).detach().contiguous()
            else:
                memory = torch.empty(like.numel() * like.element_size(), dtype=torch.uint8)
                tensor = memory.view(like.dtype).reshape(like.shape)
            if tensor.numel():
                self.group.broadcast(tensor, self.share.owner(replica))
            found.append(tensor)
        return found

    def summed(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The sum of each tensor over all instances, bit for bit the same on each."""
        results: list[Tensor] = list(tensors)
        for places in _messages(tensors):
            flat = torch.cat([tensors[place].detach().reshape(-1) for place in places])
            self.group.sum(flat)
            parts = torch.split(flat, [tensors[place].numel() for place in places])
            for place, part in zip(places, parts, strict=True):
                results[place] = part.view(tensors[place].shape)
        return results

    def require_same(self, description: Mapping[str, Any]) -> None:
        """Compare a description (plain JSON values) of the program; Error on all instances if one differs."""
        consistency.require_same(self.group, description)

    def tell_differing(self, what: str, arrays: Mapping[str, np.ndarray[Any, Any]], advice: str) -> None:
        """Warn once if arrays have other values on other instances, such as weights that were made at random."""
        sums = [zlib.crc32(np.ascontiguousarray(each).view(np.uint8).data) for each in arrays.values()]
        every = self.group.gather(torch.tensor([len(sums), *sums], dtype=torch.int64))
        differ = [instance for instance, each in enumerate(every) if not torch.equal(each, every[0])]
        if not differ:
            return
        other = every[differ[0]]
        names = [name for name, a, b in zip(arrays, every[0][1:], other[1:], strict=True) if a != b]
        log.warn_once(
            f"differing {what}",
            f"{what} differ between instance 0 and {named(differ)}: "
            f"{', '.join(names[:3])}{' and others' if len(names) > 3 else ''}. {advice}",
        )


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _places(sizes: Sequence[int]) -> list[int]:
    """Where tensors begin in the row of a replica, behind the sign that it gives some."""
    found, place = [], _ALIGNED
    for size in sizes:
        found.append(place)
        place += size
    return found


def _read(line: Tensor, sizes: Sequence[int], like: Sequence[Tensor]) -> list[Tensor]:
    found = []
    for place, each in zip(_places(sizes), like, strict=True):
        part = line[place : place + each.numel() * each.element_size()]
        found.append(part.view(each.dtype).reshape(each.shape))
    return found


def _messages(tensors: Sequence[Tensor]) -> list[list[int]]:
    """Positions of the tensors that travel together: those of one type, up to a size."""
    messages: list[list[int]] = []
    open_now: dict[torch.dtype, tuple[list[int], int]] = {}
    for place, tensor in enumerate(tensors):
        if not tensor.numel():
            continue
        size = tensor.numel() * tensor.element_size()
        members, held = open_now.get(tensor.dtype, ([], 0))
        if not members or held + size > _SUMMED_BYTES:
            members, held = [], 0
            messages.append(members)
        members.append(place)
        open_now[tensor.dtype] = members, held + size
    return messages
