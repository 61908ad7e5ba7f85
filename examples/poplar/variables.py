"""Variables, copies and streams: move numbers between host and tiles, and print them on the way.

Run it with `python variables.py` (a model of an IPU) or `python variables.py --device ipu` (a virtual IPU).
"""

import argparse

import numpy as np
import poplar
from poplar.program import Copy, PrintTensor, Sequence


def open_device(kind: str) -> poplar.Device:
    """A model of an IPU, or the first IPU that is free."""
    if kind == "model":
        return poplar.IPUModel().createDevice()
    print("Trying to attach to IPU")
    for device in poplar.DeviceManager().getDevices(poplar.TargetType.IPU, 1):
        if device.attach():
            print(f"Attached to IPU {device.getId()}")
            return device
    raise SystemExit("No IPU is free")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["model", "ipu"], default="model")
    device = open_device(parser.parse_args().device)
    graph = poplar.Graph(device.getTarget())

    row = graph.addVariable(poplar.FLOAT, [4], "row")
    spread = graph.addVariable(poplar.FLOAT, [4], "spread")
    matrix = graph.addVariable(poplar.FLOAT, [4, 4], "matrix")
    numbers = graph.addVariable(poplar.INT, [10], "numbers")
    for tensor in (row, matrix, numbers):
        graph.setTileMapping(tensor, 0)
    for tile in range(4):  # one element on each tile
        graph.setTileMapping(spread[tile], tile)
    start = graph.addConstant(poplar.FLOAT, [4], [1.0, 1.5, 2.0, 2.5], "start")
    graph.setTileMapping(start, 0)

    graph.createHostWrite("matrix-write", matrix)
    graph.createHostRead("matrix-read", matrix)
    stream = graph.addHostToDeviceFIFO("numbers-stream", poplar.INT, 10)

    steps = Sequence(Copy(start, row), PrintTensor("v1-debug", row))
    steps.add(Copy(row, spread))
    steps.add(PrintTensor("v2-debug", spread))
    steps.add(Copy(row.slice(0, 3), matrix.slice([1, 1], [2, 4])))
    for turn in range(2):
        steps.add(Copy(stream, numbers))
        steps.add(PrintTensor(f"v4-{turn}", numbers))

    engine = poplar.Engine(graph, steps)
    engine.load(device)
    engine.writeTensor("matrix-write", np.zeros((4, 4), np.float32))
    engine.connectStream("numbers-stream", np.arange(30, dtype=np.int32))
    engine.run(0)
    print("Program complete")
    print(engine.readTensor("matrix-read"))


if __name__ == "__main__":
    main()
