"""What sessions say of themselves: ops, reports, cycles; and operators that programs register."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

import popart
from tremula.frontends.torch.ops.custom import unregister

IPU_MODEL = popart.DeviceManager().createIpuModelDevice


def classifier(**placement: int) -> tuple[popart.Builder, str, str]:
    """A builder with its input and loss: a convolution and a product, on IPUs by name."""
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [1, 2, 4, 4]), "data")
    kernel = builder.addInitializedInputTensor(np.ones((3, 2, 3, 3), np.float32), "kernel")
    weight = builder.addInitializedInputTensor(np.ones((12, 5), np.float32), "weight")
    conv = builder.aiOnnx.conv([data, kernel], kernel_shape=[3, 3])
    rows = builder.reshape_const(builder.aiOnnx, [builder.aiOnnx.relu([conv])], [1, 12])
    loss = builder.aiGraphcore.l1loss([builder.aiOnnx.matmul([rows, weight])], 1.0)
    return builder, data, loss


def session(
    optimizer: popart.Optimizer, options: popart.SessionOptions | None = None, ipus: int = 1
) -> popart.TrainingSession:
    builder, _data, loss = classifier()
    return popart.TrainingSession(
        builder.getModelProto(),
        popart.DataFlow(1, [loss]),
        loss,
        optimizer,
        IPU_MODEL({"numIPUs": ipus}),
        userOptions=options,
    )


def ops(found: Any) -> list[dict[str, Any]]:
    return json.loads(found._serializeIr(popart.IrSerializationFormat.JSON))["maingraph"]


@pytest.mark.parametrize(
    ("optimizer", "wanted"),
    [
        (popart.ConstSGD(0.1), {"SGD0VarUpdate": 2}),
        (popart.SGD({"defaultMomentum": (0.9, True)}), {"SGD1VarUpdate": 2, "SGD1AcclUpdate": 2}),
        (popart.Adam({}, popart.AdamMode.Lamb), {"AdamUpdater": 2, "LambSquare": 4, "AdamVarUpdate": 2}),
        (popart.Adaptive({}, popart.AdaptiveMode.AdaDelta), {"AdaDeltaUpdater": 2, "ScaledVarUpdate": 2}),
    ],
)
def test_ops_are_those_of_forward_backward_and_update(
    optimizer: popart.Optimizer, wanted: dict[str, int]
) -> None:
    listed = ops(session(optimizer))
    counts = Counter(op["type"] for op in listed)
    assert {name: counts[name] for name in wanted} == wanted
    assert (counts["Conv"], counts["ConvWeightsGrad"], counts["MatMul"]) == (1, 1, 3)
    (product,) = [op for op in listed if op["outputs"] and op["outputs"][0]["name"] == "MatMul:0"]
    assert [each["shape"] for each in product["inputs"]] == ["[1 12]", "[12 5]"]
    made = {out["name"] for op in listed for out in op["outputs"]}
    assert {"Gradient___kernel", "Gradient___weight"} <= made
    assert "Gradient___data" not in made


def test_accumulation_replicas_and_clipping_are_listed() -> None:
    options = popart.SessionOptions()
    options.enableGradientAccumulation = True
    options.accumulationFactor = 2
    options.enableReplicatedGraphs = True
    options.replicatedGraphCount = 2
    clip = [popart.ClipNormSettings.clipAllWeights(1.0)]
    listed = ops(session(popart.SGD({}, clip), options, ipus=2))
    counts = Counter(op["type"] for op in listed)
    assert (counts["Accumulate"], counts["ReplicatedAllReduceInplace"], counts["ReduceSumSquare"]) == (
        2,
        2,
        2,
    )


def test_copies_between_ipus_and_stashes_are_listed() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]), "data")
    weight = builder.addInitializedInputTensor(np.ones(2, np.float32), "weight")
    with builder.virtualGraph(0):
        first = builder.aiOnnx.mul([data, weight])
    with builder.virtualGraph(1):
        loss = builder.aiGraphcore.identityloss([builder.aiOnnx.sin([first])])
    options = popart.SessionOptions()
    options.virtualGraphMode = popart.VirtualGraphMode.Manual
    options.enablePipelining = True
    found = popart.TrainingSession(
        builder.getModelProto(),
        popart.DataFlow(4, [loss]),
        loss,
        popart.ConstSGD(0.1),
        IPU_MODEL({"numIPUs": 2}),
        userOptions=options,
    )
    listed = ops(found)
    (copy,) = [op for op in listed if op["type"] == "IpuCopy"]
    assert copy["inputs"][0]["name"] == first
    assert [op["inputs"][0]["name"] for op in listed if op["type"] == "Stash"] == ["data"]
    assert listed[0]["attributes"]["__pipeline_stage"] == "0"


def test_reports_are_modelled_and_say_so() -> None:
    options = popart.SessionOptions()
    options.instrumentWithHardwareCycleCounter = True
    found = session(popart.ConstSGD(0.1), options)
    with pytest.raises(popart.popart_exception, match="Session must have been prepared before a report"):
        found.getSummaryReport()
    found.prepareDevice()
    with pytest.raises(popart.popart_exception, match="Must call run before getCycleCount"):
        found.getCycleCount()
    found.weightsFromHost()
    data = np.ones((1, 2, 4, 4), np.float32)
    found.run(popart.PyStepIO({"data": data}, found.initAnchorArrays()))
    assert found.getCycleCount() > 0
    assert "modelled by tremula" in found.getSummaryReport()
    assert found.getReport().compilation.target.numIPUs == 1
    with pytest.raises(popart.popart_exception, match="hardwareInstrumentations correctly"):
        found.getCycleCount("inner_ipu_0")
    with pytest.raises(popart.popart_exception, match="no serialised Poplar graph"):
        found.getSerializedGraph()


@pytest.mark.parametrize(
    "function", ["compileAndExport", "saveExecutable", "saveVariables", "loadExecutable"]
)
def test_there_are_no_executables(function: str) -> None:
    found = session(popart.ConstSGD(0.1))
    with pytest.raises(
        popart.popart_exception, match="Executables for device type ipu-model cannot be saved"
    ):
        getattr(found, function)("there.popef")


def test_cycles_are_counted_when_asked_for_only() -> None:
    with pytest.raises(popart.popart_exception, match="'instrumentWithHardwareCycleCounter' must be"):
        session(popart.ConstSGD(0.1)).getCycleCount()


def test_a_program_registers_its_operator() -> None:
    popart.register_custom_op("com.acme", "Cube", 1, lambda x, scale=1.0: x * x * x * scale)
    try:
        builder = popart.Builder()
        data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
        (cube,) = builder.customOp("Cube", 1, "com.acme", [data], {"scale": 2.0})
        loss = builder.aiGraphcore.identityloss([cube], popart.ReductionType.Sum)
        gradient = popart.reservedGradientPrefix() + data
        weight = builder.addInitializedInputTensor(np.ones((), np.float32))
        loss = builder.aiOnnx.mul([loss, weight])
        found = popart.TrainingSession(
            builder.getModelProto(),
            popart.DataFlow(1, [cube, gradient]),
            loss,
            popart.ConstSGD(0.1),
            IPU_MODEL({}),
        )
        found.prepareDevice()
        found.weightsFromHost()
        anchors = found.initAnchorArrays()
        found.run(popart.PyStepIO({data: np.array([1, 2], np.float32)}, anchors))
        np.testing.assert_array_equal(anchors[cube], [2, 16])
        np.testing.assert_array_equal(anchors[gradient], [6, 24])
    finally:
        unregister("com.acme", "Cube")


def test_rewrites_take_ops_away_unless_they_are_off() -> None:
    builder, _data, l1 = classifier()
    loss = builder.aiGraphcore.identityloss([l1])

    def types(patterns: popart.Patterns) -> Counter[str]:
        found = popart.TrainingSession(
            builder.getModelProto(),
            popart.DataFlow(1, [loss]),
            loss,
            popart.ConstSGD(0.1),
            IPU_MODEL({}),
            patterns=patterns,
        )
        return Counter(op["type"] for op in ops(found))

    assert types(popart.Patterns())["IdentityLoss"] == 0
    without = popart.Patterns()
    without.OpToIdentity = False
    counts = types(without)
    assert (counts["IdentityLoss"], counts["IdentityLossGrad"], counts["L1Grad"]) == (1, 1, 1)


def test_graphs_inside_of_ops_and_ops_on_constants() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
    inner = builder.createSubgraphBuilder()
    inner.setGraphName("double")
    own = inner.addInputTensor(popart.TensorInfo("FLOAT", [2]))
    inner.addOutputTensor(inner.aiOnnx.add([own, own]))
    (called,) = builder.aiGraphcore.call([data], 1, inner)
    shift = builder.aiOnnx.neg([builder.aiOnnx.constant(np.ones(2, np.float32))])
    drawn = builder.aiOnnx.randomnormallike([data])
    result = builder.aiOnnx.sum([called, shift, drawn])
    found = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [result]), IPU_MODEL({}))
    listed = json.loads(found._serializeIr(popart.IrSerializationFormat.JSON))
    assert [op["type"] for op in listed["maingraph"]] == ["Call", "RandomNormal", "Sum"]
    assert [op["type"] for op in listed["double"]] == ["Add"]


def test_products_in_parts_and_shares_of_memory_reach_the_chip_model() -> None:
    def cycles(mark: Any) -> int:
        builder = popart.Builder()
        data = builder.addInputTensor(popart.TensorInfo("FLOAT", [256, 256]))
        weight = builder.addInitializedInputTensor(np.ones((256, 1024), np.float32))
        product = builder.aiOnnx.matmul([data, weight])
        mark(builder, product)
        options = popart.SessionOptions()
        options.instrumentWithHardwareCycleCounter = True
        found = popart.InferenceSession(
            builder.getModelProto(), popart.DataFlow(1, [product]), IPU_MODEL({}), userOptions=options
        )
        found.prepareDevice()
        rows = np.ones((256, 256), np.float32)
        found.run(popart.PyStepIO({data: rows}, found.initAnchorArrays()))
        return found.getCycleCount()

    plain = cycles(lambda builder, product: None)
    assert (
        cycles(lambda builder, product: builder.setSerializeMatMul({product}, "output_channels", 4)) > plain
    )
    assert cycles(lambda builder, product: builder.setAvailableMemoryProportion(product, 0.02)) > plain
    with pytest.raises(
        popart.popart_exception, match="Invalid serialisation factor 3 for output channels dim 1024"
    ):
        cycles(lambda builder, product: builder.setSerializeMatMul({product}, "output_channels", 3))
