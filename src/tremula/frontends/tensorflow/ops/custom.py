"""Operations that a program brings itself: elementwise expressions in Python, and libraries compiled for Poplar."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v2 as tf

from tremula.errors import Error
from tremula.frontends.poplar.user_ops import build_functions
from tremula.frontends.tensorflow.ops import user_ops
from tremula.frontends.tensorflow.ops.vertex_expressions import PlaceholderVertexExpr, VertexExpression


def codelet_expression_op(vertex_expression: Callable[..., Any], *args: Any) -> Any:
    """An elementwise expression as one op.

    Args:
        vertex_expression: a function of as many expressions as there are tensors.
        args: the tensors; the result has the type of the first one. They broadcast.

    Raises:
        LookupError: a gradient is taken through it, which the device cannot do either.
    """
    tensors = [tf.convert_to_tensor(each) for each in args]
    if not tensors:
        raise ValueError(
            "codelet_expression_op needs a tensor for each argument of its expression; it got none."
        )
    names = [f"in{index}" for index in range(len(tensors))]
    expression = vertex_expression(*(PlaceholderVertexExpr(name, None) for name in names))
    if not isinstance(expression, VertexExpression):
        raise TypeError(
            f"The function of codelet_expression_op returned {expression!r}; it has to combine its arguments into one "
            f"expression."
        )

    @tf.custom_gradient
    def computed(*inputs: Any) -> Any:
        def no_gradient(*_: Any) -> Any:
            raise LookupError(
                "A codelet expression has no gradient: write the expression with TensorFlow's ops to train through it."
            )

        result = expression.evaluate(dict(zip(names, inputs, strict=True)))
        return tf.cast(result, inputs[0].dtype), no_gradient

    return computed(*tensors)


def precompiled_user_op(
    inputs: Sequence[Any],
    library_path: str,
    gp_path: str = "",
    outs: Mapping[str, Any] | None = None,
    name: str = "UserOp",
    op_name: str = "Build",
    separate_gradients: bool = False,
    inputs_with_gradients: Sequence[int] | None = None,
    attributes: str | None = None,
    gradient_attributes: str | None = None,
) -> Any:
    """An op that a compiled library builds with Poplar.

    Raises:
        NotFoundError: the library is not there, or cannot be loaded.
        InternalError: it was compiled for another level of the interface.
    """
    _check(inputs, outs, inputs_with_gradients, attributes, gradient_attributes)
    paths = [library_path, gp_path] if gp_path else [library_path]
    _check_library("precompiled_user_op", name, op_name, paths, len(inputs))
    make = user_ops.device_maker(library_path, gp_path, attributes or "", gradient_attributes or "", name)
    return _apply(inputs, library_path, op_name, outs, name, inputs_with_gradients, separate_gradients, make)


def cpu_user_operation(
    inputs: Sequence[Any],
    library_path: str,
    outs: Mapping[str, Any] | None = None,
    name: str = "UserOp",
    op_name: str = "Callback",
    separate_gradients: bool = False,
    inputs_with_gradients: Sequence[int] | None = None,
    attributes: str | None = None,
    gradient_attributes: str | None = None,
) -> Any:
    """An op that a compiled library computes on the CPU.

    Raises:
        NotFoundError: the library is not there, or cannot be loaded.
        InternalError: it was compiled for another level of the interface.
    """
    _check(inputs, outs, inputs_with_gradients, attributes, gradient_attributes)
    _check_library("cpu_user_operation", name, op_name, [library_path], len(inputs))
    make = user_ops.host_maker(library_path, attributes or "", gradient_attributes or "", name)
    return _apply(inputs, library_path, op_name, outs, name, inputs_with_gradients, separate_gradients, make)


def _apply(
    inputs: Sequence[Any],
    library_path: str,
    op_name: str,
    outs: Mapping[str, Any] | None,
    name: str,
    inputs_with_gradients: Sequence[int] | None,
    separate_gradients: bool,
    make: Any,
) -> list[Any]:
    with_gradients = range(len(inputs)) if inputs_with_gradients is None else inputs_with_gradients
    op = user_ops.UserOp(
        library_path,
        op_name,
        outs,
        name=name,
        inputs_with_gradients=list(with_gradients),
        separate_gradients=separate_gradients,
        make=make,
    )
    return op(inputs)


def _check(
    inputs: Sequence[Any],
    outs: Mapping[str, Any] | None,
    inputs_with_gradients: Sequence[int] | None,
    attributes: Any,
    gradient_attributes: Any,
) -> None:
    for label, value in (("attributes", attributes), ("gradient_attributes", gradient_attributes)):
        if value and not isinstance(value, str):
            raise ValueError(
                f"Expected {label} to be a 'str', but it is a {type(value).__name__}: {value!r}."
            )
    for index in inputs_with_gradients or ():
        if not 0 <= index < len(inputs):
            raise ValueError(f"inputs_with_gradients names input {index}, but there are {len(inputs)}.")
    if outs is not None:
        missing = {"output_types", "output_shapes"} - set(outs)
        if missing:
            raise ValueError(
                f"`outs` lacks {', '.join(sorted(missing))}: it describes the outputs of the op."
            )
        if len(outs["output_types"]) != len(outs["output_shapes"]):
            raise ValueError(
                f"`outs` has {len(outs['output_types'])} output_types and {len(outs['output_shapes'])} output_shapes."
            )


def _check_library(function: str, name: str, op_name: str, paths: list[str], inputs: int) -> None:
    absent = [path for path in paths if not os.path.exists(path)]
    if absent:
        raise tf.errors.NotFoundError(
            None,
            None,
            f"{function} {name!r}: there is no file {absent[0]!r}. Compile the library, or give its full path.",
        )
    try:
        build_functions.check(os.path.abspath(paths[0]), op_name, inputs)
    except build_functions.WrongLevel as problem:
        raise tf.errors.InternalError(None, None, f"{function} {name!r}: {problem.message}") from None
    except Error as problem:
        raise tf.errors.NotFoundError(
            None,
            None,
            f"{function} {name!r}: {problem.message} Compile it against the headers of `tremula cpp enable`, or write "
            "the op with TensorFlow's ops (and a tf.custom_gradient).",
        ) from None
