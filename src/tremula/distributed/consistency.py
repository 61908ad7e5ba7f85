"""What the instances of a run must have in common before they train together: the program, and its first weights.

Each instance describes its program; if the descriptions differ, all of them say on which instances and where. Then
weights, buffers and the seed of instance 0 go to the others.
"""

from __future__ import annotations

import collections
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tremula import stack_layers
from tremula.distributed.collectives import Group
from tremula.distributed.missing_ranks import named
from tremula.errors import Error

#: at most as much is packed together for one message
_PACKED_BYTES = 64 << 20


def require_same(group: Group, description: Mapping[str, Any]) -> None:
    """Compare a description (plain JSON values) with those of the other instances; Error on all if one differs."""
    text = json.dumps(description)
    digest = hashlib.sha256(text.encode()).digest()
    key = f"agree/{next(group.questions)}"
    group.store.set(f"{key}/{group.instance}", text)
    digests = [bytes(each.tolist()) for each in group.gather(torch.tensor(list(digest), dtype=torch.uint8))]
    if len(set(digests)) == 1:
        group.store.delete_key(f"{key}/{group.instance}")
        return
    most = collections.Counter(digests).most_common(1)[0][0]
    usual = group.members[digests.index(most)]
    others = [member for member, each in zip(group.members, digests, strict=True) if each != most]
    one, other = (json.loads(group.store.get(f"{key}/{member}")) for member in (usual, others[0]))
    raise Error(
        f"The instances do not train the same model: {named(others)} {'differs' if len(others) == 1 else 'differ'} "
        f"from instance {usual}. {_difference(one, other, usual, others[0])} All instances must make the same "
        "model, with the same options and optimizer, and compile their training models in the same order.",
        type=stack_layers.INSTANCE_ERROR,
    )


def _difference(one: Any, other: Any, first: int, second: int, where: str = "") -> str:
    """The first place where two descriptions differ, in words."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if key not in one or key not in other:
                place = first if key in one else second
                return f"Only instance {place} has {where}{key}."
            if one[key] != other[key]:
                return _difference(one[key], other[key], first, second, f"{where}{key}: ")
    return f"{where}{_short(one)} on instance {first}, {_short(other)} on instance {second}."


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def broadcast_tensors(group: Group, tensors: Sequence[torch.Tensor]) -> None:
    """Overwrite tensors, alike on all instances, with those of the first one."""
    batch: list[torch.Tensor] = []
    size = 0
    for tensor in tensors:
        batch.append(tensor)
        size += tensor.numel() * tensor.element_size()
        if size >= _PACKED_BYTES:
            _broadcast_packed(group, batch)
            batch, size = [], 0
    _broadcast_packed(group, batch)


@torch.no_grad()
def _broadcast_packed(group: Group, tensors: Sequence[torch.Tensor]) -> None:
    filled = [tensor for tensor in tensors if tensor.numel()]
    if not filled:
        return
    packed = torch.cat([tensor.detach().reshape(-1).view(torch.uint8) for tensor in filled])
    group.broadcast(packed)
    if group.rank == 0:
        return
    parts = torch.split(packed, [tensor.numel() * tensor.element_size() for tensor in filled])
    for tensor, part in zip(filled, parts, strict=True):
        # a part may begin where numbers of this type may not
        value = part.clone().view(tensor.dtype).view(tensor.shape)
        torch.Tensor.copy_(tensor.detach(), value)


def broadcast_number(group: Group, number: int) -> int:
    """The first instance's number, of up to 63 bits."""
    value = torch.tensor([number], dtype=torch.int64)
    group.broadcast(value)
    return int(value)
