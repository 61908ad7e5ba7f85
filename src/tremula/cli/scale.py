"""`tremula scale`: models how a program scales over IPUs, and measures a few replicas on this host.

One folder receives all results: the study (JSON, CSV), plots, a page and the logs of measured runs. If a study is
interrupted, the same command continues it.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import importlib.util
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tremula.cli import onnx_options
from tremula.cli.command import Command, CommandError
from tremula.cli.program_output import open_program_output
from tremula.cli.program_words import ProgramParser
from tremula.cli.scale_options import add_options, question_of, settings_of

if TYPE_CHECKING:
    from tremula.scale.question import ScaleQuestion
    from tremula.scale.row import DataRate, ScalingStudy
    from tremula.scale.run import Measuring
    from tremula.study.subject import Subject

_EPILOG = """\
PROGRAM is one of:
  program.py args...      an unchanged program, run until the first call of a wrapped model
  run -m module args...   the same for a module; its arguments follow `--`, or start at the first word that is not an
                          option above
  model.onnx              an ONNX file, for inference or (with --loss) training
  file.py:function        a function without arguments that returns (model, inputs) or (model, inputs, optimizer)
"""
#: columns if the output is not a terminal
_WIDTH = 160


def _add_arguments(parser: ProgramParser) -> None:
    parser.takes_program, parser.keyword, parser.bare_programs = True, "run", True
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add_options(parser)
    onnx_options.add(parser)
    parser.add_argument("subject", metavar="PROGRAM", help="see below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help=argparse.SUPPRESS)


def _run(options: argparse.Namespace) -> int:
    onnx_options.check(options)
    return scale(_subject_words(options), options)


def scale(subject: list[str], options: argparse.Namespace) -> int:
    """Study `run` and a program, or a function that creates a model, and print the result. Returns the exit code."""
    from tremula.ask.sources import each_subject

    question = question_of(options)
    # absolute: the program may change directory
    folder = Path(options.out or f"scale-{_short_name(subject)}").absolute()
    request = _Request(subject, options, _command(), folder, _source(subject))
    if subject[0] == "run":
        if options.optimizer:
            raise CommandError(
                "--optimizer is only for a function that returns a model; a program sets its own optimizer"
            )
        _check_program(subject[1:])
    with _log(folder) if subject[0] == "run" else contextlib.nullcontext() as log:
        return each_subject(
            subject,
            lambda model: _answer(model, question, request),
            optimizer=options.optimizer,
            prints=log,
            watch_loader=True,
        )[0]


@dataclasses.dataclass(frozen=True)
class _Request:
    """What is studied, by which command, and where the results go."""

    subject: list[str]
    options: argparse.Namespace
    command: str
    folder: Path
    source: str  #: digest of the program's text
    #: before the program changes the directory and its output
    started_in: Path = dataclasses.field(default_factory=Path.cwd)
    out: TextIO = dataclasses.field(default_factory=lambda: sys.stdout)

    def shown(self, path: Path) -> str:
        """A path relative to the directory of the command, if it is inside."""
        return str(path.relative_to(self.started_in) if path.is_relative_to(self.started_in) else path)


def _check_program(words: list[str]) -> None:
    """Raise CommandError if the program does not exist, before anything is written."""
    if words[:1] != ["-m"] and words and not Path(words[0]).is_file():
        raise CommandError(f"there is no program {words[0]}")


def _log(folder: Path) -> TextIO:
    """The file for the program's output."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return open_program_output(folder / "program.log")
    except OSError as problem:
        raise CommandError(
            f"cannot write the study to {folder}: {problem.strerror}. Choose another folder with --out."
        ) from None


def _command() -> str:
    """The command line as it was typed. For `python -m PACKAGE`, the command with the name of the package."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    name = Path(sys.argv[0]).name
    if name.startswith("__") and spec is not None:
        name = spec.name.partition(".")[0]
    return shlex.join([name, *sys.argv[1:]])


def _subject_words(options: argparse.Namespace) -> list[str]:
    """`run` and a program, or the name of a function."""
    first, rest = options.subject, list(options.arguments)
    if first == "run":
        return ["run", *rest]
    if first.endswith(".py"):
        return ["run", first, *rest]
    if rest:
        raise CommandError(
            f"unexpected arguments: {first} names a function, which is called without any. To run a module: tremula "
            f"scale [options] run -m {first} args..."
        )
    return [first, *onnx_options.words(options)]


def _answer(model: Subject, question: ScaleQuestion, request: _Request) -> int:
    from tremula.scale.run import make_study

    options, folder = request.options, request.folder
    try:
        study = make_study(
            model,
            question,
            command=request.command,
            folder=folder,
            name=options.name,
            fresh=options.fresh,
            data=_rate(model, request),
            measuring=_measuring(model, request),
        )
    except KeyboardInterrupt:
        place = request.shown(folder)
        raise KeyboardInterrupt(
            f"; finished parts are kept in {place}, and the same command continues from there"
        ) from None
    files = _write(study, folder, plots=not options.no_plots)
    _print(study, files, request)
    if study.measured is not None and any(run.equivalent is False for run in study.measured.runs):
        print("tremula: several processes trained to another result than one process does", file=sys.stderr)
        return 1
    return 0 if any(not row.problem for row in study.rows) else 1


def _rate(model: Subject, request: _Request) -> DataRate | None:
    """Samples per second that a host can load: the given rate, or the measured rate of the program's loader."""
    from tremula.scale.data_rate import GIVEN, measured_rate
    from tremula.scale.row import DataRate

    given = request.options.loader_rate
    if given is not None:
        return DataRate(given, GIVEN)
    if request.options.no_measure or request.subject[0] != "run":
        return None
    rate, why = measured_rate(model)
    if why:
        print(f"tremula: data: {why}; set the rate with --loader-rate", file=sys.stderr)
    return rate


