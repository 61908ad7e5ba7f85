"""Farthest point sampling (PointNet++, Qi et al. 2017) and nearest neighbours. Meant to agree with torch_cluster: the
first of equal distances wins, and the number of samples is rounded up in single precision.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch

from tremula.errors import Error
from tremula.frontends.torch.ops.library import add_op

#: distances computed at once by `nearest`, to bound its memory
_CHUNK_ELEMENTS = 1 << 22


def _sample_sizes(ptr: Sequence[int], ratio: float) -> list[int]:
    degrees = torch.tensor([end - begin for begin, end in itertools.pairwise(ptr)], dtype=torch.float32)
    sizes: list[int] = (degrees * torch.tensor(ratio, dtype=torch.float32)).ceil().int().tolist()
    return sizes


def _farthest(src: torch.Tensor, ptr: list[int], ratio: float, random_start: bool) -> torch.Tensor:
    points = src.detach().reshape(src.shape[0], -1).float()
    chosen: list[int] = []
    for begin, end, wanted in zip(ptr, ptr[1:], _sample_sizes(ptr, ratio), strict=False):
        if wanted == 0:
            continue
        cloud = points[begin:end]
        start = int(torch.randint(end - begin, ()).item()) if random_start else 0
        chosen.append(begin + start)
        distance = (cloud - cloud[start]).square().sum(-1)
        for _ in range(wanted - 1):
            farthest = int(distance.argmax().item())
            chosen.append(begin + farthest)
            distance = torch.minimum(distance, (cloud - cloud[farthest]).square().sum(-1))
    return torch.tensor(chosen, dtype=torch.int64)


def _fake_farthest(src: torch.Tensor, ptr: list[int], ratio: float) -> torch.Tensor:
    # tensors made here would be fake, hence plain arithmetic on the sizes
    with torch._subclasses.fake_tensor.unset_fake_temporarily():
        count = sum(_sample_sizes(ptr, ratio))
    return src.new_empty((count,), dtype=torch.int64)


_farthest_points = add_op(
    "farthest_points(Tensor src, int[] ptr, float ratio) -> Tensor",
    lambda src, ptr, ratio: _farthest(src, ptr, ratio, random_start=False),
    _fake_farthest,
)
_farthest_points_random = add_op(
    "farthest_points_random(Tensor src, int[] ptr, float ratio) -> Tensor",
    lambda src, ptr, ratio: _farthest(src, ptr, ratio, random_start=True),
    _fake_farthest,
    random=True,
)


def farthest_points(src: torch.Tensor, ptr: list[int], ratio: float, random_start: bool) -> torch.Tensor:
    """Indices of points (rows), each as far as possible from those before; sample i is rows ptr[i] to ptr[i + 1]."""
    if not 0 < ratio <= 1:
        raise Error(f"fps: ratio is {ratio}; it must be above 0 and at most 1.")
    if ptr[0] < 0 or ptr[-1] > src.shape[0] or any(a > b for a, b in itertools.pairwise(ptr)):
        raise Error(f"fps: ptr {ptr} must ascend within the {src.shape[0]} points of src.")
    chosen: torch.Tensor = (_farthest_points_random if random_start else _farthest_points)(src, ptr, ratio)
    return chosen


def _nearest(x: torch.Tensor, y: torch.Tensor, batch_x: torch.Tensor, batch_y: torch.Tensor) -> torch.Tensor:
    if not torch.isin(batch_x, batch_y).all():
        missing = sorted(set(batch_x.tolist()) - set(batch_y.tolist()))
        raise ValueError(f"nearest: samples {missing} have points in x but none in y")
    rows, others = x.detach().reshape(x.shape[0], -1).float(), y.detach().reshape(y.shape[0], -1).float()
    chunk = max(1, _CHUNK_ELEMENTS // max(1, others.numel()))
    found = []
    for begin in range(0, rows.shape[0], chunk):
        part = rows[begin : begin + chunk]
        distance = (part.unsqueeze(1) - others.unsqueeze(0)).square().sum(-1)
        apart = batch_x[begin : begin + chunk].unsqueeze(1) != batch_y.unsqueeze(0)
        found.append(distance.masked_fill(apart, float("inf")).argmin(1))
    return torch.cat(found) if found else torch.empty(0, dtype=torch.int64)


def _fake_nearest(x: torch.Tensor, *_rest: torch.Tensor) -> torch.Tensor:
    return x.new_empty((x.shape[0],), dtype=torch.int64)


nearest_points = add_op(
    "nearest_points(Tensor x, Tensor y, Tensor batch_x, Tensor batch_y) -> Tensor", _nearest, _fake_nearest
)


def nearest(
    x: torch.Tensor,
    y: torch.Tensor,
    batch_x: Sequence[int] | torch.Tensor,
    batch_y: Sequence[int] | torch.Tensor,
) -> torch.Tensor:
    """For each point of `x` the index of the nearest of `y` in the same sample; no sample numbers: all in sample 0."""
    samples = []
    for points, batch, name in ((x, batch_x, "batch_x"), (y, batch_y, "batch_y")):
        if not isinstance(batch, torch.Tensor):
            numbers = list(batch) or [0] * points.shape[0]
            batch = torch.tensor(numbers, dtype=torch.int64)
        if batch.dim() != 1 or batch.shape[0] != points.shape[0]:
            raise ValueError(
                f"nearest: {name} has shape {list(batch.shape)} but there are {points.shape[0]} points"
            )
        samples.append(batch.to(torch.int64))
    if not isinstance(batch_x, torch.Tensor) and not isinstance(batch_y, torch.Tensor):
        missing = set(batch_x or [0]) - set(batch_y or [0])
        if missing:
            raise ValueError(f"nearest: samples {sorted(missing)} have points in x but none in y")
    found: torch.Tensor = nearest_points(x, y, samples[0], samples[1])
    return found
