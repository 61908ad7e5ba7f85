"""Ops that fail with a `FailedPreconditionError` of ours when they are executed.

Stock TensorFlow's assertions are `InvalidArgumentError`s. Programs expect the error of the device's compiler, which
comes when a session first runs a program. Where a function is traced only when it is run, it is raised at once.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.ops import gen_resource_variable_ops


def unless(condition: Any, message: str) -> list[Any]:
    """Fail with `message` unless the condition holds.

    Args:
        condition: a bool or a boolean tensor.
        message: what happened and what to do.

    Returns:
        Operations that what follows has to wait for.

    Raises:
        FailedPreconditionError: the condition is known to be false, and the program is traced to be run now.
    """
    if isinstance(condition, bool):
        if condition:
            return []
        with tf.init_scope():
            now = tf.executing_eagerly()
        if now:
            raise tf.errors.FailedPreconditionError(None, None, message)
        return [_fail(message)]

    def fail() -> Any:
        with tf.control_dependencies([_fail(message)]):
            return tf.constant(False)

    return [tf.cond(condition, lambda: tf.constant(True), fail, name="check").op]


def _fail(message: str) -> Any:
    # reading a variable that was never written fails with this kind of error, and names the variable; the second one
    # makes the read an op that TensorFlow does not leave out
    create, read, write = (
        gen_resource_variable_ops.var_handle_op,
        gen_resource_variable_ops.read_variable_op,
        gen_resource_variable_ops.assign_variable_op,
    )
    with tf.device("/device:CPU:0"):
        missing = create(dtype=tf.float32, shape=[], shared_name=f"({message})")
        return write(
            create(dtype=tf.float32, shape=[], shared_name="failing programs"), read(missing, tf.float32)
        )
