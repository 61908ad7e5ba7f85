"""Inference: predictions of a trained network for the test samples, with a report of how good they are."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosmoflow import checkpoints
from cosmoflow.data.generate import physical
from cosmoflow.data.layout import Parameters
from cosmoflow.data.sources import needed, parameters_of, source_of
from tremula.atomic_files import atomic_path
from cosmoflow.evaluation import Predictions, predict
from cosmoflow.on_device import EvaluatedModel, load_weights
from cosmoflow.processes import Processes
from cosmoflow.report import write_report
from cosmoflow.scores import Score, score
from cosmoflow.settings import Config, ConfigError


def infer(
    config: Config,
    processes: Processes,
    folder: Path,
    tell: Callable[[str], None] = print,
    *,
    asked: bool = True,
) -> Score | None:
    """Predict the test samples, and write `predictions.csv`, `scores.json`, plots and `report.html`.

    Args:
        config: the settings.
        processes: the processes of the run.
        folder: where files go.
        tell: what to do with a line.
        asked: whether it is an error that there are no test samples.
    """
    source = needed(config, "test", processes) if asked else source_of(config, "test", processes)
    if source is None:
        return None
    path = Path(config.inference.checkpoint or folder / "checkpoints" / checkpoints.BEST)
    if asked and config.inference.checkpoint is None and not path.is_file():
        raise ConfigError(
            f"There is no trained network in {folder} ({path.name} is missing): train one with mode=train, or name a "
            "checkpoint with inference.checkpoint=FILE."
        )
    state = checkpoints.load(path)
    model = EvaluatedModel(config, processes)
    load_weights(model.network, state)
    found = predict(
        model,
        source,
        processes,
        batch=config.inference.batch or config.device.batch,
        workers=config.data.workers,
        ahead=config.data.ahead,
    )
    model.release()
    if not processes.first:
        return None
    parameters = parameters_of(config, source)
    result = score(found, parameters, resamplings=config.inference.bootstrap, seed=config.seed)
    for line in result.lines():
        tell(line)
    _write_predictions(folder / "predictions.csv", found, parameters)
    with atomic_path(folder / "scores.json") as draft:
        draft.write_text(json.dumps(result.as_dict(), indent=1) + "\n", encoding="utf-8")
    facts = {
        "network": f"{config.network.variant}, {config.variant.size}³ × 4",
        "precision": config.device.precision,
        "updates": f"{state['step']:,}",
        "test samples": f"{result.samples:,} ({config.data.source})",
        "checkpoint": str(path),
    }
    page = write_report(folder, found, result, parameters, state["history"], facts)
    tell(f"Report: {page}")
    return result


def _write_predictions(path: Path, found: Predictions, parameters: Parameters) -> None:
    columns: dict[str, NDArray[Any]] = {"sample": np.arange(len(found.truth))}
    for i, name in enumerate(parameters.names):
        columns[f"{name} true"], columns[f"{name} predicted"] = found.truth[:, i], found.predicted[:, i]
    if parameters.physical:
        truth, predicted = physical(found.truth, parameters), physical(found.predicted, parameters)
        for i, name in enumerate(parameters.names):
            columns[f"{name} true (own units)"] = truth[:, i]
            columns[f"{name} predicted (own units)"] = predicted[:, i]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([f"{value:.7g}" for value in row] for row in zip(*columns.values(), strict=True))
    with atomic_path(path) as draft:
        draft.write_text(text.getvalue(), encoding="utf-8")
