"""Which op failed when an exception comes out of the run of a graph, and at which line it was captured."""

from __future__ import annotations

from types import FrameType

from torch import fx

from tremula import log
from tremula.errors import Error
from tremula.frontends.torch.graphs.program import RECORD

#: how torch names the files of the code that it generates for graphs
_GENERATED = "<eval_with_key>"


def report_failure(error: Exception) -> None:
    """Log the op and the user's line that `error` comes from. The exception passes as it is, as one of a capture."""
    if isinstance(error, Error):
        return  # it says what it has to say
    node = failed_node(error)
    record = None if node is None else node.meta.get(RECORD)
    if node is None or record is None or record.source is None:
        return
    log.layer("tremula").error(
        "%s in the op %s, which was captured at %s: %s", type(error).__name__, node.name, record.source, error
    )


def failed_node(error: BaseException) -> fx.Node | None:
    """The node whose op raised `error`, found by the line of the generated code in the traceback."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(_GENERATED):
            found = _node_at(trace.tb_frame, trace.tb_lineno) or found
        trace = trace.tb_next
    return found


def _node_at(frame: FrameType, line: int) -> fx.Node | None:
    module = frame.f_locals.get("self")
    if not isinstance(module, fx.GraphModule):
        return None
    lines: dict[int, int | None] = getattr(module, "_lineno_map", None) or {}
    index = lines.get(line - getattr(module, "_prologue_start", 0))
    nodes = list(module.graph.nodes)
    return nodes[index] if index is not None and index < len(nodes) else None
