"""Results as JSON and CSV: every figure, unrounded.

The layout has a version; names come from files and are made harmless to spreadsheets.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from cosmictagger.analysis.results import Result
from cosmictagger.analysis.scaling import Row
from cosmictagger.analysis.timing import MEASURES, Summary, Timing

#: of the layout; larger when something changes its meaning
VERSION = 1
_COLUMNS = ("run", "rank", "lines", "first_step", "last_step", "images_per_second", "fom", "efficiency")
_STATISTICS = ("count", "mean", "std", "median", "p95", "maximum")


def as_json(results: Sequence[Result], rows: Sequence[Row]) -> str:
    """All results."""
    efficiency = {id(row.result): row.efficiency for row in rows}
    content = {
        "version": VERSION,
        "units": "seconds; images per second; the first two training lines of each start are left out",
        "runs": [_run(each, efficiency.get(id(each))) for each in results],
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def as_csv(results: Sequence[Result], rows: Sequence[Row]) -> str:
    """A row for each rank, and one for all ranks of a run together."""
    efficiency = {id(row.result): row.efficiency for row in rows}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_COLUMNS, *(f"{name}_{each}" for name in MEASURES for each in _STATISTICS)])
    for each in results:
        for rank in each.timings:
            head = [_harmless(each.run.name), rank.number, rank.lines, rank.first, rank.last]
            head += [_shown(each.speed(rank)), _shown(each.fom(rank)), ""]
            writer.writerow(head + _cells({name: rank.summary(name) for name in MEASURES}))
        lines = sum(rank.lines for rank in each.timings)
        foms = [each.fom(rank) for rank in each.timings]
        total = sum(fom for fom in foms if fom is not None) if foms and None not in foms else None
        head = [_harmless(each.run.name), "all", lines, "", "", _shown(each.aggregate), _shown(total)]
        writer.writerow([*head, _shown(efficiency.get(id(each))), *_cells(each.pooled)])
    return text.getvalue()


def _harmless(name: str) -> str:
    """A name that a spreadsheet does not take for a formula."""
    return f"'{name}" if name.lstrip()[:1] in ("=", "+", "-", "@") else name


def _cells(summaries: dict[str, Summary | None]) -> list[str]:
    cells = []
    for name in MEASURES:
        found = summaries[name]
        if found is None:
            cells += [""] * len(_STATISTICS)
        else:
            cells += [str(found.count), *(_shown(each) for each in (found.mean, found.std, found.median))]
            cells += [_shown(found.quantiles[0.95]), _shown(found.maximum)]
    return cells


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"


def _run(result: Result, efficiency: float | None) -> dict[str, Any]:
    run = result.run
    return {
        "name": run.name,
        "form": "cosmictagger" if run.ours else "original",
        "ranks": len(result.timings),
        "ipus": result.ipus,
        "ranks_told_apart": run.inferred or ("by tag or file" if len(result.timings) > 1 else "one"),
        "images_per_step_and_rank": _finite(result.images.per_step),
        "images_known_from": result.images.how,
        "images_per_second": _finite(result.aggregate),
        "efficiency": _finite(efficiency),
        "job_seconds": _finite(result.job),
        "job_measured": result.job_from,
        "job_images_per_second": _finite(result.job_speed),
        "drift": _clean(asdict(result.drift)) if result.drift else None,
        "measures": {
            "step": "training step with validation",
            "train": "training step",
            "validation": "validation",
            "fetch": "fetching data",
            "update": result.update_name,
            "rest": result.rest_name,
        },
        "pooled": {name: _summary(found) for name, found in result.pooled.items()},
        "by_rank": [_rank(result, each) for each in result.timings],
        "settings": run.settings,
        "faults": [asdict(fault) for fault in result.faults],
    }


def _rank(result: Result, rank: Timing) -> dict[str, Any]:
    return {
        "rank": rank.number,
        "lines": rank.lines,
        "first_step": rank.first,
        "last_step": rank.last,
        "images_per_second": _finite(result.speed(rank)),
        "fom": _finite(result.fom(rank)),
        **{name: _summary(rank.summary(name)) for name in MEASURES},
    }


def _summary(found: Summary | None) -> dict[str, Any] | None:
    if found is None:
        return None
    values = asdict(found)
    quantiles = values.pop("quantiles")
    return _clean(values | {f"p{round(100 * each)}": value for each, value in quantiles.items()})


def _clean(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _finite(value) for name, value in values.items()}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
