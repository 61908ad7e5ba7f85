"""Writes the profile of an estimate.

Everything in it is modelled; nothing is computed here that the estimate does not say. The file is bounded: ops
beyond the schema's limit are merged, only the largest lifetimes and contributors are kept, and what was left out
is told in the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tremula.estimate.estimate import Estimate
from tremula.profile import model
from tremula.profile.contexts import contexts_of
from tremula.profile.migrate_frames import add_programs
from tremula.profile.writer import ProfileWriter
from tremula.recording.memory import memory_rows
from tremula.recording.operations import operations
from tremula.recording.programs import program_tree
from tremula.recording.summary import counts, figures, options, target
from tremula.recording.times import time_rows, transfers


def write_profile(
    estimate: Estimate,
    path: str | os.PathLike[str],
    *,
    engine_options: Mapping[str, str] | None = None,
    run: Mapping[str, str] | None = None,
    advice: Sequence[model.Advice] = (),
    graph: bool = True,
    execution: bool = True,
) -> Path:
    """Write what `estimate` says to `path`, whole or not at all; raises Error if it cannot be written.

    `engine_options`, `run` (name of the model, program ...) and `advice`, best first, are kept in the profile. `graph`
    is memory and the program tree, `execution` the parts of a step, stages, the pipeline and transfers.
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
        if graph:
            writer.extend(memory_rows(estimate, found.rows))
            contexts = contexts_of(found.ops, "")
            writer.frame("contexts").add(contexts.columns)
            tree = program_tree(estimate, found.ops, found.rows, transfers(estimate))
            add_programs(writer, tree, contexts.of_op)
        if execution:
            writer.extend(time_rows(estimate))
    return writer.path
