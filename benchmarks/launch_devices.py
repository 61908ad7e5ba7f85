"""How long it takes to get a virtual IPU and give it back, and to be told by `gc-monitor` who has one.

    python -m benchmarks.launch_devices [--rounds 15]

Run from the repository's root. Attaching is timed in processes of its own: the first time, when the description of
the system is read, and the ones after it. `gc-monitor` is the installed command with its start, while a process holds
two IPUs. All figures are measured on this host.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

ATTACH_TARGET_MS = 5.0
MONITOR_TARGET_S = 0.3
ROUNDS = 15
_ATTACH = """
import time
from tremula.machine.attach import Attachment
taken = []
for _ in range(200):
    began = time.perf_counter()
    held = Attachment(1, hardware=True)
    held.attach()
    held.detach()
    taken.append(1e3 * (time.perf_counter() - began))
print(taken[0], sorted(taken)[100], max(taken[1:]))
"""
_HOLDER = """
import sys
from tremula.machine.attach import Attachment
held = Attachment(2, hardware=True)
held.attach()
print("held", flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class Figure:
    """One row: what it is, the value, the most that it may be, and its unit."""

    title: str
    value: float
    target: float | None
    unit: str

    @property
    def missed(self) -> bool:
        """Whether there is a target and it is not met."""
        return self.target is not None and self.value > self.target

    def line(self) -> str:
        """The row as text."""
        limit = f"({self.target:g})" if self.target is not None else "(-)"
        verdict = "MISS" if self.missed else "ok" if self.target is not None else ""
        return f"{self.title:58} {self.value:9.3f} {self.unit:2} {limit:>6} {verdict}"


def measure(rounds: int = ROUNDS) -> list[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory(prefix="launch-devices-") as folder:
        environment = {**os.environ, "TREMULA_STATE_DIR": folder}
        for name in ("TREMULA_SYSTEM", "TREMULA_VIRTUAL_IPUS", "IPUOF_VIPU_API_PARTITION_ID"):
            environment.pop(name, None)
        return [*_attaching(environment, rounds), _monitor(environment, rounds)]


def _attaching(environment: dict[str, str], rounds: int) -> list[Figure]:
    answers = []
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-c", _ATTACH], env=environment, capture_output=True, text=True, check=True
        )
        answers.append([float(word) for word in done.stdout.split()])
    first, later, worst = (statistics.median(column) for column in zip(*answers, strict=True))
    return [
        Figure("attach and detach, median of 199", later, ATTACH_TARGET_MS, "ms"),
        Figure("attach and detach, slowest of 199", worst, None, "ms"),
        Figure("the first in a process, which reads what the system is", first, None, "ms"),
    ]


def _monitor(environment: dict[str, str], rounds: int) -> Figure:
    command = shutil.which("gc-monitor", path=str(pathlib.Path(sys.executable).parent)) or "gc-monitor"
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        taken = []
        for turn in range(rounds + 1):
            began = time.perf_counter()
            done = subprocess.run([command], env=environment, capture_output=True, text=True, check=True)
            if turn:  # the first one reads files from the disk
                taken.append(time.perf_counter() - began)
            if str(holder.pid) not in done.stdout:
                raise RuntimeError("gc-monitor does not show who holds the device")
    finally:
        holder.communicate()
    return Figure("gc-monitor, with its start", statistics.median(taken), MONITOR_TARGET_S, "s")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="processes of each kind")
    figures = measure(parser.parse_args(arguments).rounds)
    for figure in figures:
        print(figure.line())
    return int(any(figure.missed for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
