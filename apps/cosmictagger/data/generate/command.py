"""`cosmictagger generate FILE`: events with truth, in the layout of the public files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cosmictagger.data.generate.events import FULL_SHAPE, generate


def main(words: Sequence[str]) -> int:
    """Write a file; the exit code."""
    parser = argparse.ArgumentParser(
        prog="cosmictagger generate",
        description="Write generated events: cosmic muons and one neutrino each, with truth, in three wire planes.",
    )
    parser.add_argument(
        "file", metavar="FILE", help="larcv3 HDF5 file to write; an existing file is replaced"
    )
    parser.add_argument("--events", type=int, default=64, metavar="N", help="number of events (default: 64)")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="random seed; the same seed gives the same events"
    )
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first event")
    parser.add_argument("--cosmics", type=int, metavar="N", help="muons per event (default: random)")
    parser.add_argument(
        "--wires", type=int, default=FULL_SHAPE[0], metavar="N", help="image size along the wires, in pixels"
    )
    parser.add_argument(
        "--ticks", type=int, default=FULL_SHAPE[1], metavar="N", help="image size in time, in pixels"
    )
    parser.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help="number of processes (default: the number of cores, at most 8)",
    )
    try:
        options = parser.parse_args(words)
    except SystemExit as end:  # argparse has printed the help or the mistake
        return int(end.code or 0)
    try:
        path = generate(
            Path(options.file).expanduser(),
            options.events,
            options.seed,
            shape=(options.wires, options.ticks),
            cosmics=options.cosmics,
            first=options.first,
            processes=_usual() if options.processes is None else options.processes,
            progress=sys.stderr.isatty(),
        )
    except (ValueError, OSError) as problem:
        print(f"cosmictagger: {problem}", file=sys.stderr)
        return 1
    print(f"{options.events} events in {path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


def _usual() -> int:
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
