"""Several processes train one model: weights are the same to the bit, and those of one process with the whole batch."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python import ipu

STEPS, BATCH, FEATURES, RATE = 4, 8, 3, 0.1

#: the data of all steps, as every instance makes them; a replica takes its part of each batch
DATA = f"""
x = np.random.default_rng(0).normal(size=({STEPS}, {BATCH}, {FEATURES})).astype(np.float32)
y = x.sum(-1, keepdims=True) ** 2
replicas, local = popdist.getNumTotalReplicas(), popdist.getNumLocalReplicas()
size = {BATCH} // replicas
# (step, replica, sample, feature): what the replicas of this instance get
own_x, own_y = (a.reshape({STEPS}, replicas, size, -1)[:, instance * local : (instance + 1) * local] for a in (x, y))
"""


def trained_alone() -> np.ndarray[Any, Any]:
    """The weights after the same steps of plain gradient descent with whole batches."""
    x = np.random.default_rng(0).normal(size=(STEPS, BATCH, FEATURES)).astype(np.float32)
    y = x.sum(-1, keepdims=True) ** 2
    weights = tf.Variable(np.full((FEATURES, 1), 0.5, np.float32))
    for step in range(STEPS):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x[step] @ weights - y[step]) ** 2)
        weights.assign_sub(RATE * tape.gradient(loss, weights))
    return weights.numpy()


def check(saved: list[dict[str, Any]], name: str) -> None:
    for other in saved[1:]:
        np.testing.assert_array_equal(other[name], saved[0][name])
    np.testing.assert_allclose(saved[0][name], trained_alone(), rtol=1e-5)


def check_random(saved: list[dict[str, Any]], replicas: int) -> None:
    """Replicas draw what they draw in one process."""
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = replicas
    config.configure_ipu_system()
    names: dict[str, Any] = {"tf": tf, "ipu": ipu, "np": np}
    exec(RANDOM, names)  # noqa: S102
    expected = names["random_numbers"](replicas)
    ipu.config.reset_ipu_configuration()
    for each in saved:
        np.testing.assert_array_equal(each["random"], expected)


#: random numbers of all replicas; generators keep their state in a variable
RANDOM = """
def random_numbers(replicas):
    tf.random.set_seed(7)
    generator = tf.random.Generator.from_seed(5)

    @tf.function
    def draw():
        drawn = tf.random.uniform([3]), generator.uniform([3]), tf.nn.dropout(tf.ones([8]), 0.5)
        return [ipu.all_to_all_op.all_gather(value, replicas) for value in drawn]

    with ipu.ipu_strategy.IPUStrategy().scope():
        strategy = tf.distribute.get_strategy()
        return np.concatenate([np.ravel(value) for _ in range(2) for value in strategy.run(draw)])
"""

TRAINING = (
    DATA
    + RANDOM
    + f"""
from tensorflow.python.ipu.distributed import popdist_strategy
configure()
strategy = popdist_strategy.PopDistStrategy()

with strategy.scope():
    # every instance initialises to something else: the values of instance 0 count
    initial = tf.keras.initializers.Constant(0.5 + instance)
    model = tf.keras.Sequential([tf.keras.Input(({FEATURES},)),
                                 tf.keras.layers.Dense(1, use_bias=False, kernel_initializer=initial)])
    model.compile(tf.keras.optimizers.SGD({RATE}), "mse", metrics=["mae"], steps_per_execution=2)
    dataset = tf.data.Dataset.from_tensor_slices((own_x.reshape(-1, {FEATURES}), own_y.reshape(-1, 1)))
    model.fit(dataset.batch(size, drop_remainder=True), verbose=0)
    save("keras", model.get_weights()[0])

    weights = tf.Variable(tf.fill([{FEATURES}, 1], 0.5 + instance))

    @tf.function
    def train(iterator, steps):
        for _ in tf.range(steps):
            features, labels = next(iterator)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((features @ weights - labels) ** 2)
            gradient = tape.gradient(loss, weights)
            context = tf.distribute.get_replica_context()
            weights.assign_sub({RATE} * context.all_reduce(tf.distribute.ReduceOp.MEAN, gradient))

    strategy.run(train, args=(iter(dataset.batch(size, drop_remainder=True)), {STEPS}))
    save("loop", weights.numpy())

model.evaluate(dataset.batch(size, drop_remainder=True), verbose=0)  # outside of the scope
save("random", random_numbers(replicas))
"""
)


def test_keras_and_a_loop_with_two_replicas_in_each_process(poprun: Callable[..., Any]) -> None:
    done = poprun(TRAINING, replicas=4)
    check(done.saved, "keras")
    check(done.saved, "loop")
    assert "INDEPENDENT" not in done.err
    check_random(done.saved, 4)


def test_keras_and_a_loop_with_one_replica_in_each_process(poprun: Callable[..., Any]) -> None:
    done = poprun(TRAINING, replicas=2)
    check(done.saved, "keras")
    check(done.saved, "loop")
    check_random(done.saved, 2)


def test_a_compiled_session_with_a_cross_replica_optimizer(poprun: Callable[..., Any]) -> None:
    program = f"""
    import tensorflow.compat.v1 as tf1
    tf1.disable_v2_behavior()
    from tensorflow.python.ipu import horovod as hvd
    hvd.init()
    dataset = tf1.data.Dataset.from_tensor_slices((own_x.reshape(-1, {FEATURES}), own_y.reshape(-1, 1)))
    feed = ipu.ipu_infeed_queue.IPUInfeedQueue(dataset.batch(size, drop_remainder=True))

    def body(features, labels):
        initial = np.full(({FEATURES}, 1), 0.5 + instance, np.float32)
        weights = tf1.get_variable("w", initializer=initial, use_resource=True)
        loss = tf1.reduce_mean((features @ weights - labels) ** 2)
        optimizer = ipu.optimizers.CrossReplicaOptimizer(tf1.train.GradientDescentOptimizer({RATE}))
        return optimizer.minimize(loss)

    with ipu.scopes.ipu_scope("/device:IPU:0"):
        train = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat({STEPS}, body, [], feed))
    configure()  # after the graph was built, as many programs do
    (weights,) = tf1.trainable_variables()
    share = weights.assign(hvd.broadcast(weights.read_value(), root_rank=0))
    with tf1.Session() as session:
        session.run([feed.initializer, tf1.global_variables_initializer()])
        session.run(share)
        session.run(train)
        save("session", session.run(weights))
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            sums = [ipu.ipu_compiler.compile(lambda: ipu.cross_replica_ops.cross_replica_sum(1.0)) for _ in range(2)]
        try:
            session.run(sums)
        except tf1.errors.FailedPreconditionError as problem:
            save("refused", problem.message)
        save("one", session.run(sums[0]))
    """
    done = poprun(DATA + textwrap.dedent(program), replicas=4)
    check(done.saved, "session")
    for each in done.saved:
        assert "2 programs" in str(each["refused"])
        assert each["one"] == [4.0]
