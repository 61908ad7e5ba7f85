"""The steps of an exported model, and the signatures of their arguments.

A step is a Python function or a `tf.function`. The signature of its arguments is given, or that of the `tf.function`,
or follows from a dataset whose elements it gets.
"""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.framework import convert_to_constants

Step = Callable[..., Any]
Specs = list[Any]


@dataclass(frozen=True)
class Steps:
    """The functions of an exported model as the user gave them.

    Attributes:
        predict: what runs on the device; of a pipeline, the first stage.
        predict_signature: of its arguments.
        dataset: whose elements are the arguments of the first step.
        before: runs on the CPU before `predict`.
        before_signature: of its arguments.
        after: runs on the CPU after `predict`.
        after_signature: of its arguments.
        bound: the first arguments of `predict`, which do not come from a queue.
    """

    predict: Step
    predict_signature: Any = None
    dataset: Any = None
    before: Step | None = None
    before_signature: Any = None
    after: Step | None = None
    after_signature: Any = None
    bound: Sequence[Any] = ()

    def check(self) -> None:
        """Refuse signatures that are wrong, given twice, or missing.

        Raises:
            TypeError: a signature is not a list of `tf.TensorSpec`, or the dataset is none.
            ValueError: one is empty, given twice or cannot be found.
        """
        if self.dataset is not None and not isinstance(self.dataset, tf.data.Dataset):
            raise TypeError(f"`input_dataset` is a tf.data.Dataset, not {type(self.dataset).__name__}.")
        _check_signature("preprocessing_step_signature", self.before_signature)
        _check_signature("postprocessing_step_signature", self.after_signature)
        _check_signature("predict_step_signature", self.predict_signature)
        if self.before is None:
            _not_both("predict_step_signature", self.predict_signature, self.dataset)
            if self.predict_signature is None and self.dataset is None:
                _needs_own_signature(self.predict, "predict_step", " or `input_dataset`")
        else:
            _not_both("preprocessing_step_signature", self.before_signature, self.dataset)
            if self.before_signature is None and self.dataset is None:
                _needs_own_signature(self.before, "preprocessing_step", " or `input_dataset`")
            if self.predict_signature is None:
                _needs_own_signature(self.predict, "predict_step", "")
        if self.after is not None and self.after_signature is None:
            _needs_own_signature(self.after, "postprocessing_step", "")

    def stage_arguments(self) -> Specs:
        """The signature of all arguments of `predict`, bound ones too."""
        dataset = None if self.before is not None else self.dataset
        bound = [tf.TensorSpec.from_tensor(tf.convert_to_tensor(value)) for value in self.bound]
        given = _given(self.predict, self.predict_signature, dataset)
        names = _parameters(self.predict)
        if self.bound and len(given) == len(names) - len(self.bound):
            given = [*bound, *given]
        return _named(self.predict, given)

    def predict_arguments(self) -> Specs:
        """The signature of the arguments that `predict` gets from the queue."""
        return self.stage_arguments()[len(self.bound) :]

    def first_arguments(self) -> Specs:
        """The signature of the whole model."""
        if self.before is None:
            return self.predict_arguments()
        return _named(self.before, _given(self.before, self.before_signature, self.dataset))

    def after_arguments(self) -> Specs | None:
        """The signature of the arguments of the last step."""
        return (
            None if self.after is None else _named(self.after, _given(self.after, self.after_signature, None))
        )


def check_folder(export_dir: str | os.PathLike[str], purge: bool) -> None:
    """Refuse a folder that is not empty, unless it may be emptied, and a process that cannot export.

    Raises:
        ValueError: it is not empty.
        NotImplementedError: eager execution is turned off.
    """
    if not tf.executing_eagerly():
        raise NotImplementedError(
            "Models are exported for serving in programs with eager execution only. Save the weights (tf.train.Saver), "
            "and export the model in a program for TensorFlow 2."
        )
    if not purge and os.path.isdir(export_dir) and os.listdir(export_dir):
        raise ValueError(
            f"The directory {os.fspath(export_dir)!r} is not empty. Choose another one, or set purge_export_dir=True."
        )


