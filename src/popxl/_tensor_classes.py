"""The classes of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, cast

import numpy as np
import torch

import popart._internal.ir as _ir

from . import dtypes
from .errors import UndefinedValue
from .replica_grouping import ReplicaGrouping

if TYPE_CHECKING:
    from .ir import Ir

ScalarType = int | float | bool
HostTensor = np.ndarray | Iterable[ScalarType] | torch.Tensor
HostScalarTensor = ScalarType | HostTensor
host_tensor_types = (np.ndarray, Iterable, torch.Tensor)
TensorLike = Any
RetrievalMode = Literal["one_per_group", "all_replicas"]

TILE_SET_MAP = {_ir.TileSet.Compute: "compute", _ir.TileSet.IO: "io", None: "undefined"}


class TensorSpec(Mapping[str, Any]):
    """Shape and type of a tensor that does not exist yet."""

    def __init__(self, shape: tuple[int, ...], dtype: dtypes.dtype, meta_shape: tuple[int, ...] = ()) -> None:
        self.shape, self.dtype, self.meta_shape = shape, dtype, meta_shape

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary of arguments."""
        return {"shape": self.shape, "dtype": self.dtype, "meta_shape": self.meta_shape}

    def to_tuple(self) -> tuple[Any, ...]:
        """As a tuple of arguments."""
        return self.shape, self.dtype, self.meta_shape

    def __iter__(self) -> Any:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __hash__(self) -> int:
        return hash(self.to_tuple())

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype}, meta_shape={self.meta_shape})"


