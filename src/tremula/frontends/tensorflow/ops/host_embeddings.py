"""Embeddings whose table is in the memory of the host.

A look-up in a trainable embedding depends on a scalar variable, so that optimizers ask for its gradient: on the way
back the update of the rows goes to the host, and the scalar's gradient is zero.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.ops import host_tables
from tremula.frontends.tensorflow.ops.host_tables import HostTable
from tremula.frontends.tensorflow.replicas import collectives


class HostEmbeddingOptimizerSpec:
    """How rows are updated: gradient descent with a fixed rate; 0 means not at all.

    Args:
        learning_rate: the rate.
        optimizer_name: for subclasses.
    """

    def __init__(self, learning_rate: float, optimizer_name: str | None = None) -> None:
        self._learning_rate = learning_rate
        self._optimizer_name = host_tables.SGD if optimizer_name is None else optimizer_name

    def get_learning_rate(self) -> float:
        """The rate."""
        return self._learning_rate

    def create_lookup_instruction(
        self, embedding_tensor: Any, indices: Any, slot_vars: Any, partition_strategy: str, name: str
    ) -> Any:
        """Rows of the table for a vector of their numbers, inside a program."""
        table = HostTable(name, embedding_tensor.shape, embedding_tensor.dtype.base_dtype)
        if self.get_learning_rate() == 0:
            return table.lookup(indices)
        return self._trainable_lookup(table, indices, _switch(name, embedding_tensor.dtype.base_dtype))

    def create_register_instruction(self, embedding_tensor: Any, slot_vars: Any, name: str) -> Any:
        """The operation that connects the table when its scope is entered."""
        return host_tables.register(embedding_tensor, name, optimizer=self._optimizer_name)

    def create_deregister_instruction(self, embedding_tensor: Any, slot_vars: Any, name: str) -> Any:
        """The operation that disconnects the table when its scope is left; the tensor has its rows then."""
        return host_tables.deregister(embedding_tensor, name)

    def create_slot_variables(self, embedding_tensor: Any, name: str) -> list[Any]:
        """None: gradient descent has no state."""
        return []

    def _micro_batches(self) -> int:
        return 1

    def _trainable_lookup(self, table: HostTable, indices: Any, switch: Any) -> Any:
        rate = self._learning_rate

        @tf.custom_gradient
        def trained(scalar: Any, found: Any) -> Any:
            def backwards(gradient: Any) -> Any:
                with tf.control_dependencies([found]):
                    done = table.add(indices, gradient * tf.cast(-rate, gradient.dtype))
                if self._optimizer_name == host_tables.ACCUMULATING:
                    with tf.control_dependencies([done]):
                        done = table.notify(self._micro_batches() * collectives.replica_count())
                with tf.control_dependencies([done]):
                    return tf.zeros_like(scalar), None

            return tf.identity(found), backwards

        return trained(tf.convert_to_tensor(switch), tf.stop_gradient(table.lookup(indices)))


class HostEmbeddingSGDGAOptimizerSpec(HostEmbeddingOptimizerSpec):
    """Gradient descent whose updates are summed over micro-batches.

    Args:
        learning_rate: the rate.
        accumulation_factor: how many micro-batches.
    """

    def __init__(self, learning_rate: float, accumulation_factor: int) -> None:
        super().__init__(learning_rate, host_tables.ACCUMULATING if accumulation_factor > 1 else None)
        self._accumulation_factor = accumulation_factor

    def get_accumulation_factor(self) -> int:
        """How many micro-batches."""
        return self._accumulation_factor

    def _micro_batches(self) -> int:
        return self._accumulation_factor


class HostEmbeddingScope:
    """Connects a table with programs while it is open.

    Args:
        parent: the embedding.
        session: where programs run; None: in eager mode.
    """

    def __init__(self, parent: HostEmbedding, session: Any = None) -> None:
        self._parent, self._session = parent, session

    def __enter__(self) -> HostEmbedding:
        self._run(self._parent._optimizer_spec.create_register_instruction)
        return self._parent

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._parent._optimizer_spec.create_deregister_instruction)

    def _run(self, instruction: Any) -> None:
        parent = self._parent
        arguments = (parent._embedding_tensor, parent._slot_vars, parent._name)
        if self._session is None:
            instruction(*arguments)
            return
        with self._session.graph.as_default():
            operation = instruction(*arguments)
        self._session.run(operation.op if tf.is_tensor(operation) else operation)


class HostEmbedding:
    """A table on the host: two dimensions, a row for each token.

    Programs that look rows up in it run inside `register`. During that time the rows are with the connection; when its
    scope ends, the tensor (if it is a variable) has them.

    Args:
        name: which identifies the embedding in the process.
        embedding_tensor: the rows; a variable, if updates are to be kept.
        partition_strategy: "TOKEN" or "ENCODING": how the device would split it over replicas. It is recorded.
        optimizer_spec: how rows are updated; None: not at all.

    Raises:
        ValueError: an argument of the wrong kind.
    """

    def __init__(
        self,
        name: str,
        embedding_tensor: Any,
        partition_strategy: str = "TOKEN",
        optimizer_spec: HostEmbeddingOptimizerSpec | None = None,
    ) -> None:
        if not tf.is_tensor(embedding_tensor):
            raise ValueError(
                f"The embedding_tensor of a HostEmbedding is a tensor or variable, not {embedding_tensor!r}."
            )
        if not isinstance(optimizer_spec, HostEmbeddingOptimizerSpec | None):
            raise ValueError(
                f"The optimizer_spec of a HostEmbedding is a HostEmbeddingOptimizerSpec, not {optimizer_spec!r}."
            )
        if partition_strategy not in ("TOKEN", "ENCODING"):
            raise ValueError(
                f"Unknown partition strategy {partition_strategy!r}: it is 'TOKEN' or 'ENCODING'."
            )
        if len(embedding_tensor.shape) != 2:
            raise ValueError(
                f"A host embedding has two dimensions; this one has the shape {embedding_tensor.shape}."
            )
        self._name = name
        self._embedding_tensor = embedding_tensor
        self._partition_strategy = partition_strategy
        self._optimizer_spec = optimizer_spec or HostEmbeddingOptimizerSpec(0)
        self._slot_vars = self._optimizer_spec.create_slot_variables(embedding_tensor, name)

    def get_embedding_tensor(self) -> Any:
        """The tensor or variable with the rows."""
        return self._embedding_tensor

    @property
    def trainable_variables(self) -> list[Any]:
        """The scalar that a tape has to be asked for the gradient of, so that rows are updated (in eager mode)."""
        if self._optimizer_spec.get_learning_rate() == 0:
            return []
        return [_switch(self._name, self._embedding_tensor.dtype.base_dtype)]

    def register(self, session: Any = None) -> HostEmbeddingScope:
        """A context in which programs of this session, or of eager mode, can use the embedding.

        Raises:
            ValueError: there is no session, in graph mode.
        """
        if session is None and not tf.executing_eagerly():
            raise ValueError(
                "HostEmbedding.register needs the session that runs the program, unless execution is eager."
            )
        return HostEmbeddingScope(self, session)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "A HostEmbedding is not called: look rows up with lookup() in a program, and run the program inside the "
            "context that HostEmbedding.register gives."
        )

    def lookup(self, indices: Any, clip_indices: bool = True) -> Any:
        """Rows of the table, inside a program.

        Args:
            indices: numbers of rows, of any shape.
            clip_indices: whether numbers that are too large or too small mean the last or the first row.
        """
        rows, columns = self._embedding_tensor.shape
        indices = tf.convert_to_tensor(indices)
        if clip_indices:
            indices = tf.clip_by_value(indices, 0, rows - 1)
        flat = tf.reshape(indices, [-1])
        found = self._optimizer_spec.create_lookup_instruction(
            self._embedding_tensor, flat, self._slot_vars, self._partition_strategy, self._name
        )
        found = tf.reshape(found, tf.concat([tf.shape(indices), [columns]], 0))
        return tf.ensure_shape(found, indices.shape.concatenate([columns]))


def create_host_embedding(
    name: str,
    shape: Any,
    dtype: Any,
    partition_strategy: str = "TOKEN",
    optimizer_spec: HostEmbeddingOptimizerSpec | None = None,
    initializer: Any = None,
) -> HostEmbedding:
    """An embedding with a variable of its own on the host.

    Args:
        name: of the embedding and its variable.
        shape: rows and columns.
        dtype: of the elements.
        partition_strategy: as of `HostEmbedding`.
        optimizer_spec: as of `HostEmbedding`.
        initializer: the first rows, or a function of shape and type that gives them; zeros by default.
    """
    if initializer is None:
        initializer = tf.zeros(shape, dtype) if tf.executing_eagerly() else lambda: tf.zeros(shape, dtype)
    elif callable(initializer):
        fill = initializer
        initializer = fill(tuple(shape), dtype=tf.as_dtype(dtype))
    elif isinstance(initializer, np.ndarray):
        initializer = initializer.astype(tf.as_dtype(dtype).as_numpy_dtype)
    with tf.device("/device:CPU:0"):
        variable = tf.compat.v1.Variable(initializer, name=name, use_resource=True, dtype=tf.as_dtype(dtype))
    return HostEmbedding(name, variable, partition_strategy=partition_strategy, optimizer_spec=optimizer_spec)


#: the scalars of eager mode by name and type
_switches: dict[tuple[str, Any], Any] = {}


def _switch(name: str, dtype: Any) -> Any:
    """The scalar variable that look-ups depend on."""
    with tf.init_scope():
        if tf.executing_eagerly():
            key = (name, dtype)
            if key not in _switches:
                _switches[key] = tf.Variable(tf.zeros([], dtype), trainable=True, name=f"{name}/__dummy")
            return _switches[key]
    with tf.compat.v1.variable_scope(name, reuse=tf.compat.v1.AUTO_REUSE):
        return tf.compat.v1.get_variable(
            "__dummy", shape=[], dtype=dtype, trainable=True, initializer=tf.compat.v1.zeros_initializer()
        )
