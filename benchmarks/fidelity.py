"""How well the chip model predicts published figures.

    python -m benchmarks.fidelity [--cases FILE ...] [--only WORD ...] [--json OUT] [--page docs/accuracy.md]
                                   [--write-bands] [--write-fit] [--write-sensitivity]
                                   [--fit [--write-folds]]

Run from the repository's root. Without --cases, all cases in benchmarks/cases are predicted; docs/fidelity-cases.md
says what a case file looks like. Printed are predicted and published value of each case and, by category, median
and 90th percentile of the absolute error: of rows whose values were used to fit constants, and of all rows
predicted by constants that were fitted without them. A case that cannot be predicted is listed with the reason;
then the exit status is 1. A file that is wrong gives 2.

Rows whose published program is a TensorFlow program are predicted from one where TensorFlow is installed, and from the
torch version as well: `tf/torch` is the ratio of both. Elsewhere the torch version is all there is, and the column
`front end` says so.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

from tremula.memory.verdict import curve

from .fidelity_bands import as_text as bands_text
from .fidelity_bands import write_bands
from .fidelity_cases import SHIPPED, Case, CaseError, left_out, load_files, shipped_cases
from .fidelity_evaluate import Evaluator
from .fidelity_fit_curve import write_fit
from .fidelity_fit_evidence import evidence
from .fidelity_fit_table import as_text as fit_text
from .fidelity_statistics import Row, Spread, Summary, error, summaries


def main(arguments: list[str] | None = None) -> int:
    """Predict, print the tables, write the files; 1 if a case failed, 2 if a file is wrong."""
    options = _parser().parse_args(arguments)
    try:
        cases = load_files(map(pathlib.Path, options.cases)) if options.cases else shipped_cases()
    except CaseError as problem:
        print(problem, file=sys.stderr)
        return 2
    if options.only and (options.write_fit or options.write_bands or options.page):
        print("--write-fit, --write-bands and --page are of all cases; leave --only out", file=sys.stderr)
        return 2
    if options.only:
        cases = [case for case in cases if _wanted(case, options.only)]
        if not cases:
            print(f"no case has {' or '.join(options.only)} in its id, category or kind", file=sys.stderr)
            return 2
    if options.fit:
        from .fidelity_fit import fit_and_print

        return fit_and_print(cases, write=options.write_folds)
    if options.write_sensitivity:
        from .fidelity_sensitivity import write_sensitivities

        write_sensitivities(cases)
        return 0
    began = time.perf_counter()
    evaluator = Evaluator()
    if options.write_fit:  # first: the rows on what fits are predicted by the new curve
        write_fit(evidence(cases, evaluator))
        curve.cache_clear()
    rows = predict(cases, printing=True, evaluator=evaluator)
    table = summaries(rows)
    print(f"\n{summary_table(table)}")
    blind = summaries(rows, blind=True)
    if blind:
        print(f"\n{summary_table(blind, 'blind rows')}")
    known = evidence(cases, evaluator)
    if known:
        print(f"\n{fit_text(known)}")
    if not options.only:
        print(f"\n{bands_text(rows)}")
    print(f"\n{len(rows)} cases in {time.perf_counter() - began:.0f} s")
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps(as_json(rows, table), indent=1, ensure_ascii=False) + "\n"
        )
    if options.page:
        from . import popliner_totals
        from .fidelity_page import page

        skipped = left_out(sorted(SHIPPED.glob("*.toml")))
        text = page(rows, table, skipped, known, popliner_totals.as_markdown())
        pathlib.Path(options.page).write_text(text, encoding="utf-8")
    if options.write_bands:
        write_bands(rows)
    return int(any(row.prediction.predicted is None for row in rows))


def predict(
    cases: Sequence[Case], *, printing: bool = False, evaluator: Evaluator | None = None
) -> list[Row]:
    """All cases with their predictions, and for fitted rows those without their own fold."""
    from .fidelity_folds import evaluators_without

    evaluator = evaluator or Evaluator()
    without = evaluators_without(cases)
    rows = []
    if printing:
        print(f"{_HEAD}\n{'-' * len(_HEAD)}")
    for case in cases:
        other = without.get(case.id)
        found = evaluator.predict(case)
        row = Row(
            found,
            other.predict(case) if other is not None else None,
            evaluator.predict(case, "torch") if found.front_end == "tensorflow" else None,
        )
        rows.append(row)
        if printing:
            print(table_line(row), flush=True)
    return rows


def as_json(rows: Sequence[Row], table: Sequence[Summary]) -> dict[str, Any]:
    """The content of the JSON file."""
    return {
        "cases": [_case_as_json(row) for row in rows],
        "categories": [_summary_as_json(each) for each in table],
        "blind": [_summary_as_json(each) for each in summaries(rows, blind=True)],
    }


def _summary_as_json(each: Summary) -> dict[str, Any]:
    return {
        "category": each.category,
        "fitted": vars(each.fitted),
        "unused": vars(each.unused),
        "target": each.target,
        "met": each.met,
        "failed": each.failed,
    }


def _case_as_json(row: Row) -> dict[str, Any]:
    case = row.prediction.case
    found: dict[str, Any] = {
        "id": case.id,
        "category": case.category,
        "published": case.published,
        "predicted": row.prediction.predicted,
        "unit": case.unit,
        "fitted": case.fit,
    }
    if case.blind:
        found["blind"] = True
    if row.without is not None:
        found["predicted_without_its_fold"] = row.without.predicted
    if row.prediction.front_end:
        found["front_end"] = row.prediction.front_end_words
    if row.torch is not None:
        found["predicted_by_torch"] = row.torch.predicted
    if row.prediction.error is not None:
        found["error"] = row.prediction.error
    return found


_HEAD = (
    f"{'case':34} {'category':12} {'published':>12} {'predicted':>12} {'unit':10} {'ratio':>6} {'fold':>6} "
    f"{'front end':21} {'tf/torch':>8}"
)


def table_line(row: Row) -> str:
    """One line of the table of cases; `fold` is the ratio with constants fitted without the row."""
    case, found = row.prediction.case, row.prediction
    start = f"{case.id:34} {case.category:12} {case.published:12.6g}"
    if found.predicted is None:
        return f"{start} not predicted: {found.error}"
    ratio = f"{found.ratio:6.2f}" if found.ratio is not None else f"{'-':>6}"
    fold = "" if row.without is None or row.without.ratio is None else f"{row.without.ratio:6.2f}"
    both = "" if row.front_ends_ratio is None else f"{row.front_ends_ratio:8.3f}"
    front_end = f"{found.front_end_words:21} {both:>8}"
    return f"{start} {found.predicted:12.6g} {case.unit:10} {ratio} {fold:>6} {front_end}".rstrip()


_COLUMNS = "n  median     90 %  ratio"


def summary_table(table: Sequence[Summary], rows: str = "rows never used") -> str:
    """Medians and 90th percentiles by category, with the targets beside."""
    head = f"{'category':12} {'fitted rows':>31}   {rows:>31}   {'target':>7}"
    lines = [f"{head}\n{'':12} {_COLUMNS:>31}   {_COLUMNS:>31}"]
    for each in table:
        target = "" if each.target is None else f"{each.target:7.0%}"
        verdict = {True: "met", False: "MISSED", None: ""}[each.met]
        failed = f"  ({each.failed} not predicted)" if each.failed else ""
        lines.append(
            f"{each.category:12} {_cell(each.fitted)}   {_cell(each.unused)}   {target:>7} {verdict}{failed}"
        )
    return "\n".join(line.rstrip() for line in lines)


def _cell(spread: Spread) -> str:
    if spread.median is None or spread.ninetieth is None:
        return f"{0:6} {'-':>8} {'-':>8} {'-':>6}"
    ratio = "-" if spread.ratio is None else f"{spread.ratio:.2f}"
    return f"{spread.rows:6} {spread.median:8.1%} {spread.ninetieth:8.1%} {ratio:>6}"


def worst(rows: Sequence[Row], count: int) -> list[Row]:
    """The rows with the largest errors on unused predictions."""
    known = [row for row in rows if error(row.unused) is not None]
    return sorted(known, key=lambda row: -(error(row.unused) or 0.0))[:count]


def _wanted(case: Case, words: Sequence[str]) -> bool:
    return any(word in case.id or word == case.category or word == case.kind for word in words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fidelity",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--cases", metavar="FILE", nargs="+", help="case files instead of those that are shipped"
    )
    parser.add_argument(
        "--only", metavar="WORD", nargs="+", help="cases with WORD in the id, of that category or kind"
    )
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file as well")
    parser.add_argument("--page", metavar="OUT", help="write the page on accuracy (docs/accuracy.md)")
    parser.add_argument(
        "--write-bands", action="store_true", help="write the bands that go with modelled figures (all cases)"
    )
    parser.add_argument(
        "--write-fit",
        action="store_true",
        help="find the curve from the fill of a tile to the probability of fitting anew and write it (all cases)",
    )
    parser.add_argument(
        "--write-sensitivity",
        action="store_true",
        help="move each fitted constant by a fifth and keep what that does to training and inference, for the page",
    )
    parser.add_argument("--fit", action="store_true", help="find the fitted constants anew and print them")
    parser.add_argument(
        "--write-folds", action="store_true", help="with --fit: keep the constants of each fold"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
