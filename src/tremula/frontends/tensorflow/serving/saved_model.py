"""The SavedModel of an export, with the executable of its program in `assets/`."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.executables.compilation import experimental_application_compile_op
from tremula.frontends.tensorflow.feeds.infeed import IPUInfeedQueue
from tremula.frontends.tensorflow.feeds.outfeed import IPUOutfeedQueue
from tremula.frontends.tensorflow.serving.steps import Steps, check_match, empty_folder, frozen


class _Exported(tf.Module):
    """What is saved.

    Attributes:
        executable: its file.
        predict: the exported function.
    """

    def __init__(self, executable: str, predict: Any) -> None:
        super().__init__()
        self.executable = tf.saved_model.Asset(executable)
        self.predict = predict


def save_model(
    steps: Steps,
    step: Callable[..., Any],
    program: Callable[[Any, Any], Any],
    export_dir: str,
    output_names: Any,
    signature: list[Any] | None = None,
) -> Any:
    """Write the SavedModel of some steps and the executable of `program`; gives the exported function.

    Args:
        steps: what the exported function does around and on the device.
        step: the one on the device, with frozen variables.
        program: the loop of the executable, given its queues.
        export_dir: the folder.
        output_names: of the results: text, or a list.
        signature: of the arguments of `step`, if `steps` does not know it.
    """
    names = _names(output_names)
    device_arguments = steps.predict_arguments() if signature is None else signature
    predict = _model(steps, step, names, device_arguments)
    predict.get_concrete_function()  # says what is wrong before anything is written
    dataset = (
        steps.dataset if steps.dataset is not None and steps.before is None else _zeros(device_arguments)
    )
    infeed, outfeed = IPUInfeedQueue(dataset), IPUOutfeedQueue()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"application_{uuid.uuid4()}.popef"
        experimental_application_compile_op(
            lambda: program(infeed, outfeed), output_path=os.fspath(file), freeze_variables=True
        )
        saved = _Exported(os.fspath(file), predict)
        empty_folder(export_dir)
        tf.saved_model.save(saved, export_dir, signatures={"serving_default": predict})
    return predict


def _model(
    steps: Steps, step: Callable[..., Any], names: list[str] | None, device_arguments: list[Any]
) -> Any:
    first = steps.first_arguments() if steps.before is not None else device_arguments
    last = steps.after_arguments()
    before = None if steps.before is None else frozen(steps.before, first)
    after = None if steps.after is None or last is None else frozen(steps.after, last)

    @tf.function(input_signature=first)
    def predict(*args: Any) -> Any:
        values: Any = list(args)
        if before is not None:
            values = tf.nest.flatten(before(*values))
            check_match(values, device_arguments, "preprocessing_step", "predict_step")
        values = tf.nest.flatten(step(*values))
        if after is not None and last is not None:
            check_match(values, last, "predict_step", "postprocessing_step")
            values = tf.nest.flatten(after(*values))
        if names is None:
            return values  # a SavedModel names them output_0, ...
        if len(names) != len(values):
            raise ValueError(
                f"Length of output_names ({len(names)}) does not match the number of results of the exported function "
                f"({len(values)})."
            )
        return dict(zip(names, values, strict=True))

    return predict


def _names(given: Any) -> list[str] | None:
    if not given:
        return None
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list):
        raise TypeError(f"output_names must be either a string or a list, not {type(given).__name__}.")
    return given


def _zeros(specs: list[Any]) -> Any:
    """A dataset of elements like these, without end."""
    return tf.data.Dataset.from_tensors(tuple(tf.zeros(spec.shape, spec.dtype) for spec in specs)).repeat()
