"""Speed of compiled programs in sessions beside the same stock graph that a hand-written loop of `Session.run` drives.

    python -m benchmarks.speed_sessions ROW [--rounds 5] [--steps 50] [--threads 1]

Prints JSON. `benchmarks.speed_tensorflow` starts it in processes of its own, because sessions need a process without
eager execution: `mlp` and `cosmoflow` compare in one process, `cosmoflow-rate` prints the samples per second of ours,
for several instances under poprun.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TREMULA_SUMMARY", "0")

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python import ipu

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

#: samples of a batch, shape of a sample, size of a target
SHAPES = {"mlp": (64, (784,), 10), "cosmoflow": (1, (64, 64, 64, 4), 4)}


def mlp(x: Any) -> Any:
    """784, 128, 10."""
    return tf.keras.layers.Dense(10)(tf.keras.layers.Dense(128, activation="relu")(x))


def cosmoflow(x: Any) -> Any:
    """Five convolutions of three dimensions and three dense layers, with the sizes of the published network."""
    layers = tf.keras.layers
    for stage in range(5):
        x = layers.MaxPool3D(2)(layers.LeakyReLU()(layers.Conv3D(16 << stage, 3, padding="same")(x)))
    x = layers.Flatten()(x)
    for units in (128, 64):
        x = tf.nn.dropout(layers.LeakyReLU()(layers.Dense(units)(x)), rate=0.2)
    return layers.Dense(4, activation="tanh")(x) * 1.2


NETWORKS = {"mlp": mlp, "cosmoflow": cosmoflow}


def dataset(row: str) -> Any:
    """Random samples, made once."""
    batch, shape, target = SHAPES[row]
    generator = np.random.default_rng(0)
    count = 8 * batch
    x = generator.random((count, *shape), np.float32)
    y = generator.random((count, target), np.float32)
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(batch, drop_remainder=True).prefetch(3)


def training_step(row: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Loss and operation of one step."""
    loss = tf.reduce_mean(tf.square(NETWORKS[row](x) - y))
    return loss, tf.train.AdadeltaOptimizer(0.5).minimize(loss)


def ours(row: str, steps: int, options: Any) -> Callable[[], Any]:
    """A compiled loop over an infeed."""
    with tf.Graph().as_default():
        infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(dataset(row))
        outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()

        def body(x: Any, y: Any) -> Any:
            with tf.variable_scope("network", use_resource=True):
                loss, train = training_step(row, x, y)
            return outfeed.enqueue(loss), train

        with ipu.scopes.ipu_scope("/device:IPU:0"):
            run = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(steps, body, [], infeed))
        losses = outfeed.dequeue()
        session = tf.Session(config=options)
        session.run([infeed.initializer, tf.global_variables_initializer()])

    def execute() -> Any:
        session.run(run)
        return session.run(losses)

    return execute


def stock(row: str, steps: int, options: Any) -> Callable[[], Any]:
    """The same graph without an IPU, one `Session.run` for each step."""
    with tf.Graph().as_default():
        x, y = tf.data.make_one_shot_iterator(dataset(row)).get_next()
        with tf.variable_scope("network", use_resource=True):
            loss, train = training_step(row, x, y)
        session = tf.Session(config=options)
        session.run(tf.global_variables_initializer())
    return lambda: [session.run((loss, train))[0] for _ in range(steps)]


def main() -> int:
    """Measure one row and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("row", choices=[*NETWORKS, "cosmoflow-rate"])
    parser.add_argument("--steps", type=int, default=50, help="steps of one run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--threads", type=int, default=0, help="of an op, and ops at a time; 0: as TensorFlow likes"
    )
    chosen = parser.parse_args()
    options = tf.ConfigProto(
        intra_op_parallelism_threads=chosen.threads, inter_op_parallelism_threads=chosen.threads
    )
    row = chosen.row.removesuffix("-rate")
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    contenders = {"ours": ours(row, chosen.steps, options)}
    if row == chosen.row:
        contenders["stock"] = stock(row, chosen.steps, options)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for run in contenders.values():
        run()
    for _ in range(chosen.rounds):
        for name, run in contenders.items():
            began = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - began)
    figure: dict[str, Any] = {
        "row": f"session {chosen.row}",
        "ms_per_step": 1000 * statistics.median(times["ours"]) / chosen.steps,
        "samples_per_second": SHAPES[row][0] * chosen.steps / statistics.median(times["ours"]),
    }
    if "stock" in times:
        figure["stock"] = statistics.median(a / b for a, b in zip(times["ours"], times["stock"], strict=True))
    print(json.dumps(figure), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
