"""Speed of Poplar programs in Python: `python -m benchmarks.poplar [NAME ...]`.

    tutorial6   examples/poplar/matrix_vector_split.py, 10,000 x 1,000: 80,000 vertices, a process from start to end
    heat        1,000 steps of the heat equation, a vertex on each of 1,472 tiles, beside the same loop in NumPy
    million     a million vertices in a process: built, loaded and run; seconds of the processor and memory
    growth      the same with a tenth, a quarter and half of them: seconds per million have to stay

Seconds are those of the processor, of one thread. Each case prints what it took and what is asked of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import poplar
import poputil
from poplar.program import Copy, Execute, Repeat, Sequence

ROOT = Path(__file__).resolve().parents[1]
TILES = 1472
#: seconds of the processor for tutorial 6; times the NumPy loop; seconds and GiB for a million vertices
TUTORIAL_SECONDS, HEAT_RATIO, MILLION_SECONDS, MILLION_GIB = 3.0, 5.0, 20.0, 2.0


class Diffuse(poplar.Vertex):
    """The cells of a tile, with one more on either side."""

    old: poplar.Input[poplar.Vector[poplar.FLOAT]]
    new: poplar.Output[poplar.Vector[poplar.FLOAT]]

    def compute(self):
        for i in range(len(self.new)):
            self.new[i] = self.old[i + 1] + 0.25 * (self.old[i] - 2.0 * self.old[i + 1] + self.old[i + 2])


class Total(poplar.Vertex):
    """The sum of some elements."""

    x: poplar.Input[poplar.Vector[poplar.FLOAT]]
    y: poplar.Output[poplar.FLOAT]

    def compute(self):
        total = 0.0
        for i in range(len(self.x)):
            total += self.x[i]
        self.y = total


def main(names: list[str]) -> int:
    """Run the cases of these names, or all; the exit code says whether all are as fast as they have to be."""
    known: dict[str, Callable[[], bool]] = {
        "tutorial6": tutorial6,
        "heat": heat,
        "million": million,
        "growth": growth,
    }
    unknown = set(names) - set(known)
    if unknown:
        print(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    results = [known[name]() for name in names or known]
    return 0 if all(results) else 1


def _child(*arguments: str) -> tuple[float, float]:
    """Seconds of the processor and GiB at most of a Python process with these arguments."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def _report(name: str, text: str, good: bool) -> bool:
    print(f"{name:<10} {text}  {'ok' if good else 'TOO SLOW'}", flush=True)
    return good


def tutorial6() -> bool:
    """The whole example, with the summary that it prints at the end."""
    seconds, gib = _child("examples/poplar/matrix_vector_split.py", "10000", "1000")
    text = (
        f"80,000 vertices from start to result: {seconds:.2f} s (at most {TUTORIAL_SECONDS} s), {gib:.2f} GiB"
    )
    return _report("tutorial6", text, seconds <= TUTORIAL_SECONDS)


def heat(cells: int = 256, steps: int = 1000) -> bool:
    """u[i] += c * (u[i - 1] - 2 u[i] + u[i + 1]), `cells` of them on each tile."""
    count = TILES * cells
    device = poplar.IPUModel().createDevice()
    graph = poplar.Graph(device)
    graph.addCodelets(Diffuse)
    old, new = (graph.addVariable(poplar.FLOAT, [count + 2], name) for name in ("old", "new"))
    step = graph.addComputeSet("diffuse")
    for tensor in (old, new):
        graph.setTileMapping(tensor, 0)
    for tile in range(TILES):
        first = tile * cells
        for tensor in (old, new):
            graph.setTileMapping(tensor[first + 1 : first + cells + 1], tile)
        fields = {"old": old[first : first + cells + 2], "new": new[first + 1 : first + cells + 1]}
        graph.setTileMapping(graph.addVertex(step, "Diffuse", fields), tile)
    graph.createHostWrite("cells", old)
    graph.createHostRead("cells", old)
    inner = slice(1, count + 1)
    engine = poplar.Engine(graph, Repeat(steps, Sequence(Execute(step), Copy(new[inner], old[inner]))))
    engine.load(device)
    start = np.random.default_rng(0).random(count + 2, dtype=np.float32)
    engine.writeTensor("cells", start)
    engine.run()  # the first run compiles, where there is a compiler, and looks at the bounds
    engine.writeTensor("cells", start)
    taken = _seconds(engine.run)

    u, c = start.copy(), np.float32(0.25)

    def loop() -> None:
        for _ in range(steps):
            u[1:-1] = u[1:-1] + c * (u[:-2] - np.float32(2) * u[1:-1] + u[2:])

    plain = _seconds(loop)
    np.testing.assert_allclose(engine.readTensor("cells"), u, rtol=1e-4)
    ratio = taken / plain
    text = f"{steps:,} steps of {count:,} cells: {taken:.2f} s, NumPy {plain:.2f} s, ratio {ratio:.2f}"
    return _report("heat", f"{text} (at most {HEAT_RATIO:g})", ratio <= HEAT_RATIO)


def _seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def million() -> bool:
    """A million vertices."""
    seconds, gib = _child("-c", "from benchmarks.poplar import build; build(1_000_000)")
    text = f"1,000,000 vertices built, loaded and run: {seconds:.2f} s (at most {MILLION_SECONDS:g} s), "
    good = seconds <= MILLION_SECONDS and gib <= MILLION_GIB
    return _report("million", f"{text}{gib:.2f} GiB (at most {MILLION_GIB:g})", good)


def growth() -> bool:
    """Seconds per million vertices, for fewer and more of them."""
    base, _ = _child("-c", "from benchmarks.poplar import build; build(1)")
    rates = []
    for count in (100_000, 250_000, 500_000):
        seconds, _ = _child("-c", f"from benchmarks.poplar import build; build({count})")
        rates.append((seconds - base) / count * 1e6)
    text = f"seconds per million of 0.1, 0.25 and 0.5 million: {', '.join(f'{rate:.2f}' for rate in rates)}"
    return _report("growth", f"{text} (the last at most twice the first)", rates[-1] <= 2 * rates[0])


def build(count: int) -> None:
    """Vertices that each add up four elements, built one by one, loaded and run."""
    device = poplar.IPUModel().createDevice()
    graph = poplar.Graph(device)
    graph.addCodelets(Total)
    x, y = graph.addVariable(poplar.FLOAT, [count, 4], "x"), graph.addVariable(poplar.FLOAT, [count], "y")
    poputil.mapTensorLinearly(graph, x)
    totals = graph.addComputeSet("totals")
    for row in range(count):
        out, tile = y[row], row * TILES // count
        vertex = graph.addVertex(totals, "Total", {"x": x[row], "y": out})
        graph.setTileMapping(vertex, tile)
        graph.setTileMapping(out, tile)
    graph.createHostWrite("x", x)
    graph.createHostRead("y", y)
    engine = poplar.Engine(graph, Execute(totals))
    engine.load(device)
    engine.writeTensor("x", np.ones((count, 4), np.float32))
    engine.run()
    if not (engine.readTensor("y") == 4).all():
        raise SystemExit("wrong sums")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
