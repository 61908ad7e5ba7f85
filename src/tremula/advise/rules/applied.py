"""How a change acts on a case: other settings, loops, lines of the program, or another capture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tremula.study.case import Case


def deployed(**values: Any) -> Callable[[Case], Case]:
    """Other settings of the device."""
    return lambda case: replace(case, deployment=replace(case.deployment, **values))


def looped(**values: Any) -> Callable[[Case], Case]:
    """Other loop counts. Results that went back once per call still do."""

    def apply(case: Case) -> Case:
        loops = replace(case.loops, **values)
        deployment = case.deployment
        before = case.loops.device_iterations
        if before > 1 and deployment.returned_share == 1.0 / before:
            deployment = replace(deployment, returned_share=1.0 / loops.device_iterations)
        return replace(case, loops=loops, deployment=deployment)

    return apply


def changed(**values: Any) -> Callable[[Case], Case]:
    """Other lines of the program (study/changes.py)."""
    return lambda case: replace(case, changes=replace(case.changes, **values))


def varied(**values: Any) -> Callable[[Case], Case]:
    """Another capture."""
    return lambda case: replace(case, variant=replace(case.variant, **values))


def one_after_the_other(*changes: Callable[[Case], Case]) -> Callable[[Case], Case]:
    """All of them."""

    def apply(case: Case) -> Case:
        for change in changes:
            case = change(case)
        return case

    return apply
