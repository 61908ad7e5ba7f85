"""Recomputation: which forward ops run a second time before the gradients that need their results.

Kept for the backward pass are weights, inputs of a stage, and results that the user marked; everything
else that a gradient reads is computed again from those. A pipeline's last stage goes straight on to its
gradients, so nothing is forgotten there unless the user marked a result in it. An op that the user
marked to run again does so under every setting. `norms` forgets only the results of normalisations and
of element-wise ops: what is cheap to make again. Source: PopART's recomputation types; facts in the
vendor's documentation of pipelined execution.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.program.op import RUNS_AGAIN, Op, Phase
from tremula.program.program import Program
from tremula.program.work import Cast, Elementwise, Norm, Random
from tremula.schedule.deployment import Deployment

_CHEAP = (Norm, Elementwise, Cast, Random)


@dataclass(frozen=True)
class Recomputation:
    """What runs again, and what is kept instead."""

    #: numbers of forward ops that run again, in program order
    again: tuple[int, ...]
    #: (storage, forward stage): read by the backward pass of that stage and kept from its forward pass
    saved: tuple[tuple[int, int], ...]


def recomputation(program: Program, deployment: Deployment) -> Recomputation:
    """What of `program` runs again under the settings of `deployment`."""
    ops, tensors = program.ops, program.tensors
    forget = _forgetting(program, deployment)
    pipelined = deployment.execution == "pipelined"
    last = program.forward_stages - 1
    marked = {tensors[t].storage for op in ops if op.checkpoint for t in (*op.inputs, *op.outputs)}
    marked |= {tensors[t.storage].storage for t in tensors if t.name in deployment.checkpoints}
    # what a gradient reads, with the forward stage whose gradient it is
    needed = [
        (tensors[t].storage, 2 * last - ops[number].stage if pipelined else 0)
        for number in program.of_phase(Phase.BACKWARD)
        for t in ops[number].inputs
    ]
    makers = _makers(program)
    inputs = {tensors[t].storage for t in program.inputs}
    again: set[int] = set()
    saved: set[tuple[int, int]] = set()
    seen: set[tuple[int, int]] = set()
    while needed:
        want = needed.pop()
        if want in seen:
            continue
        seen.add(want)
        storage, stage = want
        made_by = makers.get(storage)
        if made_by is None:
            if storage in inputs:
                saved.add(want)
            continue  # there before the step, or made by the backward pass itself
        maker = ops[made_by[0]]
        arrived = pipelined and maker.stage != stage  # an input of this stage, made by another
        if arrived or storage in marked or not forget(maker):
            saved.add(want)
            continue
        for number in made_by:
            if pipelined and ops[number].stage != stage:
                continue  # a view for another stage
            again.add(number)
            needed.extend((tensors[operand].storage, stage) for operand in ops[number].inputs)
    return Recomputation(tuple(sorted(again)), tuple(sorted(saved)))


def _makers(program: Program) -> dict[int, list[int]]:
    """Forward ops that write each storage, in order; what is there before the step has none."""
    makers: dict[int, list[int]] = {}
    tensors = program.tensors
    for number in program.of_phase(Phase.FORWARD):
        for made in program.ops[number].outputs:
            storage = tensors[made].storage
            if tensors[storage].producer >= 0:
                makers.setdefault(storage, []).append(number)
    return makers


class _forgetting:  # noqa: N801 (a predicate with settings)
    """Whether the results of a forward op are forgotten."""

    def __init__(self, program: Program, deployment: Deployment) -> None:
        self._mode = deployment.recompute if program.training else "none"
        self._training = program.training
        self._last = -1
        if deployment.execution == "pipelined" and deployment.pipeline_schedule != "sequential":
            last = program.forward_stages - 1
            named, tensors = deployment.checkpoints, program.tensors
            if not any(
                op.stage == last
                and (op.checkpoint or any(tensors[made].name in named for made in op.outputs))
                for op in program.ops
            ):
                self._last = last

    def __call__(self, op: Op) -> bool:
        if self._training and op.attributes.get(RUNS_AGAIN):
            return True
        if self._mode == "none" or op.stage == self._last:
            return False
        if self._mode == "norms":
            return bool(op.works) and all(isinstance(work, _CHEAP) for work in op.works)
        return True
