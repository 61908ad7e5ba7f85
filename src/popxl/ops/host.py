"""Transfers between host and device, remote buffers, code, printing."""

from __future__ import annotations

from typing import Literal

from ..context import gcg
from ..dtypes import uint32
from ..graph import Graph
from ..remote_buffer import RemoteBuffer
from ..streams import DeviceToHostStream, HostToDeviceStream
from ..tensor import Tensor, constant
from ._create import create, create_op
from .movement import init

FloatFormat = Literal["auto", "fixed", "scientific", "none"]
CODE_LOCATION = Literal["executable", "compute_buffer", "io_buffer"]
_FORMATS = {"auto": 0, "fixed": 1, "scientific": 2, "none": 3}


def host_load(h2d_stream: HostToDeviceStream, name: str | None = None) -> Tensor:
    """The next value of a stream."""
    name = name or h2d_stream.tensor_id
    space = init(h2d_stream.shape, h2d_stream.dtype, f"{name}_init", "undef")
    return create("HostLoad", {"t": space}, f"{name}_hostload", {"stream": h2d_stream.tensor_id})


def host_store(d2h_stream: DeviceToHostStream, t: Tensor) -> None:
    """Send a value to the host."""
    for what in ("dtype", "shape"):
        expected, found = getattr(d2h_stream, what), getattr(t, what)
        if expected != found:
            raise ValueError(
                f"The {what} of the stream {d2h_stream.tensor_id} is {expected}, that of {t.id} is {found}."
            )
    create_op("HostStore", {"t": t}, [], {"stream": d2h_stream.tensor_id})


def _offset(offset: int | Tensor) -> Tensor:
    return offset if isinstance(offset, Tensor) else constant(offset, uint32, name="offset")


def _as_shard(t: Tensor, remote_buffer: RemoteBuffer) -> None:
    if remote_buffer.meta_shape:
        t._pb_tensor.type = t._pb_tensor.type.with_meta_shape(remote_buffer.meta_shape)


def remote_load(remote_buffer: RemoteBuffer, offset: int | Tensor, name: str | None = None) -> Tensor:
    """An entry of a remote buffer."""
    place = _offset(offset)
    name = name or f"id_{remote_buffer.remote_buffer_id}_offset_{place.name}"
    space = init(remote_buffer.tensor_shape, remote_buffer.tensor_dtype, f"{name}_remote_load", "undef")
    _as_shard(space, remote_buffer)
    attributes = {"buffer": remote_buffer.remote_buffer_id}
    return create(
        "RemoteLoad", {"t": space, "offset": place}, f"{name}_remote_loaded", attributes, together=False
    )


def remote_load_(remote_buffer: RemoteBuffer, offset: int | Tensor, t: Tensor) -> Tensor:
    """An entry of a remote buffer, into the memory of `t`."""
    place = _offset(offset)
    remote_buffer.validate_tensor_matches_buffer(t)
    _as_shard(t, remote_buffer)
    attributes = {"buffer": remote_buffer.remote_buffer_id}
    return create(
        "RemoteLoadInplace", {"t": t, "offset": place}, "remote_load_inplace_out", attributes, together=False
    )


def remote_store(remote_buffer: RemoteBuffer, offset: int | Tensor, t: Tensor) -> None:
    """Store `t` as an entry of a remote buffer."""
    place = _offset(offset)
    remote_buffer.validate_tensor_matches_buffer(t)
    attributes = {"buffer": remote_buffer.remote_buffer_id}
    create_op("RemoteStore", {"t": t, "offset": place}, [], attributes, together=False)


def remote_code_load(graph: Graph, destination: CODE_LOCATION) -> None:
    """Load the code of a graph from outside of the chip; all code is at hand here."""
    current = gcg()
    if destination not in ("executable", "compute_buffer", "io_buffer"):
        raise ValueError(
            f"The destination is 'executable', 'compute_buffer' or 'io_buffer', not {destination!r}."
        )
    if current == graph:
        raise ValueError(f"The graph {graph.id} cannot load its own code.")
    if destination != "executable":
        raise NotImplementedError(
            f"Code of {graph.id} can be loaded to 'executable' only, not to {destination!r}."
        )
    create_op("RemoteCodeLoad", {}, [], {"loaded": graph._pb_graph}, together=False)


def code_copy(graph: Graph, source: CODE_LOCATION, destination: CODE_LOCATION) -> None:
    """Not there in PopXL either."""
    raise NotImplementedError("ops.code_copy is not implemented.")


def print_tensor(
    t: Tensor,
    title: str | None = None,
    print_self: bool = True,
    print_gradient: bool = False,
    summarise_threshold: int = 1000,
    edge_items: int = 3,
    max_line_width: int = 75,
    digits: int = 8,
    float_format: FloatFormat = "auto",
    separator: str = " ",
    open_bracket: str = "[",
    close_bracket: str = "]",
) -> Tensor:
    """Print a tensor when the program runs, and return it. With `print_gradient`, print its gradient as well."""
    for name, value in (
        ("separator", separator),
        ("open_bracket", open_bracket),
        ("close_bracket", close_bracket),
    ):
        if len(value) != 1:
            raise ValueError(f"{name} must be one character, not {value!r}.")
    attributes = {
        "title": title if title is not None else f"print_{t.name}",
        "print_self": print_self,
        "print_gradient": print_gradient,
        "summarise_threshold": summarise_threshold,
        "edge_items": edge_items,
        "max_line_width": max_line_width,
        "digits": digits,
        "float_format": _FORMATS[float_format],
        "separator": separator,
        "open_bracket": open_bracket,
        "close_bracket": close_bracket,
    }
    return create("PrintTensor", {"t": t}, "print_out", attributes)
