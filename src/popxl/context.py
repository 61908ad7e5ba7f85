"""The graph, IPU and scope in which ops are created."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import popart._internal.ir as _ir
from tremula.frontends.popxl.info import Fragment

if TYPE_CHECKING:
    from .graph import Graph
    from .ir import Ir


class Context:
    """The context in which ops are created."""

    def __init__(self) -> None:
        self._graphs: list[Graph] = []
        self._ipu_id: int = 0
        self._io_tiles = False
        self._in_sequence: bool | None = None
        self._name_scope: list[str] = []
        self._execution_context = _ir.ExecutionContext.Normal
        self._hooks: dict[int, Callable[[Any], Any]] = {}
        self._handles = 0

    def _get_op_settings(self, name: str) -> _ir.Settings:
        """The arguments of an op with this name."""
        scope = tuple(self._name_scope)
        fragments = {
            _ir.ExecutionContext.WeightsFromHostFragment: Fragment.WEIGHTS_FROM_HOST,
            _ir.ExecutionContext.WeightsToHostFragment: Fragment.WEIGHTS_TO_HOST,
        }
        return _ir.Settings(
            "/".join((*scope, name)),
            self._ipu_id,
            self._io_tiles,
            fragments.get(self._execution_context, Fragment.NORMAL),
            scope,
        )

    @property
    def ipu_id(self) -> int:
        """The IPU of ops."""
        return self._ipu_id

    @property
    def io_tile_set(self) -> bool:
        """Whether ops are on IO tiles."""
        return self._io_tiles

    @property
    def name_scopes(self) -> list[str]:
        """The names around ops."""
        return list(self._name_scope)

    def push_graph(self, graph: Graph) -> None:
        """Create ops in `graph` from now on."""
        if self._graphs and self._graphs[0].ir != graph.ir:
            raise RuntimeError(
                f"The graph {graph.id} belongs to {graph.ir}, but the enclosing graph to another "
                f"({self._graphs[0].ir})."
            )
        self._graphs.append(graph)

    def pop_graph(self) -> Graph:
        """Create ops in the graph before it again."""
        return self._graphs.pop()

    @property
    def graph(self) -> Graph:
        """The graph of ops."""
        if not self._graphs:
            raise RuntimeError(
                "No graph has been selected: create ops inside `with ir.main_graph:` or another graph, or in a "
                "function that you pass to `ir.create_graph`."
            )
        return self._graphs[-1]

    @property
    def main_graph(self) -> Graph:
        """The main graph of the IR."""
        return self.graph.ir.main_graph

    @property
    def ir(self) -> Ir:
        """The IR of the graph."""
        return self.graph.ir

    @property
    def in_sequence(self) -> bool | None:
        """Whether ops run in the order of their creation."""
        return self._in_sequence

    def register_op_created_hook(self, fn: Callable[[Any], Any]) -> int:
        """Call `fn` with each op that is created."""
        self._handles += 1
        self._hooks[self._handles] = fn
        return self._handles

    def remove_op_created_hook(self, handle: int) -> None:
        """Call the function of that handle no more."""
        if handle not in self._hooks:
            raise ValueError(f"There is no hook {handle}.")
        del self._hooks[handle]

    def _op_created(self, op: Any) -> None:
        for fn in list(self._hooks.values()):
            fn(op)

    def _add_in_sequence_topocons(self, op: Any) -> None:
        """Nothing to do: ops run in the order of their creation anyway."""


_CONTEXT = Context()


def get_current_context() -> Context:
    """The context in which ops are created."""
    return _CONTEXT


def get_current_graph() -> Graph:
    """The graph in which ops are created."""
    return _CONTEXT.graph


def get_main_graph() -> Graph:
    """The main graph of the IR in which ops are created."""
    return _CONTEXT.main_graph


def get_ir() -> Ir:
    """The IR in which ops are created."""
    return _CONTEXT.ir


gcg = get_current_graph
gmg = get_main_graph
gir = get_ir


@contextmanager
def _setting(name: str, value: Any) -> Iterator[None]:
    before = getattr(_CONTEXT, name)
    setattr(_CONTEXT, name, value)
    try:
        yield
    finally:
        setattr(_CONTEXT, name, before)


@contextmanager
def ipu(ipu: int) -> Iterator[int]:
    """Create ops on that IPU."""
    with _setting("_ipu_id", ipu):
        yield ipu


@contextmanager
def in_sequence(mode: bool | Literal["pass"] = True) -> Iterator[Any]:
    """Have ops run in the order of their creation; here they do so in any case."""
    if mode is None:
        raise TypeError("`None` cannot be passed to in_sequence: it takes True, False or 'pass'.")
    if mode != "pass" and not isinstance(mode, bool):
        raise ValueError(f"in_sequence takes True, False or 'pass', not {mode!r}.")
    value = None if mode == "pass" else mode
    with _setting("_in_sequence", value):
        yield value


@contextmanager
def io_tiles() -> Iterator[None]:
    """Create ops on the IO tiles of the IPU."""
    with _setting("_io_tiles", True):
        yield


@contextmanager
def name_scope(name: str) -> Iterator[list[str]]:
    """Put `name` in front of the names of ops and tensors."""
    with _setting("_name_scope", [*_CONTEXT._name_scope, name]):
        yield _CONTEXT.name_scopes


@contextmanager
def debug_context_frame_offset(i: int) -> Iterator[int]:
    """Accepted for programs that set it: no debug information with source lines is kept."""
    yield i


@contextmanager
def _execution_context(execution_context: _ir.ExecutionContext) -> Iterator[Any]:
    with _setting("_execution_context", execution_context):
        yield execution_context


def op_debug_context(name: Any) -> Any:
    """A decorator for functions that create ops; it changes nothing."""

    def outer(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return func(*args, **kwargs)

        return wrapper

    return outer(name) if callable(name) else outer
