"""`_serializeIr`: the program of a session as ops, to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._enums import IrSerializationFormat, RecomputationType, VirtualGraphMode
from ._exceptions import popart_errors

if TYPE_CHECKING:
    from tremula.frontends.onnx.run.session import GraphSession

    from ._patterns import Patterns
    from ._session_options import SessionOptions


class SessionIr:
    """The ops of a session."""

    _session: GraphSession
    _options: SessionOptions
    _patterns: Patterns

    def _serializeIr(self, format: IrSerializationFormat) -> str:
        """The ops as JSON: `{graph: [{type, name, inputs, outputs, attributes}]}`."""
        if format is not IrSerializationFormat.JSON:
            raise TypeError(f"_serializeIr(): incompatible function arguments: {format!r}.")
        from tremula.frontends.onnx.ir.view import Layout, view

        options, session = self._options, self._session
        layout = Layout(
            accumulates=bool(options.enableGradientAccumulation),
            replicas=session.turns.replicas,
            placed=options.virtualGraphMode is not VirtualGraphMode.Off,
            pipelined=bool(options.enablePipelining),
            host_copies=bool(options.useHostCopyOps),
            recomputes=options.autoRecomputation
            in (RecomputationType.Standard, RecomputationType.RecomputeAll, RecomputationType.Pipeline),
        )
        with popart_errors():
            updater = session.updater
            spec = None if updater is None else updater.description.spec(session.program.trained)
            return view(session.program, spec, layout, self._patterns.isPatternEnabled)
