"""Softmax regression on digits, one image at a time, with gradients by hand: the whole batch is one run.

Run it with `python mnist_regression.py FOLDER [epochs] [per cent of the images]`. FOLDER holds MNIST's four idx files;
`--ipu` uses a virtual IPU instead of a small model.
"""

import argparse
import gzip
import sys
from pathlib import Path

import numpy as np
import poplar
import poplin
import popnn
import popops
import poputil
from poplar.program import Copy, Repeat, Sequence

BATCH = 300
RATE = 0.0009


def read_idx(folder: Path, name: str) -> np.ndarray:
    """An array of MNIST's file format, packed or not."""
    path = folder / name
    raw = path.read_bytes() if path.exists() else gzip.decompress(path.with_name(f"{name}.gz").read_bytes())
    rank = raw[3]
    shape = np.frombuffer(raw, ">u4", rank, 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(shape)


def open_device(ipu: bool) -> poplar.Device:
    """A model with four tiles, or the first IPU that is free."""
    if not ipu:
        print("Using the IPU Model")
        return poplar.IPUModel(numIPUs=1, tilesPerIPU=4).createDevice()
    print("Using the IPU")
    return next(each for each in poplar.DeviceManager().getDevices(poplar.TargetType.IPU, 1) if each.attach())


def build(graph: poplar.Graph, pixels: int) -> Sequence:
    """The program of one batch."""
    for library in (popops, poplin, popnn):
        library.addCodelets(graph)

    def variable(type, shape, name):
        made = graph.addVariable(type, shape, name)
        poputil.mapTensorLinearly(graph, made)
        return made

    image = variable(poplar.FLOAT, [pixels, 1], "image")
    weights, biases = (
        variable(poplar.FLOAT, [10, pixels], "weights"),
        variable(poplar.FLOAT, [10, 1], "biases"),
    )
    label, correct = (
        variable(poplar.UNSIGNED_INT, [1], "label"),
        variable(poplar.UNSIGNED_INT, [1], "correct"),
    )
    loss, delta = variable(poplar.FLOAT, [1], "loss"), variable(poplar.FLOAT, [1, 10], "delta")
    graph.createHostWrite("weights", weights)
    graph.createHostWrite("biases", biases)

    step = Sequence()
    scores = popops.add(graph, poplin.matMul(graph, weights, image, step, "scores"), biases, step)
    chances = popnn.nonLinearity(graph, popnn.NonLinearityType.SOFTMAX, scores.transpose(), step)
    step.add(popnn.calcLoss(graph, chances, label, loss, delta, correct, popnn.LossType.CROSS_ENTROPY_LOSS))
    popops.scaledAddTo(graph, biases, delta.transpose(), -RATE, step)
    gradient = poplin.matMul(graph, delta.transpose(), image.transpose(), step, "gradient")
    popops.scaledAddTo(graph, weights, gradient, -RATE, step)

    images_in = graph.addHostToDeviceFIFO("images", poplar.FLOAT, pixels)
    labels_in = graph.addHostToDeviceFIFO("labels", poplar.UNSIGNED_INT, 1)
    correct_out = graph.addDeviceToHostFIFO("correct", poplar.UNSIGNED_INT, 1)
    zero = graph.addConstant(poplar.UNSIGNED_INT, [1], 0)
    graph.setTileMapping(zero, 0)
    body = Sequence(Copy(images_in, image), Copy(labels_in, label), step)
    return Sequence(Copy(zero, correct), Repeat(BATCH, body), Copy(correct, correct_out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("epochs", type=int, nargs="?", default=1)
    parser.add_argument("percent", type=float, nargs="?", default=100.0)
    parser.add_argument("--ipu", action="store_true")
    given = parser.parse_args()
    images = read_idx(given.folder, "train-images-idx3-ubyte").astype(np.float32) / 255
    labels = read_idx(given.folder, "train-labels-idx1-ubyte").astype(np.uint32)
    count = int(len(images) * given.percent / 100)
    images, labels = images[:count].reshape(count, -1), labels[:count]

    device = open_device(given.ipu)
    graph = poplar.Graph(device.getTarget())
    engine = poplar.Engine(graph, build(graph, images.shape[1]))
    engine.load(device)
    correct = np.zeros(1, np.uint32)
    engine.connectStream("images", images)
    engine.connectStream("labels", labels)
    engine.connectStream("correct", correct)
    random = np.random.default_rng(0)
    engine.writeTensor("weights", random.normal(size=(10, images.shape[1])).astype(np.float32))
    engine.writeTensor("biases", random.normal(size=(10, 1)).astype(np.float32))

    batches = count // BATCH
    for epoch in range(1, given.epochs + 1):
        right = 0
        for batch in range(1, batches + 1):
            engine.run(0)
            right += int(correct[0])
            if epoch == batch == 1:
                engine.printProfileSummary(sys.stdout)
        print(f"Epoch {epoch} (100%), accuracy {right * 100 // (batches * BATCH)}%")


if __name__ == "__main__":
    main()
