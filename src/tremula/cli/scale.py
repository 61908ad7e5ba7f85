"""`tremula scale`: how a program would scale over IPUs, modelled, with measured replicas beside it.

Everything goes into one folder: the study (JSON, CSV), plots, a page, the logs of what was measured. The same command
goes on from what is there.
"""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tremula.cli.command import Command, CommandError
from tremula.cli.estimate_options import numbers, words

if TYPE_CHECKING:
    from tremula.scale.making import Measuring
    from tremula.scale.measure import MeasureSettings
    from tremula.scale.question import ScaleQuestion
    from tremula.scale.row import DataRate, ScalingStudy
    from tremula.study.subject import Subject

_EPILOG = """\
PROGRAM is one of
  program.py args...      an unchanged poptorch program, up to its first call of a wrapped model
  run -m module args...   the same for a module
  file.py:function        a function without arguments that returns (model, inputs) or (model, inputs, optimizer)
"""
#: columns where the output is no terminal
_WIDTH = 160


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add_options(parser)
    parser.add_argument("subject", metavar="PROGRAM", help="see below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help=argparse.SUPPRESS)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What is asked, measured and written; programs that have a `scale` of their own take the same options."""
    asked = parser.add_argument_group("what is asked")
    asked.add_argument("--ipus", type=numbers, metavar="N,N", help="sizes (default 1,2,4,8,16,32,64)")
    asked.add_argument(
        "--target", type=words, metavar="NAME", help="chips (bow, mk2 ...) or systems (pod16 ...)"
    )
    asked.add_argument("--mode", type=words, metavar="M", help="weak, strong (default: both)")
    asked.add_argument(
        "--stages", type=numbers, metavar="N,N", help="IPUs of a replica that are tried (default 1,2,4,8)"
    )
    asked.add_argument("--micro-batch", type=int, metavar="N", help="samples of one run of forward")
    asked.add_argument(
        "--per-ipu", type=int, metavar="N", help="weak: micro-batches of an IPU per weight update"
    )
    asked.add_argument("--global-batch", type=int, metavar="N", help="strong: samples per weight update")
    asked.add_argument(
        "--device-iterations", type=int, metavar="N", help="turns of the device's loop per call"
    )
    asked.add_argument("--precision", metavar="P", help="fp32, fp16, fp16.32 or fp16.16")
    asked.add_argument("--recompute", metavar="R", help="none, all or norms")
    asked.add_argument("--optimizer", metavar="NAME", help="of a model that a function makes")
    measured = parser.add_argument_group("what is measured on this host")
    measured.add_argument(
        "--measure", type=numbers, metavar="N,N", default=[1, 2], help="processes under poprun (default 1,2)"
    )
    measured.add_argument("--no-measure", action="store_true", help="model only")
    measured.add_argument(
        "--measure-steps", type=int, default=3, metavar="N", help="weight updates (default 3)"
    )
    measured.add_argument(
        "--measure-seconds",
        type=float,
        default=300.0,
        metavar="S",
        help="for each run, at most (default 300)",
    )
    measured.add_argument(
        "--measure-with",
        metavar="WORDS",
        default="",
        help="arguments that make the program smaller for these runs; the study says so",
    )
    measured.add_argument(
        "--loader-rate",
        type=float,
        metavar="R",
        help="samples/s that a host has ready (default: the program's own loader is measured)",
    )
    given = parser.add_argument_group("how the answer is given")
    given.add_argument(
        "--name", default="", metavar="TEXT", help="what to call it (default: the model's class)"
    )
    given.add_argument("--out", metavar="FOLDER", help="where everything goes (default scale-NAME)")
    given.add_argument("--fresh", action="store_true", help="do not go on from what is in the folder")
    form = given.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the study for scripts")
    form.add_argument("--csv", action="store_true", help="print the rows for a spreadsheet")
    form.add_argument("--brief", action="store_true", help="one line for each size")
    given.add_argument("--no-plots", action="store_true", help="no PNG and SVG")


def _run(options: argparse.Namespace) -> int:
    return scale(_subject_words(options), options)


def scale(subject: list[str], options: argparse.Namespace) -> int:
    """Make a study and print it; the exit code.

    Args:
        subject: `run` and a program with its arguments, or the name of a function that makes a model.
        options: those of `add_options`.
    """
    from tremula.data.reading import watching
    from tremula.study.factory import load, make, subject_of
    from tremula.study.programs import subjects_of_program

    question = question_of(options)
    folder = Path(options.out or f"scale-{_short_name(subject)}")
    asking = _Asking(subject, options, _command(), folder)
    if subject[0] == "run":
        with _log(folder) as log, watching():
            return subjects_of_program(
                subject[1:], lambda model: _answer(model, question, asking), prints=log
            )[0]
    factory, name = load(subject[0])
    return _answer(subject_of(make(factory), name, optimizer=options.optimizer), question, asking)


@dataclasses.dataclass(frozen=True)
class _Asking:
    """Who asks, in which words, and where the answer goes."""

    subject: list[str]
    options: argparse.Namespace
    command: str
    folder: Path
    #: before the program prints elsewhere
    out: TextIO = dataclasses.field(default_factory=lambda: sys.stdout)


def _log(folder: Path) -> TextIO:
    """Where the program prints."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return open(folder / "program.log", "w", encoding="utf-8")
    except OSError as problem:
        raise CommandError(
            f"{folder} cannot take the study: {problem.strerror}. Choose another folder with --out."
        ) from None


def _command() -> str:
    """The command line as it was typed."""
    name = Path(sys.argv[0]).name
    return shlex.join(["tremula" if name.startswith("__") else name, *sys.argv[1:]])


def _subject_words(options: argparse.Namespace) -> list[str]:
    """`run` and a program, or the name of a function."""
    first, rest = options.subject, list(options.arguments)
    if first == "run":
        return ["run", *rest]
    if first.endswith(".py"):
        return ["run", first, *rest]
    if rest:
        raise CommandError(
            f"{first} is a function that makes a model, and takes no arguments; options stand before it. A module is "
            f"run with: tremula scale ... run -m {first} ..."
        )
    return [first]


def question_of(options: argparse.Namespace) -> ScaleQuestion:
    """What is asked; mistakes are told now, also those in what is measured.

    Raises:
        CommandError, Error: an option cannot be used.
    """
    from tremula.hardware.catalogue import target
    from tremula.scale.question import ScaleQuestion

    for name in options.target or ():
        target(name)  # a name that nobody knows is told at once
    _settings(options)
    given = options.loader_rate
    if given is not None and not 0 < given < float("inf"):
        raise CommandError("--loader-rate must be more than 0 samples/s")
    defaults = ScaleQuestion()
    return ScaleQuestion(
        ipus=tuple(options.ipus or defaults.ipus),
        targets=tuple(options.target or defaults.targets),
        modes=tuple(options.mode or defaults.modes),
        stages=tuple(options.stages or defaults.stages),
        micro_batch=options.micro_batch,
        per_ipu=options.per_ipu,
        global_batch=options.global_batch,
        device_iterations=options.device_iterations,
        precision=options.precision,
        recompute=options.recompute,
    )


def _answer(model: Subject, question: ScaleQuestion, asking: _Asking) -> int:
    from tremula.scale.making import make_study

    options, folder = asking.options, asking.folder
    try:
        study = make_study(
            model,
            question,
            command=asking.command,
            folder=folder,
            name=options.name,
            fresh=options.fresh,
            data=_rate(asking),
            measuring=_measuring(model, asking),
        )
    except KeyboardInterrupt:
        said = f"tremula: stopped; what is done is kept in {folder}, and the same command goes on from there"
        print(said, file=sys.stderr)
        raise
    files = _write(study, folder, plots=not options.no_plots)
    _print(study, files, asking)
    return 0 if any(not row.problem for row in study.rows) else 1


def _rate(asking: _Asking) -> DataRate | None:
    """How fast a host has batches ready: as given, or as the program's loader does it here."""
    from tremula.scale.feeding import GIVEN, measured_rate
    from tremula.scale.row import DataRate

    given = asking.options.loader_rate
    if given is not None:
        return DataRate(given, GIVEN)
    if asking.options.no_measure or asking.subject[0] != "run":
        return None
    rate, why = measured_rate()
    if why:
        print(f"tremula: data: {why}; --loader-rate says how fast it comes", file=sys.stderr)
    return rate


def _measuring(model: Subject, asking: _Asking) -> tuple[str, Measuring] | None:
    from tremula.scale.measure import measure

    if asking.options.no_measure or not model.training:
        return None
    settings = _settings(asking.options)
    told = repr((asking.subject, dataclasses.astuple(settings)))
    return told, lambda ipus: measure(asking.subject, settings, asking.folder, ipus_per_replica=ipus)


def _settings(options: argparse.Namespace) -> MeasureSettings:
    from tremula.scale.measure import MeasureSettings

    try:
        more = tuple(shlex.split(options.measure_with))
    except ValueError as problem:
        raise CommandError(f"--measure-with {options.measure_with}: {problem}") from None
    return MeasureSettings(
        instances=tuple(dict.fromkeys(options.measure)),
        steps=options.measure_steps,
        most_seconds=options.measure_seconds,
        more_words=more,
        optimizer=options.optimizer,
    )


def _write(study: ScalingStudy, folder: Path, *, plots: bool) -> list[Path]:
    """The files of a study beside its document; what could not be drawn is told."""
    from tremula.errors import Error
    from tremula.scale.making import DOCUMENT
    from tremula.scale.page import write_page
    from tremula.scale.plots import draw
    from tremula.scale.table import as_csv
    from tremula.whole_files import whole_text

    page, table = folder / "scale.html", folder / "scale.csv"
    write_page(study, page)
    whole_text(table, as_csv(study))
    drawn: list[Path] = []
    if plots:
        try:
            drawn = draw(study, folder)
        except Error as problem:
            print(f"tremula: no plots: {problem.message}", file=sys.stderr)
    return [page, folder / DOCUMENT, table, *drawn]


def _print(study: ScalingStudy, files: list[Path], asking: _Asking) -> None:
    import json

    from rich.console import Console

    from tremula.scale.brief import print_brief
    from tremula.scale.document import plain
    from tremula.scale.table import as_csv, print_study

    out = asking.out
    if asking.options.json:
        json.dump(plain(study), out, indent=1, ensure_ascii=False)
        out.write("\n")
        return
    if asking.options.csv:
        out.write(as_csv(study))
        return
    width = None if out.isatty() else _WIDTH
    console = Console(file=out, highlight=False, markup=False, emoji=False, width=width)
    (print_brief if asking.options.brief else print_study)(study, console)
    page, document, *others = files
    out.write(f"\npage   {page}\nstudy  {document}\n")
    drawn = sorted({path.stem for path in others if path.suffix == ".png"})
    if drawn:
        out.write(f"plots  {page.parent}/{{{','.join(drawn)}}}.png and .svg\n")


def _short_name(subject: list[str]) -> str:
    """Of the program or function, for a folder."""
    words = [word for word in subject if word not in ("run", "-m")]
    name = Path(words[0]).stem if words else ""
    kept = "".join(each if each.isalnum() or each in "-_" else "-" for each in name)
    return kept.strip("-")[:40] or "model"


COMMAND = Command("scale", "how a program would scale over IPUs, and where that ends", _add_arguments, _run)
