"""Training sessions: accumulation, replicas, loss scales, states that are saved, and options that contradict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import popart
import popdist.popart

Array = np.ndarray
IPU_MODEL = popart.DeviceManager().createIpuModelDevice


class Net:
    """Two products and a loss; the data of a step for any number of micro-batches."""

    def __init__(self, samples: int, reduction: popart.ReductionType = popart.ReductionType.Sum) -> None:
        self.builder = popart.Builder()
        random = np.random.default_rng(3)
        self.data = self.builder.addInputTensor(popart.TensorInfo("FLOAT", [samples, 4]))
        first = random.standard_normal((4, 5)).astype(np.float32)
        self.first = self.builder.addInitializedInputTensor(first, "first")
        self.second = self.builder.addInitializedInputTensor(
            random.standard_normal((5, 2)).astype(np.float32), "second"
        )
        hidden = self.builder.aiOnnx.tanh([self.builder.aiOnnx.matmul([self.data, self.first])])
        self.hidden = hidden
        self.loss = self.builder.aiGraphcore.l1loss(
            [self.builder.aiOnnx.matmul([hidden, self.second])], 0.1, reduction
        )

    def session(
        self,
        options: popart.SessionOptions | None = None,
        optimizer: popart.Optimizer | None = None,
        *,
        batches: int = 2,
        anchors: list[str] | None = None,
        ipus: int = 1,
    ) -> popart.TrainingSession:
        return popart.TrainingSession(
            self.builder.getModelProto(),
            popart.DataFlow(batches, [self.loss] if anchors is None else anchors),
            self.loss,
            optimizer or popart.ConstSGD(0.1),
            IPU_MODEL({"numIPUs": ipus}),
            userOptions=options,
        )

    def weights(self, session: popart.TrainingSession) -> list[Array]:
        session.weightsToHost()
        found = [np.zeros((4, 5), np.float32), np.zeros((5, 2), np.float32)]
        session.readWeights(popart.PyWeightsIO({self.first: found[0], self.second: found[1]}))
        return found


def trained(
    samples: int,
    options: popart.SessionOptions | None = None,
    optimizer: popart.Optimizer | None = None,
    reduction: popart.ReductionType = popart.ReductionType.Sum,
    ipus: int = 1,
) -> list[Array]:
    """The weights after two updates on 16 samples."""
    net = Net(samples, reduction)
    session = net.session(options, optimizer, ipus=ipus)
    session.prepareDevice()
    session.weightsFromHost()
    data = np.random.default_rng(5).standard_normal((2, 8, 4)).astype(np.float32)
    session.run(popart.PyStepIO({net.data: data}, session.initAnchorArrays()))
    return net.weights(session)


def accumulating(factor: int, **values: object) -> popart.SessionOptions:
    options = popart.SessionOptions()
    options.enableGradientAccumulation = True
    options.accumulationFactor = factor
    for name, value in values.items():
        setattr(options, name, value)
    return options


MEAN = {"accumulationAndReplicationReductionType": popart.ReductionType.Mean}
RUNNING = {**MEAN, "meanAccumulationAndReplicationReductionStrategy": popart.MeanReductionStrategy.Running}
REPLICAS = {"enableReplicatedGraphs": True, "replicatedGraphCount": 2}


@pytest.mark.parametrize(
    ("options", "samples", "reduction"),
    [
        (accumulating(4), 2, popart.ReductionType.Sum),
        (accumulating(4, **MEAN), 2, popart.ReductionType.Mean),
        (accumulating(4, **RUNNING), 2, popart.ReductionType.Mean),
        (accumulating(2, **REPLICAS), 2, popart.ReductionType.Sum),
        (accumulating(2, **REPLICAS, **RUNNING), 2, popart.ReductionType.Mean),
    ],
)
@pytest.mark.parametrize(
    "optimizer",
    [
        popart.SGD(
            {"defaultLearningRate": (0.1, False), "defaultMomentum": (0.9, True), "lossScaling": (8, True)}
        ),
        popart.Adam({"defaultLearningRate": (0.1, False), "lossScaling": (4, False)}),
    ],
)
def test_micro_batches_and_replicas_train_like_one_batch(
    options: popart.SessionOptions,
    samples: int,
    reduction: popart.ReductionType,
    optimizer: popart.Optimizer,
) -> None:
    found = trained(samples, options, optimizer, reduction, ipus=2)
    for one, whole in zip(found, trained(8, None, optimizer, reduction), strict=True):
        np.testing.assert_allclose(one, whole, rtol=2e-4, atol=1e-5)


def test_the_optimizers_state_is_saved_and_gone_on_from(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    optimizer = popart.Adam({"defaultLearningRate": (0.1, False)})
    data = np.random.default_rng(1).standard_normal((1, 8, 4)).astype(np.float32)

    def run(session: popart.TrainingSession, net: Net, steps: int) -> list[Array]:
        session.prepareDevice()
        session.weightsFromHost()
        for _ in range(steps):
            session.run(popart.PyStepIO({net.data: data}, session.initAnchorArrays()))
        return net.weights(session)

    net = Net(8)
    first = net.session(optimizer=optimizer, batches=1)
    run(first, net, 2)
    first.modelToHost(path)
    saved = {each.name: numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}
    assert saved["Step___first"] == 2
    assert np.abs(saved["Accl1___second"]).max() > 0

    resumed = popart.TrainingSession(path, popart.DataFlow(1, [net.loss]), net.loss, optimizer, IPU_MODEL({}))
    whole = net.session(optimizer=optimizer, batches=1)
    for one, other in zip(run(resumed, net, 2), run(whole, net, 4), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_values_of_the_update_can_be_anchored() -> None:
    net = Net(8)
    optimizer = popart.SGD({"defaultLearningRate": (0.5, False), "lossScaling": (4.0, False)})
    names = ["lossScaling_FLOAT", "scaledLearningRate0___default___FLOAT", f"UpdatedVar___{net.first}"]
    session = net.session(optimizer=optimizer, batches=1, anchors=names)
    session.prepareDevice()
    session.weightsFromHost()
    anchors = session.initAnchorArrays()
    data = {net.data: np.ones((1, 8, 4), np.float32)}
    session.run(popart.PyStepIO(data, anchors))
    assert [float(anchors[name]) for name in names[:2]] == [4.0, 0.125]
    np.testing.assert_array_equal(anchors[names[2]], net.weights(session)[0])
    session.updateOptimizerFromHost(
        popart.SGD({"defaultLearningRate": (0.25, False), "lossScaling": (4.0, False)})
    )
    session.run(popart.PyStepIO(data, anchors))
    assert float(anchors[names[1]]) == 0.0625
    with pytest.raises(popart.popart_exception, match="lossScaling was variable"):
        session.updateOptimizerFromHost(popart.ConstSGD(0.1))


def test_groups_of_replicas_have_weights_of_their_own() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
    groups = popart.VariableSettings(popart.CommGroup(popart.CommGroupType.Consecutive, 2))
    weight = builder.addInitializedInputTensor(np.array([[1, 1], [2, 2]], np.float32), groups)
    loss = builder.aiGraphcore.identityloss([builder.aiOnnx.mul([data, weight])], popart.ReductionType.Sum)
    options = popart.SessionOptions()
    options.enableReplicatedGraphs = True
    options.replicatedGraphCount = 4
    session = popart.TrainingSession(
        builder.getModelProto(),
        popart.DataFlow(1, [loss]),
        loss,
        popart.ConstSGD(1.0),
        IPU_MODEL({"numIPUs": 4}),
        userOptions=options,
    )
    session.prepareDevice()
    session.weightsFromHost()
    values = np.array([[1, 0], [1, 0], [0, 1], [0, 3]], np.float32)
    anchors = session.initAnchorArrays()
    session.run(popart.PyStepIO({data: values}, anchors))
    np.testing.assert_array_equal(anchors[loss], [1, 1, 2, 6])
    session.weightsToHost()
    read = np.zeros((2, 2), np.float32)
    session.readWeights(popart.PyWeightsIO({weight: read}))
    np.testing.assert_array_equal(read, [[-1, 1], [2, -2]])


def pipelined(builder: popart.Builder, net: Net, stages: tuple[int, int]) -> popart.SessionOptions:
    for name, ipu in zip((net.hidden, net.loss), stages, strict=True):
        builder.virtualGraph(name, ipu)
    options = popart.SessionOptions()
    options.virtualGraphMode = popart.VirtualGraphMode.Manual
    options.enablePipelining = True
    return options


def _refused(change: Callable[[popart.SessionOptions], None]) -> str:
    options = popart.SessionOptions()
    change(options)
    with pytest.raises(popart.popart_exception) as found:
        Net(8).session(options)
    return str(found.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("accumulationFactor", 4, "enableGradientAccumulation is false, but accumulationFactor > 1."),
        ("enableExplicitMainLoops", True, "enableExplicitMainLoops requires useHostCopyOps."),
        ("enablePipelining", True, "Pipelining requires more than 1 IPU"),
        (
            "createImplicitPipeliningFwdOnlyProgram",
            True,
            "Implicit pipelining forward-only program is not supported",
        ),
        ("virtualGraphMode", popart.VirtualGraphMode.Manual, "SessionOptions flag virtualGraphMode is"),
    ],
)
def test_options_that_contradict_are_refused(name: str, value: object, message: str) -> None:
    assert _refused(lambda options: setattr(options, name, value)).startswith(message)


def test_replicas_that_cannot_be_divided_among_instances_are_refused() -> None:
    def change(options: popart.SessionOptions) -> None:
        options.enableDistributedReplicatedGraphs = options.enableReplicatedGraphs = True
        options.globalReplicationFactor, options.replicatedGraphCount = 4, 3

    assert "4 replicas of a run cannot be divided among instances with 3 each" in _refused(change)
    options = popart.SessionOptions()
    popdist.popart.configureSessionOptions(options)
    assert (options.globalReplicationFactor, options.enableReplicatedGraphs) == (1, False)


def test_stages_must_fit_the_graph() -> None:
    net = Net(8)
    for name, ipu in ((net.hidden, 1), (net.loss, 0)):
        net.builder.virtualGraph(name, ipu)
    options = popart.SessionOptions()
    options.virtualGraphMode = popart.VirtualGraphMode.Manual
    with pytest.raises(popart.popart_exception, match=r"^Either all ops must have their virtual graph"):
        net.session(options, ipus=2)


def test_synthetic_data_needs_none_from_the_host() -> None:
    net = Net(8)
    options = popart.SessionOptions()
    options.syntheticDataMode = popart.SyntheticDataMode.Zeros
    session = net.session(options, anchors=[net.hidden])
    session.prepareDevice()
    session.weightsFromHost()
    anchors = session.initAnchorArrays()
    session.run(popart.PyStepIO({}, anchors))
    assert not anchors[net.hidden].any()


def test_random_states_are_taken_and_given_back() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [64]))
    drawn = builder.aiOnnx.randomnormal([64])
    result = builder.aiOnnx.add([data, drawn])
    options = popart.SessionOptions()
    options.enableLoadAndOffloadRNGState = True
    session = popart.InferenceSession(
        builder.getModelProto(), popart.DataFlow(1, [result]), IPU_MODEL({}), userOptions=options
    )
    session.prepareDevice()
    session.setRandomSeed(7)
    assert session.getRandomSeed() == 7
    state = session.getRNGState()
    values = []
    for _ in range(2):
        anchors = session.initAnchorArrays()
        session.run(popart.PyStepIO({data: np.zeros(64, np.float32)}, anchors))
        values.append(anchors[result])
        session.setRNGState(state)
    np.testing.assert_array_equal(*values)
    with pytest.raises(popart.popart_exception, match="rngState of size"):
        session.setRNGState([*state, 0])


def test_weights_and_accumulators_of_replicas_come_back_from_every_turn() -> None:
    builder = popart.Builder()
    weight = builder.addInitializedInputTensor(np.ones(2, np.float32))
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
    loss = builder.aiGraphcore.identityloss([builder.aiOnnx.mul([data, weight])], popart.ReductionType.Sum)
    options = popart.SessionOptions()
    options.enableGradientAccumulation = options.enableReplicatedGraphs = True
    options.accumulationFactor = options.replicatedGraphCount = 2
    accumulator = popart.reservedAccumPrefix() + weight
    session = popart.TrainingSession(
        builder.getModelProto(),
        popart.DataFlow(2, {name: popart.AnchorReturnType("All") for name in (weight, accumulator)}),
        loss,
        popart.ConstSGD(1.0),
        popart.DeviceManager().createIpuModelDevice({"numIPUs": 2}),
        userOptions=options,
    )
    session.prepareDevice()
    session.weightsFromHost()
    anchors = session.initAnchorArrays()
    rows = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2)  # batches, micro-batches, replicas
    session.run(popart.PyStepIO({data: rows}, anchors))
    # each replica adds its own gradients up
    np.testing.assert_array_equal(anchors[accumulator], rows.cumsum(axis=1))
    # the update follows the last micro-batch: the first batch runs with the weights of the beginning
    np.testing.assert_array_equal(anchors[weight][0], np.ones((2, 2, 2)))
    np.testing.assert_array_equal(anchors[weight][1], np.broadcast_to(1 - rows[0].sum((0, 1)), (2, 2, 2)))


def scaled(scale: float, **settings: Any) -> list[float]:
    """The loss scale of four batches whose gradients are small; a batch is one weight in half precision."""
    builder = popart.Builder()
    weight = builder.addInitializedInputTensor(np.ones(2, np.float16))
    data = builder.addInputTensor(popart.TensorInfo("FLOAT16", [2]))
    loss = builder.aiGraphcore.identityloss([builder.aiOnnx.mul([data, weight])], popart.ReductionType.Sum)
    options = popart.SessionOptions()
    options.automaticLossScalingSettings.enabled = True
    for name, value in settings.items():
        setattr(options.automaticLossScalingSettings, name, value)
    session = popart.TrainingSession(
        builder.getModelProto(),
        popart.DataFlow(4, {"finalLossScale": popart.AnchorReturnType("All")}),
        loss,
        popart.SGD({"lossScaling": (scale, False), "defaultLearningRate": (0.0, False)}),
        popart.DeviceManager().createCpuDevice(),
        userOptions=options,
    )
    session.prepareDevice()
    session.weightsFromHost()
    anchors = session.initAnchorArrays()
    session.run(popart.PyStepIO({data: np.full((4, 2), 0.01, np.float16)}, anchors))
    found: list[float] = anchors["finalLossScale"].ravel().tolist()
    return found


def test_the_anchored_loss_scale_is_that_of_its_batch() -> None:
    assert scaled(2.0) == [2.0, 4.0, 8.0, 16.0]
    assert scaled(2.0, updatePeriod=2) == [2.0, 4.0, 4.0, 8.0]


def test_a_constant_loss_scale_cannot_be_automatic() -> None:
    options = popart.SessionOptions()
    options.automaticLossScalingSettings.enabled = True
    with pytest.raises(popart.popart_exception, match="must have non-const loss scaling"):
        popart.SGD({"lossScaling": (2.0, True)}).updater(options)


def test_integers_have_gradients() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("INT32", [3]))
    median, _places = builder.aiGraphcore.reducemedian([data], axes=[0], keepdims=False)
    loss = builder.aiGraphcore.identityloss([median])
    gradient = popart.reservedGradientPrefix() + data
    session = popart.TrainingSession(
        builder.getModelProto(),
        popart.DataFlow(1, [gradient]),
        loss,
        popart.ConstSGD(0.1),
        popart.DeviceManager().createCpuDevice(),
    )
    session.prepareDevice()
    anchors = session.initAnchorArrays()
    session.run(popart.PyStepIO({data: np.array([5, 1, 3], np.int32)}, anchors))
    assert anchors[gradient].tolist() == [0, 0, 1]
