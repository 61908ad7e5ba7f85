"""The variables of each replica.

Replica 0 has the program's own variables, the others copies. As on the device, a copy keeps what its replica wrote from
one run to the next. When the host writes the variable, all copies get the new value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.distribute import values
from tensorflow.python.ops import gen_resource_variable_ops, resource_variable_ops

_COPIES = "_tremula_replica_copies"
_SEEN = "_tremula_host_value"
_OWN_STREAM = "_tremula_own_stream"
#: spreads the numbers of replicas over the keys of random generators
_KEY_STEP = 0x9E3779B97F4A7C15


class ReplicaVariable:
    """One variable on all replicas.

    Args:
        variable: the program's own.
        replicas: how many replicas there are.
        generator: whether it is the state of a random generator, whose key differs between replicas.
        first: the number of the first replica of this process in the whole run.
        handle: its resource in the graph that is being built, if that is not `variable.handle`.
    """

    def __init__(
        self, variable: Any, replicas: int, *, generator: bool, first: int = 0, handle: Any = None
    ) -> None:
        self.variable = variable
        self._first = first
        self._generator = generator
        self._handle = handle
        self._copies: list[Any] = []
        self._seen: Any = None
        with tf.init_scope():
            eager = tf.executing_eagerly()
            if eager:
                self._make_variables(replicas)
        if not eager:
            # in a session: resources by name, which are none of the graph's variables and need no initializer
            self._copies = [_NamedCopy(variable, f"replica {number}") for number in range(1, replicas)]
            self._seen = _NamedCopy(variable, "host")

    def _make_variables(self, replicas: int) -> None:
        variable = self.variable
        copies: list[Any] = getattr(variable, _COPIES, [])
        while len(copies) < replicas - 1:
            copies = [*copies, self._copy(f"replica_{len(copies) + 1}")]
        seen = getattr(variable, _SEEN, None)
        if seen is None:
            seen = self._copy("host")
            for number, copy in enumerate(copies, 1):
                copy.assign(self._value_for(variable.read_value(), number))
        setattr(variable, _COPIES, copies)
        setattr(variable, _SEEN, seen)
        self._copies = copies[: replicas - 1]
        self._seen = seen

    @property
    def handles(self) -> list[Any]:
        """The resource of each replica."""
        own = self.variable.handle if self._handle is None else self._handle
        return [own, *(copy.handle for copy in self._copies)]

    def _read(self) -> Any:
        if self._handle is None:
            return self.variable.read_value()
        return _read(self._handle, self.variable)

    def refresh(self) -> None:
        """Give all replicas the host's value if the host has written the variable since the last run."""
        value = self._read()
        if isinstance(self._seen, _NamedCopy):
            written = tf.cond(self._seen.there(), lambda: self._differs(value), lambda: tf.constant(True))
        else:
            written = self._differs(value)

        def give() -> Any:
            for number, copy in enumerate(self._copies, 1):
                copy.assign(self._value_for(value, number))
            return tf.constant(True)

        tf.cond(written, give, lambda: tf.constant(False))

    def _differs(self, value: Any) -> Any:
        return tf.reduce_any(tf.not_equal(value, self._seen.read_value()))

    def remember(self) -> None:
        """Note the value after a run, so that a change by the host is noticed."""
        self._seen.assign(self._read())

    def _copy(self, name: str) -> Any:
        # not a `tf.Variable`, which a strategy would make one of all processes
        return resource_variable_ops.ResourceVariable(
            self.variable.read_value(), trainable=False, name=f"{self.variable.name.partition(':')[0]}_{name}"
        )

    def _value_for(self, value: Any, replica: int) -> Any:
        if not self._generator:
            return value
        return _with_key(value, _key(self._first) ^ _key(self._first + replica))


def local_variable(variable: Any) -> Any:
    """The variable of this process, of one that belongs to all processes (`PopDistStrategy`); others are given back."""
    inner = getattr(variable, "_variable", None)  # Keras wraps variables that it casts
    if isinstance(inner, values.DistributedVariable):
        variable = inner
    return variable.values[0] if isinstance(variable, values.DistributedVariable) else variable


def give_own_stream(variable: Any, replica: int) -> None:
    """Let the random stream of a variable be that of a replica of the whole run; once, and not in sessions."""
    with tf.init_scope():
        if tf.executing_eagerly() and not getattr(variable, _OWN_STREAM, False):
            variable.assign(_with_key(variable.read_value(), _key(replica)))
            setattr(variable, _OWN_STREAM, True)


def _key(replica: int) -> int:
    return (_KEY_STEP * replica) % (1 << 64)


def _with_key(state: Any, key: int) -> Any:
    """The state of a random generator, its key changed."""
    key -= (1 << 64) if key >= 1 << 63 else 0
    keys = tf.bitwise.bitwise_xor(state[-1:], tf.constant([key], state.dtype))
    return tf.concat([state[:-1], keys], 0)


class _NamedCopy:
    """A copy of a variable in the resources of a session, found by its name."""

    def __init__(self, variable: Any, role: str) -> None:
        self._variable = variable
        self._name = f"{variable.name.partition(':')[0]}, {role}"

    @property
    def handle(self) -> Any:
        """Its resource, as an op of the current graph."""
        return gen_resource_variable_ops.var_handle_op(
            dtype=self._variable.dtype, shape=self._variable.shape, shared_name=self._name
        )

    def there(self) -> Any:
        """Whether it has a value."""
        return gen_resource_variable_ops.var_is_initialized_op(self.handle)

    def read_value(self) -> Any:
        """Its value."""
        return _read(self.handle, self._variable)

    def assign(self, value: Any) -> None:
        """Give it a value."""
        gen_resource_variable_ops.assign_variable_op(self.handle, value)


def _read(handle: Any, variable: Any) -> Any:
    """The value of a resource like that of `variable`."""
    value = gen_resource_variable_ops.read_variable_op(handle, variable.dtype)
    value.set_shape(variable.shape)
    return value


def broadcast(variables: Sequence[Any]) -> None:
    """Give all replicas the host's values of these variables at their next run."""
    for variable in map(local_variable, variables):
        seen = getattr(variable, _SEEN, None)
        copies = getattr(variable, _COPIES, [])
        if seen is None:
            continue
        for copy in copies:
            copy.assign(variable.read_value())
        seen.assign(variable.read_value())
