"""Copies a traced program into the graph that is being built, once for each replica.

Values that are the same on all replicas are computed once. Collectives become arithmetic over the copies, in the order
of the replicas. Each replica takes the next element of an infeed; an outfeed gets the stacked values of all replicas.
Loops and branches that exchange data are shared by all replicas and follow the condition of replica 0. Others are
copied like any op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.ops import control_flow_util_v2, gen_functional_ops, handle_data_util

from tremula.frontends.tensorflow.replicas import analysis
from tremula.frontends.tensorflow.replicas.collectives import (
    COLLECTIVE_ATTRIBUTE,
    COUNT,
    GATHER,
    INDEX,
    MEAN,
    SUM,
    check_group_of,
)
from tremula.frontends.tensorflow.replicas.instances import Exchange
from tremula.frontends.tensorflow.replicas.op_copies import build_function, copy_op, last_name
from tremula.frontends.tensorflow.replicas.reductions import JOINS, after_sum, before_sum, summed

#: a value on the replicas that are copied: one tensor that they share, or a list with one for each
Value = Any


class Lowering:
    """Copies graphs for some replicas.

    Args:
        known: answers about the program.
        replicas: the numbers of the replicas, in the whole run.
        same_streams: whether replicas draw the same random numbers.
        exchange: what connects them to the replicas of other instances; None if there are none.
    """

    def __init__(
        self,
        known: analysis.Analysis,
        replicas: Sequence[int],
        *,
        same_streams: bool = False,
        exchange: Exchange | None = None,
    ) -> None:
        self._known = known
        self._replicas = list(replicas)
        self._same_streams = same_streams
        self._exchange = exchange
        #: the loop or branch that was made last
        self._made: Any = None

    def copy(self, graph: Any, inputs: Sequence[Value]) -> list[Value]:
        """Copy the ops of `graph` into the current one; `inputs` are its inputs. Gives its outputs."""
        values: dict[Any, Value] = {
            tensor.ref(): value for tensor, value in zip(graph.inputs, inputs, strict=True)
        }
        controls: dict[Any, Value] = {}
        for ops in self._steps(graph):
            if _is_whole_sum(ops[0]) and self._exchange is not None:
                totals = self._exchange.sums([self._local_part(op, values[op.inputs[0].ref()]) for op in ops])
                for op, total in zip(ops, totals, strict=True):
                    whole = after_sum(_kind(op), total, self._exchange.replicas)
                    values[op.outputs[0].ref()] = whole
                    controls[op] = whole.op
                continue
            (op,) = ops
            if op.type == "Placeholder" and op.outputs[0].ref() in values:
                continue
            results = self._copy_op(op, [values[t.ref()] for t in op.inputs], controls)
            for tensor, value in zip(op.outputs, results, strict=True):
                values[tensor.ref()] = value
        return [values[tensor.ref()] for tensor in graph.outputs]

    def _steps(self, graph: Any) -> Iterable[list[Any]]:
        """The ops of a graph, with those that exchange data with other instances together."""
        if self._exchange is None:
            return ([op] for op in graph.get_operations())
        return self._exchange.steps(graph, _is_whole_sum)

    def _copy_op(self, op: Any, inputs: list[Value], controls: dict[Any, Value]) -> list[Value]:
        before = [controls[c] for c in op.control_inputs if c in controls]
        if analysis.is_collective(op):
            results = [self._collective(op, inputs)]
            controls[op] = _operations(results)
            return results
        if analysis.is_outfeed(op):
            stacked = [inputs[0], *(self._stack(value) for value in inputs[1:])]
            done = copy_op(op, stacked, _flat(before))
            controls[op] = done
            return []
        kind = op.type
        if kind in analysis.CALLS:
            with tf.control_dependencies(_flat(before)):
                results = self._inline(self._known.graphs(op)[0], inputs)
            controls[op] = _operations(results) or tuple(before)
            return results
        effects = self._known.op_effects(op)
        if any(e.exchanges for e in effects):
            with tf.control_dependencies(_flat(before)), self._in_order() as made:
                results = self._loop(op, inputs) if kind in analysis.LOOPS else self._branch(op, inputs)
                made.append(self._made)
            controls[op] = self._made
            return results
        if any(e.differs for e in effects):
            results, controls[op] = self._one_for_each(op, inputs, before)
            return results
        return self._plain(op, inputs, before, controls)

    def _plain(
        self, op: Any, inputs: list[Value], before: list[Value], controls: dict[Any, Value]
    ) -> list[Value]:
        same = self._known.same_results(op, [_is_shared(value) for value in inputs])
        draws = analysis.has_seed(op)
        once = all(same) and all(_is_shared(value) for value in inputs)
        if once and not op.outputs:
            once = not op._is_stateful or op.type in analysis.SAME_EVERYWHERE
        if (once and not draws) or len(self._replicas) == 0:
            done = copy_op(op, inputs, _flat(before))
            controls[op] = done
            return list(done.outputs)
        chained = op.type == "IteratorGetNext"
        copies: list[Any] = []
        for position, replica in enumerate(self._replicas):
            waits = [_of(value, position) for value in before]
            if chained and copies:
                waits.append(copies[-1])
            differs = analysis.has_own_state(op) or (draws and not self._same_streams)
            copies.append(
                copy_op(
                    op,
                    [_of(value, position) for value in inputs],
                    _flat(waits),
                    replica=replica if differs else None,
                )
            )
        controls[op] = copies
        return [
            copies[0].outputs[index] if flag else [copy.outputs[index] for copy in copies]
            for index, flag in enumerate(same if not draws else [False] * len(op.outputs))
        ]

    def _inline(self, graph: Any, inputs: list[Value]) -> list[Value]:
        return self.copy(graph, inputs)

    def _collective(self, op: Any, inputs: list[Value]) -> Value:
        kind, _, size = analysis.attribute(op, COLLECTIVE_ATTRIBUTE).partition(":")
        if kind == INDEX:
            return [tf.constant(replica, tf.int32) for replica in self._replicas]
        count = len(self._replicas)
        total = count if self._exchange is None else self._exchange.replicas
        if kind == COUNT:
            return tf.constant(total, tf.int32)
        group = int(size) or count
        check_group_of(int(size), total)
        copies = [_of(inputs[0], position) for position in range(count)]
        join = JOINS.get(kind, summed)
        if self._exchange is not None and self._exchange.reaches_over(int(size)):
            everywhere = int(size) or self._exchange.replicas
            if everywhere < self._exchange.replicas:
                return self._exchange.groups(copies, everywhere, join)
            if kind == GATHER:
                whole = self._exchange.gather(join(copies))
            else:  # reductions over all replicas are steps of their own (`copy`), unless their group has that size
                (whole,) = self._exchange.sums([self._local_part(op, inputs[0])])
                whole = after_sum(kind, whole, total)
            return whole if not int(size) else [whole] * count
        if group >= count:
            return join(copies)
        joined = [join(copies[start : start + group]) for start in range(0, count, group)]
        return [joined[position // group] for position in range(count)]

    def _local_part(self, op: Any, value: Value) -> Any:
        """What this instance adds to a reduction over all replicas of the run."""
        total = len(self._replicas) if self._exchange is None else self._exchange.replicas
        copies = [_of(value, position) for position in range(len(self._replicas))]
        return summed([before_sum(_kind(op), copy, total) for copy in copies])

    def _in_order(self) -> AbstractContextManager[list[Any]]:
        """What is made inside comes after the exchanges with other instances before it."""
        return nullcontext([]) if self._exchange is None else self._exchange.in_order()

    def _stack(self, value: Value) -> Any:
        if not _is_shared(value):
            return tf.stack(value)
        return tf.stack([value] * len(self._replicas))

    def _one_for_each(self, op: Any, inputs: list[Value], before: list[Value]) -> tuple[list[Value], Value]:
        """A loop or branch that exchanges nothing but has ops that differ between replicas."""
        results, done = [], []
        for position, replica in enumerate(self._replicas):
            alone = Lowering(self._known, [replica], same_streams=self._same_streams)
            own = [_of(value, position) for value in inputs]
            with tf.control_dependencies(_flat([_of(value, position) for value in before])):
                found = alone._loop(op, own) if op.type in analysis.LOOPS else alone._branch(op, own)
            results.append([value if _is_shared(value) else value[0] for value in found])
            done.append([value.op for value in results[-1]])
        return [list(values) for values in zip(*results, strict=True)], done

    def _loop(self, op: Any, inputs: list[Value]) -> list[Value]:
        """One loop for all replicas."""
        condition, body = self._known.graphs(op)
        same = self._known.same_loop(op, [_is_shared(value) for value in inputs])
        inputs = [value if flag else self._spread(value) for value, flag in zip(inputs, same, strict=True)]
        flat = _flat(inputs)

        def check(*tensors: Any) -> Any:
            result = self.copy(condition, _packed(list(tensors), inputs))[0]
            return result if _is_shared(result) else result[0]

        def iterate(*tensors: Any) -> list[Any]:
            results = self.copy(body, _packed(list(tensors), inputs))
            return _flat([r if flag else self._spread(r) for r, flag in zip(results, same, strict=True)])

        loop, outputs = control_flow_util_v2.get_op_and_outputs(
            gen_functional_ops._while(
                flat,
                build_function("condition", check, flat),
                build_function("body", iterate, flat),
                output_shapes=[tensor.shape for value in inputs for tensor in _flat([value])],
                parallel_iterations=1,
                name=last_name(op),
            )
        )
        control_flow_util_v2.maybe_set_lowering_attr(loop)
        self._made = loop
        for source, target in zip(flat, outputs, strict=True):
            handle_data_util.copy_handle_data(source, target)
        return _packed(list(outputs), inputs)

    def _branch(self, op: Any, inputs: list[Value]) -> list[Value]:
        """One choice for all replicas."""
        choice, arguments = inputs[0], inputs[1:]
        same = self._known.same_results(op, [True, *(_is_shared(value) for value in arguments)])
        flat = _flat(arguments)

        def branch(graph: Any) -> Callable[..., list[Any]]:
            def run(*tensors: Any) -> list[Any]:
                results = self.copy(graph, _packed(list(tensors), arguments))
                return _flat([r if flag else self._spread(r) for r, flag in zip(results, same, strict=True)])

            return run

        functions = [build_function("branch", branch(graph), flat) for graph in self._known.graphs(op)]
        template: list[Value] = [
            tensor if flag else [tensor] * len(self._replicas)
            for tensor, flag in zip(op.outputs, same, strict=True)
        ]
        shapes, types = [t.shape for t in _flat(template)], [t.dtype for t in _flat(template)]
        choice = choice if _is_shared(choice) else choice[0]
        if op.type in ("If", "StatelessIf"):
            made = gen_functional_ops._if(choice, flat, types, *functions, output_shapes=shapes)
        else:
            made = gen_functional_ops.case(choice, flat, types, functions, output_shapes=shapes)
        made_op, outputs = control_flow_util_v2.get_op_and_outputs(made)
        control_flow_util_v2.maybe_set_lowering_attr(made_op)
        self._made = made_op
        return _packed(list(outputs), template)

    def _spread(self, value: Value) -> list[Any]:
        return [value] * len(self._replicas) if _is_shared(value) else value


def _is_whole_sum(op: Any) -> bool:
    """Whether an op is a sum or mean over all replicas."""
    return analysis.attribute(op, COLLECTIVE_ATTRIBUTE) in (f"{SUM}:0", f"{MEAN}:0")


def _kind(op: Any) -> str:
    return analysis.attribute(op, COLLECTIVE_ATTRIBUTE).partition(":")[0]


def _is_shared(value: Value) -> bool:
    return not isinstance(value, list)


def _of(value: Value, position: int) -> Any:
    return value[position] if isinstance(value, list) else value


def _flat(values: Sequence[Value]) -> list[Any]:
    return tf.nest.flatten(list(values))


def _packed(tensors: list[Any], like: Sequence[Value]) -> list[Value]:
    return list(tf.nest.pack_sequence_as(list(like), tensors))


def _operations(values: Sequence[Value]) -> Value:
    """The ops of some values: a tuple, which all replicas share."""
    return tuple(tensor.op for tensor in _flat(values))
