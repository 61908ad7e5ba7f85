"""Save an executable with several programs and load it again. Run it with `python save_and_load.py FILE`.

The first run compiles and saves; a second one with `--load` starts from the file.
"""

import argparse
from enum import IntEnum
from pathlib import Path

import numpy as np
import poplar
import popops
from poplar.program import Copy, Execute, Sequence


class Programs(IntEnum):
    """The programs of the engine by number."""

    WRITE, OWN_VERTEX, LIBRARY, READ = range(4)


class VectorAdd(poplar.Vertex):
    """Adds two vectors."""

    x: poplar.Input[poplar.Vector[poplar.FLOAT]]
    y: poplar.Input[poplar.Vector[poplar.FLOAT]]
    z: poplar.Output[poplar.Vector[poplar.FLOAT]]

    def compute(self):
        for i in range(len(self.x)):
            self.z[i] = self.x[i] + self.y[i]
        return True


def build(graph: poplar.Graph) -> list[poplar.Program]:
    """All programs: write the inputs, add them in two ways, read the result."""
    x, y, z = (graph.addVariable(poplar.FLOAT, [4], name) for name in "xyz")
    for tile, tensor in enumerate((x, y, z)):
        graph.setTileMapping(tensor, tile)
    graph.addCodelets(VectorAdd)
    own = graph.addComputeSet("own")
    graph.setTileMapping(graph.addVertex(own, "VectorAdd", {"x": x, "y": y, "z": z}), 0)

    popops.addCodelets(graph)
    sets: list[poplar.ComputeSet] = []
    columns = poplar.concat([x.reshape([4, 1]), y.reshape([4, 1])], 1)
    popops.reduceWithOutput(graph, columns, z, [1], popops.ReduceParams(popops.Operation.ADD), sets, "sum")

    writes = Sequence()
    for name, tensor in (("x", x), ("y", y), ("z", z)):
        writes.add(Copy(graph.addHostToDeviceFIFO(f"write_{name}", poplar.FLOAT, 4), tensor))
    read = Copy(z, graph.addDeviceToHostFIFO("read_z", poplar.FLOAT, 4))
    return [writes, Execute(own), Sequence(*(Execute(each) for each in sets)), read]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--load", action="store_true")
    given = parser.parse_args()
    device = poplar.IPUModel().createDevice()
    if given.load:
        with given.file.open("rb") as file:
            executable = poplar.Executable.deserialize(file)
    else:
        graph = poplar.Graph(device.getTarget())
        executable = poplar.compileGraph(graph, build(graph))
        with given.file.open("wb") as file:
            executable.serialize(file)

    engine = poplar.Engine(executable)
    engine.load(device)
    results = []
    engine.connectStream("write_x", np.array([1, 2, 3, 4], np.float32))
    engine.connectStream("write_y", np.array([4, 3, 2, 1], np.float32))
    engine.connectStream("write_z", np.full(4, -1, np.float32))
    for program in (Programs.OWN_VERTEX, Programs.LIBRARY):
        found = np.zeros(4, np.float32)
        engine.connectStream("read_z", found)
        for number in (Programs.WRITE, program, Programs.READ):
            engine.run(number)
        results.append(found)
    np.testing.assert_array_equal(*results)
    print("Results match.", results[0])


if __name__ == "__main__":
    main()
