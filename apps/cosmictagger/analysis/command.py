"""The command `cosmictagger analyse`: logs in, figures and faults out.

Exit codes: 0 analysed, 1 faults were found and `--check` was given (or a result could not be written), 2 a log cannot
be used.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from cosmictagger.analysis.faults import SEVERITIES, find_faults
from cosmictagger.analysis.published import LAST_LINE, LEFT_OUT, published
from cosmictagger.analysis.reading import BadLog, name_of
from cosmictagger.analysis.records import as_csv, as_json
from cosmictagger.analysis.report import report
from cosmictagger.analysis.results import Result, result
from cosmictagger.analysis.runs import groups, read_runs
from cosmictagger.analysis.scaling import scaling, split_runs

_DESCRIPTION = """\
Times, speeds and faults of training runs, from their logs.

A LOG is what poprun printed, a process.log, or a folder in which logs are searched; packed with gzip or not; "-" is
standard input. process.log and process_rank_<n>.log of one folder are one run. Logs of the original program are read
too. Several runs make a table of scaling."""
#: columns where the output is not a terminal
_WIDTH = 110


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "cosmictagger analyse",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 analysed, 1 faults were found with --check, 2 a log cannot be used.",
        allow_abbrev=False,
    )
    parser.add_argument("logs", nargs="+", metavar="LOG", help="a log or a folder")
    parser.add_argument(
        "--batch-size",
        type=_positive,
        metavar="N",
        help="images per step and rank, if the log is wrong",
    )
    parser.add_argument("--all-ranks", action="store_true", help="show every rank, however many there are")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures and faults to this file")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write a row for each rank to this file")
    parser.add_argument(
        "--plots", type=Path, metavar="FOLDER", help="write plots of the runs to this folder, as PNG and SVG"
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if a run has an error or a warning")
    parser.add_argument(
        "--as-published",
        action="store_true",
        help="only print the output of the original's own analysis for these logs, including its mistakes",
    )
    return parser


def _positive(text: str) -> float:
    value = float(text)
    if not (value > 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError("it must be above 0")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; the exit code."""
    try:
        options = _parser().parse_args(sys.argv[1:] if arguments is None else list(arguments))
    except SystemExit as end:
        # argparse has said why
        return end.code if isinstance(end.code, int) else 2
    for name in ("json", "csv"):
        path = getattr(options, name)
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            said = "is a folder" if path.is_dir() else "has no folder to lie in"
            print(f"cosmictagger: --{name} {name_of(path)} {said}; name a file.", file=sys.stderr)
            return 2
    try:
        return _published(options.logs) if options.as_published else _analyse(options)
    except BadLog as error:
        print(f"cosmictagger: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # whoever read the output has gone; Python must not complain about it again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _analyse(options: argparse.Namespace) -> int:
    results = []
    for run in read_runs(options.logs):
        found = result(run, options.batch_size)
        found.faults = find_faults(found)
        results.append(found)
    _refuse_nothing(results)
    split_runs(results)
    for each in results:
        each.faults.sort(key=lambda fault: SEVERITIES.index(fault.severity))
    rows = scaling(results)
    print(report(results, rows, _console(), options.all_ranks), end="")
    try:
        _write(options, results, rows)
    except BrokenPipeError:
        raise
    except OSError as error:
        print(
            f"cosmictagger: {error.filename or ''} cannot be written: {error.strerror or error}.",
            file=sys.stderr,
        )
        return 1
    wrong = any(fault.severity != "note" for each in results for fault in each.faults)
    return 1 if options.check and wrong else 0


def _refuse_nothing(results: Sequence[Result]) -> None:
    """Nothing that is known is in any of them: not a log of these programs."""
    if any(stream.count for each in results for log in each.run.logs for stream in log.streams.values()):
        return
    names = ", ".join(each.run.name for each in results[:3])
    raise BadLog(f"{names}: no line of it is one of a cosmictagger log.")


def _console() -> Console:
    terminal = sys.stdout.isatty()
    # values from logs are text, never markup or links
    return Console(
        width=None if terminal else _WIDTH, markup=False, highlight=False, emoji=False, soft_wrap=False
    )


def _write(options: argparse.Namespace, results: Sequence[Result], rows) -> None:  # type: ignore[no-untyped-def]
    from tremula.atomic_files import write_text_atomically

    if options.json:
        write_text_atomically(options.json, as_json(results, rows))
    if options.csv:
        write_text_atomically(options.csv, as_csv(results, rows))
    if options.plots:
        # matplotlib takes a second to import
        from cosmictagger.analysis.plots import write_plots

        for path in write_plots(options.plots, results, rows):
            print(f"Wrote {path}")


def _published(logs: Sequence[str]) -> int:
    print(
        "cosmictagger: the figures below are wrong, and are here to be compared with what was published. Differences "
        f"are taken between consecutive lines whichever rank wrote them, without dates; {LAST_LINE} lines are read, "
        f'the first {LEFT_OUT} left out; "Step" is the optimizer alone, and "Forward" is the same as "Durations". '
        "Leave out --as-published for the right ones.",
        file=sys.stderr,
    )
    sys.stderr.flush()
    short = False
    for files in groups(logs):
        for path in files:
            found = published(path)
            print(name_of(path))
            text = found.text
            if text is None:
                short = True
                print(
                    f"cosmictagger: {name_of(path)} has {len(found.durations)} training lines; the original's analysis "
                    f"fails with fewer than {LEFT_OUT + 1}.",
                    file=sys.stderr,
                )
                continue
            print(text)
            if found.skipped:
                print(
                    f"cosmictagger: {found.skipped} lines were left out on which the original fails.",
                    file=sys.stderr,
                )
    return 2 if short else 0
