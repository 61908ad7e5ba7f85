"""PopTorch's part in a compilation: check the options, capture the model, describe it to the chip model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch

from tremula.device.lifecycle import Acquire, Advance, CompileSteps
from tremula.frontends.torch.dialect.program_log import log_program
from tremula.frontends.torch.execute.whole_step import op_count
from tremula.frontends.torch.session import Session
from tremula.frontends.torch.structure import flattenTensorStructure
from tremula.program.stages import StageSummary
from tremula.study.listeners import is_asked

from . import _deployment, _impl, poptorch_core

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun

    from ._poplar_executor import PoplarExecutor

#: makes the program of a file for one micro-batch
Restore = Callable[[list[torch.Tensor]], Session]


def compile_steps(executor: PoplarExecutor, bound: Any, restore: Restore | None) -> CompileSteps[Session]:
    """The steps of compiling `executor` for bound arguments, or of loading what `restore` makes."""

    def capture(advance: Advance, acquire: Acquire) -> tuple[Session, list[torch.Tensor]]:
        options = executor._options
        poptorch_core._validateOptions(options.toDict())
        options._report_options_without_effect()
        micro_batch, call = executor._micro_batch(bound)
        advance(10)
        if restore is None:
            session = _capture(executor, micro_batch, call, advance, acquire)
        else:
            session = restore(micro_batch)
            acquire(_ipus(session.stages()))
        executor._executable_inputs = bound.clone()
        return session, micro_batch

    def answer() -> None:
        if restore is None and is_asked():
            # imported here, because it takes a moment and most programs do not need it
            from . import _study

            _study.answer(executor, bound)

    def advise() -> Any:
        if restore is not None:
            return ()
        from . import _study

        return _study.advice_for_profile(executor, bound)

    return CompileSteps(
        capture=capture,
        model=lambda session: _modelled(executor, session),
        load=executor._load_state,
        answer=answer,
        advise=advise,
        announce=log_program,
        identity=lambda: repr(executor._model),
    )


def _capture(
    executor: PoplarExecutor, micro_batch: list[torch.Tensor], call: Any, advance: Advance, acquire: Acquire
) -> Session:
    started = perf_counter()
    settings = executor._session_settings()
    _check_updatable_buffers(executor)
    session = Session(settings, executor._optimizer_spec())
    names = ["input" if not i else f"input/{i}" for i in range(len(micro_batch))]
    advance(20)

    def needs(stages: StageSummary | None) -> None:
        acquire(_ipus(stages))

    with executor._ready_for_capture():
        session.compile(executor._model, call, micro_batch, names, flattenTensorStructure, needs)
    advance(40)
    program = session.program
    graphs = [graph for graph in (program.step, program.accumulate, program.update) if graph is not None]
    executor._device.captured(perf_counter() - started, sum(map(op_count, graphs)))
    return session


def _ipus(stages: StageSummary | None) -> int:
    """IPUs that each replica needs."""
    return 1 if stages is None else stages.ipus_per_replica


def _check_updatable_buffers(executor: PoplarExecutor) -> None:
    names = executor._options._Popart.options.get("updatableNamedBuffers") or ()
    unknown = sorted(set(names) - set(dict(executor._model.named_buffers())))
    if unknown:
        raise _impl.createPoptorchError(
            f"updatableNamedBuffers lists {', '.join(unknown)}, which are not buffers of the model."
        )


def _modelled(executor: PoplarExecutor, session: Session) -> ModelledRun:
    """The program as the chip model sees it, with the replicas of all instances."""
    # imported here, because it takes a moment and `import poptorch` does not need it
    from tremula.device.chip_model import ModelledRun
    from tremula.frontends.torch.rules.program import program_of

    deployment = _deployment.deployment_of(executor._options, session.stages(), executor._training)
    program, instances = session.program, executor._device.settings.instances
    if instances > 1:
        program = replace(program, loops=replace(program.loops, replicas=program.loops.replicas * instances))
    return ModelledRun(
        lambda: program_of(program, deployment.lowering),
        deployment,
        replicas=program.loops.replicas,
        ops=sum(1 for _ in program.nodes()),
    )
