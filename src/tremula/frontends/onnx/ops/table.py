"""The table of operators: domain and type -> versions -> what computes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

from tremula.frontends.onnx.model import STANDARD

#: the domain of the IPU's own operators
GRAPHCORE = "ai.graphcore"
#: function(call, *tensors) -> a tensor or several; inputs that are left out at the end are not passed
OpFunction: TypeAlias = Callable[..., "torch.Tensor | Sequence[torch.Tensor | None]"]


@dataclass(frozen=True)
class Rule:
    """How an operator is computed from version `since` on."""

    function: OpFunction
    since: int
    #: inputs whose values must be known before the graph runs
    static: frozenset[int] = frozenset()
    #: equal inputs give equal outputs, so it may be computed once, before the graph runs
    folds: bool = True
    #: outputs may be much larger than inputs
    grows: bool = False


_rules: dict[tuple[str, str], list[Rule]] = {}


def op(
    *types: str,
    since: int = 1,
    static: Iterable[int] = (),
    folds: bool = True,
    grows: bool = False,
    domain: str = STANDARD,
) -> Callable[[Any], Any]:
    """Register a function for operators, from version `since` on."""

    def register(function: OpFunction) -> OpFunction:
        rule = Rule(function, since, frozenset(static), folds, grows)
        for each in types:
            rules = _rules.setdefault((domain, each), [])
            rules.append(rule)
            rules.sort(key=lambda one: one.since)
        return function

    return register


def find(domain: str, type: str, version: int) -> Rule | None:
    """The rule of an operator in a version of its domain, the newest that is not newer; None if there is none."""
    _load()
    rules = _rules.get((domain, type), ())
    found = next((rule for rule in reversed(rules) if rule.since <= version), None)
    if found is None and domain != STANDARD:
        from tremula.frontends.onnx.ops.registered import compute
        from tremula.frontends.torch.ops.custom import is_registered

        if is_registered(domain, type):
            return Rule(compute, version, folds=False)
    return found


def known_operators() -> list[tuple[str, str, tuple[int, ...]]]:
    """All operators: domain, type, and the versions with which their meaning changes here."""
    _load()
    return sorted((*key, tuple(rule.since for rule in rules)) for key, rules in _rules.items())


def _load() -> None:
    """Import all families; each registers its operators."""
    from tremula.frontends.onnx.ops import families as _families  # noqa: F401
