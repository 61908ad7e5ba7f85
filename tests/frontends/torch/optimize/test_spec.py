"""Which changes of an optimizer a compiled model accepts."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tremula.errors import Error
from tremula.frontends.torch.optimize.scalars import hyper_tensors
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, Kind, OptimizerSpec, replaced

NO_MOMENTUM = HyperValue(0.0, True)


def sgd(*, lr: float = 0.1, momentum: HyperValue = NO_MOMENTUM) -> OptimizerSpec:
    values = {
        "learningRate": HyperValue(lr),
        "momentum": momentum,
        "dampening": HyperValue(0.0, True),
        "weightDecay": HyperValue(0.0, True),
        "velocityScaling": HyperValue(1.0, True),
    }
    return OptimizerSpec(Kind.SGD, (GroupSpec(("a", "b"), values),))


def test_variable_values_may_change() -> None:
    new = sgd(lr=0.2)
    assert replaced(sgd(), new) is new


def test_parameters_may_move_between_groups() -> None:
    group = sgd().groups[0]
    split = replace(sgd(), groups=(GroupSpec(("b",), group.values), GroupSpec(("a",), group.values)))
    assert replaced(sgd(), split) is split
    assert hyper_tensors(split).keys() == hyper_tensors(sgd()).keys()


@pytest.mark.parametrize(
    ("new", "named"),
    [
        (sgd(momentum=HyperValue(0.9, True)), "momentum"),
        (sgd(momentum=HyperValue(0.0, False)), "momentum"),
        (replace(sgd(), kind=Kind.ADAM), "ADAM"),
        (replace(sgd(), loss_scaling=HyperValue(2.0, True)), "lossScaling"),
        (replace(sgd(), max_grad_norm=1.0), "max_grad_norm"),
        (replace(sgd(), first_order_type=torch.float16), "first_order_type"),
        (replace(sgd(), groups=(GroupSpec(("a",), sgd().groups[0].values),)), "b"),
    ],
)
def test_other_changes_are_refused_by_name(new: OptimizerSpec, named: str) -> None:
    with pytest.raises(Error, match=named):
        replaced(sgd(), new)
