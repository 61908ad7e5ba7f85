"""Keras models and strategies in the trace of the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tremula.settings.values import TraceOptions
from tremula.trace import writer
from tremula.trace.names import MODELLED, RUN
from tremula.trace.several import TraceSet


def test_fit_predict_and_run_are_spans_with_modelled_activity(on_ipus: Any, tmp_path: Path) -> None:
    data = np.ones((16, 4), np.float32)
    strategy = on_ipus(1)

    @tf.function
    def twice(x: Any) -> Any:
        return x * 2

    writer.restart(TraceOptions(directory=str(tmp_path)))
    try:
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(4,))], name="small")
            model.compile("sgd", "mse", steps_per_execution=2)
            model.fit(data, data[:, :2], batch_size=4, epochs=2, verbose=0)
            model.predict(data, batch_size=4, verbose=0)
            strategy.run(twice, (tf.ones([4]),))
    finally:
        writer.close()
    traces = TraceSet(tmp_path)
    events = traces.events
    found = [
        (traces.channels[channel], traces.texts[label])
        for channel, label in zip(events.channel, events.label, strict=True)
    ]
    assert {
        ("Keras", "small.fit()"), ("Keras", "small.predict()"), ("TensorFlow", "IPUStrategyV1.run"), ("Poplar", RUN),
        ("Poplar", "compile"), (MODELLED, "small"),
    } <= set(found)  # fmt: skip
    assert found.count((MODELLED, "small")) >= 4, "each execution has its modelled span"
