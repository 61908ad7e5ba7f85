"""An engine as a subject of questions to the chip model: `tremula estimate run` and TREMULA_ESTIMATE."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tremula.frontends.poplar.execute.engine import ProgramEngine
from tremula.frontends.poplar.execute.runs import ProgramRun
from tremula.study import listeners

if TYPE_CHECKING:
    from tremula.study.placed_subject import PlacedSubject


def subject_of(engine: ProgramEngine) -> PlacedSubject:
    """The programs of an engine, each run once."""
    from tremula.study.placed_subject import PlacedSubject  # takes a moment, and few programs need it

    model = engine.model

    def once() -> list[ProgramRun]:
        numbers = range(len(engine.programs))
        return [ProgramRun(number, "", model.estimate.executions(number)) for number in numbers]

    return PlacedSubject(
        name=engine.name or Path(sys.argv[0]).name or "Poplar program",
        summary=lambda: model.summary(once(), {}),
        write_profile=lambda folder: model.write_profile(folder, once(), execution=True),
    )


def answer(engine: ProgramEngine) -> None:
    """Answer what was asked about the programs of an engine, if anything was; that may end the process."""
    if not listeners.is_asked():
        return
    who = listeners.listener()
    if who is not None:
        who(subject_of(engine))
        return
    # imported here, because it takes a moment and most programs do not need it
    from tremula.advise.report import answer_program

    answer_program(subject_of(engine))
