"""One call of an estimator: the model function, its mode, and the queue that its elements come from."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.util import function_utils

from tremula.frontends.tensorflow import compiler, loops, scopes, variable_placement
from tremula.frontends.tensorflow.estimators import graph_checks, inputs, updates
from tremula.frontends.tensorflow.estimators.run_config import IPURunConfig, RunConfig
from tremula.frontends.tensorflow.feeds.infeed import IPUInfeedQueue
from tremula.frontends.tensorflow.feeds.outfeed import IPUOutfeedMode, IPUOutfeedQueue
from tremula.frontends.tensorflow.replicas import collectives

CPU = "/device:CPU:0"


@dataclass(frozen=True)
class ModelCall:
    """What is built and run for one call of `train`, `evaluate` or `predict`.

    Attributes:
        model_fn: the user's function.
        mode: a value of `tf.estimator.ModeKeys`.
        params: the parameters for it.
        config: the configuration of the estimator.
        infeed: gives the elements of the dataset.
    """

    model_fn: Callable[..., Any]
    mode: str
    params: dict[str, Any]
    config: RunConfig
    infeed: IPUInfeedQueue

    @property
    def ipus(self) -> IPURunConfig:
        """How IPUs are used."""
        return self.config.ipu_run_config

    def spec(self, **arguments: Any) -> Any:
        """What the model function gives, called with those of the usual arguments that it takes."""
        known = {"mode": self.mode, "params": self.params, "config": self.config}
        names = function_utils.fn_args(self.model_fn)
        training = self.mode == tf.estimator.ModeKeys.TRAIN
        with contextlib.nullcontext() if training else updates.left_out():
            result = self.model_fn(
                **arguments, **{name: value for name, value in known.items() if name in names}
            )
        graph = tf.compat.v1.get_default_graph()
        if not training:
            graph_checks.check_inference(graph, self.mode)
        graph_checks.note_summaries(graph)
        return result

    def spec_of_element(self) -> Any:
        """What the model function gives for the next element of the dataset.

        Raises:
            ValueError: there are labels that it does not take.
        """
        features, labels = inputs.features_and_labels(self.infeed._dequeue())
        if self.mode == tf.estimator.ModeKeys.PREDICT:
            labels = None
        if "labels" in function_utils.fn_args(self.model_fn):
            return self.spec(features=features, labels=labels)
        if labels is not None:
            raise ValueError(
                "model_fn does not take labels, but input_fn returns labels. Add an argument `labels` to the model_fn, "
                "or leave them out of the dataset."
            )
        return self.spec(features=features)

    def outfeed(self) -> IPUOutfeedQueue:
        """A queue for all that the program gives to the host."""
        return IPUOutfeedQueue(IPUOutfeedMode.ALL, device_ordinal=self.ipus.ordinal)

    def mean_of_steps(self, step: Callable[[], Any]) -> Any:
        """Run a step as often as the loop says; the mean of the scalars that it gives, over all replicas."""
        count = self.ipus.iterations_per_loop
        if count == 1:
            total = tf.cast(step(), tf.float32)
        else:
            total = loops.repeat(
                count, lambda before: before + tf.cast(step(), tf.float32), [tf.constant(0.0)]
            )
        return collectives.cross_replica_mean(total) / count

    def repeated(self, step: Callable[[], Any]) -> Any:
        """Run a step that gives an operation as often as the loop says; the operation of the loop."""
        count = self.ipus.iterations_per_loop
        return step() if count == 1 else loops.repeat(count, step)

    def compiled(self, program: Callable[[], Any]) -> Any:
        """The results of a program of the device, in the graph of the session."""

        def named() -> Any:
            return program()

        # reports of the program name the user's function
        named.__name__ = f"{getattr(self.model_fn, '__name__', 'model_fn')} ({self.mode})"
        with scopes.ipu_scope(self.ipus.device):
            results = compiler.compile(named)
        variable_placement.move_variable_initialization_to_cpu()
        return results
