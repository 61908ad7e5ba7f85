"""mode=inference: all events once, a report of all metrics with uncertainties, predictions as sparse HDF5."""

from __future__ import annotations

import csv
import io
import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from cosmictagger.config.groups import Config
from cosmictagger.config.keys import ConfigError
from cosmictagger.data import EventDataset, PredictionWriter, at_voxels
from cosmictagger.data.dense import vertex_pixels
from cosmictagger.metrics import summary
from cosmictagger.metrics.on_device import SCORE_BINS
from cosmictagger.metrics.report import Report, make_report
from cosmictagger.metrics.summary import Totals
from cosmictagger.training import building
from cosmictagger.training.checkpoints import Checkpoints
from tremula.atomic_files import write_text_atomically
from cosmictagger.training.evaluation import MeanLoss, batches, evaluation, weights_of
from cosmictagger.training.logs import LOGGED
from cosmictagger.training.ranks import Ranks


def checkpoint_path(config: Config, folder: Path) -> Path | None:
    """The checkpoint whose weights are used, or None if the run has none."""
    if config.mode.weights_location:
        return Path(config.mode.weights_location).expanduser()
    return Checkpoints(folder / "checkpoints").for_inference()


@dataclass
class _Found:
    """What is known of each event; those of other processes are zero until all are summed."""

    counts: NDArray[np.float64]
    scores: NDArray[np.float64]
    vertex: NDArray[np.float64]
    loss: float = 0.0

    @classmethod
    def nothing(cls, events: int) -> _Found:
        return cls(
            np.zeros((events, 3, 3, 3)), np.zeros((events, 3, 3, SCORE_BINS)), np.zeros((events, 3, 2))
        )

    def of_all(self, ranks: Ranks) -> _Found:
        def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.array(ranks.sums(values.ravel())).reshape(values.shape)

        # a sum with NaN in it would be NaN on all, which is right: each event belongs to one process
        return _Found(
            summed(self.counts), summed(self.scores), summed(self.vertex), ranks.sums([self.loss])[0]
        )


def run_inference(
    config: Config, ranks: Ranks, folder: Path, logger: logging.Logger, events: building.Events
) -> Report:
    """Run over the events and write everything down: inference.json, inference.csv, predictions.h5, gallery.html."""
    mode, dataset = config.mode, events.unseen
    path = checkpoint_path(config, folder)
    if path is None:
        raise ConfigError(f"{folder} has no checkpoint: train the run first, or set mode.weights_location.")
    weights, step = weights_of(path, config)
    logger.info(f"Weights of {path} (step {step})")
    count = min(mode.events, len(dataset)) if mode.events else len(dataset)
    local, predictions = _evaluate(config, ranks, folder, logger, dataset, weights, count)
    found = local.of_all(ranks)
    if predictions is not None:
        logger.info(f"Predictions: {predictions}")
    truths = [dataset.source.read(int(dataset.events[each])) for each in range(count)] if ranks.first else []
    if not ranks.first:
        return make_report(found.counts, bootstrap=0)
    report = make_report(
        found.counts,
        energies=[np.nan if event.truth is None else event.truth.energy for event in truths],
        categories=[None if event.truth is None else event.truth.category for event in truths],
        scores=found.scores,
        vertex_distances=_distances(found.vertex, truths, config.data.downsample),
        bootstrap=mode.bootstrap,
        seed=config.run.seed,
    )
    for line in lines(report, found.loss / count):
        logger.info(line)
    about = {"checkpoint": str(path), "step": step, "loss": found.loss / count}
    write_text_atomically(folder / "inference.json", json.dumps(about | report.to_plain(), indent=2) + "\n")
    write_text_atomically(folder / "inference.csv", _table(found.counts, truths, dataset))
    if mode.gallery:
        logger.info(f"Gallery: {_gallery(config, folder, found.counts, dataset, report, path)}")
    return report


