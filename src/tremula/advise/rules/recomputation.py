"""Recomputation: forward results kept or made again before their gradients (schedule/recompute.py).

A stage without checkpoints computes all of its forward pass again and saves nothing: both are advised together.
"""

from __future__ import annotations

from collections.abc import Iterable

from tremula.advise.advice import CLOSE, Change, edited
from tremula.estimate.estimate import Estimate
from tremula.module_paths import around, first_parts, is_inside, parts
from tremula.program.op import Phase
from tremula.study.case import Case, Study

#: checkpoints that a change sets at most
_MOST = 64
#: members of lists that make other modules uninteresting
_FEWEST = 4


def on_or_off(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Suggest no recomputation if memory is free, or recomputation of norms only."""
    if not found.training:
        return
    mode = found.deployment.recompute
    recomputed = sum(stage.recompute.total for stage in found.time.stages)
    if mode != "none" and recomputed:
        yield Change(
            rule="no recomputation",
            title="Keep activations instead of recomputing them",
            why=f"Recomputed forward ops take {recomputed / found.time.micro_batch.total:.0%} of the work of a "
            "micro-batch.",
            code=study.subject.dialect.recomputation("none"),
            cost="All activations that gradients need are kept; a pipeline keeps them for several micro-batches.",
            apply=edited(deployment={"recompute": "none"}),
            sets=frozenset({"recomputation"}),
        )
    if mode != "norms" and (mode == "all" or found.memory.headroom < 1.0 - CLOSE):
        yield Change(
            rule="recompute norms",
            title="Recompute only norms and element-wise ops",
            why="Their results are as large as those of products and cheap to recompute.",
            code=study.subject.dialect.recomputation("norms"),
            cost="The backward pass takes slightly longer, because nothing was recomputed before.",
            apply=edited(deployment={"recompute": "norms"}),
            sets=frozenset({"recomputation"}),
        )


def checkpoints(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Recomputation from the results of layers."""
    if not found.training or found.memory.headroom > 1.0 - CLOSE or case.changes.checkpoints:
        return
    layers = _layers(study, case, found)
    for step in (1, 2, 4):
        chosen = layers[step - 1 :: step][:_MOST]
        if not chosen:
            break
        yield Change(
            rule="recomputation checkpoints",
            title=f"Recompute from the results of {len(chosen)} layers",
            why="Only the results of these layers are kept for the backward pass. The rest is recomputed from "
            "them, layer by layer.",
            code=study.subject.dialect.checkpoints(chosen),
            cost="The forward pass of these layers runs twice.",
            apply=edited(deployment={"recompute": "all"}, changes={"checkpoints": tuple(chosen)}),
            # which layers to mark depends on the stages: the last one should have no mark
            sets=frozenset({"recomputation", "layout"}),
        )


def _layers(study: Study, case: Case, found: Estimate) -> list[str]:
    """Layers that forward runs once, one after the other, whose results could be checkpoints; in order.

    Those are the members of lists (`layers.3`), outermost first; without lists, the modules at the first depth at which
    there are several. Modules of the last stage of a pipeline are left out: it forgets nothing as long as nothing
    is marked in it.
    """
    program = found.program
    forward = [program.ops[number] for number in program.of_phase(Phase.FORWARD)]
    last = program.forward_stages - 1 if found.deployment.execution == "pipelined" else -1
    late = {op.module for op in forward if op.stage == last}
    once = {cut.module for cut in study.subject_of(case).captured(case.variant).cuts}
    once |= {forward[0].module} if forward else set()

    def usable(paths: Iterable[str]) -> list[str]:
        return [
            path
            for path in dict.fromkeys(paths)
            if study.subject.gives_one_tensor(path)
            and _begins_once(path, once)
            and not any(is_inside(module, path) for module in late)
        ]

    modules = {op.module: parts(op.module) for op in forward if op.module}
    listed = usable(
        first_parts(module, 1 + next(at for at, name in enumerate(names) if name.isdigit()))
        for module, names in modules.items()
        if any(name.isdigit() for name in names)
    )
    if len(listed) >= _FEWEST:
        return listed
    for depth in range(1, 5):
        found_layers = usable(
            first_parts(module, depth) for module, names in modules.items() if len(names) >= depth
        )
        if len(found_layers) >= _FEWEST:
            return found_layers
    return listed


def _begins_once(path: str, once: set[str]) -> bool:
    """Whether the module at `path`, or the one around it that may begin at the same op, is known to be called once."""
    return path in once or around(path) in once
