"""Programs of sessions as the chip model sees them: loops, phases, trained variables, places, lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula.advise.advise import advise
from tremula.program.control import Branch, Repeat
from tremula.program.op import Phase
from tremula.program.variant import Variant
from tremula.study.answer import ask
from tremula.study.question import Question

from .asked import answer_of, batches, cycles, read, session_program, trained_names, v1

LABELS = 10


def network(x: Any) -> Any:
    """Two dense layers."""
    with v1.variable_scope("first", use_resource=True):
        x = tf.nn.relu(x @ v1.get_variable("w", [8, 32]) + v1.get_variable("b", [32]))
    with v1.variable_scope("second", use_resource=True):
        return x @ v1.get_variable("w", [32, LABELS])


def loss_of(x: Any, labels: Any) -> Any:
    """The loss of a micro-batch."""
    with tf.name_scope("loss"):
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, network(x))
        return tf.reduce_mean(losses)


def training_loop(count: int, optimizer: Callable[[], Any]) -> Callable[[Any], Callable[[], Any]]:
    """A program that trains so many steps."""

    def with_queue(queue: Any) -> Callable[[], Any]:
        def step(before: Any, x: Any, labels: Any) -> Any:
            loss = loss_of(x, labels)
            with tf.control_dependencies([optimizer().minimize(loss)]):
                return before + loss

        return lambda: ipu.loops.repeat(count, step, [tf.constant(0.0)], queue)

    return with_queue


def descent() -> Any:
    return v1.train.GradientDescentOptimizer(0.1)


def accumulating() -> Any:
    return ipu.optimizers.GradientAccumulationOptimizerV2(descent(), num_mini_batches=6)


def test_a_loop_over_an_infeed_is_so_many_updates_of_all_variables() -> None:
    subject = session_program(training_loop(5, descent), infeed=batches)
    assert (subject.loops.device_iterations, subject.loops.gradient_accumulation) == (5, 1)
    assert subject.micro_batch == 4
    assert [each.shape for each in subject.inputs] == [(4, 8), (4,)]
    assert trained_names(subject) == {"first/w", "first/b", "second/w"}
    assert subject.parameters == 8 * 32 + 32 + 32 * LABELS


def test_all_three_phases_of_a_step_take_time() -> None:
    answer = answer_of(session_program(training_loop(5, descent), infeed=batches))
    forward, backward, update = (
        cycles(answer, each) for each in (Phase.FORWARD, Phase.BACKWARD, Phase.UPDATE)
    )
    assert backward > 0.5 * forward > 0
    assert 0 < update < forward


def test_ops_have_the_scopes_and_lines_of_the_program() -> None:
    nodes = read(session_program(training_loop(2, descent), infeed=batches)).nodes
    products = [node for node in nodes if node.type == "MatMul"]
    # the variables' scopes are those of the layers; the gradients are in them too
    assert {node.module for node in products} == {"loss/first", "loss/second"}
    assert {node.source.function for node in products if node.source is not None} == {"network"}
    assert all(node.source is not None and node.source.file == __file__ for node in products)


def test_an_accumulating_optimizer_divides_the_iterations_into_updates() -> None:
    subject = session_program(training_loop(12, accumulating), infeed=batches)
    assert (subject.loops.device_iterations, subject.loops.gradient_accumulation) == (2, 6)
    assert trained_names(subject) == {"first/w", "first/b", "second/w"}
    answer = answer_of(subject)
    assert cycles(answer, Phase.ACCUMULATE) > cycles(answer, Phase.UPDATE) > 0


def test_inference_trains_nothing() -> None:
    def with_queue(queue: Any) -> Any:
        outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()
        return lambda: ipu.loops.repeat(7, lambda x, labels: outfeed.enqueue(network(x)), [], queue)

    subject = session_program(with_queue, infeed=batches)
    captured = read(subject)
    assert not subject.training
    assert subject.loops.device_iterations == 7
    assert {node.phase for node in captured.nodes} == {Phase.FORWARD}
    assert [value.shape for value in captured.outputs] == [(4, LABELS)], (
        "the handle of the queue is not a result"
    )


def sharded_by_hand(x: Any) -> Any:
    for number in range(2):
        with ipu.scopes.ipu_shard(number):
            x = tf.nn.relu(x @ v1.get_variable(f"w{number}", [8, 8], use_resource=True))
    return x


def sharded_automatically(x: Any) -> Any:
    start = x
    for number in range(6):
        x = tf.nn.relu(x @ v1.get_variable(f"w{number}", [8, 8], use_resource=True))
    ipu.autoshard.automatic_sharding(2, start, x)
    return x


@pytest.mark.parametrize("computation", [sharded_by_hand, sharded_automatically])
def test_shards_are_on_ipus_of_their_own(computation: Callable[[Any], Any]) -> None:
    subject = session_program(lambda: lambda: computation(tf.ones([4, 8]) * v1.random.uniform([])), ipus=2)
    answer = answer_of(subject)
    assert answer.estimate is not None
    assert answer.estimate.deployment.execution == "sharded"
    assert answer.result.setting["stages"] == 2
    assert {op.ipu for op in answer.estimate.ops} == {0, 1}


def test_a_branch_costs_as_much_as_its_larger_case() -> None:
    def program(sizes: tuple[int, int]) -> float:
        def computation() -> Any:
            x = v1.random.uniform([64, 64])
            weights = v1.get_variable("w", [64, 64], use_resource=True)

            def products(count: int) -> Any:
                result = x
                for _ in range(count):
                    result = result @ weights
                return result

            return tf.cond(x[0, 0] > 0.5, lambda: products(sizes[0]), lambda: products(sizes[1]))

        subject = session_program(lambda: computation)
        made = subject.program(Variant(), subject.deployment(None))
        assert any(isinstance(each, Branch) for each in made.control.steps)
        answer = answer_of(subject)
        return cycles(answer, Phase.FORWARD)

    assert program((1, 6)) == pytest.approx(program((6, 1)))
    assert program((6, 6)) == pytest.approx(program((1, 6)))
    assert program((6, 1)) > 3 * program((1, 1))


def test_a_loop_of_the_model_repeats_its_body() -> None:
    def program(count: int) -> tuple[list[int], float]:
        def computation() -> Any:
            weights = v1.get_variable("w", [64, 64], use_resource=True)
            body = lambda n, x: (n + 1, x @ weights)  # noqa: E731
            return tf.while_loop(lambda n, x: n < count, body, [0, v1.random.uniform([64, 64])])[1]

        subject = session_program(lambda: computation)
        control = subject.program(Variant(), subject.deployment(None)).control
        repeats = [each.count for each in control.steps if isinstance(each, Repeat)]
        return repeats, cycles(answer_of(subject), Phase.FORWARD)

    (few, short), (many, long) = program(3), program(30)
    assert (few, many) == ([3], [30])
    assert long > 5 * short


def test_an_op_that_no_rule_knows_is_named_with_its_line() -> None:
    def computation() -> Any:
        return tf.linalg.det(v1.random.uniform([4, 4]))

    subject = session_program(lambda: computation)
    (unknown,) = subject.captured(Variant()).unknown
    assert unknown.name == "MatrixDeterminant"
    assert [line.function for line in unknown.sources] == ["computation"]


def test_a_count_that_only_the_data_decide_is_told(capfd: Any) -> None:
    def with_queue(queue: Any) -> Any:
        def step(before: Any, x: Any, labels: Any) -> Any:
            with tf.control_dependencies([descent().minimize(loss_of(x, labels))]):
                return before * 0.5

        def going_on(value: Any) -> Any:
            return value > 0.1

        return lambda: ipu.loops.while_loop(going_on, step, [tf.constant(1.0)], queue)

    subject = session_program(with_queue, infeed=batches)
    assert read(subject).counts.unknown
    assert subject.loops.device_iterations == 1
    assert (
        "How often a loop of computation runs is not known before the program runs" in capfd.readouterr().err
    )


def test_advice_speaks_of_no_model() -> None:
    subject = session_program(training_loop(12, accumulating), infeed=batches)
    answers = ask(subject, Question())
    advice = advise(answers.study, next(iter(answers)), budget_seconds=20)
    lines = [line for each in advice.advice for line in each.code]
    assert any(line.startswith("config.") for line in lines)
    assert any("GradientAccumulationOptimizerV2(optimizer, num_mini_batches=" in line for line in lines)
    assert not any("model." in line for line in lines)
    for each in advice.advice:
        compile("\n".join(each.code), "advice", "exec")


def test_a_batch_norm_has_no_unknown_sizes(capfd: Any) -> None:
    def computation() -> Any:
        x, ones = v1.random.uniform([2, 4, 4, 8]), v1.get_variable("ones", [8], use_resource=True)
        normed = v1.nn.fused_batch_norm(x, ones, ones)[0]
        return v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(normed**2))

    subject = session_program(lambda: computation)
    assert subject.training
    assert not read(subject).unknown_sizes
    assert "not known" not in capfd.readouterr().err
