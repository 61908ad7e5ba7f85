"""`VirtualGraphMode.Auto`: nodes are spread over the IPUs by their memory."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

import popart

WIDTH = 8


def layer(builder: popart.Builder, data: str, width: int = WIDTH) -> str:
    weight = builder.addInitializedInputTensor(np.ones((WIDTH, width), np.float32))
    return builder.aiOnnx.matmul([data, weight])


def start() -> tuple[popart.Builder, str]:
    builder = popart.Builder()
    return builder, builder.addInputTensor(popart.TensorInfo("FLOAT", [2, WIDTH]))


def options(ratios: Sequence[float] = (), *, pipelined: bool = False) -> popart.SessionOptions:
    found = popart.SessionOptions()
    found.virtualGraphMode = popart.VirtualGraphMode.Auto
    found.virtualGraphSplitRatios = list(ratios)
    found.enablePipelining = pipelined
    found.instrumentWithHardwareCycleCounter = True
    return found


def session(
    builder: popart.Builder, result: str, ipus: int, settings: popart.SessionOptions | None = None
) -> popart.InferenceSession:
    return popart.InferenceSession(
        builder.getModelProto(),
        popart.DataFlow(2, [result]),
        popart.DeviceManager().createIpuModelDevice({"numIPUs": ipus}),
        userOptions=settings or options(),
    )


def places(found: popart.InferenceSession) -> list[int]:
    listed = json.loads(found._serializeIr(popart.IrSerializationFormat.JSON))["maingraph"]
    return [int(op["attributes"]["__ipu_number"]) for op in listed if op["type"] != "IpuCopy"]


def test_layers_of_one_size_are_shared_out_equally() -> None:
    builder, data = start()
    for _ in range(4):
        data = layer(builder, data)
    assert places(session(builder, data, 2)) == [0, 0, 1, 1]
    assert places(session(builder, data, 4)) == [0, 1, 2, 3]
    assert places(session(builder, data, 1)) == [0, 0, 0, 0]


def test_ratios_are_shares_of_the_memory() -> None:
    builder, data = start()
    for _ in range(4):
        data = layer(builder, data)
    assert places(session(builder, data, 2, options([0.25, 0.75]))) == [0, 1, 1, 1]


@pytest.mark.parametrize("ratios", [[0.5], [0.2, 0.2], [1.5, -0.5]])
def test_ratios_that_do_not_fit_are_refused(ratios: list[float]) -> None:
    builder, data = start()
    data = layer(builder, layer(builder, data))
    with pytest.raises(popart.popart_exception, match="virtualGraphSplitRatios"):
        session(builder, data, 2, options(ratios))


def test_a_residual_connection_stays_on_one_ipu() -> None:
    builder, data = start()
    first = layer(builder, data)
    inner = layer(builder, layer(builder, first))
    result = layer(builder, builder.aiOnnx.add([first, inner]))
    # half of the memory is reached inside of the connection, where no cut is allowed
    assert places(session(builder, result, 2)) in ([0, 1, 1, 1, 1], [0, 0, 0, 0, 1])


def test_too_few_places_to_cut_are_an_error() -> None:
    builder, data = start()
    data = layer(builder, layer(builder, data))
    with pytest.raises(popart.popart_exception, match="Couldn't find enough splits for 4 IPUs"):
        session(builder, data, 4)


def test_the_chip_model_follows_and_results_do_not_change() -> None:
    builder, data = start()
    result = layer(builder, layer(builder, data))
    rows = np.arange(2 * 2 * WIDTH, dtype=np.float32).reshape(2, 2, WIDTH)
    found = {}
    for ipus in (1, 2):
        own = session(builder, result, ipus, options(pipelined=ipus > 1))
        own.prepareDevice()
        anchors = own.initAnchorArrays()
        own.run(popart.PyStepIO({data: rows}, anchors))
        assert own.getCycleCount() > 0
        assert len(own._chip().estimate.memory.ipus) == ipus
        found[ipus] = anchors[result]
    np.testing.assert_array_equal(found[1], found[2])
    np.testing.assert_array_equal(found[1], rows @ np.full((WIDTH, WIDTH), WIDTH, np.float32))
