"""The end of a device iteration where several instances train one model: sum, divide, update. Forms differ in
rounding, so everything after the sum is this one piece of code, and weights stay the same bit for bit. In the quick
form the sum of a bucket begins during the backward pass (`EarlyStep`), which pays where the network does the work of a
sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from tremula.errors import Error
from tremula.frontends.torch.execute.buckets import Buckets
from tremula.frontends.torch.execute.device_state import TrainingState
from tremula.frontends.torch.execute.run_context import RunContext
from tremula.frontends.torch.graphs.program import TorchProgram, tensors_of
from tremula.invariants import present


class SharedUpdate:
    """Sums the accumulators over all instances and updates the weights with them."""

    def __init__(self, around: RunContext, update: Callable[..., Any]) -> None:
        state = around.state
        self._around = around
        self._update = update
        self._training: TrainingState = present(state.training, "the training state")
        self.buckets: Buckets = present(state.buckets, "the buckets of gradients")
        self._begun = 0
        self._ready: set[int] = set()
        self._failure: BaseException | None = None

    def ready(self, bucket: int) -> None:
        """All gradients of a bucket are there. Its sum begins after those of the buckets before it."""
        self._ready.add(bucket)
        while self._begun in self._ready:
            self._begin(self._begun)

    def start(self) -> None:
        """A device iteration begins; an error if the one before was left in the middle, so that weights differ."""
        if self._failure is None and not self._ready:
            return
        if isinstance(self._failure, Error):
            raise self._failure
        raise Error(
            "An earlier call was interrupted in the middle of an update that all instances make together. Their "
            "weights may differ now: start the run again, from a checkpoint."
        )

    def finish(self) -> None:
        """Sum what has not been begun yet, wait, and update."""
        try:
            self._reduce()
            self._apply()
        except BaseException as failure:
            self._failure = failure
            raise
        self._begun = 0
        self._ready.clear()

    def _reduce(self) -> None:
        reduction = self._around.reduction
        if reduction is None:  # a trial
            return
        while self._begun < len(self.buckets.flat):
            self._begin(self._begun)
        reduction.finish()

    def _apply(self) -> None:
        training = self._training
        if not training.running_mean:
            self.buckets.divide(training.divisor)
        state = self._around.state
        with self._around.update_stream():
            self._update(
                *state.trained, *state.accumulators, *training.state.values(), *training.hyper.values()
            )

    def _begin(self, bucket: int) -> None:
        reduction = present(self._around.reduction, "the reduction over instances")
        flat = self.buckets.flat[bucket]
        if self._training.running_mean:
            # the mean of means; before the sum, for a running mean is there to stay in the range of half precision
            flat.div_(self._training.divisor)
        self._begun = bucket + 1
        if flat.numel():
            reduction.start(flat)


class EarlyStep:
    """The step of the quick form, which puts its gradients into the buckets of `shared` and begins their sums."""

    def __init__(self, program: TorchProgram, lowered: Callable[..., Any], shared: SharedUpdate) -> None:
        self._shared = shared
        views = shared.buckets.views
        self._views = [[views[i] for i in members] for members in shared.buckets.members]
        #: whether the gradients of this turn are the first, and what is in the buckets is old
        self.first_turn = True
        self.run = self._with_hooks(lowered.__self__, len(program.interface.gradients))  # type: ignore[attr-defined]

    def _with_hooks(self, module: fx.GraphModule, count: int) -> Callable[..., Any]:
        def bucket_is_ready(bucket: int, *gradients: torch.Tensor) -> None:
            fill(self._views[bucket], gradients, first=self.first_turn)
            self._shared.ready(bucket)

        graph = fx.Graph()
        copies: dict[fx.Node, fx.Node] = {}
        outputs: Any = graph.graph_copy(module.graph, copies)
        gradients = outputs[len(outputs) - count :]
        places = {node: place for place, node in enumerate(graph.nodes)}
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        for bucket, members in enumerate(self._shared.buckets.members):
            made = [gradients[i] for i in members]
            with graph.inserting_after(max([*made, inputs[-1]], key=places.__getitem__)):
                graph.call_function(bucket_is_ready, (bucket, *made))
        graph.output(outputs[: len(outputs) - count])
        return fx.GraphModule(module, graph).forward


def can_copy(program: TorchProgram, training: TrainingState) -> bool:
    """Whether the first gradients may simply be copied into their accumulators, and the others added."""
    if training.running_mean:
        return False
    outputs: Any = program.step.graph.output_node().args[0]
    gradients = outputs[len(outputs) - len(program.interface.gradients) :]
    dtypes = training.accumulator_dtypes
    return all(tensors_of(node)[0].dtype == dtype for node, dtype in zip(gradients, dtypes, strict=True))


def fill(accumulators: list[torch.Tensor], gradients: tuple[torch.Tensor, ...], *, first: bool) -> None:
    """Put the gradients of a turn into accumulators of the same dtype."""
    if first:
        torch._foreach_copy_(accumulators, gradients)
    else:
        torch._foreach_add_(accumulators, gradients)
