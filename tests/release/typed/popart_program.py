"""A PopART program and a PopXL program."""

import numpy as np
import popart
import popxl
import popxl.ops as ops


def popart_program() -> None:
    builder = popart.Builder()
    images: str = builder.addInputTensor("FLOAT", [8, 16])
    weight = builder.addInitializedInputTensor(np.random.rand(16, 4).astype(np.float32))
    result = builder.aiOnnx.softmax([builder.aiOnnx.matmul([images, weight])])
    options = popart.SessionOptions()
    options.virtualGraphMode = popart.VirtualGraphMode.Off
    session = popart.InferenceSession(
        fnModel=builder.getModelProto(),
        dataFlow=popart.DataFlow(1, {result: popart.AnchorReturnType("All")}),
        deviceInfo=popart.DeviceManager().createIpuModelDevice({"numIPUs": 1}),
        userOptions=options,
    )
    session.prepareDevice()
    anchors = session.initAnchorArrays()
    try:
        session.run(popart.PyStepIO({images: np.zeros((8, 16), np.float32)}, anchors))
    except popart.popart_exception as problem:
        print(problem)
    print(popart.reservedGradientPrefix(), popart.versionNumber())


def popxl_program() -> None:
    ir = popxl.Ir()
    with ir.main_graph, popxl.in_sequence():
        stream = popxl.h2d_stream((8, 4), popxl.float32)
        x: popxl.Tensor = ops.host_load(stream)
        w = popxl.variable(np.zeros((4, 1), np.float32), name="w")
        loss = ops.mean((x @ w) ** 2.0)
        ops.scaled_add_(w, ops.sum(x, axis=0, keepdims=True).transpose(), b=-0.1)
        out = popxl.d2h_stream((), popxl.float32)
        ops.host_store(out, loss)
    with popxl.Session(ir, "ipu_hw") as session:
        print(session.run({stream: np.random.rand(8, 4)})[out])


if __name__ == "__main__":
    popart_program()
    popxl_program()
