"""What both kinds of estimator have in common: a stock estimator whose model is a program of the device."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.training import training_util

from tremula.frontends.tensorflow import hooks as stock_changes
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.config.configure import configure_ipu_system
from tremula.frontends.tensorflow.estimators import inputs, lifecycle
from tremula.frontends.tensorflow.estimators.batch_sizes import BATCH_SIZE, BatchSizes
from tremula.frontends.tensorflow.estimators.model_call import CPU, ModelCall
from tremula.frontends.tensorflow.estimators.run_config import RunConfig
from tremula.frontends.tensorflow.estimators.stock import estimator
from tremula.frontends.tensorflow.feeds.infeed import IPUInfeedQueue

#: names that the parameters of a program may not have
RESERVED = ("input_fn",)
#: the hooks of each mode in an `EstimatorSpec`
_HOOKS = {
    tf.estimator.ModeKeys.TRAIN: "training_hooks",
    tf.estimator.ModeKeys.EVAL: "evaluation_hooks",
    tf.estimator.ModeKeys.PREDICT: "prediction_hooks",
}


@dataclass(frozen=True)
class _Elements:
    """Stands for the features of a model that takes its elements from an infeed, and for an iterator over them."""

    dataset: Any

    def get_next(self) -> _Elements:
        return self


class DeviceEstimator(estimator.Estimator):
    """A stock estimator whose model runs on IPUs.

    Args:
        model_fn: the user's function.
        model_dir: where checkpoints and summaries go.
        config: a `RunConfig` of this package.
        params: parameters for the model function and the input functions.
        warm_start_from: a checkpoint, or `tf.estimator.WarmStartSettings`.
        batch_sizes: the sizes of batches for each mode.

    Raises:
        ValueError: the configuration or the parameters are of another kind, or have names that are taken.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any,
        config: Any,
        params: dict[str, Any] | None,
        warm_start_from: Any,
        batch_sizes: BatchSizes,
    ) -> None:
        if not isinstance(config, RunConfig):
            raise ValueError(
                "An estimator for IPUs needs a configuration of this package, and `config` is of type "
                f"{type(config).__name__}. Use ipu.ipu_run_config.RunConfig(ipu_run_config=...)."
            )
        if params is not None and not isinstance(params, dict):
            raise ValueError(f"`params` has to be a dictionary, and it is of type {type(params).__name__}.")
        taken = [name for name in RESERVED if name in (params or {})]
        if taken:
            raise ValueError(
                f"The estimator uses the names {taken} itself: rename these entries of `params`."
            )
        stock_changes.apply(with_estimators=True)
        self._check_distribution(config)
        batch_sizes.check(params, config)
        self._batch_sizes = batch_sizes
        self._user_model_fn = model_fn
        super().__init__(self._build, model_dir, config, params or {}, warm_start_from)

    def _program(self, call: ModelCall) -> Any:
        """Build the program of a call; a stock `EstimatorSpec`."""
        raise NotImplementedError

    def _plain_model(self, features: Any, labels: Any, mode: str, params: Any, config: Any) -> Any:
        """The model without a device, for features that come from elsewhere: to export it."""
        raise NotImplementedError

    def _check_distribution(self, config: RunConfig) -> None:
        """Refuse a strategy that this kind of estimator cannot work with."""

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Any = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Any = None,
    ) -> Any:
        """Train the model.

        Args:
            input_fn: gives a `tf.data.Dataset` of features and labels.
            hooks: hooks of the session.
            steps: how many steps to train from here, a multiple of iterations_per_loop; or:
            max_steps: up to which global step, rounded up to a whole loop.
            saving_listeners: called when checkpoints are saved.

        Returns:
            This estimator.
        """
        self._check_steps(steps)
        with self._batch_size(tf.estimator.ModeKeys.TRAIN, input_fn):
            return super().train(input_fn, hooks, steps, max_steps, saving_listeners)

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Any = None,
        checkpoint_path: Any = None,
        name: str | None = None,
    ) -> Any:
        """Evaluate the model.

        Args:
            input_fn: gives a `tf.data.Dataset` of features and labels.
            steps: how many steps to run, a multiple of iterations_per_loop.
            hooks: hooks of the session.
            checkpoint_path: the checkpoint; the latest one by default.
            name: of this evaluation; its summaries go to a folder of that name.

        Returns:
            The metrics by name; "loss", the mean of the losses; "global_step", which counts the evaluated steps too.
        """
        self._check_steps(steps)
        with self._batch_size(tf.estimator.ModeKeys.EVAL, input_fn):
            return super().evaluate(input_fn, steps, hooks, checkpoint_path, name)

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: list[str] | None = None,
        hooks: Any = None,
        checkpoint_path: Any = None,
        yield_single_examples: bool = True,
        num_predictions: int | None = None,
    ) -> Iterator[Any]:
        """Give predictions, one after the other. Nothing runs before the first is asked for.

        Args:
            input_fn: gives a `tf.data.Dataset`; labels are ignored.
            predict_keys: which entries of a dictionary of predictions to give; all by default.
            hooks: hooks of the session.
            checkpoint_path: the checkpoint; the latest one by default.
            yield_single_examples: whether batches are taken apart. With several replicas, it is the results of each
                replica that are taken apart: then predictions are batches.
            num_predictions: how many to give. Without it, asking for more than the data give is an error.
        """
        stock = super().predict(input_fn, predict_keys, hooks, checkpoint_path, yield_single_examples)
        self._batch_sizes.of_replica(tf.estimator.ModeKeys.PREDICT, input_fn, self._config)

        def loops() -> Iterator[Any]:
            with self._batch_size(tf.estimator.ModeKeys.PREDICT, input_fn):
                first = list(itertools.islice(stock, 1))
            yield from first
            yield from stock

        return itertools.islice(_taken_apart(loops()), num_predictions)

    @contextlib.contextmanager
    def _batch_size(self, mode: str, input_fn: Callable[..., Any]) -> Iterator[None]:
        """While `params['batch_size']` is that of a mode."""
        size = self._batch_sizes.of_replica(mode, input_fn, self._config)
        before = self._params
        self._params: dict[str, Any] = before | ({} if size is None else {BATCH_SIZE: size})
        try:
            yield
        finally:
            self._params = before

    def _check_steps(self, steps: int | None) -> None:
        iterations = self._config.ipu_run_config.iterations_per_loop
        if steps is not None and steps % iterations:
            raise ValueError(
                f"steps ({steps}) must be a multiple of iterations_per_loop ({iterations}): a loop runs as a whole."
            )

    def _build(self, features: Any, labels: Any, mode: str, params: Any, config: Any) -> Any:
        """The model function that the stock estimator calls: it compiles the user's into a program."""
        if not isinstance(features, _Elements):
            return self._plain_model(features, labels, mode, params, config)
        ipus = config.ipu_run_config
        if ipus.ipu_options is not None:
            configure_ipu_system(ipus.ipu_options, CPU)
            ipus.check_ipus(active.ipus_of_device(ipus.ordinal))
        infeed = IPUInfeedQueue(features.dataset, ipus.ordinal, ipus.prefetch_depth)
        spec = self._program(ModelCall(self._user_model_fn, mode, params, config, infeed))
        samples = inputs.batch_size(features.dataset) * ipus.iterations_per_loop * ipus.num_replicas
        function = getattr(self._user_model_fn, "func", self._user_model_fn)  # of a functools.partial
        name = getattr(function, "__name__", type(function).__name__)
        hooks = (
            lifecycle.InfeedHook(infeed),
            lifecycle.DeviceHook(type(self).__name__, name, ipus.ordinal, samples),
        )
        field = _HOOKS[mode]
        spec = spec._replace(**{field: (*hooks, *getattr(spec, field))})
        return self._counting_steps(spec) if mode == tf.estimator.ModeKeys.TRAIN else spec

    def _counting_steps(self, spec: Any) -> Any:
        """The same training, whose runs advance the global step and save checkpoints at whole loops."""
        iterations = self._config.ipu_run_config.iterations_per_loop
        with tf.control_dependencies([spec.loss, spec.train_op]), tf.device(CPU):
            counted = training_util._increment_global_step(iterations)
        saving = list(spec.training_chief_hooks)
        wanted = self._config.save_checkpoints_secs or self._config.save_checkpoints_steps
        if wanted and self._train_distribution is None:  # a strategy makes a scaffold of its own
            saver = tf.compat.v1.train.CheckpointSaverHook(
                self._model_dir,
                save_secs=self._config.save_checkpoints_secs,
                save_steps=self._config.save_checkpoints_steps,
                scaffold=spec.scaffold,
                save_graph_def=self._config.checkpoint_save_graph_def,
            )
            saver._set_steps_per_run(iterations)
            if not any(isinstance(hook, type(saver)) for hook in (*saving, *spec.training_hooks)):
                saving.append(saver)
        return spec._replace(train_op=tf.group(spec.train_op, counted), training_chief_hooks=saving)

    def _get_features_and_labels_from_input_fn(self, input_fn: Any, mode: str) -> tuple[Any, Any, list[Any]]:
        return _Elements(inputs.checked_dataset(self._call_input_fn(input_fn, mode))), None, []

    def _get_features_from_input_fn(self, input_fn: Any, mode: str) -> tuple[Any, list[Any]]:
        features, _, hooks = self._get_features_and_labels_from_input_fn(input_fn, mode)
        return features, hooks

    def _get_iterator_from_input_fn(
        self, input_fn: Any, mode: str, distribution: Any = None
    ) -> tuple[Any, list[Any]]:
        # with a distribution strategy, the device still takes the elements by itself
        make_context = getattr(distribution.extended, "_make_input_context", None)
        result = self._call_input_fn(input_fn, mode, None if make_context is None else make_context())
        return _Elements(inputs.checked_dataset(result)), []

    def _convert_train_steps_to_hooks(self, steps: int | None, max_steps: int | None) -> list[Any]:
        return [lifecycle.StepsHook(steps, max_steps)]

    def _convert_eval_steps_to_hooks(self, steps: int | None) -> list[Any]:
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}.")
        return [lifecycle.StepsHook(steps, None, advance=self._config.ipu_run_config.iterations_per_loop)]

    def _create_global_step(self, graph: Any) -> Any:
        # a resource variable, in TensorFlow 1 too: programs can read no other
        with graph.as_default(), graph.name_scope(None), tf.device(CPU):
            scope = tf.compat.v1.get_variable_scope()
            with tf.compat.v1.variable_scope(scope, use_resource=True):
                return tf.compat.v1.train.create_global_step(graph)

    def _assert_members_are_not_overridden(self) -> None:
        """Allow what stock estimators do not: this class replaces their public methods."""


def _taken_apart(batches: Iterator[Any]) -> Iterator[Any]:
    """The entries along the first axis of arrays, or of dictionaries of arrays, in order.

    Raises:
        ValueError: there is no such axis, or the arrays of a dictionary differ in its length.
    """
    for batch in batches:
        arrays = list(batch.values()) if isinstance(batch, dict) else [batch]
        lengths = {array.shape[:1] for array in arrays}
        if lengths == {()} or len(lengths) > 1:
            raise ValueError(
                "The predictions of a batch cannot be taken apart: they need a first axis of one length, and their "
                f"shapes are {[array.shape for array in arrays]}. Pass yield_single_examples=False."
            )
        for index in range(len(arrays[0])):
            yield (
                {name: values[index] for name, values in batch.items()}
                if isinstance(batch, dict)
                else batch[index]
            )
