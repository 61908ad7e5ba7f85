"""Pictures of events and the gallery."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from cosmictagger.data import SyntheticEvents
from cosmictagger.display.drawing import event_figure, png, summary_image, title
from cosmictagger.display.gallery import Shown, gallery
from cosmictagger.display.pixels import (
    CLASS_COLOURS,
    ERROR_COLOURS,
    GROUND,
    Images,
    class_picture,
    error_picture,
    iou,
    pooled,
    rgb,
)
from cosmictagger.display.run import show
from cosmictagger.main import main
from PIL import Image

SHAPE = (64, 32)


@pytest.fixture(scope="module")
def events() -> SyntheticEvents:
    return SyntheticEvents(2, 0, shape=SHAPE)


def test_classes_and_errors_have_their_colours() -> None:
    truth = np.array([[0, 1, 2, 2, 1, 0, 0]], np.uint8)
    guess = np.array([[0, 1, 2, 1, 0, 2, 1]], np.uint8)
    charge = np.array([[0, 1, 1, 1, 1, 1, 1]], np.float32)
    found = error_picture(truth, guess)[0]
    names = ["right", "right", "neutrino missed", "cosmic missed", "false neutrino", "false cosmic"]
    expected = [rgb(GROUND), *(rgb(ERROR_COLOURS[name]) for name in names)]
    assert (found == np.array(expected)).all()
    classes = class_picture(truth, charge)[0]
    kinds = [rgb(GROUND)] + [
        rgb(CLASS_COLOURS[name]) for name in ("cosmic", "neutrino", "neutrino", "cosmic")
    ]
    assert (classes[:5] == np.array(kinds)).all()
    assert (classes[5] == rgb(CLASS_COLOURS["noise"])).all()


def test_pooling_keeps_thin_tracks() -> None:
    plane = np.zeros((8, 2048), np.float32)
    plane[3, ::7] = 5
    small = pooled(plane)
    assert small.shape == (2, 512)
    assert small.max() == 5


def test_iou_is_the_mean_over_planes_and_one_where_there_is_nothing() -> None:
    truth = np.zeros((3, 2, 2), np.uint8)
    guess = truth.copy()
    truth[0, 0] = 2
    guess[0, 0, 0] = 2
    assert iou(truth, guess, 2) == pytest.approx((0.5 + 1 + 1) / 3)


def test_the_picture_of_an_event_names_it(events: SyntheticEvents) -> None:
    event = events[1]
    images = Images.of(event, None, 0)
    with_guess = Images.of(event, images.truth, 0)
    text = title(event, 1, with_guess)
    assert text.startswith("Event 1 ")
    assert "GeV" in text
    assert "neutrino IoU 1.00" in text
    assert "IoU" not in title(event, 1, images)
    figure = event_figure(event, with_guess, 1)
    labels = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert labels == ["charge", "truth", "prediction", "errors", "vertex: truth", "vertex: prediction"]
    assert {axes.get_xlabel() for axes in figure.axes} >= {"wire"}
    assert any("tick" in axes.get_ylabel() for axes in figure.axes)
    assert [text.get_text() for text in figure.legends[0].get_texts()][:3] == ["noise", "cosmic", "neutrino"]
    picture = Image.open(io.BytesIO(png(figure, 40)))
    assert picture.format == "PNG"
    assert picture.width > picture.height > 200


def test_an_event_without_truth_or_prediction_is_drawn_too(events: SyntheticEvents) -> None:
    from dataclasses import replace

    event = replace(events[0], labels=None, vertex=None, truth=None)
    figure = event_figure(event, Images.of(event, None, 0), 0)
    assert [axes.get_title() for axes in figure.axes if axes.get_title()] == ["charge"]
    assert png(figure, 40)


def test_a_prediction_of_another_size_is_refused(events: SyntheticEvents) -> None:
    with pytest.raises(ValueError, match="shape"):
        Images.of(events[0], np.zeros((3, 4, 4), np.uint8), 0)


def test_the_summary_image_shows_truth_above_prediction(events: SyntheticEvents) -> None:
    classes = np.zeros((3, SHAPE[1], SHAPE[0]), np.uint8)
    picture = summary_image(events[0], classes, 0)
    assert picture.shape == (2 * SHAPE[1], 3 * SHAPE[0], 3)
    neutrino = (picture == rgb(CLASS_COLOURS["neutrino"])).all(axis=2)
    assert neutrino[: SHAPE[1]].any()
    assert not neutrino[SHAPE[1] :].any()


class _Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_gallery_needs_nothing_and_runs_nothing(events: SyntheticEvents) -> None:
    shown = [show(events[each], each, Images.of(events[each], None, 0).truth, 0, dpi=40) for each in (1, 0)]
    text = gallery("Run <script>alert(1)</script>", ["about & so on"], {"Average/mIoU": "0.5"}, shown)
    page = _Page(text)
    assert not any(tag == "script" for tag, _ in page.tags)
    (policy,) = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:; ")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    assert base64.b64encode(hashlib.sha256(style.group(1).encode()).digest()).decode() in policy
    sources = [a["src"] for tag, a in page.tags if tag == "img"]
    assert len(sources) == 2
    assert all(source is not None and source.startswith("data:image/png;base64,") for source in sources)
    assert "http://" not in text
    assert "https://" not in text
    links = [a["href"] for tag, a in page.tags if tag == "a"]
    assert links == ["#event-1", "#event-0"]
    assert "Average/mIoU" in text


def test_an_event_name_cannot_break_the_page() -> None:
    text = gallery("t", [], {}, [Shown(0, '"><img src=x onerror=y>', b"", {"IoU": 0.1})])
    assert "<img src=x" not in text


def test_display_draws_chosen_and_worst_events(tmp_path: Path) -> None:
    tiny = ["data.wires=32", "data.ticks=32", "data.downsample=0", "data.events=4", "data.aux_events=3"]
    tiny += ["network=demo", "network.depth=1", "network.n_initial_filters=2", "network.bottleneck_deepest=2"]
    tiny += ["run.compute_mode=CPU", f"output_dir={tmp_path}"]
    folder = tmp_path / "torch" / "demo" / "run" / "display"
    assert main([*tiny, "mode=display", "mode.events=2", "mode.dpi=40"]) == 0
    assert [path.name for path in folder.glob("*.png")] == ["event_00002.png"]
    assert "no weights yet" in (folder / "gallery.html").read_text()
    quick = ["run.iterations=1", "run.aux_iterations=0", "mode.summary_iteration=0"]
    assert main([*tiny, *quick]) == 0
    assert main([*tiny, "mode=display", "mode.worst=2", "mode.dpi=40"]) == 0
    assert "worst first" in (folder / "gallery.html").read_text()
    assert main([*tiny, "mode=display", "mode.events=9"]) == 2
