"""Speed of wrapped models beside the hand-written PyTorch loops that they replace, in one run on this host.

    python -m benchmarks.speed [--json OUT] [--rows mlp,bert-training] [--seconds 4] [--threads 1] [--no-compile]

Run from the repository's root. For each row: our time per sample divided by that of the eager loop and by that of
the fastest torch.compile loop (several are tried), steady state, medians of interleaved rounds: lower is better.
Beside it the first call in a fresh process, and the compilation, cold and from the cache. Times depend on the
machine; the ratios are the point. On a busy machine look at the ratios of processor time beside those of a miss.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
from typing import Any

from . import speed_rows
from .speed_choice import chosen_rows
from .speed_process import ROOT, ChildError, answer_of
from .speed_rows import ROWS, Row

IMPORT_ROUNDS = 5
START_EAGER, START, STEADY = "start-eager", "start", "steady"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, write the JSON file; 1 if a row could not be measured."""
    options = _parser().parse_args(arguments)
    try:
        rows = chosen_rows(ROWS, options.rows)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if options.child:
        return _child(rows[0], options)
    # an exit like any other: the measuring process ends with this one, and its folder goes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    form = options.execution or ("quick" if options.no_compile else "compiled")
    print(f"{options.threads} thread(s), steady state in the {form} form; ratios: our time / theirs")
    print(f"{_HEAD}\n{'-' * len(_HEAD)}")
    figures = []
    failed = False
    for row in rows:
        figure: dict[str, Any] = {"name": row.name, "mode": row.mode, **dict.fromkeys(_FIGURES)}
        try:
            for part in _measured(row, form, options):
                figure.update(part)
        except ChildError as error:
            failed = True
            figure["error"] = str(error)
        figure["misses"] = misses(row, figure)
        figures.append(figure)
        print(table_line(row, figure), flush=True)
        if options.json:
            _write_json(options.json, figures)
    _print_summary(figures)
    if not options.no_imports:
        _print_imports()
    return int(failed)


def misses(row: Row, figure: dict[str, Any]) -> list[str]:
    """The targets that were measured and not reached."""
    missed = []
    limits = [
        ("ratio_eager", row.eager_target),
        ("ratio_compile", speed_rows.COMPILE_TARGET),
    ]
    if row.small and figure["first_call_eager_s"] is not None:
        limits.append(("first_call_s", figure["first_call_eager_s"] + speed_rows.FIRST_CALL_TARGET_S))
    if figure["compile_s"] is not None:
        limits.append(("warm_s", figure["compile_s"] * speed_rows.WARM_TARGET))
    for key, limit in limits:
        # as printed: to two places
        if figure[key] is not None and round(figure[key], 2) > round(limit, 2):
            processor = figure.get(f"{key}_cpu")
            aside = "" if processor is None else f" (by processor time {processor:.2f})"
            missed.append(f"{key} {figure[key]:.2f} > {limit:.2f}{aside}")
    if figure["agrees"] is False:
        missed.append("results differ from eager's")
    return missed


def table_line(row: Row, figure: dict[str, Any]) -> str:
    """One row of the table, with targets beside the figures."""
    if "error" in figure:
        return f"{row.name + ', ' + row.mode:64} not measured: {figure['error']}"
    cells = [
        f"{row.name + ', ' + row.mode:64}",
        *(_cell(figure[key], 10, 1) for key in ("eager_us_per_sample", "compile_us_per_sample", "ours_us_per_sample")),
        f"{_cell(figure['ratio_eager'], 6)} ({row.eager_target:.2f})",
        f"{_cell(figure['ratio_compile'], 7)} ({speed_rows.COMPILE_TARGET:.2f})",
        _cell(figure["first_call_s"], 7),
        _cell(figure["first_call_eager_s"], 7),
        _cell(figure["compile_s"], 7),
        _cell(figure["warm_s"], 7),
        "MISS" if figure["misses"] else "ok  ",
        f"{figure['form'] or '-'}; {figure['variant'] or '-'}",
    ]  # fmt: skip
    return " ".join(cells)


#: every row of the JSON file has these; None where it was not measured
_FIGURES = (
    *("ratio_eager", "ratio_compile", "first_call_s", "compile_s", "warm_s", "first_call_eager_s"),
    *("eager_us_per_sample", "compile_us_per_sample", "ours_us_per_sample"),
    *("ratio_eager_cpu", "ratio_compile_cpu", "agrees", "form", "variant"),
)
_HEAD = (
    f"{'row':64} {'eager µs':>10} {'compile µs':>10} {'ours µs':>10} {'/eager (max)':>13} {'/compile (max)':>14} "
    f"{'first s':>7} {'eager s':>7} {'cold s':>7} {'warm s':>7} {'':4} our form; best torch.compile loop"
)


def _cell(value: float | None, width: int, places: int = 2) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{places}f}"


