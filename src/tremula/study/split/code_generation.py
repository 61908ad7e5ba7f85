"""A split in the user's words: lines of Python for this model, a config, a chart.

The lines do what they say when they run before the model is wrapped: a test runs them. Figures are modelled.
"""

from __future__ import annotations

import keyword
from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING, Any

import torch

from tremula.program.op import Phase
from tremula.schedule.pipeline import pipeline_stages

if TYPE_CHECKING:
    from tremula.study.split.result import IpuLoad, Split

#: layers that a list must have at least to be what `layers_per_ipu` counts
_FEWEST_LAYERS = 4
_PARTS = (("forward", "█", "#3b6ea5"), ("recompute", "▒", "#9fbfdf"), ("backward", "░", "#d98a3d"))


def access(path: str, module: torch.nn.Module | None = None, name: str = "model") -> str:
    """How Python names the submodule at dotted `path` of `module`, which is called `name`.

    Without the module, numbers are taken for places in a list and other names for attributes.
    """
    written, owner = name, module
    for part in path.split("."):
        if isinstance(owner, torch.nn.ModuleDict) or not (part.isdigit() or _is_name(part)):
            if owner is not None and not isinstance(owner, torch.nn.ModuleDict):
                return f"{name}.get_submodule({_quoted(path)})"  # added under a name that Python cannot write
            written += f"[{_quoted(part)}]"
        elif part.isdigit():
            if owner is not None and not isinstance(owner, torch.nn.ModuleList | torch.nn.Sequential):
                return f"{name}.get_submodule({_quoted(path)})"
            written += f"[{part}]"
        else:
            written += f".{part}"
        owner = None if owner is None else owner._modules.get(part)
    return written


def _quoted(text: str) -> str:
    """`text` as Python reads it back, whatever is in it."""
    simple = text.isprintable() and not set(text) & {'"', "\\"}
    return f'"{text}"' if simple else repr(text)


def _is_name(part: str) -> bool:
    # others than ASCII may be read as another name: Python normalises identifiers
    return part.isascii() and part.isidentifier() and not keyword.iskeyword(part)


def begin_block_lines(split: Split, module: torch.nn.Module | None = None, name: str = "model") -> list[str]:
    """A `poptorch.BeginBlock` for each stage after the first."""
    lines = []
    for begin in split.begins:
        where = access(begin.module, module, name)
        call = f"poptorch.BeginBlock({where}, {_quoted(begin.module)}, ipu_id={begin.ipu})"
        # a module cannot be assigned to a call; the hook that BeginBlock puts on is enough
        lines.append(call if where.endswith(")") else f"{where} = {call}")
    return lines


def options_lines(split: Split, name: str = "options") -> list[str]:
    """The options that go with the blocks; micro-batches as the split was judged with."""
    found = split.estimate
    if not split.begins:
        return []
    lines = [
        f"{name}.setExecutionStrategy(poptorch.PipelinedExecution(poptorch.AutoStage.AutoIncrement))",
    ]
    ipus = found.deployment.ipus_per_replica * found.loops.replicas
    if ipus & (ipus - 1):
        lines.append(f"{name}.autoRoundNumIPUs(True)  # hardware hands out powers of two")
    needed = pipeline_stages(1 + len(split.begins), found.training)
    if found.training:
        lines.append(
            f"{name}.Training.gradientAccumulation({found.loops.gradient_accumulation})  # at least {needed}"
        )
    else:
        lines.append(f"{name}.deviceIterations({found.loops.device_iterations})  # at least {needed}")
    return lines


def config(split: Split) -> dict[str, Any]:
    """Stages with their IPUs; and the layers on each IPU, where the model is one list of equal layers."""
    found = split.estimate
    told: dict[str, Any] = {
        "ipus_per_replica": found.deployment.ipus_per_replica,
        "stages": [{"module": "", "ipu": 0}, *({"module": b.module, "ipu": b.ipu} for b in split.begins)],
    }
    if found.training:
        told["gradient_accumulation_steps"] = found.loops.gradient_accumulation
    else:
        told["inference_device_iterations"] = found.loops.device_iterations
    layers = layers_per_ipu(split)
    if layers is not None:
        told["layers_per_ipu"] = layers
    return told


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
    return "\n".join(
        [head, split.reason, "", chart(split), "", *begin_block_lines(split), *options_lines(split)]
    )


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
    lines = "\n".join([*begin_block_lines(split), *options_lines(split)])
    return (
        f"<div><p>{split.throughput:,.0f} samples/s modelled, busiest IPU {split.imbalance:.1%} above the mean. "
        f"{escape(split.reason)}</p><table>{''.join(rows)}</table><pre>{escape(lines)}</pre></div>"
    )
