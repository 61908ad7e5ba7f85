"""PopART: builds ONNX graphs, and trains and runs them on virtual IPUs.

Modules are imported on first use, so programs that only use enumerations load no framework.
"""

from __future__ import annotations

import importlib
from typing import Any

from tremula import __version__ as _tremula
from tremula.settings.shims import STACK_VERSION as __version__

from . import _enums, _identifiers
from ._enums import *
from ._identifiers import *

#: module -> what it gives
_PLACES = {
    "_builder_core": ("DebugContext", "DebugInfo"),
    "_custom_ops": ("register_custom_op",),
    "_data_flow": ("AnchorReturnType", "DataFlow", "InputSettings", "InputShapeInfo"),
    "_devices": ("DeviceInfo", "DeviceManager"),
    "_exceptions": (
        "OutOfMemoryException",
        "poplar_application_runtime_error",
        "poplar_exception",
        "poplar_recoverable_runtime_error",
        "poplar_runtime_error",
        "poplar_system_runtime_error",
        "poplar_unknown_runtime_error",
        "poplar_unrecoverable_runtime_error",
        "poplibs_exception",
        "popart_exception",
        "popart_internal_exception",
        "popart_runtime_error",
    ),
    "_graph_transformer": ("GraphTransformer",),
    "_logging": ("Logger", "closePoplarDebugInfo", "getLogger", "initializePoplarDebugInfo"),
    "_operations": (
        "OpDefinition",
        "getSupportedOperations",
        "getSupportedOperationsDefinition",
        "getUnsupportedOperations",
    ),
    "_opsets": ("defaultAiGraphcoreOpset", "defaultAiOnnxMlOpset", "defaultAiOnnxOpset"),
    "_optimizers": (
        "SGD",
        "Adam",
        "Adaptive",
        "ClipNormSettings",
        "ConstSGD",
        "Optimizer",
        "OptimizerValue",
        "OptimizerValueMap",
    ),
    "_patterns": ("Patterns",),
    "_session_options": (
        "AccumulateOuterFragmentSettings",
        "AutodiffSettings",
        "AutomaticLossScalingSettings",
        "BatchSerializationSettings",
        "ExecutionPhaseSettings",
        "ExperimentalSettings",
        "NumIOTiles",
        "ReplicatedCollectivesSettings",
        "SessionOptions",
    ),
    "_step_io": ("IStepIO", "PyStepIO", "PyStepIOCallback", "PyWeightsIO"),
    "_tensor_info": ("TensorInfo", "_TensorInfoCore", "getTensorInfo"),
    "_tensor_locations": ("CommGroup", "ReplicaGrouping", "TensorLocation", "TensorLocationSettings"),
    "_variable_settings": ("VariableSettings",),
    "builder": (
        "AiGraphcore",
        "AiGraphcoreOpset1",
        "AiOnnx",
        "AiOnnxMl",
        "Builder",
        "Opset",
    ),
    "session": ("InferenceSession", "TrainingSession"),
}
_WHERE = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [*_enums.__all__, *_identifiers.__all__, *_WHERE, "versionNumber", "versionString"]


def versionString() -> str:
    """The version of PopART that this package replaces, and its own: `3.3.0 (Tremula ...)`."""
    return f"{__version__} (Tremula {_tremula})"


def versionNumber() -> tuple[int, ...]:
    """The major, minor and point version of PopART that this package replaces."""
    return tuple(int(part) for part in __version__.split("."))


def packageHash() -> str:
    """A text that identifies this package."""
    return f"tremula-{_tremula}"


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if name in ("builder", "session"):
        return importlib.import_module(f".{name}", __name__)
    if module is None:
        raise AttributeError(
            f"module 'popart' has no attribute '{name}': PopART has no such name, or it is not there yet "
            "(docs/popart.md).",
            name=name,
        )
    found = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
