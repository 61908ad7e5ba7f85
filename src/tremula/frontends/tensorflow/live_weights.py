"""Weights of models and sessions in files, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula import log
from tremula.frontends.tensorflow import data_files
from tremula.frontends.tensorflow.dataset_export import import_variables


def _no_metadata(gc_metadata: str | None) -> None:
    if gc_metadata:
        log.no_effect("gc_metadata", "there is no Poplar executable whose weights could be compared")


def export_variables_from_live_session(
    session: Any, output_file: str, gc_metadata: str | None = None
) -> None:
    """Write the variables of a session's graph to a file."""
    _no_metadata(gc_metadata)
    with session.graph.as_default():
        variables = tf.compat.v1.global_variables()
    values = session.run({variable.name: variable for variable in variables})
    data_files.write(output_file, values)


def export_variables_from_live_model(model: Any, output_file: str, gc_metadata: str | None = None) -> None:
    """Write the variables of a Keras model to a file."""
    _no_metadata(gc_metadata)
    values = dict(zip([each.name for each in model.variables], _values(model.variables), strict=True))
    data_files.write(output_file, values)


def import_data_in_live_session(
    session: Any, data_files: Sequence[str], output_folder: str | None = None
) -> None:
    """Set the variables of a session's graph to what files hold, and save it as a checkpoint if a folder is named."""
    with session.graph.as_default():
        session.run(
            import_variables(tf.compat.v1.global_variables(), data_files, is_input=False, strict=False)
        )
        if output_folder:
            tf.compat.v1.train.Saver().save(session, output_folder)


def import_data_in_live_model(
    model: Any, data_files: Sequence[str], output_folder: str | None = None
) -> None:
    """Set the variables of a Keras model to what files hold, and save it as a SavedModel if a folder is named."""
    assigned = import_variables(model.variables, data_files, is_input=False, strict=False)
    if not tf.executing_eagerly():
        tf.compat.v1.keras.backend.get_session().run(assigned)
    if output_folder:
        tf.saved_model.save(model, output_folder)


def _values(variables: Sequence[Any]) -> list[Any]:
    if tf.executing_eagerly():
        return [variable.numpy() for variable in variables]
    values: list[Any] = tf.compat.v1.keras.backend.get_session().run(list(variables))
    return values
