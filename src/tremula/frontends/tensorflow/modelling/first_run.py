"""What happens before a program runs for the first time: questions about it are answered, the chip model looks at it.

A fault of the chip model is reported and never stops the program.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tremula import log
from tremula.device.modelling import model_program
from tremula.device.settings import DeviceSettings
from tremula.distributed import launch_environment
from tremula.frontends.tensorflow import flags
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.dialect.device_words import KIND
from tremula.frontends.tensorflow.modelling import guesses, questions
from tremula.settings.environment import env
from tremula.telemetry.run_record import Entry
from tremula.trace import channels
from tremula.trace.names import COMPILE
from tremula.trace.points import Span

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun
    from tremula.frontends.tensorflow.capture.captured import Captured
    from tremula.frontends.tensorflow.modelling.subject import TensorFlowSubject
    from tremula.profile.model import Advice

#: numbers of the reports of this process
_report_numbers = itertools.count()
#: ops of a traced graph up to which a program is read when nothing asks for it
_READ_AT_ONCE_OPS = 6000


class FirstRun:
    """One traced program that is about to run.

    Args:
        graph: as one replica runs it.
        label: what it is called in the log and in reports.
        entry: its entry in the record of this run.
        replicas: of this process that run it.
        subject: makes the subject for questions about it.
        model: the Keras model that it runs, if it is one's.
        known: values of arguments by position (`capture`).
        samples: in a micro-batch; None: as the first input has them.
        options: of the model's pipeline or accumulation, by name.
    """

    def __init__(
        self,
        graph: Any,
        label: str,
        entry: Entry,
        replicas: int,
        subject: Callable[[], TensorFlowSubject],
        *,
        model: Any = None,
        known: Mapping[int, Any] | None = None,
        options: dict[str, Any] | None = None,
        prefetch_depth: int | None = None,
    ) -> None:
        self._graph, self._label, self._entry = graph, label, entry
        self._replicas = replicas * max(
            1, launch_environment.instances() if active.process_count() > 1 else 1
        )
        self._subject, self._model, self._known = subject, model, known or {}
        self._options, self._prefetch_depth = options, prefetch_depth

    def look(self) -> ModelledRun | None:
        """Answer questions, then let the chip model look; what it found, if it did.

        Raises:
            Error: the program would not fit, and that was asked to be an error.
        """
        with Span(channels.poplar, COMPILE, {"program": self._label}):
            return self._look()

    def _look(self) -> ModelledRun | None:
        questions.current().answer(self._subject)
        if not self._wanted():
            return None
        try:
            captured = self._captured()
            modelled = self._modelled(captured)
        except Exception as problem:
            log.warn_once(
                f"capture: {type(problem).__name__}",
                f"The chip model cannot read {self._label} ({type(problem).__name__}: {problem}). The program's "
                "numbers do not depend on it; please report it, or set TREMULA_CHIP_MODEL=off.",
            )
            return None
        settings = DeviceSettings(
            KIND,
            self._label,
            training=captured.training,
            name=_report_name(captured.training),
            engine_options=active.engine_options(),
            front_end="tensorflow",
        )
        found = model_program(settings, lambda: modelled, self._advise, self._entry)
        if found is not None and flags.flag("log_cycle_count") >= 0:
            found.estimate  # noqa: B018 - runs are to be logged with their cycles
        return found

    def _wanted(self) -> bool:
        mode = env.get("TREMULA_CHIP_MODEL")
        if mode == "off":
            return False
        if mode == "compile" or env.get("TREMULA_OUT_OF_MEMORY") == "error":
            return True
        if flags.flag("log_cycle_count") >= 0 or any(
            name.startswith("autoReport") for name in active.engine_options()
        ):
            return True
        return _size(self._graph) <= _READ_AT_ONCE_OPS

    def _captured(self) -> Captured:
        # imported here, because most of its cost is the rules, which programs without a chip model do not need
        from tremula.frontends.tensorflow.capture.capture import capture

        captured = capture(self._graph, model=self._model, known=self._known)
        if self._options:
            captured.options.update(self._options)
        guesses.tell(captured, self._label)
        return captured

    def _modelled(self, captured: Captured) -> ModelledRun:
        from tremula.device.chip_model import ModelledRun
        from tremula.frontends.tensorflow.modelling.deployment import deployment_of
        from tremula.frontends.tensorflow.rules import placements
        from tremula.frontends.tensorflow.rules.lower import lower
        from tremula.frontends.tensorflow.rules.program import program_of
        from tremula.program.loops import Loops

        pipelined = any(node.stage is not None for node in captured.nodes)
        places = placements.own(captured.nodes)
        summary = placements.summary(places, pipelined=pipelined)
        deployment = deployment_of(summary, captured.training, captured.options, self._prefetch_depth)
        samples = next((value.shape[0] for value in captured.inputs if value.shape), 1)
        counts = captured.counts
        loops = Loops(counts.iterations, counts.accumulation, self._replicas)

        def describe() -> Any:
            lowered = lower(captured.nodes, deployment.lowering, captured.kept)
            return program_of(captured, lowered, places, samples=samples, loops=loops)

        compute = sum(
            1 for node in captured.nodes if node.type not in ("Const", "Identity", "ReadVariableOp")
        )
        return ModelledRun(describe, deployment, replicas=self._replicas, ops=compute // 2)

    def _advise(self) -> Sequence[Advice]:
        return questions.current().advise(self._subject)


def _size(graph: Any) -> int:
    """About how many ops a graph has, with those of its functions."""
    return len(graph.get_operations()) + sum(
        len(function.graph.get_operations())
        for function in graph._functions.values()
        if hasattr(function, "graph")
    )


def _report_name(training: bool) -> str:
    """The folder of a program's profile: a process may run several programs of one kind."""
    return f"tf_report_{next(_report_numbers):03}_{'training' if training else 'inference'}"
