"""Capture of a step, forward and for training backward, as one graph; `forward` runs once, on fake tensors."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from tremula.frontends.torch.capture.context import Capture, capturing
from tremula.frontends.torch.capture.explain import explain
from tremula.frontends.torch.capture.function_mode import Dialect
from tremula.frontends.torch.capture.losses import final_loss
from tremula.frontends.torch.capture.record import Recorder, make_graph
from tremula.frontends.torch.capture.refusals import refusal
from tremula.frontends.torch.capture.state import StateSlots
from tremula.frontends.torch.capture.support import warn_of_unknown_ops
from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.graphs.effects import mutated_placeholders, uses_random

#: turns what forward returned into its tensors, in order
Flatten = Callable[[Any], list[torch.Tensor]]


@dataclass
class CapturedStep:
    """One captured step and what the session needs to run it."""

    graph: fx.GraphModule
    #: what `forward` returned, with fake tensors (and host constants) in it
    result: Any
    #: positions in `result`'s flat tensors that the graph computes; the others are host constants
    computed: tuple[bool, ...]
    gradients: tuple[str, ...]
    mutated_buffers: frozenset[str]
    mutated_inputs: frozenset[int]
    uses_random: bool


def capture_step(
    module: torch.nn.Module,
    call: Callable[[list[torch.Tensor]], Any],
    inputs: Sequence[torch.Tensor],
    *,
    capture: Capture,
    flatten: Flatten,
    shapes: Mapping[str, torch.Size] | None = None,
    dtype_of: Callable[[torch.dtype], torch.dtype] = device_dtype,
    source_excludes: tuple[str, ...] = (),
    warns_of_unknown_ops: bool = True,
) -> CapturedStep:
    """Capture `call(inputs)`, which must run `module`'s forward on one micro-batch in device dtypes. `shapes` has
    parameters whose shape per replica differs from the host's; `source_excludes` are paths that are never the user's
    line; `warns_of_unknown_ops`: users learn of ops that PopTorch has not got.
    """
    mode = FakeTensorMode(allow_non_fake_inputs=False)
    slots = StateSlots(module)
    state = slots.fake(mode, shapes or {}, dtype_of)
    fakes = [_faked(tensor, mode) for tensor in inputs]
    recorder = Recorder(capture, source_excludes)
    found: dict[str, Any] = {}

    def step(*arguments: torch.Tensor) -> list[torch.Tensor]:
        held = arguments[: len(slots)]
        micro_batch = list(arguments[len(slots) : len(slots) + len(fakes)])
        with slots.filled(held), Dialect(capture):
            result = call(micro_batch)
        recorder.finished = True
        if capture.refused:
            raise refusal(capture.refused)
        with torch.no_grad():
            outputs, computed = _outputs(flatten(result), arguments)
        found.update(result=result, computed=computed)
        if not capture.training:
            return outputs
        gradients = _gradients(recorder, capture, slots, held, scale=arguments[-1])
        found["gradients"] = tuple(gradients)
        return outputs + list(gradients.values())

    arguments = [*state, *fakes]
    if capture.training:
        arguments.append(mode.from_tensor(torch.ones(())))
    with capturing(capture), _device_semantics(), torch.set_grad_enabled(capture.training):
        try:
            graph = make_graph(recorder, step, *arguments)
        except Exception as error:
            explained = explain(error, module, capture.refused)
            if explained is error:
                raise
            raise explained from error
    slots.check_unchanged()
    if warns_of_unknown_ops:
        warn_of_unknown_ops(graph.graph)

    mutated = mutated_placeholders(graph.graph)
    names = slots.names
    return CapturedStep(
        graph=graph,
        result=found["result"],
        computed=tuple(found["computed"]),
        gradients=found.get("gradients", ()),
        mutated_buffers=frozenset(names[i] for i in mutated if i < len(slots)),
        mutated_inputs=frozenset(
            i - len(slots) for i in mutated if len(slots) <= i < len(slots) + len(fakes)
        ),
        uses_random=uses_random(graph.graph),
    )


def _faked(tensor: torch.Tensor, mode: FakeTensorMode) -> torch.Tensor:
    """A fake tensor of the host; one on the meta device, which only has a shape, stands for one there."""
    if tensor.device.type != "meta":
        return mode.from_tensor(tensor.detach())
    with mode:
        return torch.empty(tensor.shape, dtype=tensor.dtype)


def _outputs(
    tensors: list[torch.Tensor], arguments: Sequence[torch.Tensor]
) -> tuple[list[torch.Tensor], list[bool]]:
    """The tensors that the graph returns, narrowed to device dtypes and never aliases of its inputs."""
    storages = {argument.untyped_storage()._cdata for argument in arguments}
    outputs = []
    computed = []
    for tensor in tensors:
        computed.append(isinstance(tensor, FakeTensor))
        if not computed[-1]:
            warnings.warn(
                f"Output expected to be on the IPU but is on {tensor.device.type}: it was not computed from "
                "the model's inputs, parameters or buffers inside forward() and is returned as it is.",
                stacklevel=2,
            )
            continue
        dtype = device_dtype(tensor.dtype)
        if dtype != tensor.dtype:
            tensor = tensor.to(dtype)
        elif tensor.untyped_storage()._cdata in storages:
            tensor = tensor.clone()
        storages.add(tensor.untyped_storage()._cdata)
        outputs.append(tensor.detach())
    return outputs, computed


def _gradients(
    recorder: Recorder,
    capture: Capture,
    slots: StateSlots,
    held: Sequence[torch.Tensor],
    scale: torch.Tensor,
) -> dict[str, torch.Tensor]:
    """Gradients of the scaled final loss for every parameter that takes part in it."""
    with capture.attributes(kind="identity_loss"):  # the op that the backward pass starts from
        loss = torch.ops.aten.alias.default(final_loss(capture.losses))
    trainable = [
        (name, tensor) for name, tensor in zip(slots.names, held, strict=True) if tensor.requires_grad
    ]
    if not trainable or loss.grad_fn is None:
        return {}
    with recorder.differentiating([loss]):
        seed = scale.to(loss.dtype).expand(loss.shape)
        gradients = torch.autograd.grad([loss], [t for _, t in trainable], [seed], allow_unused=True)
    return {
        name: gradient
        for (name, _), gradient in zip(trainable, gradients, strict=True)
        if gradient is not None
    }


@contextlib.contextmanager
def _device_semantics() -> Iterator[None]:
    """Host-side checks that read values are off while there are none, and so is torch's log of a user's bug."""
    distribution = torch.distributions.Distribution
    validate = distribution._validate_args
    distribution.set_default_validate_args(False)
    # a shape that does not fit is reported by the exception; the trace through torch's insides helps nobody
    fake_log = logging.getLogger("torch._subclasses.fake_tensor")
    disabled, fake_log.disabled = fake_log.disabled, True
    try:
        yield
    finally:
        fake_log.disabled = disabled
        distribution.set_default_validate_args(validate)
