"""A gallery of events in one HTML file that needs nothing else: pictures inside, no script, no network.

The page forbids itself to load anything (Content-Security-Policy); its own style sheet is allowed by digest.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tremula.atomic_files import write_text_atomically

_STYLE = """
:root { color-scheme: dark; }
* { box-sizing: border-box; }
body { margin: 0; background: #0b0e14; color: #e8ecf3; font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1500px; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { margin: 0 0 .25rem; font-size: 1.9rem; letter-spacing: -.01em; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.2rem; }
p.about { margin: 0; color: #8b95a7; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .38rem 1rem .38rem 0; text-align: right; border-bottom: 1px solid #1b2230; }
th { color: #8b95a7; font-weight: 500; }
th:first-child, td:first-child { text-align: left; }
td.low { color: #ff8a7a; }
td.high { color: #7fe0a6; }
.tables { display: flex; flex-wrap: wrap; gap: 1rem 4rem; align-items: flex-start; }
a { color: #6fb4ff; text-decoration: none; }
a:hover { text-decoration: underline; }
figure { margin: 0 0 1.75rem; border: 1px solid #1b2230; border-radius: 12px; overflow: hidden; background: #0b0e14; }
figcaption { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; padding: .7rem 1.1rem; color: #8b95a7;
  background: #10151f; border-bottom: 1px solid #1b2230; }
figcaption b { color: #e8ecf3; }
img { display: block; width: 100%; height: auto; }
footer { margin-top: 3rem; color: #8b95a7; font-size: .85rem; }
"""


@dataclass(frozen=True)
class Shown:
    """One event of a gallery.

    Attributes:
        number: its place in the data.
        name: what it is, in words.
        picture: the bytes of a PNG file.
        scores: its metrics, by name.
    """

    number: int
    name: str
    picture: bytes
    scores: Mapping[str, float]


def gallery(
    title: str,
    about: Sequence[str],
    metrics: Mapping[str, str],
    events: Sequence[Shown],
    order: str = "worst first",
) -> str:
    """The text of the page.

    Args:
        title: its heading.
        about: lines below it.
        metrics: the table at the top, names and values as they should stand there.
        events: in the order in which they are shown.
        order: what that order is.
    """
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{_text(title)}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        "<main>",
        f"<h1>{_text(title)}</h1>",
        *(f'<p class="about">{_text(line)}</p>' for line in about),
        *_tables(metrics, events, order),
        "<h2>Pictures</h2>" if events else "",
        *(_figure(event) for event in events),
        "<footer>Pictures: charge on a logarithmic scale, true and predicted classes, what differs, and a zoom on the "
        "true vertex. IoU: intersection over union, the mean over the three planes.</footer>",
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def write_gallery(path: Path, text: str) -> None:
    """Write the page whole."""
    write_text_atomically(path, text)


def _tables(metrics: Mapping[str, str], events: Sequence[Shown], order: str) -> list[str]:
    parts = ['<div class="tables">']
    if metrics:
        rows = [f"<tr><td>{_text(name)}</td><td>{_text(value)}</td></tr>" for name, value in metrics.items()]
        parts += ["<section><h2>Metrics</h2><table>", "<tr><th>metric</th><th>value</th></tr>", *rows]
        parts += ["</table></section>"]
    if events and events[0].scores:
        names = list(events[0].scores)
        head = "".join(f"<th>{_text(name)}</th>" for name in names)
        parts += [f"<section><h2>Events, {_text(order)}</h2><table>", f"<tr><th>event</th>{head}</tr>"]
        for event in events:
            cells = "".join(_cell(event.scores.get(name, float("nan"))) for name in names)
            link = f'<a href="#event-{event.number}">{_text(event.name)}</a>'
            parts.append(f"<tr><td>{link}</td>{cells}</tr>")
        parts += ["</table></section>"]
    return [*parts, "</div>"]


def _cell(value: float) -> str:
    kind = ' class="low"' if value < 0.3 else ' class="high"' if value > 0.7 else ""
    return f"<td{kind}>{value:.3f}</td>"


def _figure(event: Shown) -> str:
    data = base64.b64encode(event.picture).decode()
    scores = "".join(f"<span>{_text(name)} {value:.3f}</span>" for name, value in event.scores.items())
    return (
        f'<figure id="event-{event.number}"><figcaption><b>{_text(event.name)}</b>{scores}</figcaption>'
        f'<img alt="{_text(event.name)}" src="data:image/png;base64,{data}"></figure>'
    )


def _text(text: str) -> str:
    return html.escape("".join(each if each.isprintable() else "?" for each in text), quote=True)
