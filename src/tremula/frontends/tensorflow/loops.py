"""Loops on the device: `repeat` and `while_loop`, with elements from an infeed queue for each iteration."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow.feeds.infeed import IPUInfeedQueue, body_arguments

_local = threading.local()


@contextmanager
def _iterating(iterations: Any) -> Iterator[None]:
    before = getattr(_local, "iterations", None)
    _local.iterations = int(iterations) if isinstance(iterations, (int, np.integer)) else None
    try:
        yield
    finally:
        _local.iterations = before


def iterations() -> int | None:
    """How often the innermost loop that is being traced runs at most; None if that is not known."""
    found: int | None = getattr(_local, "iterations", None)
    return found


def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: IPUInfeedQueue | None = None,
    maximum_iterations: Any = None,
    use_while_v1: bool = True,
) -> Any:
    """Run `body` as long as `condition` holds.

    Args:
        condition: of the carried tensors; gives one boolean.
        body: of the carried tensors and then the elements of the queue; gives the new tensors, then operations that run
            in every iteration.
        inputs: the first values of the carried tensors.
        infeed_queue: gives elements to each iteration.
        maximum_iterations: the loop ends after so many.
        use_while_v1: has no effect: there is one kind of loop, with the same results.

    Returns:
        The carried tensors; one alone as it is; without any, the operation of the loop.

    Raises:
        TypeError: `body` or `condition` does not take the arguments that it would get, or `body` changes a type.
        ValueError: `body` gives operations before tensors.
    """
    carried = [x if isinstance(x, tf.TensorArray) else tf.convert_to_tensor(x) for x in _as_list(inputs)]
    types = [x.dtype for x in carried]
    check_arguments(body, "loop body", carried, infeed_queue)
    check_arguments(condition, "loop condition", carried, None, without_infeed=infeed_queue is not None)
    arity = len(carried)

    def one_iteration(*values: Any) -> list[Any]:
        elements = infeed_queue._dequeue() if infeed_queue is not None else []
        args, kwargs = body_arguments(elements)
        with _iterating(maximum_iterations):
            outputs = body(*values[:arity], *args, **kwargs)
        tensors, operations = _tensors_and_operations(outputs)
        found = [tensor.dtype for tensor in tensors]
        if found != types:
            raise TypeError(
                f"Mismatch between input types and output types for loop body: {types} vs {found}. Cast what the body "
                f"returns to the types that it gets."
            )
        tensors = tensors or [tf.constant(0)]
        if operations:
            with tf.control_dependencies(operations):
                tensors = [x if isinstance(x, tf.TensorArray) else tf.identity(x) for x in tensors]
        return tensors

    outputs = tf.while_loop(
        lambda *values: condition(*values[:arity]),
        one_iteration,
        carried or [tf.constant(0)],
        maximum_iterations=maximum_iterations,
        parallel_iterations=1,
    )
    outputs = _as_list(outputs)
    if not arity:
        return outputs[0].op if not tf.executing_eagerly() else None
    return outputs[0] if arity == 1 else outputs


def repeat(
    n: Any,
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: IPUInfeedQueue | None = None,
    use_while_v1: bool = True,
) -> Any:
    """Run `body` n times; otherwise as `while_loop`."""
    return while_loop(
        lambda *_: True, body, inputs, infeed_queue, maximum_iterations=n, use_while_v1=use_while_v1
    )


def check_arguments(
    function: Callable[..., Any],
    role: str,
    inputs: list[Any],
    infeed_queue: IPUInfeedQueue | None,
    *,
    without_infeed: bool = False,
) -> None:
    """Refuse a function that cannot take its inputs and the elements of a queue.

    Raises:
        TypeError: with the numbers of both.
    """
    given = len(inputs) + (infeed_queue.number_of_tuple_elements if infeed_queue is not None else 0)
    problem = _argument_problem(function, given)
    if problem is None:
        return
    extra = f" and {given - len(inputs)} additional inputs from infeed" if infeed_queue is not None else ""
    needs = "computation" if infeed_queue is not None else role
    hint = " Note that infeed is not passed to the loop condition." if without_infeed else ""
    raise TypeError(
        f"Supplied {role} function cannot be called with the specified inputs. You specified {len(inputs)} inputs: "
        f"{inputs}{extra}, but the {needs} needs {problem}.{hint}"
    )


def _argument_problem(function: Callable[..., Any], given: int) -> str | None:
    """How many arguments a function needs, in words; None if it can take as many as are given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in named)
    open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if given < least:
        return f"{'at least' if open_ended or least < len(named) else 'exactly'} {least} inputs"
    if given > len(named) and not open_ended:
        return f"{'at most' if least < len(named) else 'exactly'} {len(named)} inputs"
    return None


def _tensors_and_operations(outputs: Any) -> tuple[list[Any], list[Any]]:
    values = [
        value if isinstance(value, (tf.Operation, tf.TensorArray)) else tf.convert_to_tensor(value)
        for value in _as_list(outputs)
        if value is not None
    ]
    operations = [value for value in values if isinstance(value, tf.Operation)]
    tensors = [value for value in values if not isinstance(value, tf.Operation)]
    if any(isinstance(value, tf.Operation) for value in values[: len(tensors)]):
        raise ValueError(
            "IPU loop body must return zero or more Tensor values followed by zero or more Operations; this one mixes "
            "them."
        )
    return tensors, operations


def _as_list(values: Any) -> list[Any]:
    if values is None:
        return []
    return list(values) if isinstance(values, (list, tuple)) else [values]
