"""A chain of matrix products with a squared error, and its training in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

RATE, EPSILON = 0.05, 0.01


def starting_weights(stages: int) -> list[np.ndarray[Any, Any]]:
    """A 2 by 2 matrix for each stage."""
    generator = np.random.default_rng(stages)
    return [generator.uniform(-1, 1, (2, 2)).astype(np.float32) for _ in range(stages)]


def data(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Batches of two rows, and their targets."""
    generator = np.random.default_rng(count)
    return (
        generator.uniform(-1, 1, (count, 2, 2)).astype(np.float32),
        generator.uniform(-1, 1, (count, 2, 2)).astype(np.float32),
    )


def loss_and_gradients(weights: list[Any], x: Any, y: Any) -> tuple[float, list[Any]]:
    """Half the squared error of the chain, and its gradient for each matrix."""
    activations = [x]
    for weight in weights:
        activations.append(activations[-1] @ weight)
    error = activations[-1] - y
    gradients, upstream = [], error
    for weight, activation in zip(reversed(weights), reversed(activations[:-1]), strict=True):
        gradients.append(activation.T @ upstream)
        upstream = upstream @ weight.T
    return 0.5 * float((error**2).sum()), gradients[::-1]


def reduced(gradients: list[Any], method: str) -> Any:
    """The gradients of all micro-batches as one, by the definition of the method."""
    if method == "RUNNING_MEAN":
        mean = np.zeros_like(gradients[0])
        for number, gradient in enumerate(gradients):
            mean = mean * (number / (number + 1)) + gradient / (number + 1)
        return mean
    total = np.sum(gradients, axis=0)
    return total / len(gradients) if method == "MEAN" else total


@dataclass
class Training:
    """Training of a chain in NumPy.

    Attributes:
        weights: the matrices now.
        losses: of every micro-batch; with several replicas, a list for each.
    """

    weights: list[Any]
    losses: list[Any]


def trained(
    stages: int,
    count: int,
    repeats: int,
    method: str,
    update: Callable[[], Callable[[Any, Any], Any]],
    replicas: int = 1,
    over_replicas: Callable[[list[Any]], Any] = lambda gradients: np.mean(gradients, axis=0),
) -> Training:
    """Train a chain.

    Args:
        update: makes the update rule of a matrix: a function of matrix and gradient that gives the new matrix.
    """
    weights, losses = starting_weights(stages), []
    xs, ys = data(count * repeats * replicas)
    rules = [update() for _ in weights]
    taken = 0
    for _ in range(repeats):
        found: list[list[list[Any]]] = [[] for _ in range(replicas)]
        for _ in range(count):
            step = []
            for replica in range(replicas):
                loss, gradients = loss_and_gradients(weights, xs[taken], ys[taken])
                step.append(loss)
                found[replica].append(gradients)
                taken += 1
            losses.append(step if replicas > 1 else step[0])
        weights = [
            rule(weight, over_replicas([reduced([micro[index] for micro in own], method) for own in found]))
            for index, (weight, rule) in enumerate(zip(weights, rules, strict=True))
        ]
    return Training(weights, losses)


def descent() -> Callable[[Any, Any], Any]:
    """Plain gradient descent."""
    return lambda weight, gradient: weight - RATE * gradient


def momentum() -> Callable[[Any, Any], Any]:
    """Gradient descent with momentum 0.9."""
    state = {"velocity": 0.0}

    def rule(weight: Any, gradient: Any) -> Any:
        state["velocity"] = 0.9 * state["velocity"] + gradient
        return weight - RATE * state["velocity"]

    return rule


def adam() -> Callable[[Any, Any], Any]:
    """Adam, with an epsilon that keeps small gradients from deciding by their sign."""
    state = {"m": 0.0, "v": 0.0, "t": 0}

    def rule(weight: Any, gradient: Any) -> Any:
        state["t"] += 1
        state["m"] = 0.9 * state["m"] + 0.1 * gradient
        state["v"] = 0.999 * state["v"] + 0.001 * gradient**2
        rate = RATE * np.sqrt(1 - 0.999 ** state["t"]) / (1 - 0.9 ** state["t"])
        return weight - rate * state["m"] / (np.sqrt(state["v"]) + EPSILON)

    return rule
