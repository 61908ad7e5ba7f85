"""Every change that is made to stock TensorFlow and Keras, in one list.

Nothing is changed until a program imports `tensorflow.python.ipu` or `keras.ipu`. Each hook says what it replaces and
why; `tremula doctor` prints the list. A hook acts only where an IPU is concerned: programs that import the package and
use the CPU alone get stock behaviour.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tremula.frontends.tensorflow import versions
from tremula.frontends.tensorflow.tensorflow1 import hints


@dataclass(frozen=True)
class Hook:
    """One change.

    Attributes:
        target: the name in TensorFlow or Keras that is replaced or added.
        reason: why stock behaviour is not enough.
        module: our module that makes the change.
        function: its function without arguments that makes it.
        with_strategy: whether it is made only when a strategy, or `keras.ipu`, is used: it concerns nothing else, and
            importing `tensorflow.python.ipu` stays quick.
        with_estimators: whether it is made only when an estimator is used.
    """

    target: str
    reason: str
    module: str
    function: str = "install"
    with_strategy: bool = False
    with_estimators: bool = False


_HERE = "tremula.frontends.tensorflow"
HOOKS = (
    Hook(
        "tf.config.set_soft_device_placement, tensorflow.python.client.session.BaseSession: __init__, _extend_graph, "
        "_do_run; the environment variable TF_OVERRIDE_GLOBAL_THREADPOOL",
        "stock TensorFlow has no device IPU; with soft placement, its ops run on the CPU, also in sessions; compiled "
        "programs get their replicas before a session takes them over, and need the device when they run; a session "
        "has the threads that its configuration asks for",
        f"{_HERE}.sessions",
    ),
    Hook(
        "tensorflow.python.data.ops.dataset_ops.DatasetV2.__iter__",
        "datasets that are iterated over under an IPUStrategy give their elements to the device",
        f"{_HERE}.feeds.hooks",
    ),
    Hook(
        "tensorflow.python.ops.gen_nn_ops.sparse_softmax_cross_entropy_with_logits",
        "the CPU's kernel raises for a label out of range; in a program of the device, the loss is NaN",
        f"{_HERE}.ops.out_of_range",
    ),
    Hook(
        "tf.GradientTape",
        "ops of the backward pass are on the shard of their forward op",
        f"{_HERE}.sharding",
        "enable_sharded_gradient_tape",
    ),
    Hook(
        "tf.GradientTape.gradient, tensorflow.python.ops.gradients_util._GradientsHelper",
        "ops that compute gradients are marked in the graph, for the chip model",
        f"{_HERE}.pipeline.facts",
        "mark_gradients",
    ),
    Hook(
        "tf.compat.v1.train.Optimizer.apply_gradients",
        "ops that change weights are marked in the graph, for the chip model",
        f"{_HERE}.pipeline.facts",
        "mark_updates",
    ),
    Hook(
        "names that TensorFlow 2.6 had",
        "functions that later releases moved to other modules are found where they were",
        f"{_HERE}.legacy.moved_names",
    ),
    Hook(
        "tf.Variable.initialized_value",
        "TensorFlow 2.6 had it, later releases raise NotImplementedError",
        f"{_HERE}.legacy.functions",
        "install_initialized_value",
    ),
    Hook(
        "keras.optimizers.Optimizer.__new__, __init_subclass__",
        "programs for Keras 2.6 use OptimizerV2: under an IPUStrategy, and as the base of classes written for it",
        f"{_HERE}.legacy.optimizers",
    ),
    Hook(
        "keras.utils.get_file",
        "a failed download names the folder for a manual copy of the file",
        f"{_HERE}.keras.datasets",
    ),
    Hook(
        "tensorflow.python.eager.polymorphic_function.polymorphic_function.Function.__call__",
        "a function with jit_compile=True that is called on an IPU under an IPUStrategy is a program of the device",
        f"{_HERE}.compiled_functions",
        with_strategy=True,
    ),
    Hook(
        "keras.Model.compile",
        "under an IPUStrategy, steps_per_execution may be a tensor, as in Keras 2.6",
        f"{_HERE}.legacy.compile_arguments",
        with_strategy=True,
    ),
    Hook(
        "keras.mixed_precision: strategy_supports_loss_scaling",
        "stock Keras refuses the policy mixed_float16 under strategies that it does not know",
        f"{_HERE}.legacy.mixed_precision",
        with_strategy=True,
    ),
    Hook(
        "keras.Model, keras.Sequential, Functional, Layer, Node",
        "models that are made under an IPUStrategy run on the virtual IPU and have its options",
        f"{_HERE}.keras.hooks",
        with_strategy=True,
    ),
    Hook(
        "keras.Model.from_config, keras.Sequential.from_config, loading of SavedModels, keras.models.clone_model",
        "options and pipeline stages are there again when a model is made from a configuration, a file or a model",
        f"{_HERE}.keras.model_configs",
        with_strategy=True,
    ),
    Hook(
        "keras.layers.Layer.__init__, Node.__init__, Functional.__init__",
        "layers and calls of layers inside a PipelineStage scope know their stage, and functional models read them",
        f"{_HERE}.keras.stages",
        with_strategy=True,
    ),
    Hook(
        "keras.optimizers.Optimizer.apply_gradients, keras.optimizers.legacy.Optimizer.apply_gradients",
        "ops that change weights are marked in the graph, for the chip model",
        f"{_HERE}.pipeline.facts",
        "mark_keras_updates",
        with_strategy=True,
    ),
    Hook(
        "keras.layers.Layer.__init__",
        "layers know the line of the program that made them, for the chip model's reports",
        f"{_HERE}.capture.layers",
        "note_lines",
        with_strategy=True,
    ),
    Hook(
        "tf.compat.v1.train.Optimizer.apply_gradients, keras.optimizers.legacy.Optimizer.apply_gradients",
        "a model_fn may build its train_op in every mode: an estimator that evaluates or predicts updates no weights",
        f"{_HERE}.estimators.updates",
        with_estimators=True,
    ),
    Hook(
        "tensorflow.python.ops.resource_variable_ops._UnreadVariable.graph",
        "a metric that is the update of a variable belongs to the program that updates it",
        f"{_HERE}.estimators.updates",
        "place_updates",
        with_estimators=True,
    ),
)

#: the hooks that are in place
_applied: set[Hook] = set()


def apply(*, with_strategy: bool = False, with_estimators: bool = False) -> None:
    """Check the version, then make every change once.

    Args:
        with_strategy: also the changes that concern models and functions under a strategy.
        with_estimators: also those that concern estimators.

    Raises:
        UnsupportedTensorFlow: IPU programs cannot run on the installed TensorFlow.
    """
    if not _applied:
        versions.check()
        hints.watch()
    for hook in HOOKS:
        wanted = (with_strategy or not hook.with_strategy) and (with_estimators or not hook.with_estimators)
        if hook not in _applied and wanted:
            _applied.add(hook)
            install: Callable[[], Any] = getattr(importlib.import_module(hook.module), hook.function)
            install()


def applied() -> bool:
    """Whether changes are in place."""
    return bool(_applied)
