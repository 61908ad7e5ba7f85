"""Lightweight profiling: named blocks, and the cycles (modelled) between their begin and end on a tile.

Run it with `python blocks.py`.
"""

import poplar
from poplar.program import Block, Execute, Repeat, Sequence


class Wait(poplar.SupervisorVertex):
    """Counts to a hundred for each iteration."""

    iterations: poplar.Input[poplar.UNSIGNED_INT]
    count: poplar.Output[poplar.UNSIGNED_INT]

    def compute(self):
        count = 0
        for _ in range(100 * self.iterations):
            count += 1
        self.count = count
        return True


def main() -> None:
    devices = poplar.DeviceManager().getDevices(poplar.TargetType.IPU, 2)
    device = next(each for each in devices if each.attach())
    graph = poplar.Graph(device)
    graph.addCodelets(Wait)
    tiles = graph.getTarget().getTilesPerIPU()

    def operation(name: str, ipu: int) -> poplar.Program:
        made = graph.addComputeSet(name)
        counter = graph.addVariable(poplar.UNSIGNED_INT, [], f"{name} counter")
        iterations = graph.addConstant(poplar.UNSIGNED_INT, [], 1)
        vertex = graph.addVertex(made, "Wait", {"iterations": iterations, "count": counter})
        for what in (vertex, counter, iterations):
            graph.setTileMapping(what, tiles * ipu)
        graph.setPerfEstimate(vertex, 3600)
        return Block(Execute(made), name)

    stages = [
        Block(Sequence(operation("op1", ipu), operation("op2", ipu)), f"stage{ipu + 1}") for ipu in range(2)
    ]
    engine = poplar.Engine(graph, Repeat(5, Sequence(*stages)), {"profiler.blocks.filter": "stage.|op2"})
    engine.load(device)
    engine.run(0)
    report = engine.getReport()
    for ipu in range(2):
        for block in report.execution.blocks(tiles * ipu):
            cycles = block.cyclesTo - block.cyclesFrom
            print(f"{block.program.name:>10}: {cycles} ({block.cyclesFrom} - {block.cyclesTo})")


if __name__ == "__main__":
    main()
