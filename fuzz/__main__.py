"""The command: `python -m fuzz`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from fuzz.runner import Run
from fuzz.tally import print_summary
from fuzz.targets import ALL_TARGETS, TARGETS


def main(arguments: list[str] | None = None) -> int:
    """Fuzz the chosen targets in turn; 1 if a case failed or a process was left behind."""
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description="Tries hostile files, kills and interrupts against Tremula."
    )
    parser.add_argument(
        "--minutes", type=float, help="stop after this time (default 10, unless --cases is given)"
    )
    parser.add_argument("--cases", type=int, help="stop after this many cases of each target")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations (default 0)")
    parser.add_argument("--targets", default=",".join(TARGETS), help=f"some of {', '.join(ALL_TARGETS)}")
    parser.add_argument("--keep", type=Path, help="folder for the files of cases that ended a process")
    options = parser.parse_args(arguments)
    names = options.targets.split(",")
    unknown = sorted(set(names) - set(ALL_TARGETS))
    if unknown:
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(ALL_TARGETS)}")
    minutes = options.minutes if options.minutes or options.cases else 10.0
    runs = [Run(name, options.seed, options.keep) for name in names]
    interrupted = False
    try:
        _fuzz(runs, minutes, options.cases)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        for run in runs:
            run.close()
    tallies = [run.tally for run in runs]
    print_summary(tallies, options.seed)
    if interrupted:
        return 130
    return 0 if all(tally.clean for tally in tallies) else 1


def _fuzz(runs: list[Run], minutes: float | None, cases: int | None) -> None:
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    left = dict.fromkeys(runs, cases if cases is not None else sys.maxsize)
    while any(left.values()) and time.monotonic() < end:
        for run in runs:
            if left[run] and time.monotonic() < end:
                before = run.tally.tried
                run.step(min(left[run], run.batch))
                left[run] -= run.tally.tried - before


if __name__ == "__main__":
    sys.exit(main())
