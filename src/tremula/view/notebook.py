"""A profile in a notebook: a few figures and bars as static markup, or the whole page in a frame of its own.

What notebooks show is kept in their files and opened by others, so a profile that shows itself has nothing in it that
runs, and every text of the profile is escaped. The page (`show`) is asked for; it runs in a sandbox without access to
the notebook.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape

from tremula.formatting import counted, duration
from tremula.profile import Profile
from tremula.step_parts import BY_KEY
from tremula.view.text import clean, count, kilobytes, share

_LISTED = 8


@dataclass(frozen=True)
class NotebookPage:
    """A page that notebooks show in a frame."""

    html: str = field(repr=False)
    height: int = 720

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" srcdoc="{escape(self.html)}" '
            f'style="width:100%;height:{int(self.height)}px;border:1px solid #8884" title="Tremula profile"></iframe>'
        )


def show(
    *profiles: str | os.PathLike[str] | Profile, compare: bool = False, height: int = 720
) -> NotebookPage:
    """The page of one or several profiles for a notebook; with `compare`, the second beside the first.

    Raises Error if a file cannot be read.
    """
    from tremula.view.page import (
        page_html,
    )  # imports all that answers questions, and figures alone need nothing of it

    opened = [each if isinstance(each, Profile) else Profile(each) for each in profiles]
    try:
        return NotebookPage(page_html(opened[0], *opened[1:], compare=compare), height)
    finally:
        for profile, given in zip(opened, profiles, strict=True):
            if profile is not given:
                profile.close()


def profile_html(profile: Profile) -> str:
    """The markup for `profile`."""
    target = profile.target
    figures = profile.figures
    rows = []
    for label, name, show in (
        ("modelled throughput", "throughput", lambda value: f"{value:,.1f} samples/s"),
        ("modelled time of a step", "seconds_per_step", duration),
        ("modelled bytes on the fullest tile", "max_tile_bytes", kilobytes),
    ):
        figure = figures.get(name)
        if figure is not None:
            likely = f"likely {show(figure.low)} to {show(figure.high)}" if figure.band else ""
            rows.append((label, show(figure.value), likely))
    rows.append(("memory of a tile", kilobytes(target.tile_memory_bytes), ""))
    listed = "".join(
        f"<tr><td>{_safe(label)}</td><td><b>{_safe(value)}</b></td><td>{_safe(note)}</td></tr>"
        for label, value, note in rows
    )
    ipus = target.replicas * target.ipus_per_replica
    return (
        '<div style="max-width:48em">'
        f"<p><b>Profile</b> {_safe(profile.path.name)}: {_safe(target.title)}, {counted(ipus, 'IPU')}. "
        "Modelled, not measured.</p>"
        f"<table>{listed}</table>{_bar(profile)}{_largest(profile)}</div>"
    )


def _bar(profile: Profile) -> str:
    parts = {name: cycles for name, cycles in profile.breakdown.items() if cycles > 0}
    total = sum(parts.values())
    if not total:
        return ""
    boxes, x = [], 0.0
    for name, cycles in parts.items():
        width = 600 * cycles / total
        colour = BY_KEY[name].colour if name in BY_KEY else "#99b898"
        title = f"{clean(name)}: {count(cycles)} cycles, {share(cycles, total)}"
        boxes.append(
            f'<rect x="{x:.2f}" y="0" width="{width:.2f}" height="18" fill="{colour}">'
            f"<title>{_safe(title)}</title></rect>"
        )
        x += width
    legend = ", ".join(
        f"{clean(name).replace('_', ' ')} {share(cycles, total)}" for name, cycles in parts.items()
    )
    drawn = "".join(boxes)
    return f'<svg width="600" height="18" role="img">{drawn}</svg><p><small>{_safe(legend)}</small></p>'


def _largest(profile: Profile) -> str:
    total = sum(op.cycles for op in profile.ops)
    rows = "".join(
        f"<tr><td>{_safe(clean(op.name, 80))}</td><td>{_safe(clean(op.target, 60))}</td>"
        f'<td style="text-align:right">{count(op.cycles)}</td><td>{share(op.cycles, total)}</td></tr>'
        for op in sorted(profile.ops, key=lambda op: -op.cycles)[:_LISTED]
    )
    head = "<tr><th>largest ops</th><th>kind</th><th>modelled cycles per step</th><th>share</th></tr>"
    return f"<table>{head}{rows}</table>" if rows else ""


def _safe(text: str) -> str:
    return escape(clean(text, 200))
