"""N processes that train a model together, beside one process that does the same work alone.

The model is the program's own, with its weights and optimizer. Each process has the first micro-batch that the program
gave it there; each of the N x A micro-batches of an update is one of those with noise of its own. Two things are asked.
After some steps, do all processes have the same weights, bit for bit? And is the gradient that N processes with
accumulation A sum up that of one with accumulation N x A? The gradient and not the weights, for an optimizer like Adam
makes a full step of a gradient that is rounding alone.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, replace

import torch

from tremula.distributed import collectives
from tremula.distributed.host_run import HostRun, Outcome
from tremula.distributed.instances import Instances, sync_timeout
from tremula.errors import Error
from tremula.frontends.torch.capture.state import StateSlots
from tremula.frontends.torch.optimize.named import named_spec
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, OptimizerSpec
from tremula.frontends.torch.session import Session
from tremula.frontends.torch.subject import TorchSubject
from tremula.invariants import present
from tremula.program.loops import Loops

#: share of its value by which a floating-point input is changed at most, so that micro-batches differ; signs stay
_NOISE = 0.5
#: difference of summed gradients, over their size, that sums in another order may make, by type of the weights
TOLERANCES = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}

#: a micro-batch: its tensors
MicroBatch = list[torch.Tensor]


@dataclass(frozen=True)
class _Together:
    """What a training with the program's own optimizer came to, and what is known of its model."""

    seconds_per_step: float
    spread: float  #: largest difference of the weights between any two processes
    random: bool
    dtype: torch.dtype  #: of most weights


def train_together(subject: TorchSubject, instance: int, instances: int, steps: int) -> HostRun | None:
    """Train in this process and the others; what came of it, in instance 0.

    `steps` is two at least: the first is not timed. Raises Error if the processes do not come together.
    """
    if not subject.training:
        raise Error(
            "The program's first model is not trained, and replicas for inference share no results, so there is "
            "nothing to compare."
        )
    start = _weights(subject)
    batches = _micro_batches(subject, instance, instances)
    each = subject.loops.gradient_accumulation
    mine = batches[instance * each : (instance + 1) * each]
    everybody = Instances(instance, instances, sync_timeout())
    together = _train(subject, mine, everybody, steps, start)
    summed = alone = None
    if instances > 1 and not together.random:
        summed = _gradient(subject, mine, everybody, start)
        alone = _gradient(subject, batches, Instances(), start) if instance == 0 else None
    if instance:
        return None
    return compared(subject, together, summed, alone, alike=_alike(batches), instances=instances, steps=steps)


def _weights(subject: TorchSubject) -> dict[str, torch.Tensor]:
    with subject.parts.around():
        tensors = StateSlots(subject.parts.module).tensors()
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def _micro_batches(subject: TorchSubject, instance: int, instances: int) -> list[MicroBatch]:
    """All micro-batches of an update, in every process: those of process 0 first."""
    inputs = [tensor.contiguous() for tensor in subject.parts.inputs]
    given = [[tensor] for tensor in inputs]
    if instances > 1:
        talk = collectives.whole(instance, instances, sync_timeout())
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


def _variation(tensor: torch.Tensor, number: int) -> torch.Tensor:
    """The micro-batch `number`: the program's own with some noise; whole numbers stay as they are."""
    if not tensor.is_floating_point() or not number:
        return tensor
    noise = torch.rand(tensor.shape, generator=torch.Generator().manual_seed(number))
    return (tensor.float() * (1.0 + _NOISE * (2.0 * noise - 1.0))).to(tensor.dtype)


def _alike(batches: list[MicroBatch]) -> bool:
    """Whether all micro-batches are the same, so that no sum of gradients could be told from one of them."""
    first, *others = batches
    return all(torch.equal(a, b) for other in others for a, b in zip(first, other, strict=True))


