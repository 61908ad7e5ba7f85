"""Vertices: a codelet written in Python, on four tiles. Run it with `python vertices.py`."""

import poplar
from poplar.program import Copy, Execute, PrintTensor, Sequence


class SumVertex(poplar.Vertex):
    """Adds the elements of a vector."""

    numbers: poplar.Input[poplar.Vector[poplar.FLOAT]]
    total: poplar.Output[poplar.FLOAT]

    def compute(self):
        total = 0.0
        for i in range(len(self.numbers)):
            total += self.numbers[i]
        self.total = total
        return True


def main() -> None:
    device = poplar.IPUModel().createDevice()
    graph = poplar.Graph(device.getTarget())
    graph.addCodelets(SumVertex)

    values = graph.addVariable(poplar.FLOAT, [4], "values")
    sums = graph.addVariable(poplar.FLOAT, [4], "sums")
    start = graph.addConstant(poplar.FLOAT, [4], [1.0, 1.5, 2.0, 2.5])
    graph.setTileMapping(start, 0)
    suffixes = graph.addComputeSet("suffixes")
    for tile in range(4):
        graph.setTileMapping(values[tile], tile)
        graph.setTileMapping(sums[tile], tile)
        vertex = graph.addVertex(
            suffixes, "SumVertex", {"numbers": values.slice(tile, 4), "total": sums[tile]}
        )
        graph.setTileMapping(vertex, tile)
        graph.setPerfEstimate(vertex, 20)

    engine = poplar.Engine(graph, Sequence(Copy(start, values), Execute(suffixes), PrintTensor("v2", sums)))
    engine.load(device)
    engine.run(0)
    print("Program complete")


if __name__ == "__main__":
    main()
