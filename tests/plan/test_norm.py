import pytest

from tremula.hardware.catalogue import chip
from tremula.plan.planner import Planner
from tremula.program.work import Elementwise, Norm, Reduction

MK2 = chip("mk2")


def names(work: Norm) -> list[str]:
    return [step.name for step in Planner(MK2).plan(work).supersteps]


def test_layer_norm_reduces_once_for_both_statistics() -> None:
    planner = Planner(MK2)
    cost = planner.plan(Norm("layer", 1024, 8832, 1024, "fp16"))
    both = planner.plan(Reduction(2 * 8832, 1024, 1, "fp16", "square_add", "fp32"))
    assert cost.supersteps[0] == both.supersteps[0]
    assert [step.name for step in cost.supersteps].count("reduce on tile") == 1
    assert [step.name for step in cost.supersteps][-4:] == ["sub", "mul", "mul", "add"]


def test_without_scale_and_shift_two_passes_less() -> None:
    with_both, without = (names(Norm("layer", 1024, 8832, p)) for p in (1024, 0))
    assert len(without) == len(with_both) - 2


def test_inference_of_a_batch_norm_needs_no_statistics() -> None:
    work = Norm("batch", 100_352, 64, 64, "fp16", training=False)
    assert names(work) == ["rsqrt+mul+mul+sub", "mul", "add"]
    # a layer norm still does
    assert len(names(Norm("layer", 1024, 4096, 1024, training=False))) > 3


@pytest.mark.parametrize("kind", ["batch", "layer", "group", "instance"])
def test_gradient_costs_more_than_forward(kind: str) -> None:
    planner = Planner(MK2)
    forward, gradient = (planner.plan(Norm(kind, 4096, 512, 512, "fp16", gradient=g)) for g in (False, True))
    assert forward.cycles < gradient.cycles
    assert forward.bytes.temporary < gradient.bytes.temporary
    assert "gradient" in gradient.why.plan


def test_broadcasts_follow_the_layout() -> None:
    planner = Planner(MK2)
    cost = planner.plan(Norm("batch", 100_352, 64, 64, "fp16"))
    scale = planner.plan(Elementwise("mul", 100_352 * 64, "fp16", 2, 64, broadcast_inner=True))
    assert cost.supersteps[-2] == scale.supersteps[0]
    assert planner.plan(Norm("batch", 0, 64, 64)).cycles == 0
