"""Evidence on what fits: configurations that are known to have run or to have failed for want of memory.

A case of the metric `fits` says so itself. One of `max_batch_fit` says that its batch ran and that the next larger of
its `batches` did not. A published speed of a whole model is of a program that ran. Rows of quality 3 (simulated,
recalled or without a reason) are not evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tremula.memory.verdict import Curve, curve

from .fidelity_cases import Case
from .fidelity_evaluate import Evaluator
from .fidelity_kinds import KINDS

#: metrics of memory, which are not evidence of a run
_OF_MEMORY = ("tile_bytes_max", "fits", "max_batch_fit")
_WORST_QUALITY = 2


@dataclass(frozen=True)
class Evidence:
    """A configuration, what the model says of its fullest tile, and what it did."""

    id: str
    family: str
    fill: float
    ran: bool
    blind: bool = False

    def said(self, by: Curve | None = None) -> str:
        """The verdict on it."""
        return (by or curve()).fit(self.fill).verdict


def tried(case: Case) -> Iterator[tuple[Case, bool]]:
    """The configurations that `case` says something about, and whether they ran."""
    if case.quality > _WORST_QUALITY:
        return
    if case.metric == "fits":
        yield case, bool(case.published)
    elif not KINDS[case.kind].whole_model:
        return
    elif case.metric == "max_batch_fit":
        largest = int(case.published)
        yield _with_batch(case, largest), True
        beyond = [each for each in case.parameters.get("batches", ()) if each > largest]
        if beyond:
            yield _with_batch(case, min(beyond)), False
    elif case.metric not in _OF_MEMORY:
        yield case, True


def _with_batch(case: Case, batch: int) -> Case:
    return replace(case, parameters={**case.parameters, "batch": batch})


def evidence(cases: Iterable[Case], evaluator: Evaluator) -> list[Evidence]:
    """All configurations that are known to have run or failed, as the model sees them.

    A case whose program cannot be modelled is left out; its row says why.
    """
    found = []
    for case in cases:
        for configuration, ran in tried(case):
            fill = _fill(configuration, evaluator)
            if fill is not None:
                found.append(Evidence(case.id, case.family, fill, ran, case.blind))
    return found


def _fill(case: Case, evaluator: Evaluator) -> float | None:
    if not KINDS[case.kind].whole_model:
        used = evaluator.predict(replace(case, metric="tile_bytes", unit="B")).predicted
        return None if used is None else used / evaluator.planner(case.chip).chip.tile_memory_bytes
    # needs torch, and cases of single ops do not
    from .fidelity_models import model_estimate

    parameters = {name: value for name, value in case.parameters.items() if name not in ("base", "batches")}
    try:
        memory = model_estimate(
            replace(case, parameters=parameters), evaluator, evaluator.front_end(case)
        ).memory
    except Exception:  # the prediction of the row fails alike, and says why
        return None
    return memory.max_tile_bytes / memory.tile_memory_bytes


def families(rows: Sequence[Evidence]) -> list[str]:
    """The families of some evidence, each once."""
    return list(dict.fromkeys(row.family for row in rows))
