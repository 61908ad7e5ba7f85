"""A Poplar program with library functions. Vertices in Python are left out: docs/poplar.md says why."""

import gcl
import numpy as np
import poplar
import poplin
import popnn
import popops
import poprand
import poputil
from poplar.program import Copy, Repeat, Sequence
from popops import expr


def build(graph: poplar.Graph, program: Sequence) -> poplar.Tensor:
    popops.addCodelets(graph)
    left = graph.addVariable(poplar.FLOAT, [4, 3], "left")
    poputil.mapTensorLinearly(graph, left)
    right = poplin.createMatMulInputRHS(graph, poplar.FLOAT, [4, 3], [3, 2])
    product = poplin.matMul(graph, left, right, program, "product", options={"partialsType": "half"})
    popops.mapInPlace(graph, expr._1 * 2 + expr.Exp(expr._1), [product], program)
    shifted = popops.add(graph, product, 1.0, program, "plus one")
    noise = poprand.uniform(graph, None, 0, shifted, poplar.FLOAT, 0.0, 1.0, program)
    chances = popnn.softmax(graph, popops.sub(graph, shifted, noise, program), program)
    total: poplar.Tensor = popops.reduce(
        graph, chances, [0], popops.ReduceParams(popops.Operation.ADD), program
    )
    gcl.allReduceCrossReplica(graph, total, gcl.CollectiveOperator.ADD, program)
    return total.reshape([2]).slice(0, 1)


def main() -> None:
    device = poplar.IPUModel().createDevice()
    graph = poplar.Graph(device)
    program = Sequence()
    total = build(graph, program)
    copy = graph.clone(total, "copy")
    program.add(Repeat(3, Copy(total, copy)))
    graph.createHostRead("total", copy)
    engine = poplar.Engine(graph, program, {"debug.allowOutOfMemory": "true"})
    engine.load(device)
    try:
        engine.run(0)
    except poplar.poplar_error as problem:
        print(problem)
    found: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = engine.readTensor("total")
    print(found, graph.getTileMapping(total)[0], total.shape, total.elementType() == poplar.FLOAT)


if __name__ == "__main__":
    main()
