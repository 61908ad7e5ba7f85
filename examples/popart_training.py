"""Build a graph with PopART's builder, train it, and write the trained weights to an ONNX file."""

import numpy as np
import popart

SAMPLES, FEATURES, CLASSES, STEPS = 16, 8, 3, 60


def main():
    random = np.random.default_rng(0)
    builder = popart.Builder()
    features = builder.addInputTensor(popart.TensorInfo("FLOAT", [SAMPLES, FEATURES]))
    labels = builder.addInputTensor(popart.TensorInfo("INT32", [SAMPLES]))
    start = random.normal(0, 0.1, (FEATURES, CLASSES)).astype(np.float32)
    weight = builder.addInitializedInputTensor(start, "weight")
    scores = builder.aiOnnx.softmax([builder.aiOnnx.matmul([features, weight])])
    loss = builder.aiGraphcore.nllloss([scores, labels])

    session = popart.TrainingSession(
        fnModel=builder.getModelProto(),
        dataFlow=popart.DataFlow(1, {loss: popart.AnchorReturnType("All")}),
        loss=loss,
        optimizer=popart.ConstSGD(0.5),
        deviceInfo=popart.DeviceManager().createIpuModelDevice({"numIPUs": 1}),
    )
    session.prepareDevice()
    session.weightsFromHost()
    anchors = session.initAnchorArrays()
    for step in range(STEPS):
        classes = random.integers(0, CLASSES, SAMPLES).astype(np.int32)
        inputs = random.normal(0, 0.3, (SAMPLES, FEATURES)).astype(np.float32)
        inputs[np.arange(SAMPLES), classes] += 2
        session.run(popart.PyStepIO({features: inputs, labels: classes}, anchors))
        if step % 20 == 0 or step == STEPS - 1:
            print(f"step {step}: loss {anchors[loss].mean():.3f}")
    session.modelToHost("trained.onnx")
    print("weights written to trained.onnx")


if __name__ == "__main__":
    main()
