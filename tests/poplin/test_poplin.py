"""The public functions of poplin take their arguments as the C++ ones do."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import poplar
import poplin
from poplar.program import Sequence as Program


class World:
    """A graph with tensors that count up."""

    def __init__(self) -> None:
        self.device = poplar.IPUModel(numIPUs=1, tilesPerIPU=4).createDevice()
        self.graph = poplar.Graph(self.device.getTarget())
        self.prog = Program()

    def tensor(self, *shape: int) -> poplar.Tensor:
        made = self.graph.addVariable(poplar.FLOAT, list(shape), poplar.VariableMappingMethod.LINEAR)
        self.graph.setInitialValue(made, counted(*shape))
        return made

    def run(self, *tensors: poplar.Tensor) -> Sequence[Any]:
        for number, each in enumerate(tensors):
            self.graph.createHostRead(str(number), each)
        engine = poplar.Engine(self.graph, self.prog)
        engine.load(self.device)
        engine.run(0)
        return [engine.readTensor(str(number)).reshape(each.shape) for number, each in enumerate(tensors)]


def counted(*shape: int) -> Any:
    return (0.25 * np.arange(np.prod(shape)) - 1).reshape(shape).astype(np.float32)


@pytest.fixture
def world() -> World:
    return World()


def test_products_take_type_name_options_and_cache_in_any_form(world: World) -> None:
    graph, prog, a, b = world.graph, world.prog, world.tensor(3, 4), world.tensor(4, 5)
    cache = poplin.PlanningCache()
    made = [
        poplin.matMul(graph, a, b, prog),
        poplin.matMul(graph, a, b, prog, "name"),
        poplin.matMul(graph, a, b, prog, "name", {"partialsType": "half"}, cache),
        poplin.matMul(graph, a, b, prog, poplar.FLOAT, "name", {}, None),
        poplin.matMul(graph, a, b, prog, debug="name", options={"availableMemoryProportion": 0.3}),
    ]
    half = poplin.matMul(graph, a, b, prog, poplar.HALF, "half")
    assert half.elementType() is poplar.HALF
    out = world.tensor(3, 5)
    poplin.matMulWithOutput(graph, a, b, out, prog, "out")
    poplin.matMulAcc(graph, out, -1.0, a, b, prog, "acc")
    *products, zero = world.run(*made, out)
    for each in products:
        np.testing.assert_allclose(each, counted(3, 4) @ counted(4, 5), rtol=1e-5)
    np.testing.assert_allclose(zero, 0, atol=1e-4)


def test_operands_are_created_with_one_or_two_types(world: World) -> None:
    one = poplin.createMatMulInputLHS(world.graph, poplar.FLOAT, [3, 4], [4, 5], "left")
    two = poplin.createMatMulInputRHS(world.graph, poplar.HALF, poplar.FLOAT, [3, 4], [4, 5], "right", {})
    out = poplin.createMatMulGroupedOutput(
        world.graph, poplar.HALF, poplar.FLOAT, [2, 3, 4], [2, 4, 5], "out"
    )
    assert (one.shape, two.shape, out.shape) == ((3, 4), (4, 5), (2, 3, 5))
    assert (two.elementType(), out.elementType()) == (poplar.HALF, poplar.FLOAT)
    assert poplin.transposeGroupedMatrix(out).shape == (2, 5, 3)


def test_a_wrong_argument_is_named(world: World) -> None:
    a = world.tensor(2, 2)
    with pytest.raises(poplar.poplar_error, match=r"matMul: .*too much"):
        poplin.matMul(world.graph, a, a, world.prog, "name", {}, 5)
    with pytest.raises(poplar.invalid_option, match="partials"):
        poplin.matMul(world.graph, a, a, world.prog, "name", {"partials": "half"})
    with pytest.raises(AttributeError, match="docs/poplar-libs-nn"):
        poplin.lu


def params() -> poplin.ConvParams:
    made = poplin.ConvParams(poplar.FLOAT, 2, [6, 5], [3, 3], 4, 5, 1)
    made.inputTransform.paddingLower = [1, 0]
    made.outputTransform.stride = [2, 1]
    return made


def test_convolutions_know_their_extents(world: World) -> None:
    conv = params()
    assert conv.getOutputFieldShape() == [3, 3]
    assert conv.getUntransformedOutputSize(0) == 5
    assert conv == params()
    assert conv != poplin.ConvParams(poplar.FLOAT, 2, [6, 5], [3, 3], 4, 5, 1)
    source, weights = poplin.createInput(world.graph, conv), poplin.createWeights(world.graph, conv, "w")
    out = poplin.convolution(
        world.graph, source, weights, conv, False, world.prog, "conv", {"pass": "TRAINING_FWD"}
    )
    assert out.shape == (2, 5, 3, 3)
    backward = poplin.getGradientParams(conv)
    inner = poplin.convolution(world.graph, out, weights, backward, True, world.prog)
    assert inner.shape == source.shape
    assert poplin.calculateWeightDeltas(world.graph, out, source, conv, world.prog).shape == weights.shape
    poplin.addBias(world.graph, out, poplin.createBiases(world.graph, out), world.prog)
    # two of three rows of the kernel meet the padded edge once; all columns fit
    assert poplin.getFwdFlops(conv) == 2 * 2 * 4 * 5 * (3 * 3 - 1) * (3 * 3)


def test_several_convolutions_give_what_each_does(world: World) -> None:
    none = poplin.ConvParams(poplar.FLOAT, 1, [4], [2], 2, 3, 1)
    source, weights = world.tensor(1, 2, 4), world.tensor(1, 3, 2, 2)
    args = [poplin.multiconv.ConvolutionArgs(source, weights, none, {})] * 2
    both = poplin.multiconv.convolution(world.graph, args, False, world.prog, "multi", {"planType": "serial"})
    alone = poplin.convolution(world.graph, source, weights, none, False, world.prog)
    first, second, expected = world.run(*both, alone)
    np.testing.assert_array_equal(first, expected)
    np.testing.assert_array_equal(second, expected)


def test_plans_are_reported_with_their_modelled_costs(world: World) -> None:
    shapes = ([256, 256], [256, 64])
    text = io.StringIO()
    poplin.matMulReportPlan(text, world.graph, poplar.HALF, poplar.FLOAT, *shapes, {"partialsType": "half"})
    first, _, *steps = text.getvalue().splitlines()
    assert first.startswith("Plan (modelled): ")
    assert steps
    small = poplin.reportPlanEstimatedCosts(world.graph, params())
    whole = poplar.Graph(poplar.Target.createIPUTarget(1))
    assert 0 < poplin.reportPlanEstimatedCosts(whole, params()).cycles < small.cycles
    assert f"{small.cycles:,}" in poplin.reportPlanInfo(None, world.graph, params(), {"pass": "NONE"})
    assert "(modelled)" in poplin.reportWeightUpdatePlanInfo(None, world.graph, params())