def _measured(row: Row, form: str, options: argparse.Namespace) -> Any:
    """Parts of a row's figures, each as soon as it is known; every part comes from fresh processes."""
    with tempfile.TemporaryDirectory(prefix="tremula-speed-") as scratch:
        folder = pathlib.Path(scratch)
        if row.half:  # beside one loop only, and starts are those of the float32 rows
            cache = {"TREMULA_CACHE_DIR": _caches(folder)["TREMULA_CACHE_DIR"]}
            yield _run_child(STEADY, row, options, folder, TREMULA_EXECUTION=form, **cache)
            return
        yield {"first_call_eager_s": _run_child(START_EAGER, row, options, folder)["seconds"]}
        first = _run_child(START, row, options, folder, TREMULA_EXECUTION="auto", **_caches(folder / "first"))
        yield {"first_call_s": first["seconds"]}
        caches = _caches(folder / "kept")
        if not options.no_compile and form == "compiled":
            for key in ("compile_s", "warm_s"):
                start = _run_child(START, row, options, folder, TREMULA_EXECUTION=form, **caches)
                yield {key: start["seconds"]}
        # the hand-written loops compile into torch's usual cache: only ours is asked to start cold
        kept = {"TREMULA_CACHE_DIR": caches["TREMULA_CACHE_DIR"]}
        yield _run_child(STEADY, row, options, folder, TREMULA_EXECUTION=form, **kept)


def _caches(folder: pathlib.Path) -> dict[str, str]:
    """Where all that is compiled goes, so that a first start finds nothing and a second one everything."""
    return {
        "TREMULA_CACHE_DIR": str(folder / "tremula"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
    }


def _run_child(
    kind: str, row: Row, options: argparse.Namespace, folder: pathlib.Path, **environment: str
) -> dict[str, Any]:
    """Measure in a fresh process.

    Raises:
        ChildError: it failed or took too long.
    """
    answer = folder / "answer.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks.speed",
        "--child",
        kind,
        "--rows",
        row.key,
        "--json",
        str(answer),
    ]
    command += ["--seconds", str(options.seconds), "--threads", str(options.threads)]
    command += ["--no-compile"] * options.no_compile
    variables = {
        **os.environ,
        "OMP_NUM_THREADS": str(options.threads),
        "TREMULA_STATE_DIR": str(folder / "state"),
        "TREMULA_SUMMARY": "0",
        **environment,
    }
    return answer_of(command, variables, answer, kind)


def _child(row: Row, options: argparse.Namespace) -> int:
    """Inside a measuring process: measure one thing of one row."""
    import torch

    torch.set_num_threads(options.threads)
    from . import speed_child

    if options.child == START_EAGER:
        figures = speed_child.measure_start_eager(row)
    elif options.child == START:
        figures = speed_child.measure_start(row)
    else:
        figures = speed_child.measure_steady(row, options.seconds, not (options.no_compile or row.half))
    _write_json(options.json, figures)
    return 0


def _write_json(path: str, value: Any) -> None:
    pathlib.Path(path).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def _print_summary(figures: list[dict[str, Any]]) -> None:
    missed = [figure for figure in figures if figure["misses"]]
    print(f"\n{len(figures) - len(missed)} of {len(figures)} rows reach their targets")
    for figure in missed:
        print(f"  {figure['name']}, {figure['mode']}: {'; '.join(figure['misses'])}")


def _print_imports() -> None:
    times: dict[str, list[float]] = {"torch": [], "poptorch": []}
    for _ in range(IMPORT_ROUNDS):
        for package, each in times.items():
            code = f"import time; start = time.perf_counter(); import {package}; print(time.perf_counter() - start)"
            done = subprocess.run(
                [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
                env={**os.environ, "TREMULA_SUMMARY": "0"},
            )  # fmt: skip
            each.append(float(done.stdout.split()[0]))
    medians = {package: statistics.median(each) for package, each in times.items()}
    print(
        f"import torch {medians['torch']:.2f} s, import poptorch {medians['poptorch']:.2f} s: "
        f"{medians['poptorch'] - medians['torch']:+.2f} s (at most {speed_rows.IMPORT_TARGET_S:+.2f})"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    keys = ", ".join(row.key for row in speed_rows.ROWS)
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file as well")
    parser.add_argument("--rows", metavar="A,B", help=f"only those that begin so; there are {keys}")
    parser.add_argument("--seconds", type=float, default=4.0, help="of steady state per row (default 4)")
    parser.add_argument("--threads", type=int, default=1, help="of torch, on all sides (default 1)")
    parser.add_argument(
        "--no-compile", action="store_true", help="no compiler on either side: only eager loops"
    )
    parser.add_argument(
        "--execution", choices=("auto", "quick", "compiled"),
        help="form of the wrapped model in steady state (default compiled, with --no-compile quick)",
    )  # fmt: skip
    parser.add_argument("--no-imports", action="store_true", help="do not time `import poptorch`")
    parser.add_argument("--child", choices=(START_EAGER, START, STEADY), help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
