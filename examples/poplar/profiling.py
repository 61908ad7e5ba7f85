"""Profiling: two matrix products, a summary in the terminal, and a report that `pva` and `tremula view` read.

Run it with `python profiling.py [directory]`.
"""

import sys
from pathlib import Path

import poplar
import poplin
import popops
import poputil
import pva
from poplar.program import Sequence


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    device = poplar.IPUModel().createDevice()
    graph = poplar.Graph(device.getTarget())
    popops.addCodelets(graph)
    poplin.addCodelets(graph)

    matrices = []
    for name, shape in (("m1", [900, 600]), ("m2", [600, 300]), ("m3", [300, 200])):
        matrices.append(graph.addVariable(poplar.FLOAT, shape, name))
        poputil.mapTensorLinearly(graph, matrices[-1])
    steps = Sequence()
    product = poplin.matMul(graph, matrices[0], matrices[1], steps, "m4")
    poplin.matMul(graph, product, matrices[2], steps, "m5")

    options = {"autoReport.all": "true", "autoReport.directory": str(folder)}
    engine = poplar.Engine(graph, steps, options)
    engine.load(device)
    engine.run(0)
    print("Program complete")
    engine.printProfileSummary(sys.stdout, {"showExecutionSteps": "true"})

    report = pva.openReport(str(folder / "profile.pop"))
    print("Example information from profile:")
    print("Number of compute sets:", report.compilation.graph.numComputeSets)
    print("Number of tiles on target:", report.compilation.target.numTiles)


if __name__ == "__main__":
    main()
