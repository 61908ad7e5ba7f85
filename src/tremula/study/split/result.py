"""A split: where stages begin, the work of each IPU, and its estimate by the chip model.

It shows itself as lines of code, plain values, and text with a bar for each IPU; figures are modelled.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from dataclasses import dataclass, field
from html import escape
from typing import Any

from tremula.estimate.estimate import Estimate
from tremula.formatting import counted
from tremula.memory.verdict import fit_of
from tremula.module_paths import first_parts, parts
from tremula.program.op import Phase
from tremula.program.stages import pipeline_stages
from tremula.program.variant import StageStart
from tremula.study.dialect import Dialect

#: layers that a list must have at least to be what `layers_per_ipu` counts
_FEWEST_LAYERS = 4
#: what a bar is made of, and its colours in a notebook
_MARKS = {"forward": "█", "recompute": "▒", "backward": "░"}
_COLOURS = {"forward": "#3b6ea5", "recompute": "#9fbfdf", "backward": "#d98a3d"}


@dataclass(frozen=True)
class IpuLoad:
    """One IPU: modelled cycles of all its stages for one micro-batch, and bytes on its fullest tile."""

    ipu: int
    forward: float
    recompute: float
    backward: float
    max_tile_bytes: int
    tile_memory_bytes: int

    @property
    def cycles(self) -> float:
        return self.forward + self.recompute + self.backward

    @property
    def memory_share(self) -> float:
        """Of the fullest tile; above 1 it does not fit."""
        return self.max_tile_bytes / self.tile_memory_bytes


@dataclass(frozen=True)
class Split:
    """A model cut into stages, as the chip model judges it."""

    #: the first stage begins with forward, on IPU 0; these follow
    begins: tuple[StageStart, ...]
    estimate: Estimate = field(repr=False)
    loads: tuple[IpuLoad, ...]
    #: splits that the full model judged
    evaluations: int
    seconds: float
    #: what limits it
    reason: str
    dialect: Dialect = field(repr=False)

    @property
    def fits(self) -> bool:
        """Whether every tile has room, more probably than not."""
        return self.estimate.memory.fits

    @property
    def throughput(self) -> float:
        """Modelled samples per second of all replicas."""
        return self.estimate.throughput

    @property
    def imbalance(self) -> float:
        """How much more the busiest IPU has to do than the mean one."""
        cycles = [load.cycles for load in self.loads]
        mean = sum(cycles) / len(cycles)
        return max(cycles) / mean - 1.0 if mean else 0.0

    def as_in(self, found: Estimate) -> Split:
        """The same cuts as another estimate has them: with other loops, or more replicas."""
        return dataclasses.replace(self, estimate=found, loads=loads_by_ipu(found))

    def lines(self, name: str = "model", *, replace: bool = False) -> tuple[str, ...]:
        """Lines of code that cut the model, which the program calls `name`."""
        return self.dialect.stages(self.begins, name=name, replace=replace)

    def options_lines(self, name: str | None = None, *, model: str = "model") -> tuple[str, ...]:
        """Lines of code for the settings that go with the cuts, with the micro-batches that were modelled.

        The program calls its settings `name` (None: the usual name), and the model `model`.
        """
        if not self.begins:
            return ()
        found = self.estimate
        loops = found.loops
        return self.dialect.pipeline(
            found.deployment.ipus_per_replica * loops.replicas,
            found.training,
            loops.gradient_accumulation if found.training else loops.device_iterations,
            pipeline_stages(1 + len(self.begins), found.training),
            name=name,
            model=model,
        )

    def config(self) -> dict[str, Any]:
        """Stages with their IPUs; the layers on each IPU, where the model is one list of equal layers; and the stage of
        each layer, where programs assign stages to all of them."""
        found = self.estimate
        turns = (
            {"gradient_accumulation_steps": found.loops.gradient_accumulation}
            if found.training
            else {"inference_device_iterations": found.loops.device_iterations}
        )
        layers = layers_per_ipu(found)
        assignment = self.dialect.assignment(self.begins)
        return {
            "ipus_per_replica": found.deployment.ipus_per_replica,
            "stages": [{"module": "", "ipu": 0}, *({"module": b.module, "ipu": b.ipu} for b in self.begins)],
            **turns,
            **({} if layers is None else {"layers_per_ipu": layers}),
            **({"assignment": [list(each) for each in assignment]} if assignment else {}),
        }

    def chart(self, width: int = 48) -> str:
        """One bar per IPU: forward, recomputed forward and backward, with the fullest tile beside it."""
        most = max((load.cycles for load in self.loads), default=0.0) or 1.0
        mean = sum(load.cycles for load in self.loads) / max(1, len(self.loads)) or 1.0
        title = "modelled cycles of a micro-batch"
        lines = [f"{' IPU':<6}{title:<{width + 2}}{'cycles':>13} {'mean':>6} {'tile':>5}"]
        for load in self.loads:
            bar, total = "", 0.0
            for part, mark in _MARKS.items():  # parts end where their sums do, so that rounding never adds up
                total += getattr(load, part)
                bar += mark * (round(width * total / most) - len(bar))
            lines.append(
                f"{load.ipu:>4}  {bar:<{width + 2}}{load.cycles:>13,.0f} {load.cycles / mean:>6.0%} "
                f"{load.memory_share:>5.0%}{'' if fit_of(load.memory_share).fits else ' does not fit'}"
            )
        used = (part for part in _MARKS if any(getattr(load, part) for load in self.loads))
        return "\n".join([*lines, "      " + "  ".join(f"{_MARKS[part]} {part}" for part in used)])

    def __str__(self) -> str:
        memory = self.estimate.memory
        head = (
            f"{counted(len(self.begins) + 1, 'stage')} on {counted(len(self.loads), 'IPU')}: "
            f"{self.throughput:,.0f} samples/s modelled, "
            f"busiest IPU {self.imbalance:.1%} above the mean, "
            f"{memory.max_tile_bytes / memory.tile_memory_bytes:.0%} of tile memory, fits: {memory.fit.words}"
        )
        return "\n".join([head, self.reason, "", self.chart(), "", *self.lines(), *self.options_lines()])

    def _repr_html_(self) -> str:
        most = max((load.cycles for load in self.loads), default=0.0) or 1.0
        rows = []
        for load in self.loads:
            parts = "".join(
                f'<span style="display:inline-block;height:1em;background:{colour};width:'
                f'{60.0 * getattr(load, part) / most:.2f}%" title="{part}: {getattr(load, part):,.0f} cycles"></span>'
                for part, colour in _COLOURS.items()
            )
            rows.append(
                f"<tr><td>IPU {load.ipu}</td><td style='width:30em;text-align:left;white-space:nowrap'>{parts}</td>"
                f"<td>{load.cycles:,.0f} cycles</td><td>{load.memory_share:.0%} of a tile</td></tr>"
            )
        lines = "\n".join([*self.lines(), *self.options_lines()])
        return (
            f"<div><p>{self.throughput:,.0f} samples/s modelled, busiest IPU {self.imbalance:.1%} above the mean. "
            f"{escape(self.reason)}</p><table>{''.join(rows)}</table><pre>{escape(lines)}</pre></div>"
        )


def loads_by_ipu(found: Estimate) -> tuple[IpuLoad, ...]:
    """What each IPU of a replica has to do and to hold."""
    memory = {each.ipu: each for each in found.memory.ipus}
    return tuple(
        IpuLoad(
            ipu=ipu,
            forward=sum(s.forward.total for s in found.time.stages if s.ipu == ipu),
            recompute=sum(s.recompute.total for s in found.time.stages if s.ipu == ipu),
            backward=sum(s.backward.total for s in found.time.stages if s.ipu == ipu),
            max_tile_bytes=memory[ipu].max_tile_bytes if ipu in memory else 0,
            tile_memory_bytes=found.memory.tile_memory_bytes,
        )
        for ipu in range(found.deployment.ipus_per_replica)
    )


def layers_per_ipu(found: Estimate) -> list[int] | None:
    """Layers of the model's longest list of equal layers by IPU; None if there is none, or a layer is cut."""
    program = found.program
    ipus: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    sizes: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for number in program.of_phase(Phase.FORWARD):
        op = program.ops[number]
        for at, name in enumerate(parts(op.module)):
            if name.isdigit():
                owner = first_parts(op.module, at)
                ipus[owner][int(name)].add(op.ipu)
                sizes[owner][int(name)] += 1
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
    counts = [0] * found.deployment.ipus_per_replica
    for on in ipus[owner].values():
        counts[on.pop()] += 1
    return counts
