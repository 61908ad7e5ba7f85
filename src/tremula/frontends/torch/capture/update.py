"""Capture of accumulation and update; their ops carry the placement of the parameter that they change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from tremula.frontends.torch.capture.context import Capture
from tremula.frontends.torch.capture.record import Recorder, make_graph
from tremula.frontends.torch.capture.repetition import Repetition
from tremula.frontends.torch.graphs.program import Annotation
from tremula.program.op import Phase

#: update(parameters, gradients, state, hyper, each), in place; `each` does the part of one parameter
Update = Callable[
    [
        Mapping[str, torch.Tensor],
        Mapping[str, torch.Tensor],
        dict[str, torch.Tensor],
        Mapping[str, torch.Tensor],
        Repetition,
    ],
    None,
]


def capture_accumulate(
    gradients: Mapping[str, torch.Tensor],
    dtypes: Sequence[torch.dtype],
    annotations: Mapping[str, Annotation],
    *,
    running_mean: bool,
) -> fx.GraphModule:
    """Add gradients to their accumulators; for a running mean, both are multiplied first (0-d `keep` and `weight`)."""
    mode = FakeTensorMode()
    with mode:
        accumulators = [
            torch.empty(g.shape, dtype=d) for g, d in zip(gradients.values(), dtypes, strict=True)
        ]
        incoming = [torch.empty(g.shape, dtype=g.dtype) for g in gradients.values()]
        factors = [torch.empty(()), torch.empty(())] if running_mean else []
    count = len(accumulators)
    recorder = _recorder(Phase.ACCUMULATE)

    def accumulate(*tensors: torch.Tensor) -> list[torch.Tensor]:
        factors = tensors[2 * count :]
        pairs = zip(gradients, tensors[:count], tensors[count : 2 * count], strict=True)
        for name, accumulator, gradient in pairs:
            recorder.annotation = annotations.get(name, Annotation())
            if factors:
                keep, weight = factors
                accumulator.mul_(keep).add_(gradient.to(accumulator.dtype) * weight.to(accumulator.dtype))
            else:
                accumulator.add_(gradient.to(accumulator.dtype))
        return []

    return make_graph(recorder, accumulate, *accumulators, *incoming, *factors)


def capture_update(
    update: Update,
    parameters: Mapping[str, torch.Tensor],
    gradients: Mapping[str, torch.Tensor],
    state: Mapping[str, torch.Tensor],
    hyper: Mapping[str, torch.Tensor],
    annotations: Mapping[str, Annotation],
) -> fx.GraphModule:
    """The optimizer's update as a graph over parameters, gradients, state and hyperparameters, in that order."""
    mode = FakeTensorMode()
    tables = (parameters, gradients, state, hyper)
    with mode:
        fakes = [torch.empty(t.shape, dtype=t.dtype) for table in tables for t in table.values()]

    recorder = _recorder(Phase.UPDATE)

    def apply(*tensors: torch.Tensor) -> list[torch.Tensor]:
        values = iter(tensors)
        weights, incoming, kept, scalars = ({name: next(values) for name in table} for table in tables)
        with torch.no_grad():
            update(weights, incoming, kept, scalars, Repetition(recorder, annotations))
        return []

    return make_graph(recorder, apply, *fakes)


def _recorder(phase: Phase) -> Recorder:
    recorder = Recorder(Capture(training=True))
    recorder.phase = phase
    return recorder
