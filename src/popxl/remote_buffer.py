"""Remote buffers: memory outside of the chip with entries of one shape and type."""

from __future__ import annotations

import math

from tremula.frontends.popxl import model
from tremula.frontends.popxl.info import TensorInfo

from .context import gcg
from .dtypes import dtype as Dtype
from .tensor import Tensor


class RemoteBuffer:
    """Entries that ops load and store, on each replica."""

    def __init__(self, tensor_shape: tuple[int, ...], tensor_dtype: Dtype, entries: int) -> None:
        self._current_ir = gcg().ir._pb_ir
        self._meta_shape: tuple[int, ...] = ()
        self._remote_buffer_id = max(self._current_ir.remote_buffers, default=0) + 1
        self.set_remote_buffer_info(tensor_dtype, tensor_shape, entries)

    def set_remote_buffer_info(
        self, tensor_dtype: Dtype, tensor_shape: tuple[int, ...], entries: int
    ) -> None:
        """Set type and shape of an entry, and the number of entries."""
        if entries < 1:
            raise ValueError(f"A remote buffer has at least one entry, not {entries}.")
        info = TensorInfo(tensor_dtype.name, tuple(int(each) for each in tensor_shape))
        self._current_ir.remote_buffers[self._remote_buffer_id] = model.RemoteBuffer(info, int(entries))

    def validate_tensor_matches_buffer(self, t: Tensor, num_shards: int = 1) -> None:
        """Raise an error if a tensor is not an entry of this buffer."""
        shape = self.tensor_shape if num_shards == 1 else self.meta_shape
        same = t.shape == tuple(shape) or (not shape and math.prod(t.shape) == 1 and not t.shape)
        if not same or t.dtype != self.tensor_dtype:
            raise ValueError(
                f"Tensor {t.id} does not match buffer {self.remote_buffer_id}: it has the shape {t.shape} and type "
                f"{t.dtype}, entries have {tuple(shape)} and {self.tensor_dtype}."
            )

    @property
    def _info(self) -> model.RemoteBuffer:
        return self._current_ir.remote_buffers[self._remote_buffer_id]

    @property
    def remote_buffer_id(self) -> int:
        """The identifier."""
        return self._remote_buffer_id

    @property
    def tensor_shape(self) -> tuple[int, ...]:
        """The shape of an entry."""
        return self._info.type.shape

    @property
    def tensor_dtype(self) -> Dtype:
        """The type of an entry."""
        return Dtype.from_name(self._info.type.dtype)

    @property
    def entries(self) -> int:
        """The number of entries."""
        return self._info.entries

    @entries.setter
    def entries(self, _entries: int) -> None:
        self.set_remote_buffer_info(self.tensor_dtype, self.tensor_shape, _entries)

    @property
    def meta_shape(self) -> tuple[int, ...]:
        """The shape of whole tensors, if entries are shards."""
        return self._meta_shape

    @meta_shape.setter
    def meta_shape(self, shape: tuple[int, ...]) -> None:
        self._meta_shape = tuple(shape)

    def __hash__(self) -> int:
        return hash((self._current_ir.identifier, self.remote_buffer_id))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RemoteBuffer)
            and self._current_ir is other._current_ir
            and self.remote_buffer_id == other.remote_buffer_id
        )


def remote_buffer(tensor_shape: tuple[int, ...], tensor_dtype: Dtype, entries: int = 1) -> RemoteBuffer:
    """A remote buffer."""
    return RemoteBuffer(tensor_shape, tensor_dtype, entries)