class Tensor:
    """A value of a graph. Ops make them; operators create ops."""

    _pb_tensor: _ir.Tensor
    _tensor_types: ClassVar[dict[str, type[Tensor]]] = {}

    __iter__ = None
    __contains__ = None
    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __init__(self) -> None:
        raise RuntimeError("popxl.Tensor cannot be called: use popxl.variable, popxl.constant or an op.")

    def __init_subclass__(cls, tensor_type: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if tensor_type is not None:
            Tensor._tensor_types[tensor_type] = cls

    @classmethod
    def _from_pb_tensor(cls, pb_tensor: _ir.Tensor) -> Tensor:
        from .ir import Ir

        ir = Ir._from_pb(pb_tensor.getIr())
        found = ir._tensor_cache.get(pb_tensor.id)
        if found is None or found._pb_tensor is not pb_tensor:
            found = object.__new__(Tensor._tensor_types.get(pb_tensor.tensor_type(), Tensor))
            found._pb_tensor = pb_tensor
            ir._tensor_cache[pb_tensor.id] = found
        return found

    @property
    def id(self) -> str:
        """The identifier, the graph's name in front."""
        return self._pb_tensor.id

    @property
    def name(self) -> str:
        """The identifier without the graph's name."""
        return self._pb_tensor.name

    @property
    def scope(self) -> str:
        """The graph's name."""
        return str(self._pb_tensor.getGraph().getScope())

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type."""
        return dtypes.dtype.from_name(self._pb_tensor.type.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._pb_tensor.type.shape

    @property
    def meta_shape(self) -> tuple[int, ...]:
        """The shape of the whole tensor, if this is a shard of one."""
        return self._pb_tensor.type.meta_shape

    @property
    def spec(self) -> TensorSpec:
        """Shape and type."""
        return TensorSpec(self.shape, self.dtype, self.meta_shape)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def nelms(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def location_info(self) -> Any:
        """Where a variable is stored."""
        return self._pb_tensor.settings

    def strides(self, shape: Iterable[int] | None = None) -> tuple[int, ...]:
        """Bytes between neighbours along each dimension."""
        return tuple(self._pb_tensor.info.strides(None if shape is None else tuple(shape)))

    @property
    def ir(self) -> Ir:
        """The IR that it is part of."""
        from .ir import Ir

        return Ir._from_pb(self._pb_tensor.getIr())

    @property
    def in_sync_with_ipu(self) -> bool:
        """Whether the host's values are those of the device."""
        return self._pb_tensor.isInSyncWithIPU()

    @property
    def ipu(self) -> int:
        """The IPU that it is on."""
        return self._get_ipu_and_tile_set(raise_on_undefined_tile_set=False)[0]

    @property
    def tile_set(self) -> str:
        """The tiles that it is on: compute or io."""
        return self._get_ipu_and_tile_set(raise_on_undefined_ipu=False)[1]

    def _get_ipu_and_tile_set(
        self, raise_on_undefined_tile_set: bool = True, raise_on_undefined_ipu: bool = True
    ) -> tuple[int, str]:
        ipu, tiles = self._pb_tensor.getVirtualGraphIdAndTileSetUnsafe()
        tile_set = TILE_SET_MAP[tiles]
        if raise_on_undefined_tile_set and tile_set == "undefined":
            raise UndefinedValue(f"The tiles of {self.id} are unknown: no op places it.")
        if raise_on_undefined_ipu and ipu == -1:
            raise UndefinedValue(f"The IPU of {self.id} is unknown: no op places it.")
        return ipu, tile_set

    def _ensure_tensor(
        self, value: TensorLike, dtype: dtypes.dtype | None = None, raise_on_empty: bool = True
    ) -> Tensor:
        """`value`, or a constant of it with this tensor's type."""
        if isinstance(value, Tensor):
            return value
        made = _constant(value, dtype or self.dtype)
        if raise_on_empty and not made.nelms:
            raise ValueError(f"{value!r} has 0 elements; if this is intended, convert it to a tensor first.")
        return made

    @property
    def T(self) -> Tensor:
        """The tensor with its axes in reverse order."""
        return self.transpose()

    @property
    def T_(self) -> Tensor:
        """The tensor with its axes in reverse order, in the same memory."""
        return self.transpose_()

    def transpose(self, permutation: Iterable[int] | None = None) -> Tensor:
        """`ops.transpose`."""
        return _ops().transpose(self, permutation)

    def transpose_(self, permutation: Iterable[int] | None = None) -> Tensor:
        """`ops.transpose_`."""
        return _ops().transpose_(self, permutation)

    def reshape(self, shape: Iterable[int]) -> Tensor:
        """`ops.reshape`."""
        return _ops().reshape(self, shape)

    def reshape_(self, shape: Iterable[int]) -> Tensor:
        """`ops.reshape_`."""
        return _ops().reshape_(self, shape)

    def flatten(self) -> Tensor:
        """`ops.flatten`."""
        return _ops().flatten(self)

    def flatten_(self) -> Tensor:
        """`ops.flatten_`."""
        return _ops().flatten_(self)

    def detach(self) -> Tensor:
        """`ops.detach`."""
        return _ops().detach(self)

    def detach_(self) -> Tensor:
        """`ops.detach_`."""
        return _ops().detach_(self)

    def diag(self) -> Tensor:
        """The diagonal of a matrix."""
        if self.rank != 2:
            raise ValueError(f"Only matrices have a diagonal; {self.id} has {self.rank} dimensions.")
        return self.flatten()[:: self.shape[1] + 1]

    def copy_to_ipu(self, destination: int, source: int | None = None) -> Tensor:
        """`ops.ipu_copy`."""
        return _ops().ipu_copy(self, destination, source)

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.id} {self.dtype} {self.shape}]"

    def __hash__(self) -> int:
        return hash((self.id, self.ir.id))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self.id == other.id and self.ir == other.ir

    def __len__(self) -> int:
        if not self.shape:
            raise ValueError(f"{self.id} is a scalar, which has no length.")
        return self.shape[0]

    def __add__(self, other: TensorLike) -> Tensor:
        return _ops().add(self, self._ensure_tensor(other))

    def __radd__(self, other: TensorLike) -> Tensor:
        return _ops().add(self._ensure_tensor(other), self)

    def __iadd__(self, other: TensorLike) -> Tensor:
        return _ops().add_(self, self._ensure_tensor(other))

    def __sub__(self, other: TensorLike) -> Tensor:
        return _ops().sub(self, self._ensure_tensor(other))

    def __rsub__(self, other: TensorLike) -> Tensor:
        return _ops().sub(self._ensure_tensor(other), self)

    def __mul__(self, other: TensorLike) -> Tensor:
        return _ops().mul(self, self._ensure_tensor(other))

    def __rmul__(self, other: TensorLike) -> Tensor:
        return _ops().mul(self._ensure_tensor(other), self)

    def __truediv__(self, other: TensorLike) -> Tensor:
        return _ops().div(self, self._ensure_tensor(other))

    def __rtruediv__(self, other: TensorLike) -> Tensor:
        return _ops().div(self._ensure_tensor(other), self)

    def __pow__(self, other: TensorLike) -> Tensor:
        return _ops().pow(self, other)

    def __rpow__(self, other: TensorLike) -> Tensor:
        return _ops().pow(_constant(other), self)

    def __mod__(self, other: TensorLike) -> Tensor:
        return _ops().fmod(self, self._ensure_tensor(other))

    def __rmod__(self, other: TensorLike) -> Tensor:
        return _ops().fmod(self._ensure_tensor(other), self)

    def __neg__(self) -> Tensor:
        return _ops().negate(self)

    def __matmul__(self, other: TensorLike) -> Tensor:
        return _ops().matmul(self, self._ensure_tensor(other))

    def __rmatmul__(self, other: TensorLike) -> Tensor:
        return _ops().matmul(self._ensure_tensor(other), self)

    def __and__(self, other: TensorLike) -> Tensor:
        return _ops().logical_and(self, self._ensure_tensor(other))

    def __rand__(self, other: TensorLike) -> Tensor:
        return _ops().logical_and(self._ensure_tensor(other), self)

    def __or__(self, other: TensorLike) -> Tensor:
        return _ops().logical_or(self, self._ensure_tensor(other))

    def __ror__(self, other: TensorLike) -> Tensor:
        return _ops().logical_or(self._ensure_tensor(other), self)

    def __invert__(self) -> Tensor:
        return _ops().logical_not(self)

    def __getitem__(self, key: Any) -> Tensor:
        cuts = key if isinstance(key, tuple) else (key,)
        if not isinstance(key, bool | str) and all(
            isinstance(each, int | slice) and not isinstance(each, bool) for each in cuts
        ):
            return self._cut(cuts)
        if isinstance(key, Tensor | np.ndarray | torch.Tensor | list):
            index = key if isinstance(key, Tensor) else _constant(key)
            if index.dtype.is_int:
                return _ops().gather(self, index)
            if index.dtype == dtypes.bool:
                return _ops().where(index, self, _constant(0, self.dtype))
        raise TypeError(
            f"A tensor is indexed with integers, slices, and integer or boolean tensors, not with {key!r} "
            f"({type(key).__name__})."
        )

    def _cut(self, cuts: tuple[int | slice, ...]) -> Tensor:
        ops = _ops()
        starts: list[Any] = [each if isinstance(each, int) else each.start for each in cuts]
        stops: list[Any] = [each + 1 if isinstance(each, int) else each.stop for each in cuts]
        steps = [each.step if isinstance(each, slice) else None for each in cuts]
        for place, each in enumerate(cuts):
            if isinstance(each, int) and each == -1:
                stops[place] = None
        signs = [None if step is None else 1 if step > 0 else -1 for step in steps]
        strides = [1 if step is None else abs(step) for step in steps]
        result = ops.slice(self, starts, stops, signs)
        if any(stride != 1 for stride in strides):
            result = ops.subsample(result, strides)
        scalars = [place for place, each in enumerate(cuts) if isinstance(each, int)]
        return ops.squeeze(result, axes=scalars) if scalars else result


