"""torch_scatter's functions in plain torch, for the conformance run: no wheel of it exists for this torch."""

import torch


def _index(src, index, dim):
    dim = dim + src.dim() if dim < 0 else dim
    if index.dim() == 1:
        shape = [1] * src.dim()
        shape[dim] = index.numel()
        index = index.view(shape)
    while index.dim() < src.dim():
        index = index.unsqueeze(-1)
    return dim, index.expand_as(src)


def _result(src, index, dim, out, dim_size):
    if out is not None:
        return out
    shape = list(src.shape)
    shape[dim] = int(index.max()) + 1 if dim_size is None else dim_size
    return torch.zeros(shape, dtype=src.dtype, device=src.device)


def scatter_sum(src, index, dim=-1, out=None, dim_size=None):
    dim, index = _index(src, index, dim)
    return _result(src, index, dim, out, dim_size).scatter_add(dim, index, src)


scatter_add = scatter_sum


def scatter_mul(src, index, dim=-1, out=None, dim_size=None):
    dim, index = _index(src, index, dim)
    start = torch.ones_like(_result(src, index, dim, out, dim_size)) if out is None else out
    return start.scatter_reduce(dim, index, src, "prod")


def scatter_mean(src, index, dim=-1, out=None, dim_size=None):
    total = scatter_sum(src, index, dim, out, dim_size)
    count = scatter_sum(torch.ones_like(src), index, dim, None, total.shape[dim])
    return total / count.clamp(min=1)


def _extreme(src, index, dim, out, dim_size, reduce):
    dim, index = _index(src, index, dim)
    start = _result(src, index, dim, out, dim_size)
    value = start.scatter_reduce(dim, index, src, reduce, include_self=out is not None)
    position = torch.arange(src.shape[dim], device=src.device, dtype=torch.long)
    shape = [1] * src.dim()
    shape[dim] = src.shape[dim]
    position = position.view(shape).expand_as(src)
    hit = src == value.gather(dim, index)
    found = torch.full_like(value, src.shape[dim], dtype=torch.long)
    found = found.scatter_reduce(dim, index, torch.where(hit, position, src.shape[dim]), "amin")
    return value, found


def scatter_max(src, index, dim=-1, out=None, dim_size=None):
    return _extreme(src, index, dim, out, dim_size, "amax")


def scatter_min(src, index, dim=-1, out=None, dim_size=None):
    return _extreme(src, index, dim, out, dim_size, "amin")


def scatter(src, index, dim=-1, out=None, dim_size=None, reduce="sum"):
    if reduce in ("sum", "add"):
        return scatter_sum(src, index, dim, out, dim_size)
    if reduce == "mul":
        return scatter_mul(src, index, dim, out, dim_size)
    if reduce == "mean":
        return scatter_mean(src, index, dim, out, dim_size)
    return (scatter_max if reduce == "max" else scatter_min)(src, index, dim, out, dim_size)[0]


from .composite import scatter_log_softmax, scatter_logsumexp, scatter_softmax, scatter_std  # noqa: E402, F401
