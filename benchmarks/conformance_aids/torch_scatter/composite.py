"""Composite functions of torch_scatter."""

import torch

from . import _index, scatter_max, scatter_sum


def scatter_softmax(src, index, dim=-1, dim_size=None):
    dim, index = _index(src, index, dim)
    peak = scatter_max(src, index, dim, dim_size=dim_size)[0].gather(dim, index)
    scaled = (src - peak).exp()
    return scaled / scatter_sum(scaled, index, dim, dim_size=dim_size).gather(dim, index)


def scatter_log_softmax(src, index, dim=-1, eps=1e-12, dim_size=None):
    dim, index = _index(src, index, dim)
    peak = scatter_max(src, index, dim, dim_size=dim_size)[0].gather(dim, index)
    shifted = src - peak
    total = scatter_sum(shifted.exp(), index, dim, dim_size=dim_size)
    return shifted - torch.log(total + eps).gather(dim, index)


def scatter_std(src, index, dim=-1, out=None, dim_size=None, unbiased=True):
    dim, index = _index(src, index, dim)
    count = scatter_sum(torch.ones_like(src), index, dim, dim_size=dim_size)
    mean = scatter_sum(src, index, dim, dim_size=dim_size) / count.clamp(min=1)
    square = (src - mean.gather(dim, index)) ** 2
    count = (count - 1 if unbiased else count).clamp(min=1)
    return (scatter_sum(square, index, dim, out, count.shape[dim]) / (count + 1e-6)).sqrt()


def scatter_logsumexp(src, index, dim=-1, out=None, dim_size=None, eps=1e-12):
    dim, index = _index(src, index, dim)
    peak = scatter_max(src, index, dim, dim_size=dim_size)[0]
    total = scatter_sum((src - peak.gather(dim, index)).exp(), index, dim, dim_size=peak.shape[dim])
    return torch.log(total + eps) + peak
