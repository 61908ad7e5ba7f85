"""Train a Keras model on two replicas: the scope of an IPUStrategy is all that changes."""

import numpy as np
import tensorflow as tf
from tensorflow.python import ipu


def main():
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 2
    config.configure_ipu_system()

    tf.random.set_seed(0)
    x = np.random.default_rng(0).random((2048, 8)).astype(np.float32)
    y = x.sum(axis=1, keepdims=True)
    strategy = ipu.ipu_strategy.IPUStrategy()
    with strategy.scope():
        layers = [
            tf.keras.Input((8,)),
            tf.keras.layers.Dense(32, activation="relu"),
            tf.keras.layers.Dense(1),
        ]
        model = tf.keras.Sequential(layers)
        model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss="mse", steps_per_execution=16)
        history = model.fit(x, y, batch_size=16, epochs=5, verbose=0)
    print("loss per epoch: " + ", ".join(f"{loss:.4f}" for loss in history.history["loss"]))


if __name__ == "__main__":
    main()
