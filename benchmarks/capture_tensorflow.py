"""How the cost of reading a TensorFlow program grows with its size.

    python benchmarks/capture_tensorflow.py [--ops 1000 2000 5000 10000 20000]

A chain of small dense layers is trained by an SGD step, traced with about so many ops. For each size: the ops of the
traced graph, seconds of capture, lowering and estimate (CPU time), and microseconds per op. A last line compares the
cost per op of the largest size with that of the smallest: 1.0 is linear.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
#: ops of the traced graph for one layer, its gradient and its update
OPS_PER_LAYER = 22


def traced(layers: int) -> tuple[Any, Any]:
    """The graph of a training step, and its variables, which have to live as long as it does."""
    import tensorflow as tf
    from tensorflow.python import ipu

    weights = [tf.Variable(tf.ones([16, 16]), name=f"layer_{n}/w") for n in range(layers)]
    biases = [tf.Variable(tf.ones([16]), name=f"layer_{n}/b") for n in range(layers)]

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            for number, (w, b) in enumerate(zip(weights, biases, strict=True)):
                with tf.name_scope(f"layer_{number}"):
                    x = tf.nn.relu(tf.matmul(x, w) + b)
                    # an op of the device's libraries that is many ops of TensorFlow
                    x = x if number % 4 else ipu.nn_ops.gelu(x)
            loss = tf.reduce_mean(x)
        variables = [*weights, *biases]
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * gradient)
        return loss

    return step.get_concrete_function(tf.TensorSpec([8, 16])).graph, (weights, biases)


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """A result and the CPU seconds that it took."""
    gc.collect()
    started = time.process_time()
    return function(), time.process_time() - started


def measure(layers: int) -> tuple[int, list[float]]:
    """Ops, and seconds of capture, lowering and estimate."""
    from tremula.estimate.estimate import estimate
    from tremula.frontends.tensorflow.capture.capture import capture
    from tremula.frontends.tensorflow.modelling.deployment import deployment_of
    from tremula.frontends.tensorflow.rules import placements
    from tremula.frontends.tensorflow.rules.lower import lower
    from tremula.frontends.tensorflow.rules.program import program_of
    from tremula.hardware.catalogue import system

    graph, _variables = traced(layers)
    captured, reading = timed(lambda: capture(graph))
    deployment = deployment_of(None, captured.training, captured.options)
    places = placements.own(captured.nodes)

    def lowering() -> Any:
        lowered = lower(captured.nodes, deployment.lowering, captured.kept)
        return program_of(captured, lowered, places, samples=8)

    program, lowering_seconds = timed(lowering)
    _, modelling = timed(lambda: estimate(program, deployment, system("bow-pod16")))
    return len(graph.get_operations()), [reading, lowering_seconds, modelling]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ops", type=int, nargs="+", default=[1000, 2000, 5000, 10000, 20000])
    wanted = parser.parse_args().ops
    measure(4)  # imports and first uses
    print(f"{'ops':>6} {'capture':>8} {'lowering':>8} {'estimate':>8}   microseconds per op")
    rows = []
    for ops in wanted:
        count, seconds = measure(max(1, ops // OPS_PER_LAYER))
        rows.append([1e6 * each / count for each in seconds])
        times = " ".join(f"{each:7.2f}s" for each in seconds)
        print(f"{count:6} {times}   {' '.join(f'{each:7.0f}' for each in rows[-1])}", flush=True)
    ratios = [last / first for first, last in zip(rows[0], rows[-1], strict=True)]
    print(f"per op, last : first   {' '.join(f'{each:.2f}' for each in ratios)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
