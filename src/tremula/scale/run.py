"""Runs a whole study: batch, rows and measurements in one document.

The document is written after every row, so a run that is stopped loses one row at most.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tremula import __version__
from tremula.errors import Error
from tremula.estimate.estimate import VERSION
from tremula.formatting import plain
from tremula.progress import ProgressCallback, bar
from tremula.scale.assumptions import assumptions
from tremula.scale.data_rate import with_data_rate
from tremula.scale.document import read, save
from tremula.scale.layouts import Layouts
from tremula.scale.question import ScaleQuestion
from tremula.scale.row import DataRate, Measured, Row, ScalingStudy
from tremula.scale.sizes import batches_for, sizes
from tremula.study.subject import Subject

#: name of the study in its folder
DOCUMENT = "scale.json"


#: measures the program, given how many IPUs a replica of it takes
Measuring = Callable[[int], Measured]


def make_study(
    subject: Subject,
    question: ScaleQuestion,
    *,
    command: str,
    folder: Path,
    name: str = "",
    fresh: bool = False,
    data: DataRate | None = None,
    measuring: tuple[str, Measuring] | None = None,
    tell: ProgressCallback | None = None,
) -> ScalingStudy:
    """Model every size of `question`, measure, and write all of it to `folder`; continues what is there unless `fresh`.

    `measuring` says what is measured in a word, and how; None: nothing is. `tell` gets the progress, in place of a bar.
    """
    path = folder / DOCUMENT
    before = None if fresh else earlier_study(path)
    known = earlier_rows(before)
    done: list[Row] = []
    with bar(f"Scaling {plain(name or subject.name, 40, lines=False)}", tell) as progress:
        progress("capturing the program", 0.0)
        layouts = Layouts(subject, question)
        batches, notes = batches_for(layouts, question)

        def study(rows: Sequence[Row], measured: Measured | None) -> ScalingStudy:
            return ScalingStudy(
                name=name or subject.name,
                training=subject.training,
                parameters=subject.parameters,
                command=command,
                date=datetime.date.today().isoformat(),
                tremula=__version__,
                model_version=VERSION,
                question=question.plain(),
                rows=tuple(rows),
                assumptions=tuple(assumptions(question, batches, rows, subject.training, data) + notes),
                data=data,
                measured=measured,
            )

        def found(row: Row) -> None:
            done.append(row)
            others = [each for basis, each in known.items() if basis != row.basis]
            save(study([*others, *done], before.measured if before else None), path, complete=False)

        rows = sizes(
            layouts,
            question,
            batches,
            known=known.get,
            found=found,
            tell=lambda what, number, of: progress(what, number / of if of else 1.0),
        )
    made = study([with_data_rate(row, data) for row in rows], _measured(layouts, measuring, before))
    save(made, path)
    return made


def _measured(
    layouts: Layouts, measuring: tuple[str, Measuring] | None, before: ScalingStudy | None
) -> Measured | None:
    """What is measured, unless an earlier run has done that and nothing has changed since."""
    if measuring is None:
        return None
    words, measure = measuring
    basis = hashlib.sha256(f"{__version__} {layouts.program} {words}".encode()).hexdigest()
    earlier = None if before is None else before.measured
    # what failed, or could not be compared, is tried again: what it depends on may lie outside of the program
    if earlier is not None and earlier.basis == basis and not earlier.problems and _proved(earlier):
        return earlier
    return replace(measure(layouts.own_ipus), basis=basis)


def _proved(measured: Measured) -> bool:
    return all(run.instances == 1 or run.equivalent for run in measured.runs)


def earlier_study(path: Path) -> ScalingStudy | None:
    """The study of an earlier run; None if there was none, or if its file is not readable."""
    try:
        return read(path) if path.exists() else None
    except Error:
        return None


def earlier_rows(study: ScalingStudy | None) -> dict[str, Row]:
    """Rows of an earlier run by what they rest on."""
    # what is reckoned over a whole series, and from the host's data, is reckoned anew
    later = ("efficiency", "speedup", "fed_throughput")
    return {
        row.basis: replace(
            row,
            figures={name: figure for name, figure in row.figures.items() if name not in later},
            waiting_seconds=None,
        )
        for row in (study.rows if study is not None else ())
        if row.basis
    }
