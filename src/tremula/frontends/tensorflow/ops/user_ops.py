"""Operators that a compiled library builds with Poplar, or computes on the host, as nodes of a TensorFlow graph.

The library is compiled against the headers of `tremula cpp enable`. Its functions run in this process. What they
build runs in Poplar's engine; arrays go there and back in each call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula.errors import Error
from tremula.frontends.poplar.user_ops import build_functions
from tremula.frontends.poplar.user_ops.build_functions import Builder, BuilderCache
from tremula.frontends.poplar.user_ops.tensors import TensorFacts

#: computes arrays from arrays
Compute = Callable[[Sequence[Any]], Sequence[Any]]


def node(
    compute: Compute, inputs: Sequence[Any], types: Sequence[Any], shapes: Sequence[Any], name: str
) -> list[Any]:
    """A node of the graph that computes with NumPy arrays."""
    wanted = [tf.dtypes.as_dtype(each) for each in types]
    if not wanted:
        return []

    def run(*arrays: Any) -> list[Any]:
        return [
            np.asarray(array).astype(dtype.as_numpy_dtype)
            for array, dtype in zip(compute(arrays), wanted, strict=True)
        ]

    results = tf.numpy_function(run, list(inputs), wanted, name=name)
    results = list(results) if isinstance(results, list | tuple) else [results]
    for result, shape in zip(results, shapes, strict=True):
        result.set_shape(shape)
    return results


def built(builder: Builder, types: Sequence[Any], shapes: Sequence[Any]) -> Compute:
    """The computation of an operator that a library builds."""
    cache = BuilderCache(builder)

    def compute(arrays: Sequence[Any]) -> Sequence[Any]:
        results = cache.run([np.asarray(array) for array in arrays])
        if len(results) != len(types):
            raise Error(
                f"{builder.function} of {builder.library} made {len(results)} outputs; `outs` describes {len(types)}."
            )
        return [
            np.zeros(tf.TensorShape(shape).as_list(), np.float32) if result is None else result
            for result, shape in zip(results, shapes, strict=True)
        ]

    return compute


def on_host(
    library: str, function: str, types: Sequence[Any], shapes: Sequence[Any], attributes: str, name: str
) -> Compute:
    """The computation of an operator that a library computes itself."""
    facts = [
        TensorFacts(
            np.dtype(tf.dtypes.as_dtype(dtype).as_numpy_dtype), tuple(tf.TensorShape(shape).as_list())
        )
        for dtype, shape in zip(types, shapes, strict=True)
    ]

    def compute(arrays: Sequence[Any]) -> Sequence[Any]:
        given = [np.asarray(array) for array in arrays]
        return build_functions.run_on_host(library, function, given, facts, attributes, name)

    return compute


class UserOp:
    """One use of such an operator in a program."""

    def __init__(
        self,
        library: str,
        function: str,
        outs: Mapping[str, Any] | None,
        *,
        name: str,
        inputs_with_gradients: Sequence[int],
        separate_gradients: bool,
        make: Callable[[str, Sequence[Any], Sequence[Any], Mapping[str, int]], Compute],
    ) -> None:
        self.library, self.function, self.name = os.path.abspath(library), function, name
        self.types = list(outs["output_types"]) if outs else []
        self.shapes = [tf.TensorShape(each) for each in (outs["output_shapes"] if outs else [])]
        self.inputs_with_gradients = list(inputs_with_gradients)
        self.separate_gradients = separate_gradients
        self._make = make

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Apply it."""
        compute = self._make(self.function, self.types, self.shapes, {})
        count = len(self.types)
        if not count:
            return []

        @tf.custom_gradient
        def apply(*given: Any) -> Any:
            results = node(compute, given, self.types, self.shapes, self.name)

            def gradient(*upstream: Any) -> list[Any]:
                layout = [*upstream, *results, *given]
                return self._gradients(layout, given, count)

            return (results if count > 1 else results[0]), gradient

        found = apply(*[tf.convert_to_tensor(each) for each in inputs])
        return list(found) if count > 1 else [found]

    def _gradients(self, layout: list[Any], inputs: Sequence[Any], count: int) -> list[Any]:
        function = f"{self.function}_grad"
        wanted = self.inputs_with_gradients
        facts = {"gradients": count, "forward_outputs": count}
        found: list[Any] = [None] * len(inputs)
        if self.separate_gradients:
            for place in wanted:
                types, shapes = [inputs[place].dtype], [inputs[place].shape]
                compute = self._make(function, types, shapes, {**facts, "gradient_index": place})
                found[place] = node(compute, layout, types, shapes, f"{self.name}_grad")[0]
            return found
        types, shapes = [inputs[place].dtype for place in wanted], [inputs[place].shape for place in wanted]
        compute = self._make(function, types, shapes, facts)
        for place, result in zip(
            wanted, node(compute, layout, types, shapes, f"{self.name}_grad"), strict=True
        ):
            found[place] = result
        return found


def device_maker(library: str, codelets: str, attributes: str, gradient_attributes: str, name: str) -> Any:
    """Makes the computations of an operator and its gradients that a library builds with Poplar."""
    plain = Builder(
        os.path.abspath(library), "", os.path.abspath(codelets) if codelets else "", attributes, name
    )

    def make(function: str, types: Sequence[Any], shapes: Sequence[Any], facts: Mapping[str, int]) -> Compute:
        given = dict(facts)
        builder = replace(plain, function=function, attributes=gradient_attributes if facts else attributes)
        for key, value in given.items():
            builder = replace(builder, **{key: value})  # type: ignore[arg-type]
        return built(builder, types, shapes)

    return make


def host_maker(library: str, attributes: str, gradient_attributes: str, name: str) -> Any:
    """Makes the computations of an operator and its gradients that a library computes on the host."""

    def make(function: str, types: Sequence[Any], shapes: Sequence[Any], facts: Mapping[str, int]) -> Compute:
        given = gradient_attributes if facts else attributes
        return on_host(os.path.abspath(library), function, types, shapes, given, name)

    return make
