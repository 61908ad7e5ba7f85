"""Pipelines in programs of TensorFlow 1 style: one default graph, collections of variables, sessions."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import tensorflow.compat.v1 as tf
from tensorflow.python import ipu
from tensorflow.python.ipu import pipelining_ops

tf.disable_v2_behavior()
outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()

def first(x):
    with tf.variable_scope("scope", use_resource=True):
        return x * tf.get_variable("w", initializer=1.0)

def second(x):
    return (x - 3.0) ** 2

def optimizer(loss):
    return pipelining_ops.OptimizerFunctionOutput(tf.train.MomentumOptimizer(0.125, 0.5), loss)

def net(x):
    return pipelining_ops.pipeline(
        [first, second], 4, repeat_count=2, inputs=[x], outfeed_queue=outfeed, optimizer_function=optimizer
    )

x = tf.placeholder(tf.float32, [])
with tf.device("/device:IPU:0"):
    program = ipu.ipu_compiler.compile(net, [x])
losses = outfeed.dequeue()
config = ipu.config.IPUConfig()
config.auto_select_ipus = 2
config.configure_ipu_system()
ipu.utils.move_variable_initialization_to_cpu()
print(*sorted(v.name for v in tf.global_variables()))
print(*sorted(v.name for v in tf.trainable_variables()))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(program, {x: 1.0})
    print(*session.run(losses)[0])
    print(session.run(tf.trainable_variables()[0]))
"""


def test_a_program_with_a_default_graph_trains() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    variables, trained, losses, weight = done.stdout.splitlines()[-4:]
    assert variables == "scope/w/Momentum:0 scope/w:0"
    assert trained == "scope/w:0"
    # w = 1: four gradients of -4, so w = 1 + 16 / 8 = 3; then no gradient, and half of the velocity: w = 3 + 1
    assert losses == "4.0 4.0 4.0 4.0 0.0 0.0 0.0 0.0"
    assert weight == "4.0"
