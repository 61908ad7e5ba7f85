"""Library operations: add matrices with popops. Run it with `python operations.py`."""

import poplar
import popops
from poplar.program import Copy, PrintTensor, Sequence


def main() -> None:
    device = poplar.IPUModel().createDevice()
    graph = poplar.Graph(device.getTarget())
    popops.addCodelets(graph)

    first = graph.addVariable(poplar.FLOAT, [2, 2], "first")
    second = graph.addVariable(poplar.FLOAT, [2, 2], "second")
    for i in range(2):
        for j in range(2):
            graph.setTileMapping(first[i][j], 2 * i + j)
            graph.setTileMapping(second[i][j], 2 * j + i)

    steps = Sequence()
    for tensor, values in ((first, [1.0, 1.5, 2.0, 2.5]), (second, [4.0, 3.0, 2.0, 1.0])):
        constant = graph.addConstant(poplar.FLOAT, [4], values)
        graph.setTileMapping(constant, 0)
        steps.add(Copy(constant, tensor.flatten()))

    total = popops.add(graph, first, second, steps, "Add")
    steps.add(PrintTensor("v3", total))
    more = popops.add(graph, total, second, steps, "Add")
    steps.add(PrintTensor("v4", more))
    turned = popops.add(graph, first, second.transpose(), steps, "Add")
    steps.add(PrintTensor("v5", turned))

    engine = poplar.Engine(graph, steps)
    engine.load(device)
    engine.run(0)
    print("Program complete")


if __name__ == "__main__":
    main()
