"""The variables of a captured program: which resource handle is which variable."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.ops import handle_data_util

from tremula.frontends.tensorflow.capture.attributes import dtype_name
from tremula.frontends.tensorflow.capture.nodes import Value, Variable
from tremula.frontends.tensorflow.replicas.variables import local_variable
from tremula.program.tensor import Role


class Variables:
    """Finds variables by their handles, each once."""

    def __init__(self) -> None:
        self._by_handle: dict[Any, Variable] = {}
        self._by_name: dict[str, Variable] = {}
        #: those that the program says are trained, if it trains
        self.trainable: set[Variable] = set()

    @property
    def all(self) -> list[Variable]:
        """In the order in which they were found."""
        return list(dict.fromkeys([*self._by_handle.values(), *self._by_name.values()]))

    def of_graph(self, graph: Any) -> None:
        """Learn the variables of a traced graph."""
        for each in graph.variables:
            self._learn(local_variable(each))

    def capture(self, handle: Any) -> Value | None:
        """The variable behind a captured resource; None if it is another resource."""
        key = id(handle) if hasattr(handle, "numpy") else handle.ref()
        known = self._by_handle.get(key)
        if known is not None:
            return known.value
        find = getattr(handle, "_parent_trackable", None)
        owner = None if find is None else find()
        if isinstance(owner, tf.Variable):
            return self._learn(local_variable(owner)).value
        data = handle_data_util.get_resource_handle_data(handle)
        if data is None or not data.is_set or not data.shape_and_type:
            return None
        kind = data.shape_and_type[0]
        shape = tuple(max(1, dim.size) for dim in kind.shape.dim)
        name = getattr(getattr(handle, "op", None), "name", f"variable_{len(self._by_handle)}")
        made = self._by_handle[key] = Variable(name, shape, dtype_name(kind.dtype))
        return made.value

    def by_name(self, op: Any) -> Variable:
        """The variable of an op that makes a handle by name: state that a loop keeps, or a result for the host."""
        name = op.get_attr("shared_name").decode() or op.name
        if name not in self._by_name:
            shape = tuple(max(1, dim.size) for dim in op.get_attr("shape").dim)
            self._by_name[name] = Variable(name, shape, dtype_name(op.get_attr("dtype")))
        return self._by_name[name]

    def _learn(self, variable: Any) -> Variable:
        handle = variable.handle
        key = id(handle) if hasattr(handle, "numpy") else handle.ref()
        known = self._by_handle.get(key)
        if known is None:
            shape = tuple(size or 1 for size in variable.shape.as_list())
            name = variable.name.partition(":")[0]
            role = Role.PARAMETER if variable.trainable else Role.BUFFER
            known = Variable(name, shape, dtype_name(variable.dtype), role)
            self._by_handle[key] = known
            if variable.trainable:
                self.trainable.add(known)
        return known
