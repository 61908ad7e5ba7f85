"""Making a batch from samples, with the results of torch's `default_collate` but less work per sample.

Two things differ from torch's function: rows of tensors that are in memory anyway (`TensorDataset`, also behind
`Subset` or a distributed partition) are read a whole batch at a time, and the caller may say where the batch
is to be written, so that it need not be copied to shared memory afterwards. Whatever is not plain tensors,
arrays or numbers in flat tuples, lists or dictionaries is left to torch's function.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, Subset, TensorDataset, default_collate
from torch.utils.data._utils import collate as torchs

from tremula.frontends.torch.data.partition import PartitionedDataset

#: A contiguous tensor of a shape and type for one element of the batch (its position or key), or None.
Allocate = Callable[[Hashable, tuple[int, ...], torch.dtype], torch.Tensor | None]

# A program may have taught `default_collate` other ways; then we do not know better.
_TORCHS_OWN = {
    torch.Tensor: torchs.collate_tensor_fn,
    np.ndarray: torchs.collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): torchs.collate_numpy_scalar_fn,
    float: torchs.collate_float_fn,
    int: torchs.collate_int_fn,
    str: torchs.collate_str_fn,
    bytes: torchs.collate_str_fn,
}


class BatchCollate:
    """Stands in for `default_collate`; `allocate` says where to write tensors, None makes new ones."""

    def __init__(self) -> None:
        self.allocate: Allocate | None = None

    def __call__(self, samples: Any) -> Any:
        if type(samples) is Rows:
            return samples.read(self.allocate)
        if torchs.default_collate_fn_map != _TORCHS_OWN:
            return default_collate(samples)
        first = samples[0]
        kind = type(first)
        if kind is tuple or kind is list:
            width = len(first)
            if all(len(sample) == width for sample in samples):
                columns = list(zip(*samples, strict=True))
                return [self._column(position, column) for position, column in enumerate(columns)]
        elif kind is dict:
            return {key: self._column(key, [sample[key] for sample in samples]) for key in first}
        elif kind is torch.Tensor or kind is np.ndarray:
            return self._column(0, samples)
        return default_collate(samples)

    def __reduce__(self) -> tuple[type[BatchCollate], tuple[()]]:
        return type(self), ()  # where to write is a matter of the process

    def _column(self, key: Hashable, column: Any) -> Any:
        first = column[0]
        kind = type(first)
        if kind is torch.Tensor:
            return self._stack(key, column)
        if kind is int:
            return self._put(key, torch.tensor(column))
        if kind is float:
            return self._put(key, torch.tensor(column, dtype=torch.float64))
        if kind is np.ndarray and first.dtype.kind in "biufc":
            return self._stack(key, [torch.as_tensor(array) for array in column])
        return default_collate(column)

    def _put(self, key: Hashable, tensor: torch.Tensor) -> torch.Tensor:
        target = None if self.allocate is None else self.allocate(key, tuple(tensor.shape), tensor.dtype)
        return tensor if target is None else target.copy_(tensor)

    def _stack(self, key: Hashable, tensors: Any) -> Any:
        first = tensors[0]
        if first.is_nested or first.layout != torch.strided:
            return default_collate(tensors)
        # Different types are promoted by stack(), but not when the result has a place already.
        if (
            self.allocate is not None
            and len({tensor.dtype for tensor in tensors}) == 1
            and set(map(type, tensors)) == {torch.Tensor}
        ):
            target = self.allocate(key, (len(tensors), *first.shape), first.dtype)
            # What stack() then refuses (gradients, different shapes) is for the plain call to do or to refuse.
            with contextlib.suppress(RuntimeError):
                if target is not None:
                    return torch.stack(tensors, 0, out=target)
        return torch.stack(tensors, 0)


class Rows:
    """A batch that is still to be read: rows of tensors that have their samples in the first dimension."""

    __slots__ = ("_indices", "_tensors")

    def __init__(self, tensors: Sequence[torch.Tensor], indices: Sequence[int]) -> None:
        self._tensors = tensors
        self._indices = indices

    def read(self, allocate: Allocate | None) -> list[torch.Tensor]:
        """Copy the rows out."""
        indices = self._indices
        count = len(indices)
        first = indices[0]
        index = None
        if not (indices[-1] - first == count - 1 and list(indices) == list(range(first, first + count))):
            index = torch.tensor(indices)
        batch = []
        for position, tensor in enumerate(self._tensors):
            target = None
            if allocate is not None:
                target = allocate(position, (count, *tensor.shape[1:]), tensor.dtype)
            if index is not None:
                batch.append(torch.index_select(tensor, 0, index, out=target))
            elif target is not None:
                batch.append(target.copy_(tensor[first : first + count]))
            else:
                batch.append(tensor[first : first + count].clone())
        return batch


class WholeBatches(Dataset[Any]):
    """Shows a data set of tensors so that a loader reads whole batches of it."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[index]

    def __getitems__(self, indices: Sequence[Any]) -> Any:
        """`Rows`, or a list of samples if the indices are not plain numbers of existing rows."""
        found = _locate(self.dataset, indices)
        if found is not None:
            tensors, positions = found
            if (
                positions
                and set(map(type, positions)) == {int}
                and min(positions) >= 0
                and max(positions) < len(tensors[0])
            ):
                return Rows(tensors, positions)
        return [self.dataset[index] for index in indices]

    @classmethod
    def of(cls, dataset: Any) -> Any:
        """The data set shown in this way, or the data set itself if that would change anything."""
        inner = dataset
        while type(inner) in (Subset, PartitionedDataset):
            inner = inner.dataset
        if type(inner) is TensorDataset and inner.tensors and all(map(is_plain, inner.tensors)):
            return cls(dataset)
        return dataset


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is nothing but numbers, one after the other, in the memory of the host."""
    return (
        type(tensor) is torch.Tensor
        and tensor.layout == torch.strided
        and tensor.device.type == "cpu"
        and not (tensor.requires_grad or tensor.is_nested or tensor.is_quantized)
        and not (tensor.is_conj() or tensor.is_neg())
        and tensor.is_contiguous()
    )


def _locate(dataset: Any, indices: Sequence[Any]) -> tuple[tuple[torch.Tensor, ...], Sequence[int]] | None:
    """The tensors behind a data set, and the rows of them that the indices mean."""
    if type(dataset) is TensorDataset:
        return dataset.tensors, indices
    if set(map(type, indices)) != {int}:
        return None
    if type(dataset) is PartitionedDataset:
        return _locate(dataset.dataset, dataset.positions(indices))
    return _locate(dataset.dataset, [dataset.indices[index] for index in indices])
