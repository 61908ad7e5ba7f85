"""Recording ops: torch's make_fx, with phase, annotations and the user's line on every op. Ops of the backward pass
take the record of their forward op, found through autograd's sequence numbers.
"""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import fx
from torch.fx import _lazy_graph_module
from torch.fx.experimental import proxy_tensor

from tremula.frontends.torch.capture.context import Capture
from tremula.frontends.torch.graphs.program import RECORD, Annotation, Record
from tremula.invariants import present
from tremula.program.op import Phase
from tremula.program.source import user_line


class Recorder:
    """Makes the record of each op as it is recorded."""

    def __init__(self, capture: Capture, excludes: tuple[str, ...] = ()) -> None:
        self._capture = capture
        self._excludes = excludes
        self._by_sequence: dict[int, Record] = {}
        self._differentiated: Record | None = None
        self._last = Annotation()
        self.phase = Phase.FORWARD
        #: the user's forward has returned: what is recorded now belongs to its last op
        self.finished = False
        #: of ops that belong to no forward op: accumulation and update
        self.annotation = Annotation()

    def record(self) -> Record:
        """The record of an op that is being recorded now."""
        if self.phase is Phase.FORWARD:
            if self.finished:
                # outside the user's blocks and scopes: where its last op was
                self._last = Annotation(self._last.placement, (), self._capture.current_attributes())
            else:
                self._last = self._capture.annotation()
            sources = self._capture.sources
            line = sources[-1] if sources else user_line(self._excludes)
            record = Record(self.phase, self._last, line)
            # autograd numbers the grad_fn just before the op below it is dispatched
            self._by_sequence.setdefault(torch.autograd._get_sequence_nr() - 1, record)  # type: ignore[attr-defined]
            return record
        forward = self._differentiated
        if forward is None:
            return Record(self.phase, self.annotation, None)
        return Record(self.phase, forward.annotation, forward.source)

    @contextlib.contextmanager
    def differentiating(self, roots: list[torch.Tensor]) -> Iterator[None]:
        """Ops recorded inside belong to the backward pass from `roots`."""
        handles = []
        seen = set()
        queue = collections.deque(root.grad_fn for root in roots if root.grad_fn is not None)
        while queue:
            node = queue.popleft()
            if node in seen:
                continue
            seen.add(node)
            record = self._by_sequence.get(node._sequence_nr())
            if record is not None:
                handles.append(node.register_prehook(self._entering(record)))
            queue.extend(parent for parent, _ in node.next_functions if parent is not None)
        self.phase = Phase.BACKWARD
        try:
            yield
        finally:
            self.phase = Phase.FORWARD
            self._differentiated = None
            for handle in handles:
                handle.remove()

    def _entering(self, record: Record) -> Callable[[Any], None]:
        def hook(_gradients: Any) -> None:
            self._differentiated = record

        return hook


class _RecordingTracer(proxy_tensor.PythonKeyTracer):
    """make_fx's tracer; asks the recorder for a record of each op."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def create_node(self, kind: str, *args: Any, **kwargs: Any) -> fx.Node:
        node = super().create_node(kind, *args, **kwargs)
        if kind == "call_function":
            node.meta[RECORD] = self._recorder.record()
        return node


class _Maker(proxy_tensor._MakefxTracer):
    """make_fx with our tracer in the place of its own."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(None, "fake", False, False, False, False, True)
        self._recorder = recorder
        # it notes on each op which function of torch it came from, which nobody reads, at a fifth of the time
        self._disable_torch_fn_metadata_mode = True

    def _convert_args_to_fake(self, args: Any) -> Any:
        return args  # they are fake already

    def _construct_modes_with_fx_tracer(self, fx_tracer: Any) -> None:
        self.fx_tracer = _RecordingTracer(self._recorder)
        super()._construct_modes_with_fx_tracer(self.fx_tracer)


def make_graph(recorder: Recorder, function: Callable[..., Any], *fakes: torch.Tensor) -> fx.GraphModule:
    """`function` recorded on fake tensors; its inputs become the placeholders, in order."""
    # Lazy: the captured graph is data; only its lowered copy is ever turned into Python code.
    with _lazy_graph_module._use_lazy_graph_module(True):
        return _Maker(recorder).trace(function, *fakes)


def node_of(tensor: torch.Tensor) -> fx.Node | None:
    """The node that made a fake tensor in the recording under way; None for a tensor it did not make."""
    maker = proxy_tensor._CURRENT_MAKE_FX_TRACER
    if maker is None or maker.fx_tracer is None:
        return None
    slot = proxy_tensor.get_proxy_slot(tensor, maker.fx_tracer, None)
    return None if slot is None else slot.proxy.node


def set_node(tensor: torch.Tensor, node: fx.Node) -> None:
    """From now on `tensor` is what `node` makes."""
    maker = present(proxy_tensor._CURRENT_MAKE_FX_TRACER, "the recording")
    tracer = present(maker.fx_tracer, "the tracer of the recording")
    slot = proxy_tensor.get_proxy_slot(tensor, tracer)
    proxy_tensor.set_proxy_slot(tensor, tracer, replace(slot, proxy=fx.Proxy(node, tracer)))
