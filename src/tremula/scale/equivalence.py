"""N processes that train a model together, beside one process that does the same work alone.

The model is the program's own, with its weights and optimizer. Each process has the first micro-batch that the program
gave it there; each of the N x A micro-batches of an update is one of those with a little noise of its own. N processes
with accumulation A and one with accumulation N x A must then come to the same weights, up to the rounding of sums that
are made in another order.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import torch

from tremula.capture.state import StateSlots
from tremula.distributed import group
from tremula.distributed.instances import Instances, patience
from tremula.errors import Error
from tremula.program.graph import Loops
from tremula.scale.row import HostRun
from tremula.session import Session
from tremula.study.subject import Subject

#: of a floating-point input, so that micro-batches differ
_NOISE = 0.02
#: distance of the weights over the way that they went which sums in another order may make, by type of the weights
TOLERANCES = {torch.float32: 1e-3, torch.float16: 5e-2, torch.bfloat16: 5e-2}


@dataclass(frozen=True)
class _Trained:
    """Where a training ended."""

    weights: dict[str, torch.Tensor]
    seconds_per_step: float
    random: bool


def train_together(subject: Subject, instance: int, instances: int, steps: int) -> HostRun | None:
    """Train in this process and the others; what came of it, in instance 0.

    Args:
        subject: the model as the program wrapped it.
        instance: which process this is.
        instances: how many there are.
        steps: weight updates, two at least: the first is not timed.

    Raises:
        Error: the model is not trained, or the processes do not come together.
    """
    if not subject.training:
        raise Error(
            "The program's first model is not trained: replicas that only infer share nothing, so there is nothing to "
            "compare."
        )
    slots = StateSlots(subject.parts.module)
    with subject.parts.around():
        start = {name: tensor.detach().clone() for name, tensor in slots.tensors().items()}
    batches = _micro_batches(subject, instance, instances)
    each = subject.loops.gradient_accumulation
    mine = batches[instance * each : (instance + 1) * each]
    together = _train(subject, mine, Instances(instance, instances, patience()), steps, start)
    spread = _spread(together.weights, instance, instances)
    if instance:
        return None
    alone = together
    if instances > 1 and not together.random:
        alone = _train(subject, batches, Instances(), steps, start)
    return _compared(subject, together, alone, start, instances, steps, spread)


def _micro_batches(subject: Subject, instance: int, instances: int) -> list[list[torch.Tensor]]:
    """All micro-batches of an update, in every process: those of process 0 first."""
    inputs = [tensor.contiguous() for tensor in subject.parts.inputs]
    given = [[tensor] for tensor in inputs]
    if instances > 1:
        talk = group.whole(instance, instances, patience())
        # as bytes: not every type can be sent
        given = [
            [part.view(t.dtype).reshape(t.shape) for part in talk.gather(t.reshape(-1).view(torch.uint8))]
            for t in inputs
        ]
    each = subject.loops.gradient_accumulation
    return [
        [_variation(tensor[process], process * each + turn) for tensor in given]
        for process in range(instances)
        for turn in range(each)
    ]


def _train(
    subject: Subject,
    batches: list[list[torch.Tensor]],
    instances: Instances,
    steps: int,
    start: dict[str, torch.Tensor],
) -> _Trained:
    parts = subject.parts
    loops = Loops(gradient_accumulation=len(batches))
    settings = replace(
        parts.settings, loops=loops, rule=parts.rule(), anchors={}, groupings={}, instances=instances
    )
    session = Session(settings, parts.spec)
    slots = StateSlots(parts.module)
    with parts.around():
        with torch.no_grad():
            for name, tensor in slots.tensors().items():
                tensor.copy_(start[name])
        session.compile(parts.module, parts.call, list(parts.inputs), list(parts.input_names), parts.flatten)
    combined = [torch.cat(each) if each[0].dim() else each[0] for each in zip(*batches, strict=True)]
    begin = 0.0
    for step in range(steps):
        if step == 1:
            begin = time.perf_counter()
        session.run(combined)
    seconds = (time.perf_counter() - begin) / (steps - 1)
    trained = session.executable.read_state()
    names = session.program.interface.gradients
    weights = {name: trained[name].detach().clone() for name in names}
    return _Trained(weights, seconds, session.program.uses_random)


def _variation(tensor: torch.Tensor, number: int) -> torch.Tensor:
    """The micro-batch `number`: the program's own with some noise; whole numbers stay as they are."""
    if not tensor.is_floating_point() or not number:
        return tensor
    noise = torch.randn(tensor.shape, generator=torch.Generator().manual_seed(number))
    return (tensor.float() * (1.0 + _NOISE * noise)).to(tensor.dtype)


def _spread(weights: dict[str, torch.Tensor], instance: int, instances: int) -> float:
    """The largest difference between any two processes' weights."""
    if instances == 1:
        return 0.0
    talk = group.whole(instance, instances, patience())
    largest = 0.0
    for tensor in weights.values():
        found = talk.gather(tensor.float().contiguous())
        largest = max(largest, *((found[0] - other).abs().max().item() for other in found[1:]))
    return largest


def _compared(
    subject: Subject,
    together: _Trained,
    alone: _Trained,
    start: dict[str, torch.Tensor],
    instances: int,
    steps: int,
    spread: float,
) -> HostRun:
    names = list(together.weights)
    dtype = max((together.weights[name].dtype for name in names), key=lambda each: TOLERANCES.get(each, 0.0))
    moved = _distance(alone.weights, {name: start[name] for name in names})
    note, deviation = "", None
    if together.random:
        note = "forward draws random numbers, other ones in each replica: only processes are compared, with each other"
    elif instances == 1:
        note = ""  # one alone is what the others are compared with
    elif moved == 0.0:
        note = "the weights did not move (is the learning rate 0?), so there is nothing to compare"
    else:
        deviation = _distance(together.weights, alone.weights) / moved
    tolerance = TOLERANCES.get(dtype, max(TOLERANCES.values()))
    equivalent = None if deviation is None else deviation <= tolerance and spread == 0.0
    return HostRun(
        instances=instances,
        steps=steps,
        samples_per_step=subject.micro_batch * subject.loops.gradient_accumulation * instances,
        seconds_per_step=together.seconds_per_step,
        spread=spread,
        deviation=deviation,
        tolerance=tolerance,
        equivalent=equivalent,
        note=note,
    )


def _distance(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> float:
    total = sum(((first[name].double() - second[name].double()) ** 2).sum().item() for name in first)
    return float(total**0.5)
