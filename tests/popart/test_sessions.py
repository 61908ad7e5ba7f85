"""Sessions: numbers against torch, anchors, weights, the order of calls, and what the device refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import popart
from tremula.frontends.onnx.run import chosen_step, exchange
from tremula.frontends.onnx.run.anchors import AnchorRule, Turn, Turns, place_of, returned_shape

CPU = popart.DeviceManager().createCpuDevice
ALL = popart.AnchorReturnType("All")


def two_layers() -> tuple[popart.Builder, str, str, str, str]:
    """A builder with input, weight, result and loss."""
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2, 3]))
    weight = builder.addInitializedInputTensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    result = builder.aiOnnx.tanh([builder.aiOnnx.matmul([data, weight])])
    loss = builder.aiGraphcore.l1loss([result], 0.5)
    return builder, data, weight, result, loss


def test_a_net_is_trained_as_torch_does() -> None:
    builder, data, weight, result, loss = two_layers()
    gradient = popart.reservedGradientPrefix() + weight
    flow = popart.DataFlow(2, dict.fromkeys((result, loss, gradient, weight), ALL))
    session = popart.TrainingSession(builder.getModelProto(), flow, loss, popart.ConstSGD(0.5), CPU())
    anchors = session.initAnchorArrays()
    assert {name: array.shape for name, array in anchors.items()} == {
        result: (2, 2, 4), loss: (2,), gradient: (2, 3, 4), weight: (2, 3, 4),
    }  # fmt: skip
    session.prepareDevice()
    session.weightsFromHost()
    values = np.random.default_rng(1).standard_normal((2, 2, 3)).astype(np.float32)
    session.run(popart.PyStepIO({data: values}, anchors))

    parameter = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    for batch in range(2):
        out = torch.tanh(torch.from_numpy(values[batch]) @ parameter)
        (0.5 * out.abs()).mean().backward()
        np.testing.assert_allclose(anchors[result][batch], out.detach(), rtol=1e-5)
        np.testing.assert_allclose(anchors[gradient][batch], parameter.grad, rtol=1e-5, atol=1e-7)
        with torch.no_grad():
            parameter -= 0.5 * parameter.grad
        parameter.grad = None
        np.testing.assert_allclose(anchors[weight][batch], parameter.detach(), rtol=1e-5, atol=1e-7)

    session.weightsToHost()
    read = np.zeros((3, 4), np.float32)
    session.readWeights(popart.PyWeightsIO({weight: read}))
    np.testing.assert_allclose(read, parameter.detach(), rtol=1e-5, atol=1e-7)


def test_trained_weights_come_back_in_a_valid_model(tmp_path: Path) -> None:
    builder, data, weight, _, loss = two_layers()
    proto = builder.getModelProto()
    session = popart.TrainingSession(proto, popart.DataFlow(1, [loss]), loss, popart.ConstSGD(0.5), CPU())
    session.prepareDevice()
    session.weightsFromHost()
    anchors = session.initAnchorArrays()
    session.run(popart.PyStepIO({data: np.ones((2, 3), np.float32)}, anchors))
    path = tmp_path / "trained.onnx"
    session.modelToHost(str(path))
    again = popart.InferenceSession(str(path), popart.DataFlow(1, [weight]), CPU())
    again.prepareDevice()
    found = again.initAnchorArrays()
    again.run(popart.PyStepIO({}, found))
    assert not np.allclose(found[weight], np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    session.resetHostWeights(proto)
    session.weightsFromHost()
    session.run(popart.PyStepIO({data: np.ones((2, 3), np.float32)}, second := session.initAnchorArrays()))
    np.testing.assert_array_equal(second[loss], anchors[loss])


def session_of(builder: popart.Builder, *outputs: str, batches: int = 1) -> popart.InferenceSession:
    session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(batches, list(outputs)), CPU())
    session.prepareDevice()
    return session


def test_wide_integers_come_back_in_32_bits() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [4]))
    place = builder.aiOnnx.argmax([data], axis=0, keepdims=0)
    session = session_of(builder, place)
    anchors = session.initAnchorArrays()
    session.run(popart.PyStepIO({data: np.array([1, 9, 3, 4], np.float32)}, anchors))
    assert (anchors[place].dtype, anchors[place].item()) == (np.int32, 1)


def test_functions_give_and_take_data_batch_by_batch() -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
    out = builder.aiOnnx.neg([data])
    session = session_of(builder, out, batches=3)
    taken: list[np.ndarray[Any, Any]] = []
    events: list[str] = []

    def give(name: str, _is_prefetch: bool) -> np.ndarray[Any, Any]:
        events.append(name)
        return np.full(2, len(events), np.float32)

    def take(name: str) -> np.ndarray[Any, Any]:
        taken.append(np.zeros(2, np.float32))
        return taken[-1]

    session.run(popart.PyStepIOCallback(give, events.append, take, events.append))
    assert [each.tolist() for each in taken] == [[-1, -1], [-4, -4], [-7, -7]]
    assert events == [data, data, out] * 3


def test_calls_at_the_wrong_time_are_refused() -> None:
    builder, data, _, _, loss = two_layers()
    proto, flow = builder.getModelProto(), popart.DataFlow(1, [loss])
    session = popart.TrainingSession(proto, flow, loss, popart.ConstSGD(0.5), CPU())
    with pytest.raises(
        popart.popart_exception, match="must be called before Devicex::weightsFromHost"
    ) as early:
        session.weightsFromHost()
    assert "prepareDevice()" in early.value.__notes__[0]
    session.prepareDevice()
    step = popart.PyStepIO({data: np.ones((2, 3), np.float32)}, session.initAnchorArrays())
    with pytest.raises(popart.popart_exception, match="Must call weightsFromHost before run"):
        session.run(step)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.ones((2, 2), np.float32), "takes 6 .*has 4"),
        (np.ones((2, 3), np.int8), "Type discrepancy for tensor 'input'"),
    ],
)
def test_data_that_does_not_fit_is_refused(values: np.ndarray[Any, Any], text: str) -> None:
    builder, data, _, result, _ = two_layers()
    session = session_of(builder, result)
    with pytest.raises(popart.popart_exception, match=text):
        session.run(popart.PyStepIO({data: values}, session.initAnchorArrays()))
    with pytest.raises(popart.popart_exception, match="not c-contiguous"):
        popart.PyStepIO({data: np.ones((3, 2), np.float32).T}, {})


def test_a_failing_node_is_named_with_the_line_that_made_it() -> None:
    builder = popart.Builder()
    first = builder.addInputTensor(popart.TensorInfo("FLOAT", [2, 3]))
    second = builder.addInputTensor(popart.TensorInfo("FLOAT", [4, 5]))
    product = builder.aiOnnx.matmul([first, second])
    with pytest.raises(popart.popart_exception, match="contracting dimensions unequal") as refused:
        popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [product]), CPU())
    assert "test_sessions.py" in refused.value.__notes__[0]


def test_gradients_that_are_not_there_cannot_be_anchored() -> None:
    builder, _, _, result, loss = two_layers()
    beside = builder.aiOnnx.relu([result])
    flow = popart.DataFlow(1, [popart.reservedGradientPrefix() + beside])
    with pytest.raises(
        popart.popart_exception, match=r"^Anchor tensor `Gradient___Relu:0' not in Ir Tensors"
    ):
        popart.TrainingSession(builder.getModelProto(), flow, loss, popart.ConstSGD(0.1), CPU())
    with pytest.raises(popart.popart_exception, match=r"must be a scalar tensor$"):
        popart.TrainingSession(
            builder.getModelProto(), popart.DataFlow(1, [result]), result, popart.ConstSGD(0.1), CPU()
        )


def test_an_ipu_model_runs_the_same_numbers_and_can_be_asked() -> None:
    builder, data, _, result, _ = two_layers()
    with popart.DeviceManager().createIpuModelDevice({"numIPUs": 1}) as device:
        session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [result]), device)
        session.prepareDevice()
        assert device.isAttached
        found = session.initAnchorArrays()
        session.run(popart.PyStepIO({data: np.ones((2, 3), np.float32)}, found))
    assert not device.isAttached
    weight = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_allclose(found[result], np.tanh(np.ones((2, 3), np.float32) @ weight), rtol=1e-5)


def test_devices_that_are_not_there_are_refused() -> None:
    manager = popart.DeviceManager()
    with pytest.raises(popart.popart_exception, match="Unknown option 'ipus' of a device"):
        manager.createIpuModelDevice({"ipus": 2})
    assert manager.tryAcquireAvailableDevice(numIpus=4096) is None
    with pytest.raises(popart.popart_exception, match="Failed to acquire device with 4096 IPUs"):
        manager.acquireAvailableDevice(4096)
    offline = manager.createOfflineIPUDevice({"numIPUs": 2})
    assert (offline.type, offline.numIpus) == (popart.DeviceType.OfflineIpu, 2)
    with pytest.raises(popart.popart_exception, match="connection type is Never"):
        offline.attach()


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["all", "final", "sum", "every_n"]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_values_fill_the_returned_array_once(
    mode: str, periods: int, period: int, accumulation: int, replicas: int
) -> None:
    rule = AnchorRule(mode, period if mode == "every_n" else 1)
    turns = Turns(periods * rule.period, accumulation, replicas)
    places = [
        place
        for batch in range(turns.batches)
        for turn in range(accumulation)
        for replica in range(replicas)
        if (place := place_of(rule, turns, Turn(batch, turn, replica))) is not None
    ]
    size = int(np.prod(returned_shape(rule, turns, (1,))))
    if mode == "sum":
        assert len(places) == turns.count
        assert set(places) == set(range(size))
    else:
        assert sorted(places) == list(range(size))


def test_a_session_that_runs_for_long_is_captured_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen_step, "_LONG_SECONDS", 0.0)
    builder, data, weight, _, loss = two_layers()
    gradient = popart.reservedGradientPrefix() + weight
    proto, values = builder.getModelProto(), np.random.default_rng(2).standard_normal((8, 2, 3)).astype("f4")
    found = []
    for captured in (False, True):
        monkeypatch.setattr(chosen_step, "can_be_captured", lambda _program, captured=captured: captured)
        flow = popart.DataFlow(8, [loss, gradient, weight])
        session = popart.TrainingSession(proto, flow, loss, popart.ConstSGD(0.5), CPU())
        session.prepareDevice()
        session.weightsFromHost()
        found.append(session.initAnchorArrays())
        session.run(popart.PyStepIO({data: values}, found[-1]))
    for name in found[0]:
        np.testing.assert_allclose(found[1][name], found[0][name], rtol=1e-5, atol=1e-6)


def test_the_period_of_an_anchor_counts_micro_batches() -> None:
    rule, turns = AnchorRule("every_n", 2), Turns(batches=2, accumulation=2)
    order = [Turn(batch, micro_batch, 0) for batch in range(2) for micro_batch in range(2)]
    assert [place_of(rule, turns, turn) for turn in order] == [None, 0, None, 1]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (None, [[6.0, 6.0, 6.0]] * 4),
        (popart.CommGroup(popart.CommGroupType.Consecutive, 2), [[1.0] * 3, [1.0] * 3, [5.0] * 3, [5.0] * 3]),
        (popart.CommGroup(popart.CommGroupType.Orthogonal, 2), [[2.0] * 3, [4.0] * 3, [2.0] * 3, [4.0] * 3]),
    ],
)
def test_replicas_meet_at_a_collective(group: Any, expected: list[list[float]]) -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [3]))
    total = builder.aiGraphcore.replicatedallreduce([data], commGroup=group)
    part = builder.aiGraphcore.replicatedreducescatter([data])
    options = popart.SessionOptions()
    options.enableReplicatedGraphs, options.replicatedGraphCount = True, 4
    flow = popart.DataFlow(1, [total, part])
    session = popart.InferenceSession(builder.getModelProto(), flow, CPU(), userOptions=options)
    session.prepareDevice()
    anchors = session.initAnchorArrays()
    values = np.repeat(np.arange(4, dtype=np.float32)[:, None], 3, axis=1)
    session.run(popart.PyStepIO({data: values}, anchors))
    assert anchors[total].tolist() == expected
    assert anchors[part].tolist() == [[6.0], [6.0], [6.0], [0.0]]


def test_an_error_of_one_replica_stops_the_others() -> None:
    meeting = exchange.Meeting(2)

    def fails() -> None:
        raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        exchange.together(meeting, [fails, lambda: meeting.exchange(1, torch.zeros(1))])


def test_a_seed_before_compilation_matters_to_random_graphs_only() -> None:
    for method, refused in (("relu", False), ("randomnormallike", True)):
        builder = popart.Builder()
        data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
        result = getattr(builder.aiOnnx, method)([data])
        device = popart.DeviceManager().createCpuDevice()
        session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [result]), device)
        if refused:
            with pytest.raises(popart.popart_exception, match="must be called before"):
                session.setRandomSeed(3)
        else:
            session.setRandomSeed(3)
        assert session.getRandomSeed() == 3


def test_a_session_takes_its_device_when_it_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "1")
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
    result = builder.aiOnnx.relu([data])
    connection = popart.DeviceConnectionType.OnDemand
    device = popart.DeviceManager().acquireAvailableDevice(1, connectionType=connection)
    session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [result]), device)
    session.prepareDevice(False)
    assert not device.isAttached
    anchors = session.initAnchorArrays()
    session.run(popart.PyStepIO({data: np.array([-1, 2], np.float32)}, anchors))
    assert device.isAttached
    assert anchors[result].tolist() == [0, 2]
    device.detach()


def test_tensors_are_printed_although_nothing_reads_them(capfd: pytest.CaptureFixture[str]) -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo("FLOAT", [2]))
    result = builder.aiOnnx.neg([data])
    builder.aiGraphcore.printtensor([result], 1, "name of the node", "title")
    builder.aiGraphcore.printtensor([data])
    session = popart.InferenceSession(builder.getModelProto(), popart.DataFlow(1, [result]), CPU())
    session.prepareDevice()
    session.run(popart.PyStepIO({data: np.array([1, 2], np.float32)}, session.initAnchorArrays()))
    printed = capfd.readouterr().err
    assert "title: [-1" in printed
    assert f"{data}: [1" in printed


@pytest.mark.parametrize(
    ("mode", "kind", "low", "high"),
    [
        (popart.SyntheticDataMode.RandomNormal, "UINT32", 0, 5),
        (popart.SyntheticDataMode.RandomUniform, "INT8", -128, 127),
        (popart.SyntheticDataMode.RandomUniform, "UINT8", 0, 255),
        (popart.SyntheticDataMode.RandomUniform, "BOOL", 0, 1),
    ],
)
def test_synthetic_whole_numbers(mode: popart.SyntheticDataMode, kind: str, low: int, high: int) -> None:
    builder = popart.Builder()
    data = builder.addInputTensor(popart.TensorInfo(kind, [5000]))
    result = builder.aiOnnx.cast([data], "FLOAT")
    options = popart.SessionOptions()
    options.syntheticDataMode = mode
    session = popart.InferenceSession(
        builder.getModelProto(), popart.DataFlow(1, [result]), CPU(), userOptions=options
    )
    session.prepareDevice()
    anchors = session.initAnchorArrays()
    session.run(popart.PyStepIO({}, anchors))
    assert low <= anchors[result].min() < anchors[result].max() <= high
    if mode is popart.SyntheticDataMode.RandomUniform:
        assert anchors[result].min() <= low + 2
        assert anchors[result].max() >= high - 2
