"""A study as plots, PNG for slides and SVG for print: throughput, efficiency, time, memory and energy over the sizes.

All of them are drawn before the first is written, and each is written whole. Every plot says that it is modelled and
shows the range of its figures. matplotlib comes with the extra `apps`; nothing else of a study needs it.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tremula.atomic_files import atomic_path, cannot_write
from tremula.errors import Error
from tremula.invariants import instance
from tremula.scale.row import ScalingStudy
from tremula.scale.sentences import headline, named

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure as Drawing

    #: draws, and gives what the legend shows
    _Paint = Callable[[Drawing], list[Artist]]

#: dots per inch of PNG files
_DPI = 150
_SOFT, _INK = "#5b6575", "#1c2330"
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so a plot is the same everywhere
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a919c",
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.grid": True,
    "grid.color": "#e4e7eb",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "hatch.linewidth": 0.8,
    "svg.hashsalt": "tremula",  # the same study gives the same file
    "text.parse_math": False,  # a name may hold dollar signs
}


def draw(study: ScalingStudy, folder: str | Path) -> list[Path]:
    """Draw the plots of `study` into `folder`; gives the files, PNG and SVG of each.

    Raises Error if matplotlib is not installed, or a file cannot be written.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise Error(
            "Plots need matplotlib, which is not installed: pip install 'tremula[apps]'. "
            "The table, the files and the page do not need it."
        ) from None
    drawn: list[tuple[Path, bytes]] = []
    with _styled():
        for name, title, paint in _plots(study):
            drawing = _framed(study, title, paint)
            drawn.append((Path(folder) / f"{name}.png", _png(drawing)))
            drawn.append((Path(folder) / f"{name}.svg", _svg(drawing)))
    for path, content in drawn:
        try:
            with atomic_path(path) as draft:
                draft.write_bytes(content)
        except OSError as problem:
            raise Error(f"The plot {cannot_write(path, problem)}") from None
    return [path for path, _ in drawn]


def _plots(study: ScalingStudy) -> Iterator[tuple[str, str, _Paint]]:
    """(name of the file, title, what draws it) of every plot that there are figures for."""
    from tremula.scale import panels

    known = {name for row in study.rows for name in row.figures}
    for figure, title in (
        ("throughput", "Throughput"),
        ("efficiency", "Efficiency"),
        ("tile_share", "Memory of the fullest tile"),
        ("energy_per_sample", "Energy of a sample"),
    ):
        if figure in known:
            name = {"tile_share": "memory", "energy_per_sample": "energy"}.get(figure, figure)
            yield name, title, partial(panels.over_sizes, study=study, name=figure)
    for mode in dict.fromkeys(row.mode for row in study.rows if row.parts):
        name = re.sub(r"\W", "_", mode)[:20]
        title = f"Time of a step, {named(mode, 20)} scaling"
        yield f"time_{name}", title, partial(panels.time_of_a_step, study=study, mode=mode)


def _framed(study: ScalingStudy, title: str, paint: _Paint) -> Drawing:
    """A drawing with its title, legend and the words that belong to every plot."""
    from matplotlib.figure import Figure as Drawing
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from tremula.scale.panels import left_out

    drawing = Drawing(layout="constrained")
    handles = paint(drawing)
    width, height = drawing.get_size_inches()
    # letters per inch of the two sizes of type, and of a legend's
    title = textwrap.fill(f"{title}: {named(study.name, 50)}, {headline(study)}", int(9 * width))
    words = textwrap.fill(
        "Modelled, not measured. Shaded areas and error bars: the likely range of the true value. "
        f"Hollow or hatched: does not fit.{left_out(study)} Tremula {named(study.tremula, 20)}, model "
        f"{named(study.model_version, 20)}, {named(study.date, 20)}.",
        int(15 * width),
    )
    longest = max((len(str(each.get_label())) for each in handles), default=0)
    columns = max(1, min(5, len(handles), int(width / (0.7 + longest / 14))))
    # inches above and below the panels
    above = 0.18 + 0.25 * (1 + title.count("\n"))
    footer = 0.24 + 0.14 * (1 + words.count("\n"))
    below = footer + 0.22 * -(-len(handles) // columns)
    height += above + below
    drawing.set_size_inches(width, height)
    layout = instance(drawing.get_layout_engine(), ConstrainedLayoutEngine)
    layout.set(rect=(0, below / height, 1, 1 - (above + below) / height))
    corner = (0.0, below / height)
    drawing.legend(handles=handles, loc="upper left", bbox_to_anchor=corner, ncols=columns, borderaxespad=0.2)
    left = 0.08 / width
    drawing.text(left, 1 - 0.1 / height, title, va="top", fontsize=13, fontweight="bold")
    drawing.text(left, 0.07 / height, words, va="bottom", fontsize=8, color=_SOFT)
    return drawing


# Canvases are used directly: `savefig` would draw everything twice.


def _png(drawing: Drawing) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    stream = io.BytesIO()
    drawing.set_dpi(_DPI)
    FigureCanvasAgg(drawing).print_png(stream, metadata={"Software": None})  # type: ignore[no-untyped-call]
    drawing.set_layout_engine("none")  # all is in its place; the second file takes it from there
    return stream.getvalue()


def _svg(drawing: Drawing) -> bytes:
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    stream = io.BytesIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    FigureCanvasSVG(drawing).print_svg(stream, metadata=nothing)  # type: ignore[no-untyped-call]
    # the document type names a file on the network, which no reader needs
    return re.sub(rb"<!DOCTYPE[^>]*>\s*", b"", stream.getvalue(), count=1)


@contextmanager
def _styled() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # a name may hold letters that the font has not; boxes stand for them
        warnings.filterwarnings("ignore", message=r"Glyph \d+", category=UserWarning)
        yield
