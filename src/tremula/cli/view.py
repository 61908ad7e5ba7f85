"""`tremula view FILE`: a profile as text, as a page, as a trace or as JSON.

The text is printed, the others are written whole or not at all. Nothing is computed here.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tremula.atomic_files import atomic_open, cannot_write
from tremula.cli.command import Command, CommandError
from tremula.profile import Profile


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a profile.pop, or a folder that holds one")
    parser.add_argument("--html", type=Path, metavar="OUT", help="write a self-contained page")
    parser.add_argument("--trace", type=Path, metavar="OUT", help="write a trace for ui.perfetto.dev")
    parser.add_argument("--json", action="store_true", help="print the figures for scripts")
    parser.add_argument("--full", action="store_true", help="memory of every IPU, what takes most, options")
    parser.add_argument("--tile", type=int, metavar="N", help="the uses of one tile")
    parser.add_argument("--ops", type=int, metavar="N", help="list the N ops with most cycles")
    parser.add_argument("--op", metavar="NAME", help="one op: its plan, reasons and supersteps")


def profile_in(path: Path) -> Path:
    """The profile at `path`, or the one in that folder."""
    if not path.is_dir():
        return path
    found = sorted(path.rglob("profile.pop"))[:20]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CommandError(f"there is no profile.pop in {path}; `tremula profile PROGRAM` writes one")
    raise CommandError("several profiles; choose one:\n" + "\n".join(f"  {each}" for each in found))


def write_files(profile: Profile, html: Path | None, trace: Path | None) -> None:
    """Write the page and the trace that were asked for, and say so."""
    if html is not None:
        from tremula.view.page import write_page

        size = write_page(profile, html)
        print(f"Page: {html} ({size / 1e6:.1f} MB; open it in a browser, it needs no network)")
    if trace is not None:
        events = _write_trace(profile, trace)
        print(f"Trace: {trace} ({events:,} events; open it at ui.perfetto.dev)")


def _write_trace(profile: Profile, path: Path) -> int:
    from tremula.view.perfetto import write_trace

    try:
        with atomic_open(path) as file:
            return write_trace(profile, file)
    except OSError as error:
        raise CommandError(f"the trace {cannot_write(path, error)}") from error


def _run(args: argparse.Namespace) -> int:
    from tremula.view.op_text import op_text, ops_text, tile_text
    from tremula.view.summary import summary

    with Profile(profile_in(args.file)) as profile:
        texts = []
        if args.json:
            texts.append(json.dumps(_figures(profile), indent=2))
        if args.tile is not None:
            texts.append(tile_text(profile, args.tile))
        if args.op is not None:
            texts.append(op_text(profile, args.op))
        if args.ops is not None:
            texts.append(ops_text(profile, max(0, args.ops)))
        if args.full or not (texts or args.html or args.trace):
            texts.append(str(summary(profile, full=args.full)))
        for text in texts:
            print(text)
        write_files(profile, args.html, args.trace)
    return 0


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


COMMAND = Command("view", "show a profile: text, page, trace", _add_arguments, _run)