def _measuring(model: Subject, request: _Request) -> tuple[str, Measuring] | None:
    from tremula.scale.measure import measure

    if request.options.no_measure:
        return None
    if not model.training:
        print(
            "tremula: nothing is measured: replicas for inference share no results to compare",
            file=sys.stderr,
        )
        return None
    settings = settings_of(request.options)
    words = repr((request.subject, dataclasses.astuple(settings), request.source, model.optimizer))
    return words, lambda ipus: measure(
        request.subject, settings, request.folder, started_in=request.started_in, ipus_per_replica=ipus
    )


def _source(subject: list[str]) -> str:
    """Digest of the text of a program, of all of a package that is run, or of the file that a function is in."""
    name = subject[0].rpartition(":")[0] or subject[0]
    if subject[0] == "run":
        name = (
            subject[2] if subject[1:2] == ["-m"] and len(subject) > 2 else subject[1] if subject[1:] else ""
        )
    files = [Path(name)] if Path(name).is_file() else _files_of_module(name)
    digest = hashlib.sha256()
    for path in files:
        with contextlib.suppress(OSError):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _files_of_module(name: str) -> list[Path]:
    """All of the package that a module is in, or its own file."""
    try:
        found = importlib.util.find_spec(name.partition(".")[0]) if name else None
    except (ImportError, ValueError):
        return []
    if found is None:
        return []
    folders = [Path(each) for each in found.submodule_search_locations or ()]
    inside = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return inside or ([Path(found.origin)] if found.origin else [])


def _write(study: ScalingStudy, folder: Path, *, plots: bool) -> list[Path]:
    """Write the other files of a study. Prints a message about plots that could not be drawn."""
    from tremula.atomic_files import write_text_atomically
    from tremula.errors import Error
    from tremula.scale.page import write_page
    from tremula.scale.plots import draw
    from tremula.scale.run import DOCUMENT
    from tremula.scale.table import as_csv

    page, table = folder / "scale.html", folder / "scale.csv"
    write_page(study, page)
    write_text_atomically(table, as_csv(study))
    drawn: list[Path] = []
    if plots:
        try:
            drawn = draw(study, folder)
        except Error as problem:
            print(f"tremula: no plots: {problem.message}", file=sys.stderr)
    return [page, folder / DOCUMENT, table, *drawn]


def _print(study: ScalingStudy, files: list[Path], request: _Request) -> None:
    import json

    from rich.console import Console

    from tremula.scale.document import plain
    from tremula.scale.table import as_csv, print_brief, print_study

    out = request.out
    if request.options.json:
        json.dump(plain(study), out, indent=1, ensure_ascii=False)
        out.write("\n")
        return
    if request.options.csv:
        out.write(as_csv(study))
        return
    width = None if out.isatty() else _WIDTH
    console = Console(file=out, highlight=False, markup=False, emoji=False, width=width)
    (print_brief if request.options.brief else print_study)(study, console)
    page, document, *others = files
    out.write(f"\npage   {request.shown(page)}\nstudy  {request.shown(document)}\n")
    drawn = sorted({path.stem for path in others if path.suffix == ".png"})
    if drawn:
        out.write(f"plots  {request.shown(page.parent)}/{{{','.join(drawn)}}}.png and .svg\n")


def _short_name(subject: list[str]) -> str:
    """Of the program or function, for a folder."""
    words = [word for word in subject if word not in ("run", "-m")]
    name = Path(words[0]).stem if words else ""
    name = "".join(each if each.isalnum() or each in "-_" else "-" for each in name)
    return name.strip("-")[:40] or "model"


COMMAND = Command("scale", "estimate how a program scales over IPUs, and its limits", _add_arguments, _run)
