"""Predictions for cases: one evaluator per set of constants, with a planner per chip that remembers its plans.

A case whose published program is a TensorFlow program is predicted from one where TensorFlow is installed, and from the
torch version elsewhere.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tremula.hardware.catalogue import chip as chip_called
from tremula.plan.constants import FITTED, Constants
from tremula.plan.planner import Planner
from tremula.schedule.constants import FITTED_SCHEDULE, ScheduleConstants

from .fidelity_cases import Case
from .fidelity_kinds import FRONT_ENDS, KINDS
from .fidelity_ops import predict_op, predict_vertex
from .fidelity_plans import SharingPlanner
from .fidelity_units import in_unit

T = TypeVar("T")


@dataclass(frozen=True)
class Prediction:
    """What the model says about a case; `error` says why it says nothing."""

    case: Case
    predicted: float | None
    error: str | None = None
    #: what the program was written in; empty: there is none
    front_end: str = ""

    @property
    def ratio(self) -> float | None:
        """Predicted over published."""
        if self.predicted is None or self.case.published == 0:
            return None
        return self.predicted / self.case.published

    @property
    def front_end_words(self) -> str:
        """What the program was written in, and why it is not what was published."""
        instead = self.front_end and self.front_end != self.case.front_end
        return f"{self.front_end} (no {self.case.front_end})" if instead else self.front_end


class Evaluator:
    """Predicts cases with one set of constants."""

    def __init__(self, constants: Constants = FITTED, schedule: ScheduleConstants = FITTED_SCHEDULE) -> None:
        self.constants = constants
        self.schedule = schedule
        self._kept: dict[Any, Any] = {}

    def planner(self, chip: str, ipus: int = 1) -> Planner:
        """The planner of a chip, or of several chips whose tiles one op is spread over."""
        one = chip_called(chip)
        whole = one if ipus == 1 else one.with_tiles(ipus * one.tiles)
        return self.remembered((whole, SharingPlanner), lambda: SharingPlanner(whole, self.constants))

    def remembered(self, key: Any, make: Callable[[], T]) -> T:
        """What is kept under `key`, made when it is first asked for."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def front_end(self, case: Case) -> str:
        """What the model of `case` is written in here: as it was published, if that is installed."""
        return case.front_end if installed(case.front_end) else FRONT_ENDS[0]

    def predict(self, case: Case, front_end: str | None = None) -> Prediction:
        """The prediction for `case`, or why there is none.

        Args:
            case: what is predicted.
            front_end: what a whole model is written in; None: as the case says, if that is installed, else torch.
        """
        used = (front_end or self.front_end(case)) if KINDS[case.kind].whole_model else ""
        try:
            value = _predictor(case.kind, used)(case, self)
        except Exception as error:  # one case that fails must not lose the others
            return Prediction(
                case,
                None,
                f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                used,
            )
        return Prediction(case, in_unit(value, case.unit), front_end=used)


@functools.cache
def installed(front_end: str) -> bool:
    """Whether programs can be written in it here."""
    return importlib.util.find_spec(front_end) is not None


def _predictor(kind: str, front_end: str) -> Callable[[Case, Evaluator], float]:
    if kind == "vertex":
        return predict_vertex
    if KINDS[kind].work is not None:
        return predict_op
    if front_end:
        from .fidelity_models import predict_model

        return functools.partial(predict_model, front_end=front_end)
    from .fidelity_transfers import predict_transfer

    return predict_transfer
