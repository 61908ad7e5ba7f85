"""mode=display: pictures of chosen or of the worst events, and a gallery of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tremula.atomic_files import atomic_open_binary

from cosmictagger.config.groups import Config
from cosmictagger.config.keys import ConfigError
from cosmictagger.data import EventDataset
from cosmictagger.data.events import COSMIC, NEUTRINO, Event
from cosmictagger.display.drawing import event_figure, png
from cosmictagger.display.gallery import Shown, gallery, write_gallery
from cosmictagger.display.pixels import Images, iou
from cosmictagger.training import building
from cosmictagger.training.evaluation import batches, evaluation, weights_of
from cosmictagger.training.inference import checkpoint_path
from cosmictagger.training.ranks import Ranks

_FLAVOURS = {"nu_e": "νₑ", "nu_mu": "νμ", "nu_tau": "ντ"}


def run_display(
    config: Config, ranks: Ranks, folder: Path, logger: logging.Logger, events: building.Events
) -> None:
    """Draw events, as the configuration says. Process 0 does it."""
    if not ranks.first:
        return
    mode, dataset = config.mode, events.unseen
    path = checkpoint_path(config, folder)
    wanted = _wanted(config, len(dataset), path is not None)
    predictions: dict[int, NDArray[np.uint8]] = {}
    if path is not None:
        predictions = predict(config, path, dataset, wanted)
        if not mode.events:
            wanted = worst(dataset, predictions, mode.worst)
    numbers = {each: int(dataset.events[each]) for each in wanted}
    shown = [
        show(
            dataset.source.read(numbers[each]),
            numbers[each],
            predictions.get(each),
            config.data.downsample,
            zoom=mode.zoom,
            dpi=mode.dpi,
        )
        for each in wanted
    ]
    target = folder / "display"
    for event in shown:
        with atomic_open_binary(target / f"event_{event.number:05d}.png") as file:
            file.write(event.picture)
    order = "worst first" if predictions and not mode.events else "as chosen"
    about = [
        f"Network {config.network.name}, run {config.run.id}"
        + (f", weights of {path.name}" if path is not None else ": no weights yet, so no predictions")
    ]
    page = folder / "display" / "gallery.html"
    write_gallery(page, gallery(f"CosmicTagger: {config.run.id}", about, {}, shown, order))
    logger.info(f"Drew {len(shown)} events: {page}")


def _wanted(config: Config, count: int, predicted: bool) -> list[int]:
    mode = config.mode
    if mode.events:
        beyond = [each for each in mode.events if each >= count]
        if beyond:
            raise ConfigError(
                f"mode.events: there is no event {beyond[0]}; the {count} events are numbered from 0."
            )
        return list(mode.events)
    if not predicted:
        return list(range(min(mode.worst, count)))
    return list(range(min(mode.search, count) if mode.search else count))


def predict(
    config: Config, path: Path, dataset: EventDataset, positions: Sequence[int]
) -> dict[int, NDArray[np.uint8]]:
    """Predicted classes of events, by position. This process does it alone."""
    weights, _ = weights_of(path, config)
    model = evaluation(config, building.network(config), Ranks.of(config), "none", labels=True)
    model.load(weights)
    found: list[NDArray[np.uint8]] = []
    for (image, label, _), real in batches(dataset, positions, model.combined, config.data.workers):
        _, _, classes = model.evaluate(image, label)
        found += list(classes[:real].numpy())
    model.release()
    return dict(zip(positions, found, strict=True))


def worst(dataset: EventDataset, predictions: Mapping[int, NDArray[np.uint8]], count: int) -> list[int]:
    """Positions of the events with the smallest mean of cosmic and neutrino IoU, the worst first."""
    scores = {}
    for position, classes in predictions.items():
        truth = dataset[position][1].numpy()
        scores[position] = iou(truth, classes, COSMIC) + iou(truth, classes, NEUTRINO)
    return sorted(scores, key=lambda each: (scores[each], each))[:count]


def show(
    event: Event,
    number: int,
    classes: NDArray[np.uint8] | None,
    downsample: int,
    *,
    zoom: int = 256,
    dpi: int = 110,
) -> Shown:
    """An event with its picture and metrics."""
    images = Images.of(event, classes, downsample)
    scores = {}
    if classes is not None and images.truth is not None:
        scores = {
            "cosmic IoU": iou(images.truth, classes, COSMIC),
            "neutrino IoU": iou(images.truth, classes, NEUTRINO),
        }
        for plane in range(3):
            one = slice(plane, plane + 1)
            scores[f"neutrino, plane {plane}"] = iou(images.truth[one], classes[one], NEUTRINO)
    name = f"event {number}"
    if event.truth is not None:
        flavour = _FLAVOURS.get(event.truth.flavour or "", "no neutrino")
        name += f", {flavour} {event.truth.current or ''}".rstrip() + f", {event.truth.energy:.2f} GeV"
    return Shown(number, name, png(event_figure(event, images, number, zoom=zoom), dpi), scores)
