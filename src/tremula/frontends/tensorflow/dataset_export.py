"""Writes elements of datasets and values of variables to files, and reads variables back.

Each function returns what has been done in eager mode, and an operation that does it in graph mode.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula import log
from tremula.frontends.tensorflow import data_files
from tremula.frontends.tensorflow.device_errors import BadData


def _say(print_stats: bool, text: str) -> None:
    if print_stats:
        log.layer("tremula").info("%s", text)


def dataset_extractor(
    dataset: Any, num_elements: int, filename: str, feed_name: str, print_stats: bool = True
) -> Any:
    """Write the first elements of a dataset to a file.

    Args:
        dataset: a `tf.data.Dataset` whose elements have equal shapes.
        num_elements: how many.
        filename: the file: one array for each tensor of an element, with the elements as first axis.
        feed_name: the name of the infeed that the dataset is for; arrays are called `feed_name.0` and so on.
        print_stats: whether the log says what was written.

    Raises:
        TypeError, ValueError: it is not a dataset, or `num_elements` is less than 1.
    """
    if num_elements < 1:
        raise ValueError(f"Expected `num_elements` to be at least 1, got {num_elements}.")
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(
            f"Expected `dataset` argument to be of type `tf.data.Dataset`, but got {dataset} instead."
        )
    together = dataset.take(num_elements).batch(num_elements).get_single_element()
    tensors = tf.nest.flatten(together)
    prefix = feed_name or "dataset"

    def write(*arrays: np.ndarray) -> np.int64:
        if arrays and len(arrays[0]) < num_elements:
            raise BadData(f"the dataset has {len(arrays[0])} elements, but {num_elements} were requested")
        data_files.write(filename, {f"{prefix}.{index}": each for index, each in enumerate(arrays)})
        _say(print_stats, f"{num_elements} elements of {prefix} were written to {filename}.")
        return np.int64(num_elements)

    return tf.numpy_function(write, tensors, tf.int64)


def get_variable_handles(variables: Sequence[Any]) -> list[Any]:
    """The names under which variables are exported, one tensor of one text for each."""
    return [tf.constant([variable.name]) for variable in variables]


def export_variables(
    variables: Sequence[Any],
    names: Sequence[str | bytes],
    filename: str,
    metadata: str | None = None,
    print_stats: bool = True,
) -> Any:
    """Write the values of variables or tensors to a file under these names.

    `metadata`, the description of a Poplar executable to check them against, has no effect: there is none here.
    """
    if metadata:
        log.no_effect("metadata", "there is no Poplar executable whose inputs could be compared")
    texts = [name.decode() if isinstance(name, bytes) else name for name in names]

    def write(*arrays: np.ndarray) -> np.int64:
        data_files.write(filename, dict(zip(texts, arrays, strict=True)))
        _say(print_stats, f"{len(arrays)} arrays were written to {filename}.")
        return np.int64(len(arrays))

    return tf.numpy_function(write, [tf.convert_to_tensor(each) for each in variables], tf.int64)


def import_variables(
    variables: Sequence[Any],
    filenames: Sequence[str],
    is_input: bool = True,
    strict: bool = True,
    print_stats: bool = True,
) -> list[Any]:
    """Set variables to what files hold for their names.

    Args:
        variables: the variables.
        filenames: files of `export_variables`.
        is_input: whether they are inputs of a program rather than its weights; files here do not tell these apart.
        strict: whether the files must have exactly these variables; else the others keep their values.
        print_stats: whether the log says what was read.

    Raises:
        ValueError: the files lack a variable or have others (with `strict`), or a shape differs.
    """
    found = data_files.read(filenames)
    names = [variable.name for variable in variables]
    if strict and set(found) != set(names):
        missing, others = sorted(set(names) - set(found)), sorted(set(found) - set(names))
        raise ValueError(
            f"The files do not have exactly these variables: they lack {missing} and have {others}."
        )
    assigned = []
    for variable in variables:
        value = found.get(variable.name)
        if value is None:
            continue
        if (
            tuple(value.shape) != tuple(variable.shape)
            or value.dtype != variable.dtype.base_dtype.as_numpy_dtype
        ):
            raise ValueError(
                f"The files have {variable.name} as {value.dtype} of shape {value.shape}; the variable is "
                f"{variable.dtype.base_dtype.name} of shape {tuple(variable.shape)}."
            )
        assigned.append(variable.assign(value))
    kind = "inputs" if is_input else "weights"
    _say(print_stats, f"{len(assigned)} {kind} were read from {', '.join(map(str, filenames))}.")
    return assigned


def _session_for(graph: Any) -> Any:
    return tf.compat.v1.Session(graph=graph)


def _done(make: Any, feed_dict: Any = None) -> None:
    """Do it now, in either mode."""
    if tf.executing_eagerly():
        make()
        return
    with tf.device("cpu"):
        operation = make()
    with _session_for(tf.compat.v1.get_default_graph()) as session:
        session.run(operation, feed_dict)


def export_dataset_to_file(
    dataset_or_infeed: Any,
    output_filename: str,
    num_elements: int,
    feed_name: str = "",
    apply_debug_options: bool = True,
) -> None:
    """Write the first elements of a dataset, or of what an infeed is fed from, to a file (a NumPy archive).

    Args:
        dataset_or_infeed: a `tf.data.Dataset` or an `IPUInfeedQueue`.
        output_filename: the file.
        num_elements: how many elements.
        feed_name: the name of the arrays; that of the infeed without.
        apply_debug_options: whether TensorFlow's debugging options for datasets are applied.

    Raises:
        TypeError: it is neither.
    """
    dataset = getattr(dataset_or_infeed, "_dataset", dataset_or_infeed)
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(f"expected a tf.data.Dataset or an IPUInfeedQueue, not {dataset_or_infeed!r}")
    if dataset is not dataset_or_infeed:
        feed_name = feed_name or str(getattr(dataset_or_infeed, "_id", ""))
    if apply_debug_options:
        dataset = dataset._apply_debug_options()
    _done(functools.partial(dataset_extractor, dataset, num_elements, output_filename, feed_name))


def export_inputs_to_file(inputs: Sequence[Any], output_filename: str, feed_dict: Any) -> None:
    """Write the values that `feed_dict` gives to placeholders to a file.

    Args:
        inputs: the placeholders.
        output_filename: the file (a NumPy archive).
        feed_dict: their values, as a session takes them.
    """
    names = [each.name for each in inputs]
    _done(functools.partial(export_variables, inputs, names, output_filename), feed_dict)
