"""A study as one self-contained page; tremula.view.single_file describes the restrictions of such pages.

Figures go as numbers, texts as plain ones of bounded length; the script puts them on the page as text only.
"""

from __future__ import annotations

import os
from typing import Any

from tremula.invariants import present
from tremula.scale import sentences as words
from tremula.scale.data_rate import limits
from tremula.scale.row import Layout, Measured, Row, ScalingStudy
from tremula.scale.sentences import named
from tremula.step_parts import DATA, STEP_PARTS
from tremula.study.table import unequal
from tremula.view.single_file import save_page, single_file

_VIEW, _HERE = "tremula.view", "tremula.scale"
#: figures that the page shows
_FIGURES = (
    "throughput", "fed_throughput", "step_seconds", "efficiency", "tile_share", "ipu_bytes", "energy_per_sample",
)  # fmt: skip
_LEADS = {
    "weak": "Every IPU keeps its share of the batch, so the global batch grows with the IPUs.",
    "strong": "The global batch stays the same, so each IPU has less work the more IPUs there are.",
}
#: characters of a text
_LONG = 2_000


def page_html(study: ScalingStudy) -> str:
    """The whole page."""
    return single_file(
        (_HERE, "scale.html"),
        title=named(study.name, 80),
        styles=[(_VIEW, "page.css"), (_HERE, "scale.css")],
        scripts=[
            (_HERE, "elements.js"),
            (_HERE, "charts.js"),
            (_HERE, "sizes.js"),
            (_HERE, "scale.js"),
            (_HERE, "study.js"),
        ],
        data=page_data(study),
    )


def write_page(study: ScalingStudy, path: str | os.PathLike[str]) -> int:
    """Write the page to `path`, whole or not at all; gives its size in bytes.

    Raises Error if it cannot be written.
    """
    return save_page(page_html(study), path)


def page_data(study: ScalingStudy) -> dict[str, Any]:
    """What the script draws."""
    begins = {(limit.mode, limit.target): limit.ipus for limit in limits(study.series(), study.data)}
    series = [
        {
            "mode": named(mode, 20),
            "target": named(target, 60) or "this machine",
            "title": words.capitalized(words.series_title(mode, target)),
            "lead": _LEADS.get(mode, ""),
            "limit": begins.get((mode, target)),
            "rows": [_row(row) for row in sorted(rows, key=lambda row: row.ipus)],
        }
        for mode, target, rows in study.series()
    ]
    data = study.data
    return {
        "name": named(study.name),
        "headline": words.headline(study),
        "command": named(study.command, _LONG),
        "date": named(study.date, 20),
        "tremula": named(study.tremula, 40),
        "model": named(study.model_version, 40),
        "banner": f"{words.BANDS} {unequal(study.rows)}".strip(),
        "per": "weight update" if study.training else "call",
        "step": "weight update" if study.training else "micro-batch",
        "turns": "accumulation" if study.training else "device iterations",
        "parts": [[part.key, part.title, part.colour] for part in (*STEP_PARTS, DATA)],
        "series": series,
        "data": None if data is None else {"rate": data.samples_per_second, "about": _data_about(study)},
        "limits": words.data_limits(study),
        "measured": None if study.measured is None else _measured(study.measured),
        "assumptions": [named(each, _LONG) for each in study.assumptions],
    }


def _data_about(study: ScalingStudy) -> str:
    data = present(study.data, "the rate of the data")
    workers = "" if data.workers is None else f", {data.workers} worker process{'es' * (data.workers != 1)}"
    how = f": {named(data.how, 400)}" if data.how else ""
    return f"One host: {data.samples_per_second:,.4g} samples/s, {named(data.origin, 40)}{workers}{how}."


def _row(row: Row) -> dict[str, Any]:
    figures = {
        name: [figure.value, figure.low, figure.high, named(figure.unit, 40)]
        for name in _FIGURES
        if (figure := row.figure(name)) is not None
    }
    return {
        "ipus": max(1, row.ipus),  # a file may say anything; the axis is logarithmic
        "system": named(str(row.setting.get("system", "")), 60),
        "replicas": row.replicas,
        "stages": row.stages,
        "batch": list(words.batch(row)),
        "hosts": row.hosts,
        "fits": named(row.fits, 20),
        "runs": row.runs,
        "figures": figures,
        "parts": {part: max(0.0, seconds) for part, seconds in row.parts.items()},
        "layouts": [_layout(each) for each in row.layouts],
        "notes": [named(note, _LONG) for note in row.notes],
        "problem": named(row.problem, _LONG),
    }


def _layout(layout: Layout) -> dict[str, Any]:
    return {
        "replicas": layout.replicas,
        "stages": layout.stages,
        "turns": layout.accumulation,
        "fits": named(layout.fits, 20),
        "rate": layout.throughput,
        "tile": layout.tile_share,
        "begins": [named(each, 200) for each in layout.begins],
        "chosen": layout.chosen,
        "own": layout.own,
        "problem": named(layout.problem, _LONG),
    }


def _measured(measured: Measured) -> dict[str, Any]:
    return {
        "about": words.MEASURED,
        "program": named(measured.program, 400),
        "threads": measured.threads,
        "problems": [named(each, _LONG) for each in measured.problems],
        "runs": [
            {
                "instances": run.instances,
                "seconds": run.seconds_per_step,
                "rate": run.samples_per_second,
                "steps": run.steps,
                "samples": run.samples_per_step,
                "spread": run.spread,
                "deviation": run.deviation,
                "tolerance": run.tolerance,
                "equivalent": run.equivalent,
                "verdict": words.verdict(run),
                "note": named(run.note, 400),
            }
            for run in measured.runs
        ],
    }
