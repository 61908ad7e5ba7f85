"""Writes the profile of an estimate.

Everything in it is modelled; nothing is computed here that the estimate does not say. The file is bounded: ops
beyond the schema's limit are merged, only the largest lifetimes and contributors are kept, and what was left out
is told in the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tremula.estimate.estimate import Estimate
from tremula.profile import model
from tremula.profile.contexts import contexts_of
from tremula.profile.pyramids import liveness_pyramid
from tremula.profile.writer import ProfileWriter
from tremula.recording.codelets import Codelets
from tremula.recording.memory import live_and_temporary, memory_rows, tiles_used
from tremula.recording.operations import Operations, operations
from tremula.recording.order import order
from tremula.recording.programs import Programs, program_tree
from tremula.recording.shapes import Shapes, shapes
from tremula.recording.steps import MOST_STEPS, StepRecorder
from tremula.recording.summary import counts, figures, options, target
from tremula.recording.times import time_rows, transfers
from tremula.recording.upload import upload
from tremula.recording.variables import VariableRecorder

#: runs of the main program that are recorded step by step, as in the original
RUNS = 2


def write_profile(
    estimate: Estimate,
    path: str | os.PathLike[str],
    *,
    engine_options: Mapping[str, str] | None = None,
    run: Mapping[str, str] | None = None,
    advice: Sequence[model.Advice] = (),
    graph: bool = True,
    execution: bool = True,
    layer: str = "",
    runs: int = RUNS,
    most_steps: int = MOST_STEPS,
) -> Path:
    """Write what `estimate` says to `path`, whole or not at all; raises Error if it cannot be written.

    `engine_options`, `run` (name of the model, program ...) and `advice`, best first, are kept in the profile. `graph`
    is memory and the program tree, `execution` the parts of a step, stages, the pipeline, transfers, and the execution
    steps of `runs` runs, of which `most_steps` are laid out one by one. `layer` is what the program was written with.
    """
    with ProfileWriter(path) as writer:
        found = operations(estimate)
        tiles = estimate.chip.tiles - estimate.deployment.io_tiles
        writer.meta["figures"] = "modelled, not measured"
        writer.meta["parts"] = ",".join(
            name for name, wanted in (("graph", graph), ("execution", execution)) if wanted
        )
        if found.merged:
            writer.meta["merged_ops"] = f"{len(estimate.ops)} ops as {len(found.ops)} rows"
        writer.add(target(estimate))
        writer.extend(options(estimate, engine_options or {}, run or {}))
        writer.extend(figures(estimate))
        writer.extend(counts(estimate, len(found.costs)))
        writer.extend(advice)
        writer.extend(found.ops)
        writer.extend(found.plans(tiles))
        shaped = shapes(found, estimate.chip.worker_contexts)
        if graph:
            _write_memory(writer, estimate, found)
            _write_vertices(writer, estimate, found, shaped)
        if graph or execution:
            ordered, uploaded = order(estimate, found.rows), upload(estimate)
            contexts = contexts_of(found.ops, layer)
            tree = program_tree(
                estimate, found, shaped, ordered, transfers(estimate), contexts.of_op, uploaded.cycles
            )
            writer.frame("contexts").add(contexts.columns)
            _write_programs(writer, found, shaped, tree, graph)
        if execution:
            writer.extend(time_rows(estimate))
            recorder = StepRecorder(writer, estimate)
            recorder.upload(uploaded, tree)
            recorder.steps(found, shaped, ordered, tree, runs, most_steps)
    return writer.path


def _write_memory(writer: ProfileWriter, estimate: Estimate, found: Operations) -> None:
    used = tiles_used(estimate)
    writer.extend(memory_rows(estimate, found.rows, used))
    for ipu in estimate.memory.ipus:
        both = live_and_temporary(estimate, ipu, used)
        if both is not None:
            for level in liveness_pyramid(ipu.ipu, both[0] + both[1]):
                writer.frame("liveness_pyramid").add(level)
    VariableRecorder(estimate, found.rows, used).write(writer.frame("variables"))


def _write_vertices(writer: ProfileWriter, estimate: Estimate, found: Operations, shaped: Shapes) -> None:
    codelets = Codelets(estimate, found, shaped)
    writer.extend(codelets.types())
    writer.frame("vertices").add(codelets.vertices())


def _write_programs(
    writer: ProfileWriter, found: Operations, shaped: Shapes, tree: Programs, graph: bool
) -> None:
    """The tree and the compute sets; without `graph` only what execution steps name."""
    if not tree.leaves:
        writer.meta["programs"] = "too many for a leaf of each superstep: the tree ends at ops"
    writer.frame("programs").add({**tree.tree.columns(), "code_bytes": tree.code_bytes})
    rows = [op for op in found.ops if tree.first_set[op.id] >= 0]
    plans = np.array([op.plan_id for op in rows], dtype=np.int64)
    sets, owner = shaped.sets(plans)
    names = [
        f"{rows[at].name}/{shaped.sets_name[each]}"
        for each, at in zip(sets.tolist(), owner.tolist(), strict=True)
    ]
    ids = np.array([op.id for op in rows], dtype=np.int64)
    writer.frame("compute_sets").add(
        {
            "name": names, "op_id": ids[owner], "plan_id": plans[owner], "superstep": shaped.sets_superstep[sets],
            "vertices": shaped.sets_vertices[sets], "cycles": shaped.sets_cycles[sets],
        }
    )  # fmt: skip
