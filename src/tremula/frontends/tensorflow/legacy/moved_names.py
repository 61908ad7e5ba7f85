"""Functions of TensorFlow 2.6 and Keras 2.6 that later releases moved or dropped: the old places get them back."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from tremula.frontends.tensorflow import versions
from tremula.frontends.tensorflow.legacy.after_import import after_import

_OPS, _HERE = "tensorflow.python.ops", "tremula.frontends.tensorflow.legacy"
_COLUMNS = "tensorflow.python.feature_column.feature_column_v2"

#: (module, name) -> (module that has it now, its name there; empty: the module itself)
MOVED = {
    ("tensorflow.python.distribute.input_lib", "DistributedDatasetInterface"): (
        "tensorflow.python.types.distribute",
        "DistributedDatasetInterface",
    ),
    (f"{_OPS}.control_flow_ops", "while_loop"): (f"{_OPS}.while_loop", "while_loop"),
    (f"{_OPS}.control_flow_ops", "while_loop_v2"): (f"{_OPS}.while_loop", "while_loop_v2"),
    (f"{_OPS}.control_flow_ops", "cond"): (f"{_OPS}.cond", "cond"),
    (f"{_OPS}.control_flow_ops", "cond_v2"): (f"{_OPS}.cond", "cond_for_tf_v2"),
    (f"{_OPS}.control_flow_ops", "Assert"): (f"{_OPS}.control_flow_assert", "Assert"),
    (f"{_OPS}.control_flow_ops", "case"): (f"{_OPS}.control_flow_case", "case"),
    (f"{_OPS}.control_flow_ops", "switch_case"): (f"{_OPS}.control_flow_switch_case", "switch_case"),
    (f"{_OPS}.array_ops", "stack"): (f"{_OPS}.array_ops_stack", "stack"),
    (f"{_OPS}.array_ops", "unstack"): (f"{_OPS}.array_ops_stack", "unstack"),
    # in TensorFlow 1, `from tensorflow.python import ops` gave this module
    **{(_OPS, name): ("tensorflow.python.framework.ops", name) for name in ("Graph", "device")},
    (f"{_OPS}.functional_ops", "partitioned_call"): (f"{_HERE}.functions", "partitioned_call"),
    # in TensorFlow 1, `from tensorflow.python import ops` gives tensorflow.python.framework.ops
    (_OPS, "control_dependencies"): ("tensorflow.python.framework.ops", "control_dependencies"),
    ("tensorflow.python.framework.ops", "Tensor"): ("tensorflow.python.framework.tensor", "Tensor"),
    ("tensorflow.python.framework.ops", "convert_to_tensor_v2_with_dispatch"): (
        "tensorflow.python.framework.tensor_conversion",
        "convert_to_tensor_v2_with_dispatch",
    ),
    ("tensorflow.python.distribute.distribute_lib", "get_loss_reduction"): (
        "tensorflow.python.distribute.distribute_utils",
        "get_loss_reduction",
    ),
    **{
        ("tensorflow.python.feature_column", name): (_COLUMNS, name)
        for name in (
            "bucketized_column",
            "categorical_column_with_vocabulary_list",
            "embedding_column",
            "indicator_column",
            "numeric_column",
        )
    },
    ("tensorflow.python.layers.normalization", "BatchNormalization"): (
        "keras.src.legacy_tf_layers.normalization",
        "BatchNormalization",
    ),
    ("tensorflow.python.keras.layers", "LSTM"): ("keras.layers", "LSTM"),
    ("tensorflow.python.keras.layers", "GRU"): ("keras.layers", "GRU"),
    ("tensorflow.python.keras.utils", "np_utils"): ("keras.src.utils.np_utils", ""),
    ("keras.backend", "get_graph"): ("keras.src.backend", "get_graph"),
    ("keras.backend", "symbolic_learning_phase"): ("keras.src.backend", "symbolic_learning_phase"),
    ("keras.backend", "track_variable"): ("keras.src.backend", "track_variable"),
    ("keras.layers", "wrappers"): ("keras.src.layers", ""),
    ("keras.losses", "losses_utils"): ("keras.src.utils.losses_utils", ""),
    ("keras.utils", "data_utils"): ("keras.src.utils.data_utils", ""),
    ("keras.utils", "np_utils"): ("keras.src.utils.np_utils", ""),
    ("keras.mixed_precision", "policy"): ("keras.src.mixed_precision.policy", ""),
    ("keras.src.engine.data_adapter", "expand_1d"): (f"{_HERE}.labels", "expand_1d"),
    ("keras.src.mixed_precision.policy", "set_policy"): (
        "keras.src.mixed_precision.policy",
        "set_global_policy",
    ),
    ("keras.src.utils.generic_utils", "custom_object_scope"): (
        "keras.src.saving.object_registration",
        "custom_object_scope",
    ),
}

#: modules of Keras 2.6 that programs name as attributes, without importing them; `ipu` is ours
KERAS_MODULES = ("combinations", "engine", "ipu", "keras_parameterized", "optimizer_v2", "testing_utils")


def install() -> None:
    """Give each module the names that it had, unless it has them."""
    if versions.installed().tier != 1:
        return
    for (module_name, name), (new_module, new) in MOVED.items():
        try:
            module: Any = importlib.import_module(module_name)
        except ImportError:
            continue
        if name not in vars(module):
            found = importlib.import_module(new_module)
            setattr(module, name, getattr(found, new) if new else found)
    for module_name in ("keras", "keras.api._v2.keras", "keras.api._v1.keras", "tensorflow.keras"):
        after_import(module_name, _look_up_modules)


def _look_up_modules(package: ModuleType) -> None:
    """Let attributes of a package of Keras be modules that are imported when they are used."""
    before = getattr(package, "__getattr__", None)
    if getattr(before, "__module__", None) == __name__:
        return

    def look_up(name: str) -> Any:
        if name in KERAS_MODULES:
            return importlib.import_module(f"keras.{name}")
        if before is not None:
            return before(name)
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")

    package.__getattr__ = look_up  # type: ignore[method-assign]
