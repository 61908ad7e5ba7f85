"""`tremula view PATH...`: shows profiles and host traces as text or in a browser, or exports them to other tools.

The text is printed. Files are written completely or not at all. Nothing is computed here.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import json
import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tremula.atomic_files import atomic_open, cannot_write
from tremula.cli.command import Command, CommandError
from tremula.formatting import counted
from tremula.profile import Profile
from tremula.profile.directory import reports

if TYPE_CHECKING:
    from tremula.view.reports import Report

_EPILOG = """\
PATH is a profile.pop, a .pvti trace, or a folder that contains them. Without an option, one profile is printed as
text.
  tremula view report/ --serve                 show everything in a browser
  tremula view before/ after/ --compare --html page.html     compare two profiles in one HTML file
  tremula view report/training --csv tables/   write tables for a spreadsheet
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="see below")
    pages = parser.add_argument_group("pages")
    pages.add_argument("--html", type=Path, metavar="OUT", help="write a self-contained HTML page")
    pages.add_argument(
        "--serve",
        action="store_true",
        help="show all reports in a browser; the server is reachable from this machine only",
    )
    pages.add_argument(
        "--port", type=int, default=0, metavar="N", help="port of --serve (default: a free port)"
    )
    pages.add_argument(
        "--no-browser", action="store_true", help="with --serve: print the address and do not open a browser"
    )
    pages.add_argument("--compare", action="store_true", help="show the two profiles side by side")
    files = parser.add_argument_group("export to other tools")
    files.add_argument("--trace", type=Path, metavar="OUT", help="write a trace for ui.perfetto.dev")
    files.add_argument("--speedscope", type=Path, metavar="OUT", help="write a file for speedscope.app")
    files.add_argument("--csv", type=Path, metavar="FOLDER", help="write every table as CSV")
    files.add_argument("--json", action="store_true", help="print the figures as JSON")
    text = parser.add_argument_group("text")
    text.add_argument(
        "--full", action="store_true", help="print the memory of every IPU, the largest uses and the options"
    )
    text.add_argument("--tile", type=int, metavar="N", help="print the memory use of one tile")
    text.add_argument("--ops", type=int, metavar="N", help="list the N ops that take the most cycles")
    text.add_argument("--op", metavar="NAME", help="print one op: its plan, the reasons and its supersteps")


def profile_in(path: Path) -> Path:
    """The profile at `path`, or the one inside that folder."""
    if not path.is_dir():
        return path
    found = [each.profile for each in reports(path) if each.profile is not None][:20]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CommandError(f"found no profile.pop in {path}; `tremula profile PROGRAM` writes one")
    raise CommandError("found several profiles; choose one:\n" + "\n".join(f"  {each}" for each in found))


def write_files(profile: Profile, html: Path | None, trace: Path | None) -> None:
    """Write the requested page and trace of one profile, and print their paths."""
    if html is not None:
        from tremula.view.page import write_page

        _say_page(html, write_page(profile, html))
    if trace is not None:
        from tremula.view.perfetto import write_trace

        events = _write(trace, lambda file: write_trace(profile, file))
        print(f"Trace: {trace} ({events:,} events; open it at ui.perfetto.dev)")


def _say_page(path: Path, size: int) -> None:
    print(f"Page: {path} ({size / 1e6:.1f} MB; open it in a browser, it needs no network)")


def _write(path: Path, write: Callable[[TextIO], int]) -> int:
    try:
        with atomic_open(path) as file:
            return write(file)
    except OSError as error:
        raise CommandError(f"the file {cannot_write(path, error)}") from error


def _run(args: argparse.Namespace) -> int:
    from tremula.view.reports import PROFILE, TRACE, find_reports

    if args.compare and not (args.html or args.serve):
        raise CommandError(
            "--compare needs --html OUT or --serve. Use `tremula compare A B` for a comparison as text"
        )
    found = find_reports(args.paths)
    profiles = [each for each in found if each.kind == PROFILE]
    if args.compare and len(profiles) != 2:
        raise CommandError(f"--compare needs two profiles, but {len(profiles)} were given")
    if args.serve:
        return _serve(found, args)
    if args.html:
        _write_page(found, args)
    wants_text = bool(
        args.json or args.full or args.op is not None or args.ops is not None or args.tile is not None
    )
    exports = bool(args.trace or args.speedscope or args.csv)
    if args.html and not (wants_text or exports):
        return 0
    if len(found) != 1:
        listed = "\n".join(f"  {each.name}: {each.paths[0]}" for each in found[:20])
        raise CommandError(
            f"found several reports; choose one, or show all with --serve or --html:\n{listed}"
        )
    if found[0].kind == TRACE:
        return _show_trace(found[0], args)
    with Profile(found[0].paths[0]) as profile:
        _print_text(profile, args, wanted=wants_text or not exports)
        _export(profile, args)
    return 0


