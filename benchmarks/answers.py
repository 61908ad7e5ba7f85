"""How long `tremula estimate` takes to answer, from the start of the process to the end of the table.

    python -m benchmarks.answers [--models resnet50,bert_large] [--advice] [--ipus 1,2,4] [--json OUT]

Run from the repository's root. Each model of benchmarks/catalogue.py is asked about in a fresh process, as a user
would; peak memory is that of the process, which shows that no weights are allocated. Times depend on the machine;
the targets are for two cores. CPU seconds are those of all threads of the process: other work on the machine delays an
answer and hardly changes them.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from .catalogue import MODELS

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIMEOUT_S = 300
#: GiB that no answer may take: less than half of what a laptop has
MOST_GIB = 4.0
#: CPU seconds within which the table of a first program is to be there
CPU_SECONDS = {"resnet18": 5.0}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 if a target is missed or something could not be measured."""
    options = _parser().parse_args(arguments)
    wanted = options.models.split(",") if options.models else [*MODELS, "gpt2_xl", "decoder_7b"]
    found = []
    print(
        f"{'model':14} {'seconds (max)':>16} {'CPU s (max)':>12} {'GiB (max)':>12}  first line of the table"
    )
    for name in wanted:
        figures = _measured(name, options)
        found.append({"model": name, **figures})
        print(table_line(name, figures), flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    return int(any("error" in each or missed(each["model"], each) for each in found))


def table_line(name: str, figures: dict[str, Any]) -> str:
    """One line, targets beside the figures."""
    if "error" in figures:
        return f"{name:14} not measured: {figures['error']}"
    target = MODELS.get(name)
    limit = f"({target:.0f})" if target else "(-)"
    cpu = f"({CPU_SECONDS[name]:.0f})" if name in CPU_SECONDS else "(-)"
    verdict = "MISSED" if missed(name, figures) else "met"
    return (
        f"{name:14} {figures['seconds']:10.1f} {limit:>5} {figures['cpu_seconds']:6.1f} {cpu:>5} {figures['gib']:7.2f} "
        f"({MOST_GIB:.0f})  {verdict}; "
        f"{figures['line']}"
    )


def missed(name: str, figures: dict[str, Any]) -> bool:
    """Whether an answer came too late, or took too much memory or computing."""
    late = figures["seconds"] > MODELS.get(name, float("inf"))
    return late or figures["cpu_seconds"] > CPU_SECONDS.get(name, float("inf")) or figures["gib"] > MOST_GIB


def _measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "tremula.cli", "estimate", f"benchmarks.catalogue:{name}"]
    command += ["--ipus", options.ipus] if options.ipus else []
    command += [] if options.advice else ["--no-advice"]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        began = time.perf_counter()
        child = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=errors)
        timer = threading.Timer(TIMEOUT_S, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)  # which knows the peak memory of this child alone
        timer.cancel()
        seconds = time.perf_counter() - began
        out.seek(0)
        errors.seek(0)
        if status != 0:
            return {"error": (errors.read().strip().splitlines() or [f"ended with status {status}"])[-1]}
        lines = [line for line in out.read().splitlines() if line.startswith(("mk2", "bow"))]
    return {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "gib": usage.ru_maxrss / 2**20,
        "line": lines[0][:100] if lines else "",
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.answers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--models", metavar="A,B", help=f"only these; there are {', '.join(MODELS)}")
    parser.add_argument(
        "--ipus", metavar="N,N", help="ask about so many IPUs instead of the program as it is"
    )
    parser.add_argument("--advice", action="store_true", help="with the look for advice, which takes longer")
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file as well")
    return parser


if __name__ == "__main__":
    sys.exit(main())
