"""Questions about the programs of this process: `tremula estimate run`, TREMULA_ESTIMATE, and advice for profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tremula.frontends.tensorflow.modelling import questions
from tremula.study import listeners

if TYPE_CHECKING:
    from tremula.profile.model import Advice


class _Questions:
    """See `tremula.frontends.tensorflow.modelling.questions`."""

    def answer(self, subject: questions.Make) -> None:
        """Answer what was asked about a program, if anything was; that may end the process."""
        if not listeners.is_asked():
            return
        who = listeners.listener()
        if who is not None:
            who(subject())
            return
        # imported here, because it takes a moment and most programs do not need it
        from tremula.advise.report import answer_program

        answer_program(subject())

    def advise(self, subject: questions.Make) -> list[Advice]:
        """What to change about a program, best first."""
        from tremula.advise.recorded import recorded_advice

        return recorded_advice(subject())


questions.answer_with(_Questions())
