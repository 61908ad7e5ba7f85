"""Traced programs of sessions and of `strategy.run` as subjects: in the size that they were traced for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tremula.errors import Error
from tremula.frontends.tensorflow.capture.capture import capture
from tremula.frontends.tensorflow.capture.captured import Captured
from tremula.frontends.tensorflow.capture.layers import LayerTree
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.dialect.session_code import SessionCode
from tremula.frontends.tensorflow.modelling import guesses
from tremula.frontends.tensorflow.modelling.first_run import FirstRun
from tremula.frontends.tensorflow.modelling.subject import Parts, TensorFlowSubject
from tremula.program.loops import Loops
from tremula.telemetry.run_record import Entry

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun


def subject_of_graph(graph: Any, name: str, *, replicas: int = 1, known: Any = None) -> TensorFlowSubject:
    """A traced program.

    Args:
        graph: as one replica runs it.
        name: for reports.
        replicas: that run it.
        known: values of arguments by position (`capture`).
    """
    first = capture(graph, known=known)
    guesses.tell(first, name)
    own = [first]

    def read(micro_batch: int | None) -> Captured:
        if micro_batch is not None:
            raise Error(
                f"{name} was built for a micro-batch of {samples}: give the program itself another batch size to ask "
                "about that one."
            )
        return own.pop() if own else capture(graph, known=known)

    samples = next((value.shape[0] for value in first.inputs if value.shape), 1)
    counts = first.counts
    return TensorFlowSubject(
        Parts(
            name=name,
            capture=read,
            loops=Loops(counts.iterations, counts.accumulation, replicas),
            micro_batch=samples,
            layers=LayerTree(None),
            dialect=SessionCode(training=first.training, options=first.options, ipus=_ipus(first)),
            optimizer=_optimizer(first),
            options=first.options,
        )
    )


def first_run(
    graph: Any, name: str, replicas: int, entry: Entry, *, known: Mapping[int, Any] | None = None
) -> ModelledRun | None:
    """What happens before a traced program runs for the first time (`FirstRun`).

    Args:
        graph: as one replica runs it.
        name: what the user calls it.
        replicas: of this process that run it.
        entry: of the program in the record of this run.
        known: values of arguments by position (`capture`).
    """

    def subject() -> TensorFlowSubject:
        return subject_of_graph(graph, name, replicas=replicas * active.process_count(), known=known)

    return FirstRun(graph, name, entry, replicas, subject, known=known).look()


def _ipus(captured: Captured) -> int:
    """IPUs of one replica."""
    return active.ipus_for_shards(1 + max((node.ipu or 0 for node in captured.nodes), default=0))


def _optimizer(captured: Captured) -> str:
    """What updates the weights, by the ops that do."""
    kinds = {
        node.type.removeprefix("ResourceApply").removeprefix("ResourceSparseApply")
        for node in captured.nodes
        if node.type.startswith(("ResourceApply", "ResourceSparseApply"))
    }
    return ", ".join(sorted(kinds)) or ("written out" if captured.training else "")
