"""Runs a PopTorch program unchanged and compares the loss of its first training call with plain PyTorch's.

    python benchmarks/program_losses.py PROGRAM [ARGUMENT ...]

The program runs in this process as if it had been started itself. Before its first training call, the module that it
wrapped is called outside of Tremula on the same weights and the same micro-batches. The losses must be the first output
and must be returned for every micro-batch (`OutputMode.All`, or one micro-batch per replica) or as their sum. Dropout
has to be off for the comparison. The last lines give both losses and the loss of the last call. The exit code is 1 if
the first losses differ in the fourth digit, if the loss did not fall, or if no model was trained.
"""

from __future__ import annotations

import copy
import os
import runpy
import sys
from typing import Any

import torch
from torch.utils import _pytree

import poptorch

DIGITS = 5e-5  # relative: four digits


class Watch:
    """Follows the training calls of a program."""

    def __init__(self) -> None:
        self.plain: float | None = None
        self.losses: list[float] = []
        self._call = poptorch.PoplarExecutor.__call__

    def install(self) -> None:
        """Look at every call of a wrapped model from now on."""

        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            if executor._optimizer is None:
                return self._call(executor, *args, **kwargs)
            if self.plain is None:
                self.plain = plain_loss(executor, args, kwargs)
            outputs = self._call(executor, *args, **kwargs)
            self.losses.append(mean_loss(executor.options, first_tensor(outputs)))
            return outputs

        poptorch.PoplarExecutor.__call__ = call

    def report(self) -> int:
        """Print what was found; 0 if it is as it should be."""
        if self.plain is None or not self.losses:
            print("no model was trained")
            return 1
        first, last = self.losses[0], self.losses[-1]
        print(
            f"\nplain PyTorch {self.plain:.6g}, first call {first:.6g}, last of {len(self.losses)} {last:.4g}"
        )
        return 0 if abs(first - self.plain) <= DIGITS * abs(self.plain) and last < first else 1


def first_tensor(outputs: Any) -> torch.Tensor:
    """The first tensor of a model's outputs: its loss."""
    return next(leaf for leaf in _pytree.tree_leaves(outputs) if isinstance(leaf, torch.Tensor))


def micro_batches(options: Any) -> int:
    """How many micro-batches one call takes."""
    return int(
        options.device_iterations * options.replication_factor * options.Training.gradient_accumulation
    )


def mean_loss(options: Any, losses: torch.Tensor) -> float:
    """The mean over the micro-batches of one call."""
    count = micro_batches(options)
    summed = poptorch.OutputMode(options.output_mode) == poptorch.OutputMode.Sum
    if not summed and losses.numel() != count:
        raise SystemExit(
            f"{losses.numel()} losses are returned for {count} micro-batches; their mean is not known"
        )
    return losses.detach().double().sum().item() / count


def plain_loss(executor: Any, args: Any, kwargs: Any) -> float:
    """What the wrapped module gives without Tremula, as a mean over the micro-batches of one call."""
    count = micro_batches(executor.options)
    try:
        module = copy.deepcopy(executor.model).train()
    except (
        NotImplementedError,
        TypeError,
    ):  # it holds the trainer's loader; without buffers a call changes nothing of it
        module = executor.model
        if list(module.buffers()):
            raise
    leaves, structure = _pytree.tree_flatten((args, kwargs))
    total = 0.0
    with torch.random.fork_rng(), torch.no_grad():
        for index in range(count):
            part = [
                leaf.chunk(count)[index] if isinstance(leaf, torch.Tensor) and leaf.ndim else leaf
                for leaf in leaves
            ]
            positional, named = _pytree.tree_unflatten(part, structure)
            total += first_tensor(module(*positional, **named)).double().mean().item()
    return total / count


def main() -> int:
    """Run the program given on the command line, then report."""
    watch = Watch()
    watch.install()
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    torch.manual_seed(0)
    runpy.run_path(sys.argv[0], run_name="__main__")
    return watch.report()


if __name__ == "__main__":
    sys.exit(main())
