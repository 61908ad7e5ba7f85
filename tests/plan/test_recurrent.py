import pytest

from tremula.hardware.catalogue import chip
from tremula.plan.elementwise_vertices import resolve
from tremula.plan.planner import Planner
from tremula.plan.recurrent import FORWARD, GATES, GRADIENT
from tremula.program.work import Recurrent

PLANNER = Planner(chip("bow"))


def layer(kind: str = "lstm", steps: int = 20, gradient: bool = False, proportion: float = 0.6) -> Recurrent:
    return Recurrent(kind, steps, 16, 64, 128, "fp16", "fp16", proportion, gradient)


@pytest.mark.parametrize("kind", sorted(GATES))
def test_every_step_repeats_the_same_supersteps(kind: str) -> None:
    once, often = PLANNER.plan(layer(kind, 20)), PLANNER.plan(layer(kind, 40))
    turns = [step for step in once.supersteps if step.repeats % 20 == 0]
    assert len(turns) > len(FORWARD[kind])
    assert once.cycles < often.cycles <= 2.2 * once.cycles
    assert once.flops >= 2 * 20 * 16 * 128 * (64 + 128) * GATES[kind]


@pytest.mark.parametrize("kind", sorted(GATES))
def test_a_gradient_multiplies_twice_as_much(kind: str) -> None:
    forward, backward = PLANNER.plan(layer(kind)), PLANNER.plan(layer(kind, gradient=True))
    assert backward.flops >= 2 * 2 * 20 * 16 * 128 * (64 + 128) * GATES[kind]
    assert backward.cycles > forward.cycles
    assert any(step.repeats == 1 for step in backward.supersteps)


def test_more_gates_take_longer() -> None:
    lstm, gru, rnn = (PLANNER.plan(layer(kind)).cycles for kind in ("lstm", "gru", "rnn"))
    assert lstm > gru > rnn


def test_inputs_ahead_or_inside_the_loop() -> None:
    cost = PLANNER.plan(layer())
    (other,) = cost.why.alternatives
    assert {"ahead" in cost.why.plan, "ahead" in other.plan} == {True, False}
    assert cost.cycles <= other.cycles
    # a sequence whose products do not fit is handled step by step
    long = Recurrent("lstm", 400, 32, 64, 512, "fp16", "fp16", 0.02)
    assert "step by step" in PLANNER.plan(long).why.plan


def test_operations_are_known() -> None:
    for passes in (*FORWARD.values(), *GRADIENT.values()):
        for operation, _, _ in passes:
            for part in operation.split("+"):
                assert not resolve(part)[1], part


def test_nothing_to_do() -> None:
    assert PLANNER.plan(layer(steps=0)).cycles == 0
