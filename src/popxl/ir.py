"""IRs: programs with their graphs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast
from weakref import WeakValueDictionary

import popart._internal.ir as _ir
from tremula.frontends.popxl import dot

from .graph import Graph
from .module import Module
from .replica_grouping import ReplicaGrouping
from .tensor import Tensor, TensorByRef, TensorSpec, graph_input, graph_output

if TYPE_CHECKING:
    from .streams import DeviceToHostStream, HostToDeviceStream

_SPECS = (Tensor, TensorSpec)


class Ir:
    """A program: a main graph, and graphs that are called."""

    _ir_cache: ClassVar[WeakValueDictionary[int, Ir]] = WeakValueDictionary()

    def __init__(self, replication: int | Literal["popdist"] = 1) -> None:
        self._pb_ir = _ir.Ir()
        Ir._ir_cache[self.id] = self
        self._graph_cache: dict[str, Graph] = {}
        self._tensor_cache: dict[str, Tensor] = {}
        self._has_read_only_memmap = False
        self._use_popdist = replication == "popdist"
        if self._use_popdist:
            self._configure_from_popdist()
        else:
            self.replication_factor = int(replication)

    def _configure_from_popdist(self) -> None:
        import popdist.popart

        popdist.popart.configureSessionOptions(self._pb_ir.getSessionOptions())
        self._take_share()

    def _take_share(self) -> None:
        """Take over from the session options which replicas there are, and which are in this instance."""
        self._pb_ir.share = self._pb_ir.getSessionOptions()._share()

    @classmethod
    def _from_pb(cls, pb_ir: _ir.Ir) -> Ir:
        found = Ir._ir_cache.get(pb_ir.getId())
        if found is None:
            raise RuntimeError("The popxl.Ir of this graph no longer exists: keep a reference to it.")
        return found

    @property
    def main_graph(self) -> Graph:
        """The main graph."""
        return Graph._from_pb(self._pb_ir.getMainGraph())

    def create_graph(self, fn: Callable[..., Any] | Module, *args: Any, **kwargs: Any) -> Graph:
        """A graph from a function or module that creates its ops.

        Each tensor or tensor specification among the arguments becomes an input of its shape and type; other
        arguments are passed on. What the function returns are the outputs.
        """
        func, name = _function_of(fn)
        signature = _signature_of(func)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as problem:
            raise ValueError(f"The arguments do not match the signature of {name}: {problem}") from problem
        bound.apply_defaults()
        graph = Graph._from_pb(self._pb_ir.createGraph(self._create_name(name)))
        with graph:
            for key, value in bound.arguments.items():
                bound.arguments[key] = _as_input(signature.parameters[key], key, value)
            outputs = fn(*bound.args, **bound.kwargs)
            for output in _outputs_of(outputs):
                graph_output(output)
        return graph

    def create_empty_graph(self, name: str | None = None) -> Graph:
        """A graph without ops."""
        return Graph._from_pb(self._pb_ir.createGraph(self._create_name(name or "graph")))

    def _create_name(self, name: str) -> str:
        return self._pb_ir.createUniqueSubgraphId(name.replace(".<locals>", ""))

    def dot_checkpoint(self, check: str, save_dir: str | Path | None = None) -> None:
        """Write all graphs as Graphviz files, if the checkpoint is active or none is."""
        options = self._pb_ir.getSessionOptions()
        if save_dir is not None:
            options.logDir = str(save_dir)
        if "POPART_DOT_CHECKS" not in os.environ and not options.dotChecks:
            options.dotChecks = {"ALL"}
        self._write_dot(check)

    def _write_dot(self, check: str) -> None:
        """Write all graphs if the checkpoint is active."""
        options = self._pb_ir.getSessionOptions()
        named = [*options.dotChecks, *os.environ.get("POPART_DOT_CHECKS", "").split(":")]
        if {"ALL", check.upper()} & {each.upper() for each in named}:
            dot.write_all(self._pb_ir, Path(options.logDir or "."), check)

    def get_all_d2h_streams(self) -> set[DeviceToHostStream]:
        """The streams to the host that an op stores to."""
        from .streams import DeviceToHostStream

        return {
            cast(DeviceToHostStream, DeviceToHostStream._from_tensor(each))
            for each in self._streams("HostStore")
        }

    def get_all_h2d_streams(self) -> set[HostToDeviceStream]:
        """The streams from the host that an op loads from."""
        from .streams import HostToDeviceStream

        return {
            cast(HostToDeviceStream, HostToDeviceStream._from_tensor(each))
            for each in self._streams("HostLoad")
        }

    def _streams(self, kind: str) -> list[Tensor]:
        names = {
            op.attributes["stream"]: None
            for graph in self._pb_ir.reachable()
            for op in graph.ops
            if op.kind == kind
        }
        return [Tensor._from_pb_tensor(self._pb_ir.getTensor(name)) for name in names]

    @property
    def num_host_transfers(self) -> int:
        """How often each stream is used in one run."""
        return self._pb_ir.host_transfers

    @num_host_transfers.setter
    def num_host_transfers(self, value: int) -> None:
        self._pb_ir.host_transfers = value

    @property
    def replication_factor(self) -> int:
        """Number of replicas of all instances."""
        self._take_share()
        return self._pb_ir.replicas

    @replication_factor.setter
    def replication_factor(self, value: int) -> None:
        if self._pb_ir.isPrepared():
            raise RuntimeError(f"A session has compiled {self}: its replication factor can no longer change.")
        options = self._pb_ir.getSessionOptions()
        options.enableReplicatedGraphs = value > 1
        options.replicatedGraphCount = value
        self._take_share()

    @property
    def instance_replication_factor(self) -> int:
        """Number of replicas of this instance."""
        self._take_share()
        return self._pb_ir.share.local

    @property
    def id(self) -> int:
        """The identifier."""
        return self._pb_ir.getId()

    def replica_grouping(self, stride: int = 1, group_size: int | None = None) -> ReplicaGrouping:
        """Groups of replicas, each `stride` from the next in its group."""
        return ReplicaGrouping._from_params(self, stride, group_size)

    def replica_grouping_from_assignments(self, assignment: list[int]) -> ReplicaGrouping:
        """Groups of replicas: the group of each."""
        return ReplicaGrouping._from_assignment(self, assignment)

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, value: object) -> bool:
        if not isinstance(value, Ir):
            raise TypeError(f"An Ir cannot be compared to {value!r} ({type(value).__name__}).")
        return self.id == value.id

    def __repr__(self) -> str:
        return f"Ir[id={self.id}]"


def _signature_of(func: Callable[..., Any]) -> inspect.Signature:
    """The signature, with annotations as objects also where they are written as text."""
    try:
        return inspect.signature(func, eval_str=True)
    except (NameError, AttributeError, TypeError):
        return inspect.signature(func)


def _function_of(fn: Any) -> tuple[Callable[..., Any], str]:
    if isinstance(fn, Module):
        return fn.build, type(fn).__qualname__
    if not callable(fn) or not hasattr(fn, "__qualname__"):
        raise TypeError(f"create_graph takes a function or a popxl.Module, not {fn!r}.")
    return fn, fn.__qualname__


def _input_like(value: Any, name: str, by_ref: bool) -> Tensor:
    return graph_input(value.shape, value.dtype, name, by_ref=by_ref, meta_shape=value.meta_shape)


def _as_input(parameter: inspect.Parameter, name: str, value: Any) -> Any:
    """The input for an argument with tensors; other arguments as they are."""
    hint = parameter.annotation
    if isinstance(value, _SPECS):
        return _input_like(value, name, hint is TensorByRef)
    variadic = parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if isinstance(value, dict) and variadic:
        items = list(value.items())
    elif isinstance(value, tuple | list):
        items = [(f"{name}_{number}", each) for number, each in enumerate(value)]
    else:
        return value
    tensors = [isinstance(each, _SPECS) for _, each in items]
    if not any(tensors):
        return value
    if not all(tensors):
        raise TypeError(f"The argument {name} mixes tensors with other values: {value!r}.")
    by_ref = hint is TensorByRef if variadic else _is_list_by_ref(hint)
    inputs = {key: _input_like(each, key, by_ref) for key, each in items}
    return inputs if isinstance(value, dict) else list(inputs.values())


def _is_list_by_ref(hint: Any) -> bool:
    return getattr(hint, "__origin__", None) in (list, tuple) and TensorByRef in getattr(hint, "__args__", ())


def _outputs_of(outputs: Any) -> list[Tensor]:
    if outputs is None:
        return []
    if isinstance(outputs, Tensor):
        return [outputs]
    found = list(outputs) if isinstance(outputs, Iterable) else None
    if found is None or not all(isinstance(each, Tensor) for each in found):
        raise ValueError(
            f"A graph returns a tensor, several, or None, not {outputs!r} ({type(outputs).__name__})."
        )
    return found
