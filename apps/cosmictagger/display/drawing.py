"""The display of one event: charge, truth, prediction and errors of three planes, and a zoom on the vertex."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from cosmictagger.data.events import COSMIC, NEUTRINO, Event
from cosmictagger.display.pixels import (
    CLASS_COLOURS,
    ERROR_COLOURS,
    GROUND,
    Images,
    class_picture,
    error_picture,
    iou,
    pooled,
)

_TEXT, _FAINT = "#e8ecf3", "#8b95a7"
_FLAVOURS = {"nu_e": r"$\nu_e$", "nu_mu": r"$\nu_\mu$", "nu_tau": r"$\nu_\tau$"}
#: from a visible violet on, so that the smallest charge stands out from the ground
_LIGHT = ListedColormap(colormaps["inferno"](np.linspace(0.14, 1.0, 256)), name="light")
#: inches left of the first panel
_MARGIN = 1.0
_PLANES = ("plane 0", "plane 1", "plane 2")


def title(event: Event, number: int, images: Images) -> str:
    """The name of an event, its neutrino, and how well it was found."""
    parts = [f"Event {number}"]
    if max(event.event_id) >= 0:
        parts.append("run {}, subrun {}, event {}".format(*event.event_id))
    if event.truth is not None:
        flavour = _FLAVOURS.get(event.truth.flavour or "", "no neutrino")
        parts.append(f"{flavour} {event.truth.current or ''}".strip())
        parts.append(f"{event.truth.energy:.2f} GeV")
    if images.truth is not None and images.prediction is not None:
        parts.append(f"cosmic IoU {iou(images.truth, images.prediction, COSMIC):.2f}")
        parts.append(f"neutrino IoU {iou(images.truth, images.prediction, NEUTRINO):.2f}")
    return "   ·   ".join(parts)


def event_figure(event: Event, images: Images, number: int, *, zoom: int = 256) -> Figure:
    """The whole display.

    Args:
        event: the event.
        images: its images.
        number: its place in the data.
        zoom: side of the square around the vertex, in wires and ticks.
    """
    columns = _columns(images)
    zooms = _columns(images, zoomed=True) if _zoomable(images) else []
    widths = [1.6] * len(columns) + [1.0] * len(zooms)
    height = 2.45
    figure = Figure(figsize=(sum(widths) * height + _MARGIN + 0.15, 3 * height + 1.75), facecolor=GROUND)
    FigureCanvasAgg(figure)
    inch = 1 / figure.get_figheight()
    grid = figure.add_gridspec(
        3,
        len(widths),
        width_ratios=widths,
        left=_MARGIN / figure.get_figwidth(),
        right=1 - 0.15 / figure.get_figwidth(),
        top=1 - 1.0 * inch,
        bottom=0.85 * inch,
        wspace=0.09,
        hspace=0.09,
    )
    for plane in range(3):
        window = _window(images, plane, zoom)
        for column, (name, draw) in enumerate([*columns, *zooms]):
            axes = figure.add_subplot(grid[plane, column])
            zoomed = column >= len(columns)
            _frame(axes, images, plane, name, first=column == 0, zoomed=zoomed)
            if zoomed and window is None:
                axes.text(
                    0.5, 0.5, "no vertex", color=_FAINT, ha="center", va="center", transform=axes.transAxes
                )
                axes.set_xticks([])
                axes.set_yticks([])
                continue
            draw(axes, plane)
            _mark(axes, images, plane, window, zoomed)
    figure.text(
        _MARGIN / figure.get_figwidth(),
        1 - 0.3 * inch,
        title(event, number, images),
        color=_TEXT,
        fontsize=15,
        va="center",
        weight="bold",
    )
    _legend(figure, images)
    _colour_bar(figure, grid, images)
    return figure


def _norm(images: Images) -> LogNorm:
    """From the smallest charge to the greatest, over four decades at most."""
    seen = images.charge[images.charge > 0]
    top = float(seen.max()) if seen.size else 1.0
    least = max(float(seen.min()) if seen.size else 0.1, top / 1e4)
    return LogNorm(least, max(top, 10 * least))


def _colour_bar(figure: Figure, grid: Any, images: Images) -> None:
    """The scale of the charge, below its column."""
    place = grid[2, 0].get_position(figure)
    inch = 1 / figure.get_figheight()
    axes = figure.add_axes((place.x0, 0.27 * inch, place.width * 0.62, 0.09 * inch))
    bar = figure.colorbar(ScalarMappable(_norm(images), _LIGHT), cax=axes, orientation="horizontal")
    bar.outline.set_visible(False)
    bar.ax.minorticks_off()
    bar.ax.tick_params(colors=_FAINT, labelsize=8, length=2, pad=2)
    bar.ax.text(1.04, 0.5, "charge", color=_FAINT, fontsize=9, va="center", transform=bar.ax.transAxes)


def _columns(images: Images, zoomed: bool = False) -> list[tuple[str, Callable[[Any, int], None]]]:
    extent = (0, images.shape[0], 0, images.shape[1])
    whole: Callable[[NDArray], NDArray] = (lambda plane: plane) if zoomed else pooled
    norm = _norm(images)

    def charge(axes: Any, plane: int) -> None:
        light = np.ma.masked_less(whole(images.charge[plane]), 1e-6)
        axes.imshow(
            light,
            cmap=_LIGHT,
            norm=norm,
            extent=extent,
            origin="lower",
            aspect="auto",
            interpolation="nearest",
        )

    def classes(of: NDArray[np.uint8]) -> Callable[[Any, int], None]:
        def draw(axes: Any, plane: int) -> None:
            picture = class_picture(whole(of[plane]), whole(images.charge[plane]))
            axes.imshow(picture, extent=extent, origin="lower", aspect="auto", interpolation="nearest")

        return draw

    def errors(axes: Any, plane: int) -> None:
        assert images.truth is not None
        assert images.prediction is not None
        picture = error_picture(whole(images.truth[plane]), whole(images.prediction[plane]))
        axes.imshow(picture, extent=extent, origin="lower", aspect="auto", interpolation="nearest")

    found: list[tuple[str, Callable[[Any, int], None]]] = [("charge", charge)] if not zoomed else []
    if images.truth is not None:
        found.append(("truth", classes(images.truth)))
    if images.prediction is not None:
        found.append(("prediction", classes(images.prediction)))
        if images.truth is not None and not zoomed:
            found.append(("errors", errors))
    if zoomed:
        found = [("charge", charge), *found] if images.prediction is None else found
        return [(f"vertex: {name}", draw) for name, draw in found]
    return found


def _zoomable(images: Images) -> bool:
    return images.vertex is not None and bool(np.isfinite(images.vertex).all(axis=1).any())


def _window(images: Images, plane: int, zoom: int) -> tuple[float, float, float] | None:
    """Left, bottom and side of the square around the vertex, inside the plane."""
    if images.vertex is None or not np.isfinite(images.vertex[plane]).all():
        return None
    side = float(min(zoom, *images.shape))
    wire, tick = (float(each) for each in images.vertex[plane])
    left = min(max(wire - side / 2, 0.0), images.shape[0] - side)
    bottom = min(max(tick - side / 2, 0.0), images.shape[1] - side)
    return left, bottom, side


def _mark(
    axes: Any, images: Images, plane: int, window: tuple[float, float, float] | None, zoomed: bool
) -> None:
    if window is None:
        return
    left, bottom, side = window
    assert images.vertex is not None
    if zoomed:
        axes.set_xlim(left, left + side)
        axes.set_ylim(bottom, bottom + side)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(4, integer=True, prune="both"))
        wire, tick = images.vertex[plane]
        axes.plot([wire], [tick], marker="+", markersize=13, markeredgewidth=1.2, color="#ffffff", alpha=0.9)
    else:
        axes.add_patch(
            Rectangle((left, bottom), side, side, fill=False, edgecolor="#ffffff", linewidth=0.8, alpha=0.65)
        )


def _frame(axes: Any, images: Images, plane: int, name: str, *, first: bool, zoomed: bool) -> None:
    axes.set_facecolor(GROUND)
    for spine in axes.spines.values():
        spine.set_color("#2a3140")
    axes.tick_params(colors=_FAINT, labelsize=8, length=3, color="#2a3140")
    axes.set_xlim(0, images.shape[0])
    axes.set_ylim(0, images.shape[1])
    if plane == 0:
        axes.set_title(name, color=_TEXT, fontsize=12, pad=7)
    if plane == 2:
        axes.set_xlabel("wire", color=_FAINT, fontsize=10)
    elif not zoomed:
        axes.tick_params(labelbottom=False)
    else:
        axes.tick_params(labelbottom=False, labelleft=False)
    if first:
        axes.set_ylabel(f"{_PLANES[plane]}\ntick", color=_FAINT, fontsize=10)
    else:
        axes.tick_params(labelleft=False)


def _legend(figure: Figure, images: Images) -> None:
    def entries(colours: dict[str, str]) -> list[Line2D]:
        return [
            Line2D([], [], marker="s", markersize=9, linestyle="", color=colour, label=name)
            for name, colour in colours.items()
        ]

    handles = entries(CLASS_COLOURS)
    if images.prediction is not None and images.truth is not None:
        handles += entries({name: colour for name, colour in ERROR_COLOURS.items() if name != "right"})
    if _zoomable(images):
        handles.append(
            Line2D([], [], marker="+", markersize=11, linestyle="", color="#ffffff", label="true vertex")
        )
    figure.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1 - 0.1 / figure.get_figwidth(), 0.0),
        ncols=len(handles),
        frameon=False,
        labelcolor=_TEXT,
        fontsize=10,
        handletextpad=0.2,
        columnspacing=1.8,
    )


def png(figure: Figure, dpi: int = 110) -> bytes:
    """A figure as the bytes of a PNG file, without the date: the same event gives the same bytes."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi, facecolor=GROUND, metadata={"Software": None})
    return out.getvalue()


def summary_image(event: Event, classes: NDArray[np.uint8], downsample: int) -> NDArray[np.uint8]:
    """Truth above, prediction below, planes side by side: [height, width, 3] bytes, for TensorBoard."""
    images = Images.of(event, classes, downsample)
    assert images.truth is not None
    # the first row of a picture is at the top, the first tick at the bottom
    rows = [
        np.concatenate([class_picture(source[p], images.charge[p])[::-1] for p in range(3)], axis=1)
        for source in (images.truth, classes)
    ]
    return np.concatenate(rows, axis=0)
