"""The loops that a user would write by hand: eager PyTorch, and torch.compile in several ways.

The eager loops are the usual ones, with torch's optimizers as they come. Of the compiled ones the fastest on this
host is the one to compare with; `Search` finds it by varying one choice at a time: layout, the whole step as one
graph (training) or frozen weights (inference), inductor's C++ wrapper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from .speed_models import ADAM_BETAS, ADAM_EPSILON, ADAM_RATE, SGD_MOMENTUM, SGD_RATE, Network

#: one call: as many micro-batches as the row has device iterations; gives the loss (training) or the output
Runner = Callable[[], Tensor]
MicroBatch = tuple[Tensor, ...]


@dataclass(frozen=True)
class Variant:
    """One way to write the compiled loop."""

    training: bool
    channels_last: bool = False
    whole_step: bool = False
    freezing: bool = False
    cpp_wrapper: bool = False

    def __str__(self) -> str:
        parts = []
        if self.training:
            parts.append("whole step compiled" if self.whole_step else "model compiled, fused optimizer")
        else:
            parts.append("frozen" if self.freezing else "compiled")
        parts += ["channels-last"] * self.channels_last + ["C++ wrapper"] * self.cpp_wrapper
        return ", ".join(parts)

    @property
    def inductor_options(self) -> dict[str, Any]:
        """What torch.compile is told besides its defaults."""
        options: dict[str, Any] = {}
        if self.freezing:
            options["freezing"] = True
        if self.cpp_wrapper:
            options["cpp_wrapper"] = True
        return options


class Search:
    """Walks through variants, keeping the fastest so far; a variant that fails to compile is passed over."""

    def __init__(self, network: Network, training: bool) -> None:
        self._has_layouts = network.image_dimensions > 0
        self._first = Variant(training)
        #: figures of those that ran (lower is better) and what went wrong with the others
        self.figures: dict[Variant, float] = {}
        self.failures: dict[Variant, str] = {}

    @property
    def best(self) -> Variant:
        """The fastest so far.

        Raises:
            RuntimeError: none ran.
        """
        if not self.figures:
            reasons = "; ".join(f"{variant}: {reason}" for variant, reason in self.failures.items())
            raise RuntimeError(f"no torch.compile loop runs here ({reasons})")
        return min(self.figures, key=self.figures.__getitem__)

    def candidates(self) -> Iterator[Variant]:
        """What to try next, given the figures that were filled in for what came before."""
        yield self._first
        if self._has_layouts:
            yield replace(self._first, channels_last=True)
        if self._first.training:
            # a whole step may gain more by a layout than the forward pass did, or less: try both
            for channels_last in (False, True)[: 1 + self._has_layouts]:
                yield replace(self._first, whole_step=True, channels_last=channels_last)
        else:
            yield replace(self.best, freezing=True)
        yield replace(self.best, cpp_wrapper=True)


def torch_optimizer(network: Network, model: nn.Module, **settings: Any) -> torch.optim.Optimizer:
    """torch's own optimizer with the benchmark's settings."""
    if network.optimizer == "SGD":
        return torch.optim.SGD(model.parameters(), lr=SGD_RATE, momentum=SGD_MOMENTUM, **settings)
    return torch.optim.Adam(model.parameters(), lr=ADAM_RATE, betas=ADAM_BETAS, eps=ADAM_EPSILON, **settings)


def eager_training(network: Network, model: nn.Module, micro_batches: list[MicroBatch]) -> Runner:
    """The usual loop."""
    model.train()
    return _loop(model, torch_optimizer(network, model), micro_batches, None)


def eager_inference(model: nn.Module, micro_batches: list[MicroBatch]) -> Runner:
    """Forward passes without gradients."""
    return _forward(model.eval(), micro_batches, None)


def compiled_training(
    network: Network, model: nn.Module, micro_batches: list[MicroBatch], variant: Variant
) -> Runner:
    """A training loop with torch.compile."""
    layout = _layout(network, variant)
    if layout is not None:
        model = model.to(memory_format=layout)
    model.train()
    if not variant.whole_step:
        compiled = torch.compile(model, options=variant.inductor_options)
        return _loop(compiled, torch_optimizer(network, model, fused=True), micro_batches, layout)
    step = torch.compile(
        _whole_step(network, model, layout), fullgraph=True, options=variant.inductor_options
    )
    # set while it compiles only: nothing else in the process should find it changed
    with torch._dynamo.config.patch(trace_autograd_ops=True):
        step(*micro_batches[0])

    def run() -> Tensor:
        for batch in micro_batches:
            loss = step(*batch)
        return loss

    return run


def compiled_inference(
    network: Network, model: nn.Module, micro_batches: list[MicroBatch], variant: Variant
) -> Runner:
    """Forward passes with torch.compile."""
    layout = _layout(network, variant)
    if layout is not None:
        model = model.to(memory_format=layout)
    model.eval()
    compiled = torch.compile(model, options=variant.inductor_options)
    return _forward(compiled, micro_batches, layout)


def _layout(network: Network, variant: Variant) -> torch.memory_format | None:
    if not variant.channels_last:
        return None
    return torch.channels_last if network.image_dimensions == 2 else torch.channels_last_3d


def _in_layout(batch: MicroBatch, layout: torch.memory_format | None) -> MicroBatch:
    """The batch as a loader gives it, with the images (the first input) converted: part of such a loop's work."""
    return batch if layout is None else (batch[0].to(memory_format=layout), *batch[1:])


