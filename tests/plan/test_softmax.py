import pytest

from tremula.hardware.catalogue import chip
from tremula.plan.planner import Planner
from tremula.program.work import Softmax

MK2 = chip("mk2")


def test_forward_is_two_reductions_and_passes_between() -> None:
    cost = Planner(MK2).plan(Softmax(6144, 384, "fp16"))
    assert [step.name for step in cost.supersteps] == [
        "reduce on tile", "sub", "exp", "reduce on tile", "reciprocal", "cast", "mul",
    ]  # fmt: skip
    assert len(cost.why.parts) == 7
    # the type of the sums is that of the result already
    assert "cast" not in [step.name for step in Planner(MK2).plan(Softmax(6144, 384)).supersteps]


def test_logarithm_and_gradients() -> None:
    planner = Planner(MK2)
    names = {
        (logarithm, gradient): [
            step.name for step in planner.plan(Softmax(8832, 64, "fp32", logarithm, gradient)).supersteps
        ]
        for logarithm in (False, True)
        for gradient in (False, True)
    }
    assert names[True, False] == ["reduce on tile", "sub", "exp", "reduce on tile", "log", "sub"]
    assert names[False, True] == ["mul", "reduce on tile", "mul", "sub"]
    assert names[True, True] == ["reduce on tile", "exp", "mul", "sub"]


@pytest.mark.parametrize("rows", [16, 1000, 5000])
def test_more_rows_take_longer(rows: int) -> None:
    planner = Planner(MK2)
    assert (
        planner.plan(Softmax(2 * rows, 512, "fp16")).cycles >= planner.plan(Softmax(rows, 512, "fp16")).cycles
    )


def test_gradient_keeps_a_product() -> None:
    planner = Planner(MK2)
    forward, gradient = (
        planner.plan(Softmax(6144, 384, "fp16", gradient=g)).bytes.temporary for g in (False, True)
    )
    assert gradient >= forward + 6144 * 384 * 2 // 1472
    assert planner.plan(Softmax(0, 384)).cycles == 0
