"""Compiled programs in sessions: the number of replicas is that of the configuration when the program runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import ipu

from tremula.frontends.tensorflow import devices

v1 = tf.compat.v1
RATE, MOMENTUM = 0.01, 0.9


def configure(ipus: int, **options: Any) -> None:
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = ipus
    for name, value in options.items():
        setattr(config.device_connection, name, value)
    config.configure_ipu_system()


@contextmanager
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as built:
        yield built


def numbers(batch: int = 1, count: int = 1000) -> Any:
    """The numbers from 0 up, in batches."""
    return (
        tf.data.Dataset.range(count).map(lambda x: tf.cast(x, tf.float32)).batch(batch, drop_remainder=True)
    )


class Training:
    """A loop of `steps` steps of momentum on `w * mean(x)`, built in the current graph."""

    def __init__(self, steps: int = 3, batch: int = 1, wrap: Callable[[Any], Any] | None = None) -> None:
        self.infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(numbers(batch))
        self.outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()
        wrap = wrap or ipu.optimizers.CrossReplicaOptimizer

        def body(x: Any) -> Any:
            with v1.variable_scope("model", use_resource=True, reuse=v1.AUTO_REUSE):
                weight = v1.get_variable("weight", [], initializer=v1.ones_initializer())
            loss = weight * tf.reduce_mean(x)
            train = wrap(v1.train.MomentumOptimizer(RATE, MOMENTUM)).minimize(loss)
            return self.outfeed.enqueue(loss), train

        with ipu.scopes.ipu_scope("/device:IPU:0"):
            self.run = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(steps, body, [], self.infeed))
        self.losses = self.outfeed.dequeue()
        self.start = [self.infeed.initializer, v1.global_variables_initializer()]
        (self.weight,) = v1.trainable_variables()


def reference(steps: int, replicas: int, batch: int = 1) -> tuple[float, np.ndarray]:
    """The weight after so many steps, and the losses of each step and replica."""
    weight, speed = 1.0, 0.0
    losses = np.zeros((steps, replicas))
    data = np.arange(1000.0).reshape(-1, batch).mean(1)
    for step in range(steps):
        means = data[step * replicas : (step + 1) * replicas]
        losses[step] = weight * means
        speed = MOMENTUM * speed + means.mean()
        weight -= RATE * speed
    return weight, losses


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_replicas_are_configured_after_the_graph_was_built(replicas: int) -> None:
    with graph():
        training = Training()
        configure(replicas)
        with v1.Session() as session:
            session.run(training.start)
            session.run(training.run)
            losses = session.run(training.losses)
            session.run(training.run)
            weight = session.run(training.weight)
    expected, _ = reference(6, replicas)
    np.testing.assert_allclose(weight, expected, rtol=1e-6)
    _, all_losses = reference(3, replicas)
    np.testing.assert_allclose(losses, all_losses if replicas > 1 else all_losses[:, 0], rtol=1e-6)


def test_two_replicas_are_one_replica_with_twice_the_batch() -> None:
    weights = []
    for replicas, batch in ((2, 4), (1, 8)):
        with graph():
            training = Training(batch=batch)
            configure(replicas)
            with v1.Session() as session:
                session.run(training.start)
                session.run(training.run)
                weights.append(session.run(training.weight))
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-6)


def test_a_new_session_follows_a_new_configuration() -> None:
    with graph():
        training = Training()
        for replicas in (1, 2):
            configure(replicas)
            with v1.Session() as session:
                session.run(training.start)
                session.run(training.run)
                np.testing.assert_allclose(session.run(training.weight), reference(3, replicas)[0], rtol=1e-6)


def test_sessions_have_replicas_of_their_own() -> None:
    with graph():
        training = Training()
        configure(2)
        with v1.Session() as one, v1.Session() as other:
            for session in (one, other):
                session.run(training.start)
            one.run(training.run)
            one.run(training.run)
            other.run(training.run)
            np.testing.assert_allclose(one.run(training.weight), reference(6, 2)[0], rtol=1e-6)
            np.testing.assert_allclose(other.run(training.weight), reference(3, 2)[0], rtol=1e-6)


def test_what_the_host_writes_goes_to_all_replicas() -> None:
    with graph():
        training = Training()
        value = v1.placeholder(tf.float32, [])
        write = training.weight.assign(value)
        configure(2)
        with v1.Session() as session:
            session.run(training.start)
            session.run(training.run)
            session.run(training.losses)
            session.run(write, {value: 0.0})
            session.run(training.run)
            assert (session.run(training.losses)[0] == 0).all()


def test_a_checkpoint_continues_on_all_replicas(tmp_path: Any) -> None:
    with graph():
        training = Training()
        saver = v1.train.Saver()
        configure(2)
        with v1.Session() as session:
            session.run(training.start)
            session.run(training.run)
            saver.save(session, str(tmp_path / "model"))
            weight = session.run(training.weight)
        with v1.Session() as session:
            session.run(training.start[0])
            saver.restore(session, str(tmp_path / "model"))
            session.run(training.run)
            losses = session.run(training.losses)
            np.testing.assert_allclose(losses[0], weight * np.array([0.0, 1.0]), rtol=1e-6)
    names = {name for name, _ in tf.train.list_variables(str(tmp_path / "model"))}
    assert names == {"model/weight", "model/weight/Momentum"}


def test_an_outfeed_without_elements_has_the_shape_of_the_replicas() -> None:
    with graph():
        training = Training()
        configure(4)
        with v1.Session() as session:
            session.run(training.start)
            assert session.run(training.losses).shape == (0, 4)


def test_replicas_draw_different_random_numbers() -> None:
    with graph():
        outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue(ipu.ipu_outfeed_queue.IPUOutfeedMode.LAST)
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            run = ipu.ipu_compiler.compile(lambda: outfeed.enqueue(tf.random.uniform([4])))
        drawn = outfeed.dequeue()
        configure(2)
        with v1.Session() as session:
            session.run(run)
            values = session.run(drawn)
    assert values.shape == (2, 4)
    assert len(np.unique(values)) == 8


def test_accumulated_gradients_are_averaged_over_replicas() -> None:
    def wrap(optimizer: Any) -> Any:
        return ipu.optimizers.CrossReplicaGradientAccumulationOptimizerV2(
            optimizer, 2, reduction_method=ipu.gradient_accumulation.GradientAccumulationReductionMethod.SUM
        )

    with graph():
        training = Training(steps=2, wrap=wrap)
        configure(2)
        with v1.Session() as session:
            session.run(training.start)
            session.run(training.run)
            # micro-batches 0, 2 on replica 0 and 1, 3 on replica 1
            np.testing.assert_allclose(
                session.run(training.weight), 1 - RATE * np.mean([0 + 2, 1 + 3]), rtol=1e-6
            )


def test_shards_take_ipus_from_the_replicas() -> None:
    def net(x: Any) -> Any:
        with ipu.scopes.ipu_shard(0):
            y = x + 1
        with ipu.scopes.ipu_shard(1):
            return ipu.cross_replica_ops.cross_replica_sum(y * 2)

    with graph():
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            (result,) = ipu.ipu_compiler.compile(net, [tf.constant(1.0)])
        configure(4)
        with v1.Session() as session:
            assert session.run(result) == 2 * 4  # four IPUs are two replicas
        configure(1)
        with v1.Session() as session, pytest.raises(tf.errors.OpError, match="auto_select_ipus = 2"):
            session.run(result)


def test_a_replica_that_fails_stops_all_and_leaves_no_thread() -> None:
    with graph():
        infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(numbers(count=5))
        total = v1.get_variable("total", [1], use_resource=True, initializer=v1.zeros_initializer())
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            run = ipu.ipu_compiler.compile(
                lambda: ipu.loops.repeat(3, lambda x: total.assign_add(x).op, [], infeed)
            )
        configure(2)
        with v1.Session() as session:
            session.run([infeed.initializer, total.initializer])
            before = set(threading.enumerate())
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(run)  # five elements are too few for two replicas in three iterations
            assert set(threading.enumerate()) == before
            assert session.run(total).shape == (1,)


def test_runs_are_counted_and_other_fetches_need_no_device() -> None:
    configure(1, type=ipu.config.DeviceConnectionType.ON_DEMAND)
    with graph():
        training = Training()
        with v1.Session() as session:
            session.run(training.start)
            assert not devices.attached()
            session.run(training.run)
            assert devices.attached()


def test_a_device_for_compilation_only_gives_zeros_or_an_error() -> None:
    for kind, expected in (("PRE_COMPILE", 0.0), ("NEVER", None)):
        configure(1, type=ipu.config.DeviceConnectionType[kind], version="ipu2")
        with graph():
            with ipu.scopes.ipu_scope("/device:IPU:0"):
                (result,) = ipu.ipu_compiler.compile(lambda x: x + 1, [tf.constant([1.0, 2.0])])
            with v1.Session() as session:
                if expected is None:
                    with pytest.raises(tf.errors.InvalidArgumentError):
                        session.run(result)
                else:
                    np.testing.assert_array_equal(session.run(result), [expected, expected])


def test_a_callable_of_a_session_runs_all_replicas() -> None:
    with graph():
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            (result,) = ipu.ipu_compiler.compile(
                lambda x: ipu.cross_replica_ops.cross_replica_sum(x), [tf.constant(3.0)]
            )
        configure(2)
        with v1.Session() as session:
            assert session.make_callable(result)() == 6.0


def test_groups_that_do_not_divide_the_replicas_are_refused_when_the_program_runs() -> None:
    with graph():
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            (result,) = ipu.ipu_compiler.compile(
                lambda x: ipu.cross_replica_ops.cross_replica_sum(x, replica_group_size=4), [tf.constant(3.0)]
            )
        configure(2)
        with v1.Session() as session, pytest.raises(ValueError, match="multiple of the group size"):
            session.run(result)


def test_feeds_and_partial_fetches() -> None:
    with graph():
        x = v1.placeholder(tf.float32, [2])
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            doubled, tripled = ipu.ipu_compiler.compile(lambda value: (value * 2, value * 3), [x])
        after = tripled + 1
        configure(2)
        with v1.Session() as session:
            np.testing.assert_array_equal(session.run(doubled, {x: [1, 2]}), [2, 4])
            found = session.run({"a": after, "b": [doubled, x]}, {x: [1, 2]})
            np.testing.assert_array_equal(found["a"], [4, 7])
            np.testing.assert_array_equal(found["b"][1], [1, 2])


def test_a_session_keeps_the_replicas_that_it_began_with() -> None:
    with graph():
        training = Training()
        configure(1)
        with v1.Session() as session:
            session.run(training.start)
            configure(2)
            with pytest.raises(tf.errors.FailedPreconditionError, match="create a new session"):
                session.run(training.run)


def test_an_infeed_feeds_programs_of_one_number_of_replicas() -> None:
    def body(x: Any) -> Any:
        with ipu.scopes.ipu_shard(1):
            return tf.group(tf.identity(x))

    with graph():
        infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(numbers())
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            plain = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(1, lambda x: tf.group(x), [], infeed))
            sharded = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(1, body, [], infeed))
        configure(2)
        with v1.Session() as session:
            session.run(infeed.initializer)
            session.run(plain)
            with pytest.raises(tf.errors.FailedPreconditionError, match="a separate queue"):
                session.run(sharded)


def test_a_graph_may_hold_programs_that_do_not_fit() -> None:
    def wide(x: Any) -> Any:
        with ipu.scopes.ipu_shard(3):
            return x + 1

    with graph():
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            ipu.ipu_compiler.compile(wide, [tf.constant(1.0)])
            (result,) = ipu.ipu_compiler.compile(lambda x: x + 2, [tf.constant(1.0)])
        configure(1)
        with v1.Session() as session:
            assert session.run(result) == 3


def test_a_finalised_graph_gets_its_replicas_and_stays_finalised() -> None:
    with graph() as built:
        training = Training()
        built.finalize()
        configure(2)
        with v1.Session() as session:
            session.run(training.start)
            session.run(training.run)
            np.testing.assert_allclose(session.run(training.weight), reference(3, 2)[0], rtol=1e-6)
        assert built.finalized
