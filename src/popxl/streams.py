"""Streams between the host and the device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from tremula.frontends.popxl.info import TensorInfo, TensorKind

from .context import gmg
from .dtypes import dtype as Dtype
from .tensor import Tensor, TensorSpec


class Stream:
    """A named way for arrays of one shape and type."""

    _stream_tensor: Tensor

    def __init__(self) -> None:
        raise NotImplementedError("popxl.Stream cannot be called: use popxl.h2d_stream or popxl.d2h_stream.")

    @classmethod
    def _from_tensor(cls, tensor: Tensor) -> Stream:
        self = super().__new__(cls)
        self._stream_tensor = tensor
        return self

    @property
    def dtype(self) -> Dtype:
        """The element type."""
        return self._stream_tensor.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one transfer to or from one replica."""
        return self._stream_tensor.shape

    @property
    def spec(self) -> TensorSpec:
        """Shape and type."""
        return self._stream_tensor.spec

    @property
    def tensor_id(self) -> str:
        """The identifier."""
        return self._stream_tensor.id

    def __hash__(self) -> int:
        return hash(self._stream_tensor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._stream_tensor == other._stream_tensor

    def __str__(self) -> str:
        return f"{type(self).__name__} {self._stream_tensor}"

    __repr__ = __str__


class HostToDeviceStream(Stream):
    """A stream to the device."""


class DeviceToHostStream(Stream):
    """A stream to the host."""


def _stream_tensor(shape: Iterable[int], dtype: Dtype, name: str, kind: TensorKind) -> Tensor:
    main = gmg()
    info = TensorInfo(dtype.name, tuple(shape))
    return Tensor._from_pb_tensor(main._pb_graph.add_tensor(main._create_tensor_id(name), info, kind))


def h2d_stream(shape: Iterable[int], dtype: Dtype, name: str | None = None) -> HostToDeviceStream:
    """A stream to the device."""
    made = HostToDeviceStream._from_tensor(
        _stream_tensor(shape, dtype, name or "h2d_stream", TensorKind.STREAM)
    )
    return cast(HostToDeviceStream, made)


def d2h_stream(shape: Iterable[int], dtype: Dtype, name: str | None = None) -> DeviceToHostStream:
    """A stream to the host."""
    made = DeviceToHostStream._from_tensor(
        _stream_tensor(shape, dtype, name or "d2h_stream", TensorKind.ACT_GRAD)
    )
    return cast(DeviceToHostStream, made)
