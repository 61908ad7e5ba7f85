"""`tremula scale`: how a program would scale over IPUs, modelled, with measured replicas beside it.

Everything goes into one folder: the study (JSON, CSV), plots, a page, the logs of what was measured. The same command
goes on from what is there.
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

from tremula.cli.command import Command, CommandError
from tremula.cli.scale_options import add_options, question_of, settings_of

if TYPE_CHECKING:
    from tremula.frontends.torch.subject import Subject
    from tremula.scale.making import Measuring
    from tremula.scale.question import ScaleQuestion
    from tremula.scale.row import DataRate, ScalingStudy

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


def _run(options: argparse.Namespace) -> int:
    return scale(_subject_words(options), options)


def scale(subject: list[str], options: argparse.Namespace) -> int:
    """Make a study and print it; the exit code.

    Args:
        subject: `run` and a program with its arguments, or the name of a function that makes a model.
        options: those of `add_options`.
    """
    from tremula.frontends.torch.data.current_loader import tracking
    from tremula.frontends.torch.factory import load, make, subject_of
    from tremula.study.programs import subjects_of_program

    question = question_of(options)
    # absolute: the program may change directory
    folder = Path(options.out or f"scale-{_short_name(subject)}").absolute()
    asking = _Asking(subject, options, _command(), folder, _source(subject))
    if subject[0] == "run":
        if options.optimizer:
            raise CommandError("--optimizer is for a model that a function makes; a program has its own")
        _check_program(subject[1:])
        with _log(folder) as log, tracking():
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
    #: digest of the program's text
    source: str
    #: before the program goes and prints elsewhere
    begun_in: Path = dataclasses.field(default_factory=Path.cwd)
    out: TextIO = dataclasses.field(default_factory=lambda: sys.stdout)

    def shown(self, path: Path) -> str:
        """A path as somebody would type it where the command was given."""
        return str(path.relative_to(self.begun_in) if path.is_relative_to(self.begun_in) else path)


def _check_program(words: list[str]) -> None:
    """Nothing is begun for a program that is not there."""
    if words[:1] != ["-m"] and words and not Path(words[0]).is_file():
        raise CommandError(f"there is no program {words[0]}")


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
        place = asking.shown(folder)
        said = f"tremula: stopped; what is done is kept in {place}, and the same command goes on from there"
        print(said, file=sys.stderr)
        raise
    files = _write(study, folder, plots=not options.no_plots)
    _print(study, files, asking)
    if study.measured is not None and any(run.equivalent is False for run in study.measured.runs):
        print("tremula: the processes of a measured run did not train what one trains", file=sys.stderr)
        return 1
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

    if asking.options.no_measure:
        return None
    if not model.training:
        print(
            "tremula: nothing is measured: replicas that only infer share nothing to compare", file=sys.stderr
        )
        return None
    settings = settings_of(asking.options)
    told = repr((asking.subject, dataclasses.astuple(settings), asking.source, model.parts.spec))
    return told, lambda ipus: measure(
        asking.subject, settings, asking.folder, begun_in=asking.begun_in, ipus_per_replica=ipus
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
    """The files of a study beside its document; what could not be drawn is told."""
    from tremula.atomic_files import write_text_atomically
    from tremula.errors import Error
    from tremula.scale.making import DOCUMENT
    from tremula.scale.page import write_page
    from tremula.scale.plots import draw
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
    out.write(f"\npage   {asking.shown(page)}\nstudy  {asking.shown(document)}\n")
    drawn = sorted({path.stem for path in others if path.suffix == ".png"})
    if drawn:
        out.write(f"plots  {asking.shown(page.parent)}/{{{','.join(drawn)}}}.png and .svg\n")


def _short_name(subject: list[str]) -> str:
    """Of the program or function, for a folder."""
    words = [word for word in subject if word not in ("run", "-m")]
    name = Path(words[0]).stem if words else ""
    kept = "".join(each if each.isalnum() or each in "-_" else "-" for each in name)
    return kept.strip("-")[:40] or "model"


COMMAND = Command("scale", "how a program would scale over IPUs, and where that ends", _add_arguments, _run)