def _loop(
    model: Callable[..., Any],
    optimizer: torch.optim.Optimizer,
    micro_batches: list[MicroBatch],
    layout: torch.memory_format | None,
) -> Runner:
    def run() -> Tensor:
        for batch in micro_batches:
            optimizer.zero_grad(set_to_none=True)
            _, loss = model(*_in_layout(batch, layout))
            loss.backward()
            optimizer.step()
        return loss.detach()

    return run


def _forward(
    model: Callable[..., Any], micro_batches: list[MicroBatch], layout: torch.memory_format | None
) -> Runner:
    def run() -> Tensor:
        with torch.no_grad():
            for batch in micro_batches:
                output = model(*_in_layout(batch, layout))
        return output

    return run


def _whole_step(
    network: Network, model: nn.Module, layout: torch.memory_format | None
) -> Callable[..., Tensor]:
    """Forward, backward and update as one function.

    torch.compile does not take an optimizer's `step` into a larger graph, nor `backward`: so the gradients are
    asked for and the update rule is written out, as someone would who wants one graph.
    """
    parameters = list(model.parameters())
    first = [torch.zeros_like(parameter) for parameter in parameters]
    second = [torch.zeros_like(parameter) for parameter in parameters]
    count = torch.zeros(())

    def sgd(gradients: tuple[Tensor, ...]) -> None:
        for parameter, gradient, velocity in zip(parameters, gradients, first, strict=True):
            velocity.mul_(SGD_MOMENTUM).add_(gradient)
            parameter.sub_(velocity, alpha=SGD_RATE)

    def adam(gradients: tuple[Tensor, ...]) -> None:
        beta1, beta2 = ADAM_BETAS
        count.add_(1)
        size = ADAM_RATE / (1 - beta1**count)
        scale = (1 - beta2**count).sqrt()
        for parameter, gradient, mean, square in zip(parameters, gradients, first, second, strict=True):
            mean.lerp_(gradient, 1 - beta1)
            square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            parameter.sub_(size * mean / (square.sqrt() / scale + ADAM_EPSILON))

    update = sgd if network.optimizer == "SGD" else adam

    def step(*batch: Tensor) -> Tensor:
        _, loss = model(*_in_layout(batch, layout))
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            update(gradients)
        return loss.detach()

    return step
