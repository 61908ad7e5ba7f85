"""Sessions to and from the contents of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from tremula.frontends.torch.capture.stages import RestoredStages
from tremula.frontends.torch.capture.state import StateSlots
from tremula.frontends.torch.optimize.spec import OptimizerSpec, replaced
from tremula.frontends.torch.package.compatibility import Expected, check_fit
from tremula.frontends.torch.package.saved_program import SavedProgram, SavedStages
from tremula.frontends.torch.session import Session, device_state
from tremula.frontends.torch.settings import SessionSettings
from tremula.program.stages import Mode, StageSummary


def saved_program(session: Session) -> SavedProgram:
    """The compiled form of a session, to be put into a file."""
    summary = session.stages()
    stages = None if summary is None else SavedStages(**{**vars(summary), "mode": summary.mode.value})
    return SavedProgram(
        program=session.program,
        result=session.result,
        computed=session.computed,
        spec=session.spec,
        stages=stages,
        running_mean=session.settings.running_mean,
        groupings=session.settings.groupings,
    )


def restore(
    settings: SessionSettings,
    spec: OptimizerSpec | None,
    module: torch.nn.Module,
    inputs: Sequence[torch.Tensor],
    saved: SavedProgram,
) -> Session:
    """A session that runs the program `saved` in a file with the weights of `module`; nothing is captured. The error
    for settings, module or inputs that do not fit lists what differs.
    """
    if saved.stages is not None:
        seen = StageSummary(**{**vars(saved.stages), "mode": Mode(saved.stages.mode)})
        settings = replace(settings, rule=RestoredStages(seen))
    settings = replace(settings, execution=replace(settings.execution, untrusted=True))
    # With the compiled optimizer, whose order of tensors is that of the graph; `spec` brings new values.
    session = Session(settings, saved.spec)
    session.join(module, inputs)
    state = device_state(module, saved.program)
    training = None
    if spec is not None and saved.spec is not None and settings.training:
        replaced(saved.spec, spec)
        training = session.training_state(saved.program, state)
    slots = StateSlots(module)
    expected = Expected(
        training=settings.training,
        loops=settings.loops,
        instances=settings.instances.count,
        running_mean=settings.running_mean,
        groupings=settings.groupings,
        parameters=tuple(slots.parameter_names),
        buffers=tuple(slots.buffer_names),
        state=state,
        inputs=inputs,
        optimizer=training,
    )
    check_fit(saved, expected)
    session.load(saved, state, training)
    if spec is not None:
        session.set_optimizer(spec)
    return session
