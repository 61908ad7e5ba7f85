"""Writes the profile of a placed program. Everything in it is modelled; only how often nodes ran was counted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tremula.estimate.estimate import VERSION
from tremula.hardware.catalogue import host_rates
from tremula.placed.bands import PLACED_BANDS
from tremula.placed.estimate import PlacedEstimate, Totals
from tremula.profile import model
from tremula.profile.frames import FRAMES
from tremula.profile.pyramids import liveness_pyramid
from tremula.profile.writer import ProfileWriter
from tremula.program.placed import FieldRuns
from tremula.recording.placed_blocks import BlockFilter, block_rows
from tremula.recording.placed_memory import memory_rows, variable_columns
from tremula.recording.placed_ops import (
    compute_set_columns,
    placed_ops,
    tile_cycle_columns,
    vertex_rows,
)
from tremula.recording.placed_runs import Laid, LeafSegments, added_up, laid_out
from tremula.recording.placed_tree import PlacedTree, placed_tree
from tremula.recording.segments import Lane
from tremula.recording.steps import write_lane


@dataclass(frozen=True)
class PlacedRun:
    """A run of one of the programs: how often each node ran."""

    program: int
    name: str
    executions: Mapping[int, int]


def write_placed_profile(
    estimate: PlacedEstimate,
    path: str | os.PathLike[str],
    runs: Sequence[PlacedRun] = (),
    *,
    options: Mapping[str, str] | None = None,
    system_ipus: int = 0,
    layer: str = "poplar",
    graph: bool = True,
    execution: bool = True,
    blocks: BlockFilter | None = None,
) -> Path:
    """Write what `estimate` says of a program and its `runs` to `path`, whole or not at all.

    `graph` is memory, `execution` the steps of the runs. `options` are kept as the engine's; `blocks` says which parts
    of the runs are recorded as blocks.
    """
    recorder = _Recorder(estimate, runs, layer)
    with ProfileWriter(path) as writer:
        writer.meta["figures"] = "modelled, not measured"
        parts = (("graph", graph), ("execution", execution and bool(runs)))
        writer.meta["parts"] = ",".join(name for name, wanted in parts if wanted)
        writer.extend(recorder.head(options or {}, system_ipus))
        writer.extend(recorder.found.ops)
        writer.extend(recorder.found.plans)
        writer.extend(recorder.found.supersteps)
        if graph:
            recorder.memory(writer)
        recorder.programs(writer)
        if execution:
            recorder.runs(writer, blocks or BlockFilter())
    return writer.path


class _Recorder:
    def __init__(self, estimate: PlacedEstimate, runs: Sequence[PlacedRun], layer: str) -> None:
        self._estimate, self._runs, self._layer = estimate, runs, layer
        self._counts = self._one_run_each()
        self.found = placed_ops(estimate, self._counts)
        self._tree: PlacedTree | None = None

    def _one_run_each(self) -> dict[int, int]:
        """How often each node runs in one run of each program: as counted in its last run, else as written."""
        measured = {run.program: run.executions for run in self._runs}
        counts: dict[int, int] = {}
        for number in range(len(self._estimate.program.programs)):
            known = measured.get(number)
            one = self._estimate.executions(number) if known is None else known
            for node, times in one.items():
                counts[node] = counts.get(node, 0) + times
        return counts

    # -- tables ------------------------------------------------------------------------------------------

    def head(self, options: Mapping[str, str], system_ipus: int) -> Iterator[model.Row]:
        """What was modelled, figures and counts."""
        estimate = self._estimate
        hardware, program = estimate.hardware, estimate.program
        chip, ipus = hardware.chip, hardware.ipus * hardware.replicas
        yield model.Target(
            chip.name, chip.title, hardware.system.name, max(system_ipus, ipus), hardware.replicas, hardware.ipus,
            chip.tiles, chip.tile_memory_bytes, float(chip.clock_hz),
        )  # fmt: skip
        fullest = int(estimate.memory.most.max())
        fits = fullest <= chip.tile_memory_bytes
        run = {
            "model": program.name or "Poplar program", "kind": "placed program", "fits": "yes" if fits else "no",
            "evidence of the fit": "", "version of the chip model": VERSION,
            "rates to and from the host": host_rates(hardware.system.machine),
        }  # fmt: skip
        # a placed program has no settings: its loops and its layout are written in it
        fixed = {"execution": "as placed", "recompute": "none", "partials": "as placed"}
        once = {"gradient_accumulation": "1", "device_iterations": "1"}
        for section, settings in (("run", run), ("deployment", fixed), ("loops", once)):
            for name, value in settings.items():
                yield model.Option(section, name, value)
        for name, value in sorted(options.items()):
            yield model.Option("engine", name, value)
        totals = estimate.totals(self._counts)
        yield from self._figures(totals, fullest, fits)
        for part, cycles in self._breakdown(totals):
            yield model.Part(part, cycles)
        sets = program.compute_sets
        edges = sum(_edges(field) for s in sets for b in s.batches for field in b.fields)
        for name, count in (
            ("vertices", sum(b.count for s in sets for b in s.batches)),
            ("edges", edges),
            ("variables", program.variables.count),
            ("compute sets", len(sets)),
            ("copies", len(program.copies)),
            ("library calls", len(program.libraries)),
        ):
            yield model.Count(name, count)

    def _figures(self, totals: Totals, fullest: int, fits: bool) -> Iterator[model.Row]:
        seconds = self._estimate.seconds(totals.total)
        for name, value, unit in (
            ("cycles_per_step", totals.total, "cycles"),
            ("device_cycles_per_step", totals.total, "cycles"),
            ("cycles_per_call", totals.total, "cycles"),
            ("seconds_per_step", seconds, "seconds"),
            ("seconds_per_call", seconds, "seconds"),
            ("latency_seconds", seconds, "seconds"),
            ("throughput", 1.0 / seconds if seconds else 0.0, "runs/s"),
            ("samples_per_micro_batch", 1.0, "runs"),
            ("fit_probability", float(fits), "of 1"),
            ("max_tile_bytes", float(fullest), "bytes"),
            ("total_bytes", float(self._estimate.memory.total.sum()), "bytes"),
            ("flops_per_step", totals.flops, "FLOP"),
        ):
            band = PLACED_BANDS.get(name)
            low, high, text = (value, value, "") if band is None else (*band.around(value), str(band))
            yield model.Figure(name, value, unit, low, high, text)

    def _breakdown(self, totals: Totals) -> list[tuple[str, float]]:
        return [
            ("compute", totals.compute),
            ("exchange", totals.exchange),
            ("inter_ipu", totals.between_ipus),
            ("host_transfer", totals.host),
            ("sync", totals.sync),
        ]

    def memory(self, writer: ProfileWriter) -> None:
        """Memory, variables, vertices."""
        estimate = self._estimate
        writer.extend(memory_rows(estimate, self.found.rows))
        memory = estimate.memory
        for ipu in range(estimate.hardware.ipus):
            for level in liveness_pyramid(ipu, memory.live[ipu] + memory.buffers[ipu]):
                writer.frame("liveness_pyramid").add(level)
        writer.frame("variables").add(variable_columns(estimate))
        types, columns = vertex_rows(estimate, self.found)
        writer.extend(types)
        writer.frame("vertices").add(columns)

    def programs(self, writer: ProfileWriter) -> None:
        """Contexts, the tree and the compute sets."""
        ops = self.found.ops
        contexts = dict(zip(self.found.rows, range(len(ops)), strict=True))
        self._tree = placed_tree(self._estimate, self.found.rows, contexts, self._counts)
        writer.frame("contexts").add(
            {
                "parent": [-1] * len(ops), "name": [op.name for op in ops], "layer": self._layer, "file": "",
                "line": -1, "function": "", "op_id": list(range(len(ops))),
            }
        )  # fmt: skip
        tree = self._tree
        columns = {**tree.tree.columns(), "code_bytes": tree.code_bytes}
        if len(tree.tree) > FRAMES["programs"].most_rows:
            writer.meta["programs"] = "too many nodes: the tree is not complete"
        writer.frame("programs").add(columns)
        writer.frame("compute_sets").add(compute_set_columns(self._estimate, self.found))
        for piece in tile_cycle_columns(self._estimate, FRAMES["tile_cycles"].most_rows):
            writer.frame("tile_cycles").add(piece)

    # -- runs --------------------------------------------------------------------------------------------

    def runs(self, writer: ProfileWriter, blocks: BlockFilter) -> None:
        """All runs, one after the other on the modelled clock."""
        if self._tree is None:
            return
        estimate = self._estimate
        segments = [
            LeafSegments(estimate, self._tree, self.found.rows, ipu) for ipu in range(estimate.hardware.ipus)
        ]
        microseconds = cycles = 0.0
        lanes = 0
        for number, run in enumerate(self._runs):
            root = estimate.program.programs[run.program]
            laid = laid_out(root, estimate.program.functions, run.executions)
            total = estimate.totals(run.executions).total
            rest = self._rest(run, laid)
            steps = 0
            for ipu, each in enumerate(segments):
                lane = Lane()
                for node in laid.nodes:
                    segment = each.of(node)
                    if segment is not None:
                        lane.add(segment)
                left = added_up(estimate, rest) if rest else None
                if left is not None:
                    lane.add(left)
                lane.wait_until(total)
                if lane.steps:
                    write_lane(writer, number, ipu, lanes, lane.columns(round(total)))
                    lanes += 1
                steps += lane.steps
            rows = block_rows(estimate, self._tree, laid, blocks, cycles)
            if rows is not None:
                writer.frame("blocks").add({"run": number, **rows})
            start, microseconds = microseconds, microseconds + estimate.seconds(total) * 1e6
            cycles += total
            writer.add(self._row(number, run, start, microseconds, total, steps, bool(rest)))

    def _row(
        self, number: int, run: PlacedRun, start: float, end: float, total: float, steps: int, cut: bool
    ) -> model.Run:
        names = self._estimate.program.program_names
        name = run.name or (names[run.program] if run.program < len(names) else f"program {run.program}")
        note = "modelled, not measured" + ("; turns beyond a bound are added up" if cut else "")
        return model.Run(number, f"{name} {number + 1}", "step", start, end, round(total), steps, note)

    def _rest(self, run: PlacedRun, laid: Laid) -> dict[int, int]:
        """Executions of leaves that were not laid out."""
        done: dict[int, int] = {}
        for node in laid.nodes:
            done[node] = done.get(node, 0) + 1
        left = {}
        for node, leaf in self._estimate.leaves.items():
            missing = run.executions.get(node, 0) - done.get(node, 0)
            if missing > 0 and leaf.phases:
                left[node] = missing
        return left


def _edges(field: FieldRuns) -> int:
    """How many edges a field has."""
    return len(field.vertex) if field.edge is None else len(np.unique(field.edge))
