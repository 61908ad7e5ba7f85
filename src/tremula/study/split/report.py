"""A split for its reader: a config in plain values, a chart, text and HTML. Figures are modelled."""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING, Any

from tremula.program.op import Phase

if TYPE_CHECKING:
    from tremula.study.split.result import IpuLoad, Split

#: layers that a list must have at least to be what `layers_per_ipu` counts
_FEWEST_LAYERS = 4
_PARTS = (("forward", "█", "#3b6ea5"), ("recompute", "▒", "#9fbfdf"), ("backward", "░", "#d98a3d"))


def config(split: Split) -> dict[str, Any]:
    """Stages with their IPUs; and the layers on each IPU, where the model is one list of equal layers."""
    found = split.estimate
    plain: dict[str, Any] = {
        "ipus_per_replica": found.deployment.ipus_per_replica,
        "stages": [{"module": "", "ipu": 0}, *({"module": b.module, "ipu": b.ipu} for b in split.begins)],
    }
    if found.training:
        plain["gradient_accumulation_steps"] = found.loops.gradient_accumulation
    else:
        plain["inference_device_iterations"] = found.loops.device_iterations
    layers = layers_per_ipu(split)
    if layers is not None:
        plain["layers_per_ipu"] = layers
    return plain


def layers_per_ipu(split: Split) -> list[int] | None:
    """Layers of the model's longest list of equal layers by IPU; None if there is none, or a layer is cut."""
    program = split.estimate.program
    ipus: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    sizes: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for number in program.of_phase(Phase.FORWARD):
        op = program.ops[number]
        parts = op.module.split(".")
        for at, part in enumerate(parts):
            if part.isdigit():
                owner = ".".join(parts[:at])
                ipus[owner][int(part)].add(op.ipu)
                sizes[owner][int(part)] += 1
    equal = [
        owner
        for owner, ops in sizes.items()
        if len(ops) >= _FEWEST_LAYERS and len(set(ops.values())) == 1 and set(ops) == set(range(len(ops)))
    ]
    if not equal:
        return None
    owner = max(equal, key=lambda each: len(sizes[each]))
    if any(len(on) > 1 for on in ipus[owner].values()):
        return None
    counts = [0] * split.estimate.deployment.ipus_per_replica
    for on in ipus[owner].values():
        counts[on.pop()] += 1
    return counts


def chart(split: Split, width: int = 48) -> str:
    """One bar per IPU."""
    most = max((load.cycles for load in split.loads), default=0.0) or 1.0
    mean = sum(load.cycles for load in split.loads) / max(1, len(split.loads))
    lines = [
        f"{' IPU':<6}{'modelled cycles of a micro-batch':<{width + 2}}{'cycles':>13} {'mean':>6} {'tile':>5}"
    ]
    for load in split.loads:
        bar = _bar(load, most, width)
        lines.append(
            f"{load.ipu:>4}  {bar:<{width + 2}}{load.cycles:>13,.0f} {load.cycles / (mean or 1.0):>6.0%} "
            f"{load.memory_share:>5.0%}{'' if load.memory_share <= 1.0 else ' does not fit'}"
        )
    lines.append("      " + "  ".join(f"{mark} {part}" for part, mark, _ in _PARTS if _used(split, part)))
    return "\n".join(lines)


def _bar(load: IpuLoad, most: float, width: int) -> str:
    """Parts end where their sums do, so that rounding never adds up."""
    bar, total = "", 0.0
    for part, mark, _ in _PARTS:
        total += getattr(load, part)
        bar += mark * (round(width * total / most) - len(bar))
    return bar


def _used(split: Split, part: str) -> bool:
    return any(getattr(load, part) for load in split.loads)


def text(split: Split) -> str:
    """All of it, for a terminal."""
    head = (
        f"{len(split.begins) + 1} stages on {len(split.loads)} IPUs: {split.throughput:,.0f} samples/s modelled, "
        f"busiest IPU {split.imbalance:.1%} above the mean, "
        f"{split.estimate.memory.max_tile_bytes / split.estimate.memory.tile_memory_bytes:.0%} of tile memory"
    )
    return "\n".join([head, split.reason, "", chart(split), "", *split.lines(), *split.options_lines()])


def html(split: Split) -> str:
    """The same for a notebook."""
    most = max((load.cycles for load in split.loads), default=0.0) or 1.0
    rows = []
    for load in split.loads:
        parts = "".join(
            f'<span style="display:inline-block;height:1em;background:{colour};'
            f'width:{60.0 * getattr(load, part) / most:.2f}%" title="{part}: {getattr(load, part):,.0f} cycles"></span>'
            for part, _, colour in _PARTS
        )
        rows.append(
            f"<tr><td>IPU {load.ipu}</td><td style='width:30em;text-align:left;white-space:nowrap'>{parts}</td>"
            f"<td>{load.cycles:,.0f} cycles</td><td>{load.memory_share:.0%} of a tile</td></tr>"
        )
    lines = "\n".join([*split.lines(), *split.options_lines()])
    return (
        f"<div><p>{split.throughput:,.0f} samples/s modelled, busiest IPU {split.imbalance:.1%} above the mean. "
        f"{escape(split.reason)}</p><table>{''.join(rows)}</table><pre>{escape(lines)}</pre></div>"
    )
