"""A TensorFlow 1 program: a loop on the device in a session. Run it with `tremula run --tf1 tensorflow1_session.py`."""

import numpy as np
import tensorflow as tf
from tensorflow.python import ipu

STEPS = 100


def main():
    options = ipu.config.IPUConfig()
    options.auto_select_ipus = 1
    options.configure_ipu_system()

    x = np.random.default_rng(0).random((STEPS, 16, 4)).astype(np.float32)
    y = x.sum(axis=2, keepdims=True)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat()
    infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(dataset)
    outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()

    def step(features, target):
        with tf.variable_scope("model", use_resource=True):
            output = tf.layers.dense(features, 1)
        loss = tf.reduce_mean(tf.square(output - target))
        update = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.control_dependencies([update]):
            return outfeed.enqueue(loss)

    def loop():
        return ipu.loops.repeat(STEPS, step, infeed_queue=infeed)

    with ipu.scopes.ipu_scope("/device:IPU:0"):
        training = ipu.ipu_compiler.compile(loop)
    losses = outfeed.dequeue()
    with tf.Session() as session:
        session.run(infeed.initializer)
        session.run(tf.global_variables_initializer())
        session.run(training)
        found = session.run(losses)
    print(f"loss: {found[0]:.4f} after 1 step, {found[-1]:.6f} after {STEPS}")


if __name__ == "__main__":
    main()
