"""Optimizers."""

from __future__ import annotations

from tremula.frontends.onnx.run.updating import GradientDescent, Updater


class Optimizer:
    """Changes the weights of a session."""

    def updater(self) -> Updater:
        """The engine's rule, with a state of its own."""
        raise NotImplementedError


class ConstSGD(Optimizer):
    """Gradient descent whose values never change."""

    def __init__(self, learning_rate: float, weight_decay: float = 0.0, loss_scaling: float = 1.0) -> None:
        self._values = (float(learning_rate), float(weight_decay), float(loss_scaling))

    def updater(self) -> Updater:
        """The engine's rule."""
        return GradientDescent(*self._values)


__all__ = ["ConstSGD", "Optimizer"]
