"""How fast logs are analysed, and how much memory that takes.

    python -m benchmarks.analyse [--megabytes 100] [--rounds 3]

Run from the repository's root. Logs like the published ones are made in a temporary folder: one of 16 ranks as poprun
tags it, the same packed with gzip, and one process.log that 16 ranks share without tags. Each is analysed in a
fresh process; printed are the least time of the rounds, from start to exit, the least time of a processor, which other
programs disturb less and which the target is for, and the most memory, beside the memory that a small log takes.
"""

from __future__ import annotations

import argparse
import gzip
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")
#: seconds for 100 MB
TARGET = 5.0
#: MiB beyond an empty log's, for each 100 MB of text
MEMORY_TARGET_MIB = 200
_RANKS = 16
_BLOCK = 10
_APPS = pathlib.Path(__file__).parents[1] / "apps"
_CHILD = """
import resource, sys, time
from cosmictagger.analysis.command import main
code = main(sys.argv[1:])
print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100, help="of text in each log")
    parser.add_argument("--rounds", type=int, default=3, help="the fastest counts")
    options = parser.parse_args(arguments)
    missed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        empty = folder / "empty.log"
        empty.write_bytes(b"".join(_lines(2, True)))
        *_, least = _measure(empty, options.rounds)
        print(
            f"{'log':<34}{'MB':>6}{'lines':>10}{'seconds':>9}{'CPU s':>7}{'MiB':>6}   (a small log: {least:.0f} MiB)"
        )
        scale = options.megabytes / 100
        for title, path in _logs(folder, options.megabytes):
            with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
                lines = sum(1 for _ in file)
            seconds, busy, memory = _measure(path, options.rounds)
            good = busy <= TARGET * max(scale, 0.2) and memory - least <= MEMORY_TARGET_MIB * max(scale, 0.2)
            missed |= not good
            size = path.stat().st_size / 1e6
            note = "" if good else "   missed"
            print(f"{title:<34}{size:>6.0f}{lines:>10,}{seconds:>9.2f}{busy:>7.2f}{memory:>6.0f}{note}")
            path.unlink()
    print(
        f"Targets for 100 MB of text: {TARGET:.0f} s of a processor, {MEMORY_TARGET_MIB} MiB more than for a small log."
    )
    return int(missed)


def _logs(folder: pathlib.Path, megabytes: int) -> Iterator[tuple[str, pathlib.Path]]:
    for title, tagged in (("16 ranks, tagged", True), ("16 ranks in one process.log", False)):
        path = folder / f"{'tagged' if tagged else 'shared'}.log"
        size, wanted = 0, megabytes * 1_000_000
        with open(path, "wb") as file:
            for part in _lines(None, tagged):
                size += file.write(part)
                if size >= wanted:
                    break
        if tagged:
            packed = path.with_suffix(".log.gz")
            with open(path, "rb") as source, gzip.open(packed, "wb", 6) as target:
                shutil.copyfileobj(source, target, 1 << 20)
        yield title, path
        if tagged:
            yield f"{title}, gzip", packed


def _lines(blocks: int | None, tagged: bool) -> Iterator[bytes]:
    """Text of ranks that drift: step by step with tags, in blocks of ten records without."""
    chance = random.Random(0)
    # 22 February 2023, in milliseconds
    clocks = [1_677_024_000_000 + chance.randrange(5000) for _ in range(_RANKS)]
    config = "run: \n  compute_mode................: IPU\n  minibatch_size..............: 2\n"
    for rank in range(_RANKS):
        tag = f"[1,{rank}]<stdout>:" if tagged else ""
        text = f"{_stamp(clocks[rank])} - INFO - \n-- CONFIG --\n{config}"
        yield "".join(f"{tag}{line}\n" for line in text.splitlines()).encode()
    step = 0
    while blocks is None or step < blocks * _BLOCK:
        parts: list[tuple[int, str]] = []
        for rank in range(_RANKS):
            tag = f"[1,{rank}]<stdout>:" if tagged else ""
            for number in range(step, step + _BLOCK - 1):
                clocks[rank] += 13_000 + 10 * rank + chance.randrange(300)
                parts.append((clocks[rank], f"{tag}{_training(clocks[rank], number, chance)}"))
            clocks[rank] += 4_700 + chance.randrange(100)
            metrics = "Average/Non_Bkg_Accuracy: 0.276, Average/mIoU: 0.0269, loss: 3.07"
            text = f"{_stamp(clocks[rank])} - INFO - test Step {step + _BLOCK - 1} metrics: {metrics} (0.42 Img/s)\n"
            parts.append((clocks[rank], f"{tag}{text}"))
        if tagged:
            parts.sort(key=lambda part: part[0])
        yield "".join(text for _, text in parts).encode()
        step += _BLOCK - 1


def _stamp(milliseconds: int) -> str:
    return (
        f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(milliseconds // 1000))},{milliseconds % 1000:03d}"
    )


def _training(clock: int, step: int, chance: random.Random) -> str:
    return (
        f"{_stamp(clock)} - INFO - train Step {step} metrics: Average/Non_Bkg_Accuracy: 0.318, Average/mIoU: 0.0415, "
        f"loss: 2.86 (0.15 Img/s / 0.0{chance.randrange(10, 30)} IOs / 0.0{chance.randrange(35, 60)} (Step)(s))\n"
    )


def _measure(path: pathlib.Path, rounds: int) -> tuple[float, float, float]:
    """Seconds, seconds of a processor, and MiB of a fresh process."""
    environment = {**os.environ, "PYTHONPATH": str(_APPS), "COLUMNS": "110"}
    times, busy, memories = [], [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        command = [sys.executable, "-c", _CHILD, str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        times.append(time.perf_counter() - begin)
        if done.returncode:
            raise SystemExit(f"The analysis of {path.name} failed: {done.stderr}")
        used, memory = done.stderr.split()[-2:]
        busy.append(float(used))
        memories.append(int(memory) / 1024)
    return min(times), min(busy), max(memories)


if __name__ == "__main__":
    sys.exit(main())