def _evaluate(
    config: Config,
    ranks: Ranks,
    folder: Path,
    logger: logging.Logger,
    dataset: EventDataset,
    weights: dict[str, torch.Tensor],
    count: int,
) -> tuple[_Found, Path | None]:
    """What is found in the events of this process, and the file with its predictions."""
    mode, mine = config.mode, list(range(count))[ranks.index :: ranks.count]
    with_shares = mode.predictions and mode.probabilities
    model = evaluation(
        config,
        building.network(config),
        ranks,
        mode.loss_balance_scheme,
        scores=True,
        vertex=True,
        labels=mode.predictions,
        probabilities=with_shares,
    )
    model.load(weights)
    found, done, mean = _Found.nothing(count), 0, MeanLoss()
    name = "predictions.h5" if ranks.count == 1 else f"predictions_rank_{ranks.index}.h5"
    writer = PredictionWriter(folder / name, probabilities=with_shares) if mode.predictions and mine else None
    source = batches(dataset, mine, model.combined, config.data.workers) if mine else iter(())
    groups = -(-len(mine) // model.combined)
    bar = tqdm(source, desc="Inference", unit="batch", total=groups, disable=not config.run.progress)
    try:
        for number, ((image, label, index), real) in enumerate(bar):
            begin = time.perf_counter()
            counts, loss, scores, vertex, *rest = model.evaluate(image, label)
            seconds = time.perf_counter() - begin
            here = mine[done : done + real]
            found.counts[here] = counts[:real].float().numpy()
            found.scores[here] = scores[:real].float().numpy()
            found.vertex[here] = vertex[:real].float().numpy()
            mean.add(loss, real == model.combined)
            done += real
            if writer is not None:
                _predict(writer, config, dataset, index[:real].tolist(), rest)
            if mode.logging_iteration and number % mode.logging_iteration == 0:
                metrics = Totals.of(counts[:real].float().numpy(), float(loss.float().mean())).metrics()
                shown = ", ".join(f"{each}: {metrics[each]:.3}" for each in LOGGED)
                logger.info(f"inference Step {number} metrics: {shown} ({real / seconds:.3g} Img/s)")
    except BaseException:
        if writer is not None:
            writer.discard()
        raise
    model.release()
    found.loss = mean.value * len(mine)
    if writer is None:
        return found, None
    writer.close()
    return found, writer.path


def _predict(
    writer: PredictionWriter,
    config: Config,
    dataset: EventDataset,
    numbers: list[int],
    rest: list[torch.Tensor],
) -> None:
    downsample = config.data.downsample
    for place, number in enumerate(numbers):
        event = dataset.source.read(number)
        classes = at_voxels(event, rest[0][place].numpy(), downsample)
        shares = at_voxels(event, rest[1][place].float().numpy(), downsample) if len(rest) > 1 else None
        writer.write(event, classes, shares)


def _distances(vertex: NDArray[np.float64], truths: list, downsample: int) -> NDArray[np.float64]:
    """From the predicted vertex to the true one, in pixels of the images."""
    places = [vertex_pixels(event, downsample) for event in truths]
    true = np.array([np.full((3, 2), np.nan) if place is None else place for place in places])
    return np.linalg.norm(vertex - true, axis=2)


def lines(report: Report, loss: float) -> list[str]:
    """The report as text."""
    found = [
        f"Inference report over {report.events} events (in brackets: 68 % interval from resampled events)"
    ]
    found.append(f"  {'loss':<30} {loss:.4f}")
    found += [f"  {name:<30} {value}" for name, value in report.metrics.items()]
    for low, high, count, ious in report.by_energy:
        if count:
            found.append(f"  {f'{low:g} to {high:g} GeV: {count} events':<30} {_ious(ious)}")
    for name, (count, ious) in report.by_category.items():
        if count:
            found.append(f"  {f'{name}: {count} events':<30} {_ious(ious)}")
    if report.curve is not None and np.isfinite(report.curve.area):
        found.append(f"  {'rejection vs retention, area':<30} {report.curve.area:.4f}")
    found += [f"  {f'vertex, {name}':<30} {value}" for name, value in report.vertex.items()]
    return found


def _ious(ious: dict) -> str:
    kinds = ("Average/Cosmic_IoU", "Average/Neutrino_IoU")
    return ", ".join(f"{each.removeprefix('Average/')} {ious[each]}" for each in kinds if each in ious)


def _table(counts: NDArray[np.float64], truths: list, dataset: EventDataset) -> str:
    """One row for each event, as CSV."""
    ious = summary.iou(counts)
    columns = {
        "Total_Accuracy": summary.accuracy(counts),
        "Non_Bkg_Accuracy": summary.non_background_accuracy(counts),
        "Cosmic_IoU": ious[..., summary.COSMIC],
        "Neutrino_IoU": ious[..., summary.NEUTRINO],
    }
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["number", "run", "subrun", "event", "category", "energy_gev", *columns])
    means = [summary.mean_of_defined(values, axis=1) for values in columns.values()]
    for position, event in enumerate(truths):
        truth = event.truth
        known = ["", ""] if truth is None else [truth.category or "", f"{truth.energy:.4f}"]
        row = [f"{float(each[position]):.6g}" for each in means]
        writer.writerow([int(dataset.events[position]), *event.event_id, *known, *row])
    return text.getvalue()


def _gallery(
    config: Config,
    folder: Path,
    counts: NDArray[np.float64],
    dataset: EventDataset,
    report: Report,
    path: Path,
) -> Path:
    from cosmictagger.display.gallery import gallery, write_gallery
    from cosmictagger.display.run import predict, show

    scores = summary.iou(counts)[..., 1:].mean(axis=(1, 2))
    positions = [int(each) for each in np.argsort(scores, kind="stable")[: config.mode.gallery]]
    predictions = predict(config, path, dataset, positions)
    numbers = {each: int(dataset.events[each]) for each in positions}
    shown = [
        show(
            dataset.source.read(numbers[each]),
            numbers[each],
            predictions[each],
            config.data.downsample,
            dpi=90,
        )
        for each in positions
    ]
    about = [f"Network {config.network.name}, weights of {path.name}, {report.events} events."]
    page = folder / "gallery.html"
    metrics = {name: str(value) for name, value in report.metrics.items() if not name.startswith("plane")}
    write_gallery(page, gallery(f"CosmicTagger: {config.run.id}", about, metrics, shown))
    return page
