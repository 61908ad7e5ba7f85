"""The topology table: hosts, IPU-Link domains, instances and replicas, in the layout of the real launcher.

A replica's cell is as wide as the largest number; the other rows span the cells of their replicas. If a host's name
does not fit, the table shows its number in brackets, and a legend below gives the name.
"""

from __future__ import annotations

from tremula.launch.placement import Layout

_TITLE = "poprun topology"
_LABELS = ("hosts", "ILDs", "instances", "replicas")
_LABEL_WIDTH = max(len(label) for label in _LABELS)


def table(layout: Layout) -> str:
    """The table as text, without a line break at its end."""
    replicas = layout.num_replicas
    cell = len(str(max(replicas, layout.num_instances) - 1))
    names = [host.name for host in layout.hosts]
    host_width = _width(cell, replicas // len(names))
    fits = all(len(name) <= host_width for name in names)
    hosts = names if fits else [f"[{number}]" for number in range(len(names))]
    rows = [
        _row(hosts, cell, replicas),
        _row([str(number) for number in range(layout.link_domains)], cell, replicas),
        _row([str(number) for number in range(layout.num_instances)], cell, replicas),
        _row([str(number) for number in range(replicas)], cell, replicas),
    ]
    inner = len(rows[-1])
    width = _LABEL_WIDTH + 3 + inner
    lines = [f" {'=' * width}", f"|{_centred(_TITLE, width - 2).center(width)}|", f"|{'=' * width}|"]
    for label, row in zip(_LABELS, rows, strict=True):
        if label != _LABELS[0]:
            lines.append(f"|{'-' * (_LABEL_WIDTH + 2)}|{'-' * inner}|")
        lines.append(f"| {label.ljust(_LABEL_WIDTH)} |{row}|")
    lines.append(f" {'-' * width}")
    if not fits:
        lines += [f"[{number}]: {name}" for number, name in enumerate(names)]
    return "\n".join(lines)


def _width(cell: int, replicas: int) -> int:
    """The number of letters that fit above this many replicas: their cells and the ` | ` between them."""
    return replicas * cell + 3 * (replicas - 1)


def _row(texts: list[str], cell: int, replicas: int) -> str:
    share = replicas // len(texts)
    widths = [share] * len(texts)
    widths[-1] += replicas - share * len(texts)
    cells = []
    for text, each in zip(texts, widths, strict=True):
        width = _width(cell, each)
        # numbers of single replicas stand to the left, as in a list; what spreads over several is centred
        cells.append(text.ljust(width) if each == 1 and text.isdecimal() else _centred(text, width))
    return f" {' | '.join(cells)} "


def _centred(text: str, width: int) -> str:
    if len(text) > width:
        text = f"{text[: width - 3]}..." if width > 3 else "..."[:width]
    left = (width - len(text)) // 2
    return f"{' ' * left}{text}{' ' * (width - left - len(text))}"
