"""How a change acts on a case, and how its lines name things of the program.

Names of modules come from the user's model and may be anything: what goes into code is either a plain attribute path
or a quoted string.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from tremula.study.case import Case
from tremula.study.split.told import access


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


def named(path: str, module: torch.nn.Module | None) -> str:
    """How Python names the submodule at `path` of `model`."""
    if all((part.isidentifier() and part.isascii()) or part.isdigit() for part in path.split(".")):
        return access(path, module)
    return f"model.get_submodule({path!r})"
