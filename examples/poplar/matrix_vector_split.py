"""A matrix times a vector, split over columns too: a cost model chooses how, a second compute set adds the parts.

Run it with `python matrix_vector_split.py 10000 1000 [--device model-ipu1|model-ipu2|ipu]`.
"""

import argparse
import sys

import numpy as np
import poplar
from poplar.program import Copy, Execute, Program, Sequence


class DotProduct(poplar.Vertex):
    """The product of a part of a row with its part of the vector."""

    row: poplar.Input[poplar.Vector[poplar.FLOAT]]
    vector: poplar.Input[poplar.Vector[poplar.FLOAT]]
    out: poplar.Output[poplar.FLOAT]

    def compute(self):
        total = 0.0
        for i in range(len(self.row)):
            total += self.row[i] * self.vector[i]
        self.out = total
        return True


class AddParts(poplar.Vertex):
    """The sum of the parts of a row."""

    parts: poplar.Input[poplar.Vector[poplar.FLOAT]]
    out: poplar.Output[poplar.FLOAT]

    def compute(self):
        total = 0.0
        for i in range(len(self.parts)):
            total += self.parts[i]
        self.out = total
        return True


def cycles_of(elements: int) -> int:
    """Cycles of a vertex: two elements in a cycle, after a start."""
    return 5 + (elements + 1) // 2


def cost(target: poplar.Target, rows: int, columns: int, split: int) -> int:
    """Cycles of a split: compute in turns of all workers, and what the busiest tile receives."""
    tiles, workers = target.getNumTiles(), target.getNumWorkerContexts()
    part = -(-columns // split)
    products = max(-(-rows * split // tiles), 1)
    sums = max(-(-rows // tiles), 1)
    words = 4 // target.getExchangeBytesPerCycle()
    compute = -(-products // workers) * workers * cycles_of(part)
    reduce = -(-sums // workers) * workers * cycles_of(split)
    return compute + -(-products // rows) * part * words + reduce + sums * split * words


def best_split(target: poplar.Target, rows: int, columns: int) -> int:
    """The split that costs least."""
    costs = {split: cost(target, rows, columns, split) for split in range(1, columns)}
    best = min(costs, key=costs.__getitem__)
    print(f"Best split: {best} with {costs[best]} cycles. Worst cost seen: {max(costs.values())}")
    return best


def multiply(
    graph: poplar.Graph, matrix: poplar.Tensor, vector: poplar.Tensor, result: poplar.Tensor
) -> Program:
    """The program that multiplies, with matrix, vector and result put on tiles."""
    rows, columns = matrix.shape
    tiles = graph.getTarget().getNumTiles()
    split = best_split(graph.getTarget(), rows, columns)
    parts = graph.addVariable(poplar.FLOAT, [rows, split], "parts")
    for i in range(columns):
        graph.setTileMapping(vector[i], i * tiles // columns)
    products, sums = graph.addComputeSet("products"), graph.addComputeSet("sums")
    for i in range(split):
        begin, end = i * columns // split, (i + 1) * columns // split
        section = vector.slice(begin, end)
        for row in range(rows):
            piece, part = matrix[row].slice(begin, end), parts[row][i]
            tile = (i * rows + row) * tiles // (split * rows)
            vertex = graph.addVertex(products, "DotProduct", {"row": piece, "vector": section, "out": part})
            for what in (vertex, piece, part):
                graph.setTileMapping(what, tile)
            graph.setPerfEstimate(vertex, cycles_of(end - begin))
    for row in range(rows):
        vertex = graph.addVertex(sums, "AddParts", {"parts": parts[row], "out": result[row]})
        graph.setTileMapping(vertex, row * tiles // rows)
        graph.setTileMapping(result[row], row * tiles // rows)
        graph.setPerfEstimate(vertex, cycles_of(split))
    return Sequence(Execute(products), Execute(sums))


def open_device(kind: str) -> poplar.Device:
    """The device of that name."""
    if kind != "ipu":
        model = poplar.IPUModel(kind.removeprefix("model-"))
        model.minIPUSyncDelay = 0
        model.relativeSyncDelay = poplar.RelativeSyncDelayType.NO_DELAY
        return model.createDevice()
    for device in poplar.DeviceManager().getDevices(poplar.TargetType.IPU, 1):
        if device.attach():
            return device
    raise SystemExit("No IPU is free")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("columns", type=int)
    parser.add_argument("--device", choices=["model-ipu1", "model-ipu2", "ipu"], default="model-ipu2")
    given = parser.parse_args()
    device = open_device(given.device)
    graph = poplar.Graph(device)
    graph.addCodelets([DotProduct, AddParts])

    rows, columns = given.rows, given.columns
    print(f"Multiplying matrix of size {rows}x{columns} by vector of size {columns}")
    matrix = graph.addVariable(poplar.FLOAT, [rows, columns], "matrix")
    vector = graph.addVariable(poplar.FLOAT, [columns], "vector")
    result = graph.addVariable(poplar.FLOAT, [rows], "result")
    program = multiply(graph, matrix, vector, result)
    vector_in = graph.addHostToDeviceFIFO("vector", poplar.FLOAT, columns)
    matrix_in = graph.addHostToDeviceFIFO("matrix", poplar.FLOAT, rows * columns)
    result_out = graph.addDeviceToHostFIFO("result", poplar.FLOAT, rows)
    steps = Sequence(Copy(vector_in, vector), Copy(matrix_in, matrix), program, Copy(result, result_out))

    engine = poplar.Engine(graph, steps)
    engine.load(device)
    numbers = np.arange(columns, dtype=np.float32)
    weights = np.outer(np.arange(rows, dtype=np.float32), numbers)
    found = np.zeros(rows, np.float32)
    engine.connectStream("vector", numbers)
    engine.connectStream("matrix", weights)
    engine.connectStream("result", found)
    engine.run(0)
    np.testing.assert_allclose(found, weights @ numbers, rtol=1e-4)
    print("Multiplication result OK")
    engine.printProfileSummary(sys.stdout, {"showExecutionSteps": "true"})


if __name__ == "__main__":
    main()
