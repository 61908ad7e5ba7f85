"""A matrix times a vector, one vertex for each row. Run it with `python matrix_vector.py 40 50`."""

import sys

import numpy as np
import poplar
import poputil
from poplar.program import Copy, Execute, Sequence


class DotProduct(poplar.Vertex):
    """The product of a row with the vector."""

    row: poplar.Input[poplar.Vector[poplar.FLOAT]]
    vector: poplar.Input[poplar.Vector[poplar.FLOAT]]
    out: poplar.Output[poplar.FLOAT]

    def compute(self):
        total = 0.0
        for i in range(len(self.row)):
            total += self.row[i] * self.vector[i]
        self.out = total
        return True


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(f"usage: {sys.argv[0]} rows columns")
    rows, columns = int(sys.argv[1]), int(sys.argv[2])
    print(f"Multiplying matrix of size {rows}x{columns} by vector of size {columns}")
    device = poplar.IPUModel().createDevice()
    graph = poplar.Graph(device.getTarget())
    graph.addCodelets(DotProduct)

    matrix = graph.addVariable(poplar.FLOAT, [rows, columns], "matrix")
    vector = graph.addVariable(poplar.FLOAT, [columns], "vector")
    result = graph.addVariable(poplar.FLOAT, [rows], "result")
    for tensor in (matrix, vector, result):
        poputil.mapTensorLinearly(graph, tensor)
    multiply = graph.addComputeSet("multiply")
    for i in range(rows):
        vertex = graph.addVertex(
            multiply, "DotProduct", {"row": matrix[i], "vector": vector, "out": result[i]}
        )
        graph.setTileMapping(vertex, i)

    vector_in = graph.addHostToDeviceFIFO("vector", poplar.FLOAT, columns)
    matrix_in = graph.addHostToDeviceFIFO("matrix", poplar.FLOAT, rows * columns)
    result_out = graph.addDeviceToHostFIFO("result", poplar.FLOAT, rows)
    steps = Sequence(
        Copy(vector_in, vector), Copy(matrix_in, matrix), Execute(multiply), Copy(result, result_out)
    )
    engine = poplar.Engine(graph, steps)
    engine.load(device)

    given = np.arange(columns, dtype=np.float32)
    weights = np.outer(np.arange(rows), np.arange(columns)).astype(np.float32)
    found = np.zeros(rows, np.float32)
    engine.connectStream("vector", given)
    engine.connectStream("matrix", weights)
    engine.connectStream("result", found)
    engine.run(0)
    np.testing.assert_allclose(found, weights @ given, rtol=1e-5)
    print("Multiplication result OK")


if __name__ == "__main__":
    main()