def _print_text(profile: Profile, args: argparse.Namespace, *, wanted: bool) -> None:
    from tremula.view.op_text import op_text, ops_text, tile_text
    from tremula.view.summary import summary

    texts = []
    if args.json:
        texts.append(json.dumps(_figures(profile), indent=2))
    if args.tile is not None:
        texts.append(tile_text(profile, args.tile))
    if args.op is not None:
        texts.append(op_text(profile, args.op))
    if args.ops is not None:
        texts.append(ops_text(profile, max(0, args.ops)))
    if args.full or (wanted and not texts):
        texts.append(str(summary(profile, full=args.full)))
    for text in texts:
        print(text)


def _export(profile: Profile, args: argparse.Namespace) -> None:
    write_files(profile, None, args.trace)
    if args.speedscope is not None:
        from tremula.view.speedscope import write_speedscope

        samples = _write(args.speedscope, lambda file: write_speedscope(profile, file))
        print(f"Speedscope: {args.speedscope} ({samples:,} samples; open it at speedscope.app)")
    if args.csv is not None:
        from tremula.view.csv_export import write_csv_files

        written = write_csv_files(profile, args.csv)
        print(f"Tables: {counted(len(written), 'file')} in {args.csv} ({sum(written.values()):,} rows)")


def _show_trace(report: Report, args: argparse.Namespace) -> int:
    from tremula.trace.several import TraceSet
    from tremula.view import trace_export
    from tremula.view.trace_text import trace_text

    refused = [name for name in ("tile", "op", "ops") if getattr(args, name) is not None]
    refused += [name for name in ("json", "full") if getattr(args, name)]
    if refused:
        raise CommandError(f"--{refused[0]} needs a profile, but {report.paths[0]} is a host trace")
    traces = TraceSet(report.paths)
    if args.csv is not None:
        events = _write(args.csv / "events.csv", partial(trace_export.write_events_csv, traces))
        print(f"Tables: 1 file in {args.csv} ({events:,} rows)")
    for path, write, where in (
        (args.trace, trace_export.write_chrome, "ui.perfetto.dev"),
        (args.speedscope, trace_export.write_speedscope, "speedscope.app"),
    ):
        if path is not None:
            events = _write(path, partial(write, traces))
            print(f"Trace: {path} ({events:,} events; open it at {where})")
    if not (args.csv or args.trace or args.speedscope):
        print(trace_text(traces))
    return 0


def _write_page(reports: list[Report], args: argparse.Namespace) -> None:
    from tremula.view.reports import PROFILE

    profiles = [each for each in reports if each.kind == PROFILE]
    traces = [each for each in reports if each.kind != PROFILE]
    if profiles and traces:
        print(
            "The page contains the profiles only. Write a separate page for the host traces, or use --serve for both."
        )
    if profiles:
        from tremula.view.page import write_page

        with contextlib.ExitStack() as stack:
            opened = [stack.enter_context(Profile(each.paths[0])) for each in profiles]
            names = [each.name for each in profiles]
            _say_page(
                args.html, write_page(opened[0], args.html, *opened[1:], names=names, compare=args.compare)
            )
    else:
        from tremula.trace.several import TraceSet
        from tremula.view.system_page import write_system_page

        _say_page(args.html, write_system_page(TraceSet(traces[0].paths), args.html))


def _serve(reports: list[Report], args: argparse.Namespace) -> int:
    from tremula.view.reports import OpenReports
    from tremula.view.routes import routes
    from tremula.view.server import ViewServer

    opened = OpenReports(reports)
    server = ViewServer(routes(opened, compare=args.compare), port=args.port)
    port = server.port
    print(f"{counted(len(reports), 'report')} (device figures are modelled):\n  {server.address}")
    print(
        "To open it on another machine, forward the port there and use the same address:\n"
        f"  ssh -N -L {port}:127.0.0.1:{port} {_user()}@{socket.gethostname()}"
    )
    print("Press Ctrl-C to stop the server.", flush=True)
    if not args.no_browser and sys.stdout.isatty() and not os.environ.get("SSH_CONNECTION"):
        webbrowser.open(server.address)
    try:
        server.serve()
    except KeyboardInterrupt:
        print()
    finally:
        server.close()
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without an entry for this user
        return "USER"


def _figures(profile: Profile) -> dict[str, object]:
    from tremula.view.verdict import fit_probability, fit_verdict

    target = profile.target
    return {
        "note": "modelled, not measured",
        "schema_version": profile.version,
        "target": {name: getattr(target, name) for name in type(target).__dataclass_fields__},
        "figures": {
            f.name: {"value": f.value, "unit": f.unit, "low": f.low, "high": f.high, "band": f.band}
            for f in profile.figures.values()
        },
        "fit_verdict": fit_verdict(profile),
        "fit_probability": fit_probability(profile),
        "breakdown": dict(profile.breakdown),
        "graph": {each.name: each.count for each in profile.graph},
        "ipus": [
            {name: getattr(row, name) for name in type(row).__dataclass_fields__} for row in profile.ipus
        ],
    }


COMMAND = Command("view", "show or export profiles and host traces", _add_arguments, _run)
