"""Op types of an update, parameter by parameter."""

from __future__ import annotations

import pytest

from tremula.frontends.torch.optimize.device_ops import update_ops
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, Kind, OptimizerSpec


@pytest.mark.parametrize(
    ("kind", "momentum", "expected"),
    [
        (Kind.SGD, HyperValue(0.0, True), {"SGD0VarUpdate"}),
        (Kind.SGD, HyperValue(0.0), {"SGD1AcclUpdate", "Accumulate", "SGD1VarUpdate"}),
        (Kind.ADAMW, HyperValue(0.0), {"Accumulate", "AdamUpdater", "AdamVarUpdate"}),
        (Kind.LAMB, HyperValue(0.0), {"Accumulate", "LambSquare", "AdamUpdater", "AdamVarUpdate"}),
    ],
)
def test_each_parameter_has_its_ops(kind: Kind, momentum: HyperValue, expected: set[str]) -> None:
    ops = update_ops(OptimizerSpec(kind, (GroupSpec(("a", "b"), {"momentum": momentum}),)))
    for name in ("a", "b"):
        assert {op for op, parameter in ops if parameter == name} == expected
