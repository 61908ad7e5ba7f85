"""What Keras models that are made under an IPUStrategy do differently: `fit`, `evaluate` and `predict` on the device.

Keras' own methods run the epochs, callbacks and histories. They ask the model for its data (`data_handler.py`) and
for the function that makes the steps of an execution, which is a program of the device here (`programs.py`).
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import tensorflow.compat.v2 as tf

from tremula.frontends.tensorflow import devices
from tremula.frontends.tensorflow.config import active
from tremula.frontends.tensorflow.feeds.outfeed import IPUOutfeedQueue
from tremula.frontends.tensorflow.keras import metric_reset, optimizer_check, pipeline_run
from tremula.frontends.tensorflow.keras.array_feed import ArrayFeed
from tremula.frontends.tensorflow.keras.asynchronous import AsynchronousCallbacks, Deliveries
from tremula.frontends.tensorflow.keras.data_handler import IPUDataHandler
from tremula.frontends.tensorflow.keras.delegation import KerasExtension
from tremula.frontends.tensorflow.keras.executions import Execution, Feeds
from tremula.frontends.tensorflow.keras.export import Exported
from tremula.frontends.tensorflow.keras.model_configs import Configured
from tremula.frontends.tensorflow.keras.options import Options
from tremula.frontends.tensorflow.keras.overrides import check_overrides
from tremula.frontends.tensorflow.keras.programs import Mode, program
from tremula.frontends.tensorflow.keras.registry import KerasExtensions
from tremula.frontends.tensorflow.keras.user_errors import at_line
from tremula.frontends.tensorflow.replicas.variables import broadcast
from tremula.frontends.tensorflow.stock_keras import internal
from tremula.trace import channels
from tremula.trace.points import Span

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun

_channel = channels.channel("Keras")
_training = internal("engine.training")
_untracked = tf.__internal__.tracking.no_automatic_dependency_tracking
_without_tracking = internal("saving.legacy.saved_model.utils").no_automatic_dependency_tracking_scope


class KerasExtensionBase(KerasExtension, Configured, Exported, Options):
    """What extended models of all kinds have in common. It stands before Keras' class in the order of bases."""

    name: str
    built: bool
    optimizer: Any
    metrics: list[Any]
    distribute_strategy: Any
    run_eagerly: bool
    train_tf_function: Any
    _steps_per_execution: Any
    _init_pipelining: Callable[[], None]
    _is_pipelined: Callable[[], bool]
    _get_shard_count: Callable[[], int]
    _build_with_dtypes: Callable[[Any, Any], None]
    _validate_call_function: Callable[[], None]

    @_untracked
    def _init_extension(self) -> None:
        self._init_options()
        self._init_pipelining()
        self._ledger_entry: Any = None
        self._step_callbacks: Any = None
        self._feeds = Feeds()
        self._reset_ipu_extension()

    def _reset_ipu_extension(self) -> None:
        """Forget programs: options have changed."""
        with _without_tracking(self):
            self._functions: dict[Mode, Callable[[Any], Any]] = {}
            self._programs: dict[Any, Any] = {}
            self._outfeeds: dict[Mode, IPUOutfeedQueue] = {}
            #: what the chip model found about each program that has run
            self._modelled: dict[int, ModelledRun | None] = {}

    def _reset_compile_cache(self) -> None:
        self._reset_ipu_extension()
        super()._reset_compile_cache()  # type: ignore[misc]

    def _runs_on_device(self) -> bool:
        strategy = self.distribute_strategy
        return isinstance(strategy, KerasExtensions) and bool(strategy._enable_keras_extensions)

    # Keras' methods

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """As of Keras."""
        if self._runs_on_device():
            steps = kwargs.get("steps_per_execution")
            if isinstance(steps, str):
                raise ValueError(
                    at_line(
                        f"steps_per_execution={steps!r}: a device program has a fixed number of steps. Give a number "
                        f"that divides the steps of an epoch."
                    )
                )
            self._register_for_report()
        super().compile(*args, **kwargs)  # type: ignore[misc]

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """As of Keras, on the device. `batch_size` is that of one step of one replica."""
        return self._run(Mode.FIT, super().fit, args, kwargs)  # type: ignore[misc]

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """As of Keras, on the device. `batch_size` is that of one step of one replica."""
        return self._run(Mode.EVALUATE, super().evaluate, args, kwargs)  # type: ignore[misc]

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """As of Keras, on the device. `batch_size` is that of one step of one replica."""
        return self._run(Mode.PREDICT, super().predict, args, kwargs)  # type: ignore[misc]

    def make_train_function(self, force: bool = False) -> Any:
        """The function that makes the steps of one execution."""
        return self._function(Mode.FIT, force) or super().make_train_function(force)  # type: ignore[misc]

    def make_test_function(self, force: bool = False) -> Any:
        """The function that makes the steps of one execution."""
        return self._function(Mode.EVALUATE, force) or super().make_test_function(force)  # type: ignore[misc]

    def make_predict_function(self, force: bool = False) -> Any:
        """The function that makes the steps of one execution."""
        return self._function(Mode.PREDICT, force) or super().make_predict_function(force)  # type: ignore[misc]

    def reset_metrics(self) -> None:
        """Reset the metrics on all replicas."""
        metrics = self.metrics
        metric_reset.reset(metrics)
        for metric in metrics:
            broadcast(metric.variables)

    def _validate_and_get_metrics_result(self, logs: Any) -> Any:
        if self._runs_on_device():
            # the program has made one result of those of all replicas
            return logs
        return super()._validate_and_get_metrics_result(logs)  # type: ignore[misc]

    def _assert_weights_created(self) -> None:
        kind = vars(self).get("__original_class__", type(self))
        if "build" in vars(kind) and not self.built:
            raise ValueError(
                f"Weights for model {self.name} have not yet been created: they are when the model is first called on "
                f"data, or with `build(input_shape)`."
            )

    # running

    def _run(self, mode: Mode, stock: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        if not self._runs_on_device():
            return stock(*args, **kwargs)
        if self.run_eagerly:
            raise RuntimeError(
                at_line(
                    f"Keras models cannot run eagerly when using `IPUStrategy`, and {self.name} is set to. Set "
                    f"`run_eagerly=False` when calling `compile`, and no tf.config.run_functions_eagerly(True)."
                )
            )
        check_overrides(self, mode)
        self._validate_call_function()
        self._register_for_report()
        before = self._step_callbacks
        bound = inspect.signature(stock).bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        if self._gives_single_steps(mode) and not isinstance(given["callbacks"], AsynchronousCallbacks):
            verbose = _training._get_verbosity(given["verbose"], self.distribute_strategy)
            given["callbacks"] = AsynchronousCallbacks(
                given["callbacks"],
                add_history=True,
                add_progbar=verbose != 0,
                model=self,
                verbose=verbose,
                epochs=given.get("epochs", 1),
                steps=None,
            )
        with _without_tracking(self):
            self._step_callbacks = given["callbacks"]
        try:
            with Span(_channel, f"{self.name}.{mode.name.lower()}()"):
                return stock(*bound.args, **bound.kwargs)
        finally:
            with _without_tracking(self):
                self._step_callbacks = before

    def _gives_single_steps(self, mode: Mode) -> bool:
        """Whether callbacks hear of each step."""
        accumulated = self._is_pipelined() and self._pipelining_accumulate_outfeed  # type: ignore[attr-defined]
        return self._asynchronous_callbacks and (mode is Mode.PREDICT or not accumulated)

    def _data_handler(self, **kwargs: Any) -> IPUDataHandler:
        """The data of `fit`, `evaluate` or `predict`; builds the model for it."""
        handler = IPUDataHandler(**kwargs, replication_factor=None)
        self._build_for(handler.element_spec)
        handler.set_replication_factor(self._get_replication_factor())
        callbacks = self._step_callbacks
        if isinstance(callbacks, AsynchronousCallbacks) and callbacks.params["steps"] is None:
            callbacks.set_params({**callbacks.params, "steps": handler.inferred_steps})
        return handler

    def _epochs(self, handler: IPUDataHandler) -> Iterator[tuple[int, Execution]]:
        return self._feeds.epochs(
            handler, str(id(self)), handler._replication_factor or 1, self._infeed_kwargs
        )

    def _build_for(self, element_spec: Any) -> None:
        """Make the variables of a model that is not built, from the types of its data."""
        x, _, _ = internal("engine.data_adapter").unpack_x_y_sample_weight(element_spec)
        shapes = tf.nest.map_structure(_input_shape, x)
        self._build_with_dtypes(shapes, tf.nest.map_structure(lambda spec: spec.dtype, x))

    def _get_replication_factor(self) -> int:
        ordinal = self.distribute_strategy._device_ordinal
        ipus, needed = active.ipus_of_device(ordinal), active.ipus_for_shards(self._get_shard_count())
        if needed > ipus:
            raise ValueError(
                at_line(
                    f"Current device has {ipus} IPUs attached, however the current model requires a multiple of "
                    f"{needed} IPUs: one replica of {self.name} takes {needed}. Set `config.auto_select_ipus = "
                    f"{needed}` before `configure_ipu_system()`, or use fewer pipeline stages."
                )
            )
        return ipus // needed

    def _function(self, mode: Mode, anew: bool) -> Callable[[Any], Any] | None:
        if not self._runs_on_device():
            return None
        if mode not in self._functions or anew:
            self._functions[mode] = functools.partial(self._execute, mode)
        return self._functions[mode]

    def _execute(self, mode: Mode, source: Any) -> Any:
        """Make the steps of one execution; the results of the last, or of all in `predict`."""
        ordinal = self.distribute_strategy._device_ordinal
        if isinstance(source, Execution):
            replicas, steps, data = source.replicas, source.steps, source.argument()
        else:
            # train_on_batch and the like: one batch, which one replica gets
            replicas, steps, data = 1, 1, source
            self._build_for(source.batch_spec)
        one_by_one = self._gives_single_steps(mode) and isinstance(source, Execution)
        runnable = self._program(mode, replicas, steps, one_by_one)
        arguments = data, tf.constant(steps, tf.int32)
        if id(runnable) not in self._modelled:
            self._modelled[id(runnable)] = self._look(mode, runnable, arguments, replicas, steps)
        if not devices.require_device(ordinal):
            return _zeros(runnable.concrete(*arguments).structured_outputs)
        began = time.perf_counter()
        if one_by_one:
            deliver = functools.partial(_deliver, self._step_callbacks, mode)
            with Deliveries(self._outfeed(mode), deliver, source.first, steps, replicas):
                results = runnable(*arguments)
        else:
            results = runnable(*arguments)
        if mode is Mode.FIT and self.train_tf_function is None:
            # TensorBoard shows its graph
            with _without_tracking(self):
                self.train_tf_function = runnable._function(replicas)
        samples = source.samples if isinstance(source, Execution) else 1
        if self._ledger_entry is not None:
            seconds = time.perf_counter() - began
            devices.ran(self._ledger_entry, ordinal, seconds, samples, self._modelled[id(runnable)])
        return _zeros(results) if active.use_synthetic_data("outfeed") else results

    def _look(
        self, mode: Mode, runnable: Any, arguments: Any, replicas: int, steps: int
    ) -> ModelledRun | None:
        """Answer questions about a program, and let the chip model look at it, before it first runs."""
        from tremula.frontends.tensorflow.modelling.keras_subject import first_run

        data = arguments[0]
        specs = data.batch_spec if isinstance(data, ArrayFeed) else data.element_spec
        self._register_for_report()
        entry = self._ledger_entry
        return first_run(self, mode, runnable.concrete(*arguments), specs, steps, replicas, entry)

    def _program(self, mode: Mode, replicas: int, steps: int, one_by_one: bool) -> Any:
        accumulation = pipeline_run.accumulation_steps(self, steps) if mode is Mode.FIT else 1
        key = mode, replicas, accumulation, one_by_one
        if key not in self._programs:
            if mode is Mode.FIT and (accumulation > 1 or self._is_pipelined()):
                optimizer_check.check_for_accumulation(
                    self.optimizer, only_v2=self._use_v2_gradient_accumulation_optimizer
                )
            outfeed = self._outfeed(mode) if one_by_one else None
            self._programs[key] = program(self, mode, replicas, accumulation, outfeed)
        return self._programs[key]

    def _outfeed(self, mode: Mode) -> IPUOutfeedQueue:
        if mode not in self._outfeeds:
            self._outfeeds[mode] = IPUOutfeedQueue(**self._outfeed_kwargs)
        return self._outfeeds[mode]

    @_untracked
    def _register_for_report(self) -> None:
        if self._ledger_entry is None:
            self._ledger_entry = devices.wrapped(self.name)


def data_handler(stock: Callable[..., Any]) -> Callable[..., Any]:
    """Keras' function that makes data handlers, with ours for extended models."""

    @functools.wraps(stock)
    def get_data_handler(*args: Any, **kwargs: Any) -> Any:
        model = kwargs.get("model")
        if isinstance(model, KerasExtensionBase) and model._runs_on_device():
            kwargs.pop("pss_evaluation_shards", None)
            return model._data_handler(**kwargs)
        return stock(*args, **kwargs)

    return get_data_handler


def single_batches(stock: Callable[..., Any]) -> Callable[..., Any]:
    """Keras' function that makes the iterator of `train_on_batch` and the like, with a feed for extended models."""

    @functools.wraps(stock)
    def single_batch_iterator(strategy: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(strategy, KerasExtensions) or not strategy._enable_keras_extensions:
            return stock(strategy, *args, **kwargs)
        with strategy._host_iterators():
            batch = next(stock(strategy, *args, **kwargs))
        narrow = tf.nest.map_structure(
            lambda tensor: tf.cast(tensor, tf.int32) if tensor.dtype == tf.int64 else tensor, batch
        )
        return ArrayFeed(narrow, int(tf.nest.flatten(batch)[0].shape[0]), 1, shuffle=False)

    return single_batch_iterator


def _deliver(callbacks: AsynchronousCallbacks, mode: Mode, step: int, results: Any) -> None:
    callbacks.deliver(mode.value, step, {"outputs": results} if mode is Mode.PREDICT else results)


def _zeros(structure: Any) -> Any:
    return tf.nest.map_structure(lambda tensor: tf.zeros(tensor.shape, tensor.dtype), structure)


def _input_shape(spec: Any) -> tuple[int | None, ...]:
    shape = tuple(spec.shape.as_list())
    return (*shape, 1) if len(shape) == 1 else shape
