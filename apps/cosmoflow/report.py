"""The report of a run: plots as PNG files, and one page that needs nothing else and reaches for nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from pathlib import Path

from cosmoflow import __version__
from cosmoflow.data.layout import Parameters
from tremula.atomic_files import atomic_path
from cosmoflow.evaluation import Predictions
from cosmoflow.plots import COLOURS, history_plot, residual_plot, truth_plot
from cosmoflow.scores import Figure, Score

_CSS = """
:root { color-scheme: light; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1f2933; background: #f5f7fa; }
main { max-width: 1120px; margin: 0 auto; padding: 2rem 1.25rem 3rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 0 0 .7rem; }
p { margin: .3rem 0 .8rem; max-width: 46rem; }
.lead { font-size: 1.05rem; }
.box { background: #fff; border: 1px solid #e4e7eb; border-radius: 8px; padding: 1.1rem 1.3rem; margin: 1.2rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .5rem; text-align: right; border-bottom: 1px solid #e4e7eb; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { font-size: .85rem; color: #52606d; font-weight: 600; }
tfoot td { font-weight: 600; border-bottom: 0; }
small { color: #616e7c; }
img { display: block; width: 100%; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 0; }
dt { color: #616e7c; } dd { margin: 0; overflow-wrap: anywhere; }
""" + "\n".join(f".c{i} {{ color: {colour}; }}" for i, colour in enumerate(COLOURS))


def write_report(
    folder: Path,
    found: Predictions,
    result: Score,
    parameters: Parameters,
    history: list[dict[str, float]],
    facts: Mapping[str, str],
) -> Path:
    """Write `truth.png`, `residuals.png`, `history.png` and `report.html`.

    Args:
        folder: where they go.
        found: the predictions.
        result: how good they are.
        parameters: names and units.
        history: a row for each validation while training.
        facts: what else to say of the run.

    Returns:
        The page.
    """
    plots: dict[str, tuple[str, str, bytes]] = {
        "truth": (
            "Prediction against truth",
            "Each point is a universe that the network never saw. Bars are the mean and the standard deviation of the "
            "predictions within a tenth of the range.",
            truth_plot(found, result, parameters),
        ),
        "residuals": (
            "Residuals",
            "Predicted minus true, in units in which each parameter goes from −1 to 1. A slope in the lower row means "
            "that the network plays safe: it pulls predictions to the middle.",
            residual_plot(found, result, parameters),
        ),
    }
    course = history_plot(history, result)
    if course is not None:
        plots["history"] = ("Training", "Mean absolute error on the validation samples.", course)
    for name, (_, _, picture) in plots.items():
        with atomic_path(folder / f"{name}.png") as draft:
            draft.write_bytes(picture)
    with atomic_path(folder / "report.html") as draft:
        draft.write_text(_page(result, parameters, plots, facts), encoding="utf-8")
    return folder / "report.html"


def _page(
    result: Score,
    parameters: Parameters,
    plots: Mapping[str, tuple[str, str, bytes]],
    facts: Mapping[str, str],
) -> str:
    style = base64.b64encode(hashlib.sha256(_CSS.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
    )
    figures = "\n".join(
        f'<section class="box"><h2>{escape(title)}</h2><p>{escape(text)}</p>'
        f'<img alt="{escape(title)}" src="data:image/png;base64,{base64.b64encode(picture).decode()}"></section>'
        for title, text, picture in plots.values()
    )
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    ratio = result.mae.value / result.baseline if result.baseline else float("nan")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>CosmoFlow report</title>
<style>{_CSS}</style>
</head>
<body>
<main>
<h1>CosmoFlow</h1>
<p class="lead">Four parameters of {result.samples:,} universes, read off their matter by a network. The mean absolute
error is <strong>{escape(str(result.mae))}</strong>, where each parameter goes from −1 to 1; always predicting the mean
gives {result.baseline:.4f}. That is {ratio:.0%} of it.</p>
<section class="box"><h2>Scores</h2>
<div class="scroll">{_table(result, parameters)}</div>
<p><small>± is the standard error from resampling the test universes (bootstrap). R² is the share of the variance that
is explained: 1 is perfect, 0 is no better than the mean.</small></p></section>
{figures}
<section class="box"><h2>Run</h2><dl>{listed}<dt>version</dt><dd>cosmoflow {__version__}</dd></dl></section>
</main>
</body>
</html>
"""


def _table(result: Score, parameters: Parameters) -> str:
    units = "<th>MAE, own units</th>" if parameters.physical else ""
    rows = []
    for i, score in enumerate(result.parameters):
        own = f"<td>{_cell(score.physical_mae)}</td>" if score.physical_mae is not None else ""
        rows.append(
            f'<tr><td><strong class="c{i}">{escape(score.name)}</strong></td><td>{_cell(score.mae)}</td>{own}'
            f"<td>{_cell(score.mse)}</td><td>{_cell(score.r2)}</td><td>{_cell(score.bias)}</td>"
            f"<td>{score.baseline:.4f}</td></tr>"
        )
    blank = "<td></td>" * (4 if parameters.physical else 3)
    return (
        f"<table><thead><tr><th>parameter</th><th>MAE</th>{units}<th>MSE</th><th>R²</th><th>bias</th>"
        f"<th>MAE of the mean</th></tr></thead><tbody>{''.join(rows)}</tbody><tfoot><tr><td>all</td>"
        f"<td>{_cell(result.mae)}</td>{blank}<td>{result.baseline:.4f}</td></tr></tfoot></table>"
    )


def _cell(figure: Figure | None) -> str:
    return "" if figure is None else f"{figure.value:.4f} <small>± {figure.error:.4f}</small>"
