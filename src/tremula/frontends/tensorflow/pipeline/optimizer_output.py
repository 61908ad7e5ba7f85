"""What the `optimizer_function` of a pipeline returns."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.feeds.outfeed import IPUOutfeedQueue
from tremula.frontends.tensorflow.gradient_capture import GradientCaptureContext, GradientCaptureTape
from tremula.frontends.tensorflow.pipeline import optimizer_kinds

_ME = "OptimizerFunctionOutput"


class OptimizerFunctionOutput:
    """The optimizer and the loss of a pipeline, and what the optimizer gets. Every attribute is checked when it is set.

    Args:
        opt: an optimizer of TensorFlow 1 or of Keras.
        loss: the tensor to minimise.
        compute_gradients_args: further arguments of `compute_gradients`; not with Keras.
        compute_gradients_kwargs: named ones; not with Keras.
        apply_gradients_args: further arguments of `apply_gradients`.
        apply_gradients_kwargs: named ones.
        variables: with Keras, the variables to update, if there is no tape.
        tape: with Keras, a `GradientTape` that has watched the variables to update.
        gradient_capture_context: captures gradients that `capture_upstream_gradients` marks.
        captured_gradient_outfeed: the queue that captured gradients are given to.

    Raises:
        TypeError: an argument of another type.
        ValueError: arguments that exclude each other.
    """

    opt: Any
    loss: Any
    compute_gradients_args: tuple[Any, ...]
    compute_gradients_kwargs: dict[str, Any]
    apply_gradients_args: tuple[Any, ...]
    apply_gradients_kwargs: dict[str, Any]
    variables: Any = ()
    tape: Any = None
    gradient_capture_context: Any = None
    captured_gradient_outfeed: Any = None

    def __init__(
        self,
        opt: Any,
        loss: Any,
        compute_gradients_args: tuple[Any, ...] | None = None,
        compute_gradients_kwargs: dict[str, Any] | None = None,
        apply_gradients_args: tuple[Any, ...] | None = None,
        apply_gradients_kwargs: dict[str, Any] | None = None,
        variables: Any = None,
        tape: Any = None,
        gradient_capture_context: Any = None,
        captured_gradient_outfeed: Any = None,
    ) -> None:
        self.opt = opt
        self.loss = loss
        self.compute_gradients_args = compute_gradients_args or ()
        self.compute_gradients_kwargs = compute_gradients_kwargs or {}
        self.apply_gradients_args = apply_gradients_args or ()
        self.apply_gradients_kwargs = apply_gradients_kwargs or {}
        self.variables = variables or ()
        self.tape = tape
        self.gradient_capture_context = gradient_capture_context
        self.captured_gradient_outfeed = captured_gradient_outfeed

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _KINDS and (name in _ALWAYS or value):
            kinds, words = _KINDS[name]
            if not isinstance(value, kinds):
                raise TypeError(f"{_ME}.{name} must be {words}. It is {value!r}.")
        if name == "opt" and not (optimizer_kinds.is_tensorflow_1(value) or optimizer_kinds.is_keras(value)):
            raise TypeError(
                f"{_ME}.opt must be a TensorFlow Optimizer or Keras OptimizerV2 object, not {value!r}."
            )
        if name in _EXCLUSIONS and value:
            _EXCLUSIONS[name](self)
        object.__setattr__(self, name, value)

    @property
    def captures(self) -> Any:
        """Where captured gradients are found; None if there is no such place."""
        return (
            self.tape if isinstance(self.tape, GradientCaptureTape) else self.gradient_capture_context or None
        )


#: the type of each attribute, and the words for it
_KINDS: dict[str, tuple[Any, str]] = {
    "loss": (tf.Tensor, "a TensorFlow Tensor object"),
    "compute_gradients_args": (tuple, "a tuple"),
    "compute_gradients_kwargs": (dict, "a dict"),
    "apply_gradients_args": (tuple, "a tuple"),
    "apply_gradients_kwargs": (dict, "a dict"),
    "variables": ((tuple, list), "a tuple or list"),
    "tape": (tf.GradientTape, "a GradientTape"),
    "gradient_capture_context": (
        GradientCaptureContext,
        "an ipu.eager.backprop.GradientCaptureContext",
    ),
    "captured_gradient_outfeed": (IPUOutfeedQueue, "an instance of IPUOutfeedQueue"),
}
#: attributes whose type is checked even if the value is empty
_ALWAYS = frozenset(_KINDS) - {"tape", "gradient_capture_context", "captured_gradient_outfeed"}


def _no_compute_gradients(name: str) -> Any:
    def check(self: OptimizerFunctionOutput) -> None:
        if not optimizer_kinds.is_tensorflow_1(self.opt):
            raise ValueError(
                f"{_ME}.{name} may not be used with OptimizerV2 instances, which do not support it."
            )

    return check


def _variables(self: OptimizerFunctionOutput) -> None:
    if optimizer_kinds.is_tensorflow_1(self.opt):
        raise ValueError(
            f"{_ME}.variables may only be used with OptimizerV2. Other optimizers take `var_list` in "
            f"compute_gradients_kwargs."
        )
    if self.tape:
        raise ValueError(
            f"{_ME}.variables must be empty when {_ME}.tape is used, because the tape has the variables."
        )


def _tape(self: OptimizerFunctionOutput) -> None:
    if optimizer_kinds.is_tensorflow_1(self.opt):
        raise ValueError(f"{_ME}.tape may only be used with OptimizerV2. Other optimizers need none.")
    if self.variables:
        raise ValueError(f"{_ME}.tape may not be used when {_ME}.variables is nonempty. Give one of them.")
    if self.gradient_capture_context:
        raise ValueError(
            f"{_ME}.tape may not be used when {_ME}.gradient_capture_context is nonempty. Give one of them."
        )


def _capture_context(self: OptimizerFunctionOutput) -> None:
    if self.tape:
        raise ValueError(
            f"{_ME}.gradient_capture_context may not be used when {_ME}.tape is nonempty. A GradientCaptureTape "
            f"captures by itself."
        )


def _capture_outfeed(self: OptimizerFunctionOutput) -> None:
    if self.captures is None:
        raise ValueError(
            f"{_ME}.captured_gradient_outfeed may not be used when nothing captures gradients: give a "
            f"gradient_capture_context, or a GradientCaptureTape as `tape`."
        )


_EXCLUSIONS = {
    "compute_gradients_args": _no_compute_gradients("compute_gradients_args"),
    "compute_gradients_kwargs": _no_compute_gradients("compute_gradients_kwargs"),
    "variables": _variables,
    "tape": _tape,
    "gradient_capture_context": _capture_context,
    "captured_gradient_outfeed": _capture_outfeed,
}
