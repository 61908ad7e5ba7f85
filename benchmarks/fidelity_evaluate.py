"""Predictions for cases: one evaluator per set of constants, with a planner per chip that remembers its plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tremula.hardware.catalogue import chip as chip_called
from tremula.plan.constants import FITTED, Constants
from tremula.plan.planner import Planner
from tremula.schedule.constants import FITTED_SCHEDULE, ScheduleConstants

from .fidelity_cases import Case
from .fidelity_kinds import KINDS
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

    @property
    def ratio(self) -> float | None:
        """Predicted over published."""
        if self.predicted is None or self.case.published == 0:
            return None
        return self.predicted / self.case.published


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

    def predict(self, case: Case) -> Prediction:
        """The prediction for `case`, or why there is none."""
        try:
            value = _predictor(case.kind)(case, self)
        except Exception as error:  # one case that fails must not lose the others
            return Prediction(
                case, None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            )
        return Prediction(case, in_unit(value, case.unit))


def _predictor(kind: str) -> Callable[[Case, Evaluator], float]:
    if kind == "vertex":
        return predict_vertex
    if KINDS[kind].work is not None:
        return predict_op
    if kind in ("model", "scaling", "memory"):
        from .fidelity_models import predict_model

        return predict_model
    from .fidelity_transfers import predict_transfer

    return predict_transfer
