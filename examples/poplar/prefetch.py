"""Give a stream its input from a callback that prefetches. Run it with `python prefetch.py`."""

import numpy as np
import poplar
from poplar.program import Copy, Execute, Repeat, Sequence

ELEMENTS, TURNS = 8, 5


class Increment(poplar.Vertex):
    """Adds one to each element."""

    x: poplar.Input[poplar.Vector[poplar.FLOAT]]
    y: poplar.Output[poplar.Vector[poplar.FLOAT]]

    def compute(self):
        for i in range(len(self.x)):
            self.y[i] = self.x[i] + 1.0
        return True


class Fill(poplar.StreamCallback):
    """Fills each transfer with a value and tells what it is asked."""

    def __init__(self, value: float) -> None:
        self.value = value

    def prefetch(self, buffer: np.ndarray) -> poplar.StreamCallback.Result:
        print(f"prefetch (value: {self.value:g})")
        buffer[...] = self.value
        return self.Result.Success

    def fetch(self, buffer: np.ndarray) -> None:
        print(f"fetch (value: {self.value:g})")
        buffer[...] = self.value

    def complete(self) -> None:
        print(f"complete (value: {self.value:g})")


def main() -> None:
    devices = poplar.DeviceManager().getDevices(poplar.TargetType.IPU, 1)
    device = next(each for each in devices if each.attach())
    graph = poplar.Graph(device)
    graph.addCodelets(Increment)
    data = graph.addVariable(poplar.FLOAT, [ELEMENTS], "data")
    graph.setTileMapping(data, 0)
    increment = graph.addComputeSet("increment")
    graph.setTileMapping(graph.addVertex(increment, "Increment", {"x": data, "y": data}), 0)
    stream_in = graph.addHostToDeviceFIFO("in", poplar.FLOAT, ELEMENTS)
    stream_out = graph.addDeviceToHostFIFO("out", poplar.FLOAT, ELEMENTS)
    body = Sequence(Copy(stream_in, data), Execute(increment), Copy(data, stream_out))

    engine = poplar.Engine(graph, Repeat(TURNS, body))
    engine.load(device)
    found = np.zeros(ELEMENTS, np.float32)
    engine.connectStream("out", found)
    before = None
    for value in (1.0, 3.0, 3.0, 9.0, 9.0):
        if value != before:
            print("Set input callback")
            engine.connectStreamToCallback("in", Fill(value))
        print("Running")
        engine.run(0)
        np.testing.assert_array_equal(found, value + 1)
        before = value


if __name__ == "__main__":
    main()
