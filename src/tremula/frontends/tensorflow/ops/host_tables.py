"""Tables in the memory of the host that programs of the device look rows up in and update.

A table is a resource with a name, as the queues are: a program is traced before its tables are there, and all replicas
share one. Registering copies a tensor into the resource; deregistering copies it back. With accumulation, updates are
summed in a second resource until the device notifies the host.
"""

from __future__ import annotations

import weakref
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.ops import gen_resource_variable_ops as raw

SGD, ACCUMULATING = "SGD", "SGD+GA"

#: the handles of each graph by name: ops on the same handle keep their order
_handles: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
#: name of a table -> shape and type, as programs have used it
_seen: dict[str, tuple[Any, Any]] = {}


class HostTable:
    """The ops on one table.

    Args:
        name: which identifies the table in the process, or in its session.
        shape: rows and columns.
        dtype: of the elements.
    """

    def __init__(self, name: str, shape: Any, dtype: Any) -> None:
        self._name, self._shape, self._dtype = name, tf.TensorShape(shape), tf.as_dtype(dtype)
        _seen[name] = (self._shape, self._dtype)

    def register(self, value: Any, optimizer: str) -> Any:
        """The operation that makes the table, with these rows.

        Raises:
            ValueError: the optimizer is unknown.
        """
        if optimizer not in (SGD, ACCUMULATING):
            raise ValueError(
                f"A host embedding has the optimizer {SGD!r} or {ACCUMULATING!r}, not {optimizer!r}."
            )
        with _host():
            value = tf.convert_to_tensor(value)
            made = [raw.assign_variable_op(self._rows(), value), raw.assign_variable_op(self._count(), 0)]
            if optimizer == ACCUMULATING:
                made.append(raw.assign_variable_op(self._sums(), tf.zeros_like(value)))
        return None if tf.executing_eagerly() else tf.group(*made)

    def deregister(self, target: Any) -> Any:
        """Remove the table and give its rows; `target` gets them if it is a variable."""
        with _host(), _after(self._checked()):
            value = tf.identity(raw.read_variable_op(self._rows(), self._dtype))
            stored = target.assign(value) if isinstance(target, tf.Variable) else None
            with _after(value, stored):
                removed = [
                    raw.destroy_resource_op(handle, ignore_lookup_error=True)
                    for handle in (self._rows(), self._count(), self._sums())
                ]
            with _after(*removed):
                return tf.identity(value)

    def lookup(self, indices: Any) -> Any:
        """Rows of the table."""
        with _host(), _after(self._checked()):
            rows = raw.resource_gather(self._rows(), indices, self._dtype)
        rows.set_shape([*indices.shape, *self._shape[1:]])
        return rows

    def add(self, indices: Any, updates: Any) -> Any:
        """Adds to rows: at once, or to the sums if the table accumulates. Gives a tensor that is there afterwards."""
        with _host(), _after(self._checked()):
            rows, sums = self._rows(), self._sums()
            return tf.cond(
                raw.var_is_initialized_op(sums),
                lambda: _done(raw.resource_scatter_add(sums, indices, updates)),
                lambda: _done(raw.resource_scatter_add(rows, indices, updates)),
            )

    def notify(self, every: Any = 1) -> Any:
        """Adds the sums to the table, each `every`th time that it runs. Gives a tensor that is there afterwards."""
        with _host():
            rows, sums, count = self._rows(), self._sums(), self._count()
            with _after(raw.assign_add_variable_op(count, 1)):
                number = raw.read_variable_op(count, tf.int32)

            def apply() -> Any:
                total = tf.identity(raw.read_variable_op(sums, self._dtype))
                with _after(raw.assign_add_variable_op(rows, total)):
                    return _done(raw.assign_variable_op(sums, tf.zeros_like(total)))

            due = tf.logical_and(raw.var_is_initialized_op(sums), tf.equal(number % every, 0))
            return tf.cond(due, apply, lambda: tf.constant(True))

    def _checked(self) -> Any:
        problem = (
            f"The host embedding {self._name!r} is not registered: run the program inside "
            f"`with embedding.register(session):`, in the same session."
        )
        return tf.debugging.Assert(raw.var_is_initialized_op(self._rows()), [problem])

    def _rows(self) -> Any:
        return self._resource("rows", self._dtype, self._shape)

    def _sums(self) -> Any:
        return self._resource("sums", self._dtype, self._shape)

    def _count(self) -> Any:
        return self._resource("notifications", tf.int32, tf.TensorShape([]))

    def _resource(self, what: str, dtype: Any, shape: Any) -> Any:
        name = f"Host embedding {self._name}, {what}"
        if tf.executing_eagerly():
            return raw.var_handle_op(dtype=dtype, shape=shape, shared_name=name)
        graph = current = tf.compat.v1.get_default_graph()
        while graph is not None:
            if name in _handles.get(graph, {}):
                return _handles[graph][name]
            graph = getattr(graph, "outer_graph", None)
        with tf.control_dependencies(None):
            handle = raw.var_handle_op(dtype=dtype, shape=shape, shared_name=name)
        _handles.setdefault(current, {})[name] = handle
        return handle


def _host() -> Any:
    return tf.device("/device:CPU:0")


def _after(*operations: Any) -> Any:
    """A context whose ops run after these; eager ones have run."""
    return tf.control_dependencies([each for each in operations if each is not None])


def _done(operation: Any) -> Any:
    with _after(operation):
        return tf.constant(True)


def register(embedding: Any, embedding_id: str, optimizer: str = SGD, name: str | None = None) -> Any:
    """The operation that registers a tensor or variable as a table."""
    return HostTable(embedding_id, embedding.shape, embedding.dtype.base_dtype).register(embedding, optimizer)


def deregister(embedding: Any, embedding_id: str, name: str | None = None) -> Any:
    """The rows of a table; it is removed, and `embedding` gets them if it is a variable."""
    return HostTable(embedding_id, embedding.shape, embedding.dtype.base_dtype).deregister(embedding)


def device_lookup(
    indices: Any,
    embedding_id: str,
    embedding_shape: Any,
    dtype: Any,
    partition_strategy: str = "TOKEN",
    name: str | None = None,
) -> Any:
    """Rows of a table, in a program."""
    return HostTable(embedding_id, embedding_shape, dtype).lookup(tf.convert_to_tensor(indices))


def device_update_add(
    input: Any,
    grads: Any,
    indices: Any,
    embedding_id: str,
    embedding_shape: Any,
    partition_strategy: str = "TOKEN",
    name: str | None = None,
) -> Any:
    """The operation of a program that adds `grads` to rows of a table, after `input` is there."""
    with _after(input):
        return _operation(HostTable(embedding_id, embedding_shape, grads.dtype).add(indices, grads))


def device_notify(embedding_id: str, name: str | None = None) -> Any:
    """The operation of a program that lets the host apply accumulated updates.

    Raises:
        ValueError: no program has used such a table.
    """
    if embedding_id not in _seen:
        raise ValueError(f"There is no host embedding {embedding_id!r} to notify: look rows up in it first.")
    return _operation(HostTable(embedding_id, *_seen[embedding_id]).notify())


def _operation(value: Any) -> Any:
    return None if tf.executing_eagerly() else value.op