def empty_folder(export_dir: str | os.PathLike[str]) -> None:
    """Remove what is in a folder."""
    if os.path.isdir(export_dir) and os.listdir(export_dir):
        shutil.rmtree(export_dir)


def frozen(step: Step, signature: Specs) -> Any:
    """A `tf.function` of a step whose variables are constants with their present values."""

    @tf.function(input_signature=signature)
    def called(*args: Any) -> Any:
        return step(*args)

    concrete = called.get_concrete_function()
    constant = convert_to_constants.convert_variables_to_constants_v2(concrete)
    structure = concrete.structured_outputs

    @tf.function(input_signature=signature)
    def again(*args: Any) -> Any:
        results = tf.nest.flatten(constant(*args))
        return tf.nest.pack_sequence_as(structure, results)

    return again


def check_match(tensors: Sequence[Any], specs: Specs, source: str, target: str) -> None:
    """Refuse results of a step that are not the arguments of the next one.

    Raises:
        ValueError: with the place of the first that differs.
    """
    if len(tensors) != len(specs):
        raise ValueError(
            f"The number of the `{source}` outputs ({len(tensors)}) does not match the number of arguments of "
            f"`{target}` ({len(specs)})."
        )
    for index, (tensor, spec) in enumerate(zip(tensors, specs, strict=True)):
        if not tf.is_tensor(tensor) or tensor.shape != spec.shape or tensor.dtype != spec.dtype:
            raise ValueError(f"Output {index} of `{source}` is {tensor}, and `{target}` takes {spec}.")


def _check_signature(name: str, signature: Any) -> None:
    if signature is None:
        return
    if not isinstance(signature, tuple | list):
        raise TypeError(f"`{name}` must be an instance of tuple or list, not {type(signature).__name__}.")
    if not signature:
        raise ValueError(f"`{name}` must be not empty.")
    for index, spec in enumerate(signature):
        if not isinstance(spec, tf.TensorSpec):
            raise TypeError(f"`{name}[{index}]` is not an instance of TensorSpec: {spec!r}.")


def _not_both(name: str, signature: Any, dataset: Any) -> None:
    if signature is not None and dataset is not None:
        raise ValueError(f"Both `{name}` and `input_dataset` cannot be provided: leave one out.")


def _needs_own_signature(step: Any, name: str, other: str) -> None:
    if not hasattr(step, "input_signature"):
        raise ValueError(
            f"`input_signature` deduction from given `{name}` is not possible: it is a plain function. Decorate it "
            f"with tf.function(input_signature=...), or give `{name}_signature`{other}."
        )
    if step.input_signature is None:
        raise ValueError(
            f"Empty `input_signature` inside provided tf.function `{name}`. Set it, or give `{name}_signature`{other}."
        )


def _given(step: Any, signature: Any, dataset: Any) -> Specs:
    if signature is not None:
        return list(signature)
    if dataset is not None:
        spec = dataset.element_spec
        return list(spec) if isinstance(spec, tuple | list) else [spec]
    own = getattr(step, "input_signature", None)
    if own is None:
        raise ValueError(f"Missing input_signature for {_name(step)}.")
    return list(own)


def _named(step: Any, specs: Specs) -> Specs:
    names = _parameters(step)
    if len(specs) != len(names):
        raise ValueError(
            f"Length of input_signature does not match the number of {_name(step)} arguments: {specs} for {names}."
        )
    # the names of ops do not begin with an underscore
    names = [f"arg{name}" if name.startswith("_") else name for name in names]
    return [tf.TensorSpec(spec.shape, spec.dtype, name=name) for spec, name in zip(specs, names, strict=True)]


def _parameters(step: Any) -> list[str]:
    return list(inspect.signature(getattr(step, "python_function", step)).parameters)


def _name(step: Any) -> str:
    return str(getattr(step, "__name__", step))