def _session(
    subject: TorchSubject,
    batches: list[MicroBatch],
    instances: Instances,
    start: dict[str, torch.Tensor],
    spec: OptimizerSpec | None,
) -> tuple[Session, list[torch.Tensor]]:
    """The model with the weights of `start`, ready for `batches`; and those as one combined batch."""
    parts = subject.parts
    settings = replace(
        parts.settings,
        loops=Loops(gradient_accumulation=len(batches)),
        rule=parts.rule(),
        anchors={},
        groupings={},
        instances=instances,
    )
    session = Session(settings, spec)
    with parts.around():
        with torch.no_grad():
            for name, tensor in StateSlots(parts.module).tensors().items():
                tensor.copy_(start[name])
        session.compile(parts.module, parts.call, list(parts.inputs), list(parts.input_names), parts.flatten)
    return session, [torch.cat(each) if each[0].dim() else each[0] for each in zip(*batches, strict=True)]


def _train(
    subject: TorchSubject,
    batches: list[MicroBatch],
    instances: Instances,
    steps: int,
    start: dict[str, torch.Tensor],
) -> _Together:
    """Some steps with the program's own optimizer."""
    session, combined = _session(subject, batches, instances, start, subject.parts.spec)
    begin = 0.0
    for step in range(steps):
        if step == 1:
            begin = time.perf_counter()
        session.run(combined)
    seconds = (time.perf_counter() - begin) / (steps - 1)
    state = session.executable.read_state()
    trained = {name: state[name] for name in session.program.interface.gradients}
    sizes: dict[torch.dtype, int] = {}
    for tensor in trained.values():
        sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + tensor.numel()
    return _Together(
        seconds,
        _spread(trained, instances),
        session.program.uses_random,
        max(sizes, key=sizes.__getitem__, default=torch.float32),
    )


def _gradient(
    subject: TorchSubject, batches: list[MicroBatch], instances: Instances, start: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """The gradient of one update, summed over micro-batches and processes.

    A velocity without history is the gradient, and a learning rate of 0 leaves the weights as they are.
    """
    own = present(subject.parts.spec, "the optimizer")
    plain = named_spec(
        "momentum", [name for name, _ in own.parameters()], accumulator=own.accum_type or torch.float32
    )
    still = {**plain.groups[0].values, "learningRate": HyperValue(0.0)}
    spec = replace(
        plain, groups=(GroupSpec(plain.groups[0].parameters, still),), loss_scaling=own.loss_scaling
    )
    session, combined = _session(subject, batches, instances, start, spec)
    session.run(combined)
    training = present(session.executable.training, "the training state")
    return {name: tensor.detach().clone() for name, tensor in training.state.items() if tensor.dim()}


def _spread(weights: dict[str, torch.Tensor], instances: Instances) -> float:
    """The largest difference between any two processes' weights."""
    if instances.count == 1:
        return 0.0
    talk = collectives.whole(instances.index, instances.count, instances.timeout)
    largest = 0.0
    for tensor in weights.values():
        first, *others = talk.gather(tensor.reshape(-1).contiguous().view(torch.uint8))
        for other in others:
            if not torch.equal(first, other):  # bits, so that what is not a number is equal to itself
                between = (
                    (first.view(tensor.dtype).double() - other.view(tensor.dtype).double()).abs().max().item()
                )
                largest = max(largest, between if math.isfinite(between) else sys.float_info.max)
    return largest


def compared(
    subject: TorchSubject,
    together: _Together,
    summed: dict[str, torch.Tensor] | None,
    alone: dict[str, torch.Tensor] | None,
    *,
    alike: bool,
    instances: int,
    steps: int,
) -> HostRun:
    """The verdict: what the processes came to, and how far their gradient is from that of one."""
    size = difference = None
    if not together.random and summed is not None and alone is not None:
        size, difference = _distance(alone, None), _distance(summed, alone)
    outcome = Outcome(
        seconds_per_step=together.seconds_per_step,
        spread=together.spread,
        random=together.random,
        alike=alike,
        size=size,
        difference=difference,
        tolerance=TOLERANCES.get(together.dtype, max(TOLERANCES.values())),
    )
    samples = subject.micro_batch * subject.loops.gradient_accumulation * instances
    return outcome.judged(instances, steps, samples, replicas=subject.loops.replicas)


def _distance(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor] | None) -> float:
    """The length of the difference of two gradients; of the first one, if there is no second."""
    total = 0.0
    for name, tensor in first.items():
        other = 0.0 if second is None else second[name].double()
        total += ((tensor.double() - other) ** 2).sum().item()
    return float(total**0.5)