class _Ops(Protocol):
    """The module `popxl.ops`, which imports this one."""

    def __getattr__(self, name: str, /) -> Callable[..., Tensor]: ...


def _ops() -> _Ops:
    from . import ops

    return cast(_Ops, ops)


def _constant(value: Any, dtype: dtypes.dtype | None = None) -> Constant:
    from ._variables import constant

    return constant(value, dtype)


class Variable(Tensor, tensor_type="Variable"):
    """A value that is kept from run to run."""

    _replica_grouping: ReplicaGrouping
    _memmap_arr: np.memmap | None

    def copy_to_ipu(self, dst: int, src: int) -> Tensor:  # type: ignore[override]
        """`ops.ipu_copy`."""
        return _ops().ipu_copy(self, dst, src)

    @property
    def replica_grouping(self) -> ReplicaGrouping:
        """The replicas that share a value."""
        return self._replica_grouping

    @property
    def retrieval_mode(self) -> RetrievalMode:
        """Whether the host gets a value of each group or of each replica."""
        return "all_replicas" if self._pb_tensor.settings.all_replicas else "one_per_group"

    @property
    def shape_on_replica(self) -> tuple[int, ...]:
        """The shape on one replica."""
        return self.shape

    @property
    def shape_on_host(self) -> tuple[int, ...]:
        """The shape on the host. With several groups, they are the first dimension."""
        groups = self.replica_grouping.num_groups
        return self.shape if groups == 1 else (groups, *self.shape)

    def _flush_data_if_memmap(self) -> None:
        if self._memmap_arr is not None and self._memmap_arr.flags.writeable:
            self._memmap_arr.flush()


class Constant(Tensor, tensor_type="Const"):
    """A value that never changes."""

    def copy_to_ipu(self, dst: int, src: int) -> Tensor:  # type: ignore[override]
        """`ops.ipu_copy`."""
        return _ops().ipu_copy(self, dst, src)
