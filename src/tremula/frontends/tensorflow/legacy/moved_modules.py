"""Modules of TensorFlow 2.6 and Keras 2.6 that later releases moved: the old name gives the module under its new one.

Only names that the installed release does not have come here: the import finder is the last one that is asked.
"""

from __future__ import annotations

import importlib
import importlib.util
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

from tremula.frontends.tensorflow import versions

#: old module -> new module; `keras.X` that is `keras.src.X` now is found without an entry
MOVED = {
    "keras.combinations": "keras.src.testing_infra.test_combinations",
    "keras.testing_utils": "keras.src.testing_infra.test_utils",
    "keras.keras_parameterized": "keras.src.testing_infra.test_combinations",
    "keras.optimizer_v2": "keras.src.optimizers.legacy",
    "keras.optimizer_v2.optimizer_v2": "keras.src.optimizers.legacy.optimizer_v2",
    "keras.optimizer_v2.learning_rate_schedule": "keras.src.optimizers.schedules.learning_rate_schedule",
    "keras.optimizer_v2.utils": "keras.src.optimizers.utils",
    "keras.optimizer_v1": "keras.src.optimizers.optimizer_v1",
    "keras.saving.hdf5_format": "keras.src.saving.legacy.hdf5_format",
    "keras.saving.model_config": "keras.src.saving.legacy.model_config",
    "keras.saving.save": "keras.src.saving.legacy.save",
    "keras.saving.saved_model": "keras.src.saving.legacy.saved_model",
    "keras.saving.saving_utils": "keras.src.saving.legacy.saving_utils",
    "keras.layers.wrappers": "keras.src.layers",
    "keras.layers.recurrent": "keras.src.layers",
    "keras.layers.recurrent_v2": "keras.src.layers",
    "keras.layers.merge": "keras.src.layers",
    "keras.layers.embeddings": "keras.src.layers",
    "keras.layers.convolutional": "keras.src.layers",
    "keras.layers.core": "keras.src.layers",
    "keras.layers.noise": "keras.src.layers",
    "keras.layers.advanced_activations": "keras.src.layers",
    "keras.layers.pooling": "keras.src.layers",
    "tensorflow.python.training.tracking.util": "tensorflow.python.checkpoint.checkpoint",
    "tensorflow.python.training.tracking.tracking": "tensorflow.python.trackable.resource",
    "tensorflow.python.training.tracking": "tensorflow.python.trackable",
    "tensorflow.python.distribute.distribution_strategy_context": "tensorflow.python.distribute.distribute_lib",
    "tensorflow.python.estimator": "tensorflow_estimator.python.estimator",
    "tensorflow.python.keras.datasets": "keras.datasets",
    "tensorflow.python.keras.layers.normalization": "keras.src.layers",
    "tensorflow.keras.ipu": "keras.ipu",
}


class _Alias(Loader):
    """Loads a module by giving the one that has another name.

    A package gets a module of its own that looks attributes up in the real one: with the real one's `__path__`,
    importlib would load its modules a second time.
    """

    def __init__(self, real: str) -> None:
        self._real = real
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        real = importlib.import_module(self._real)
        if not hasattr(real, "__path__"):
            self._spec = real.__spec__
            return real
        package = ModuleType(spec.name, real.__doc__)
        package.__path__ = []

        def look_up(name: str) -> object:
            if hasattr(real, name):
                return getattr(real, name)
            try:
                return importlib.import_module(f"{spec.name}.{name}")
            except ModuleNotFoundError:
                raise AttributeError(f"module {spec.name!r} has no attribute {name!r}") from None

        package.__getattr__ = look_up  # type: ignore[method-assign]
        return package

    def exec_module(self, module: ModuleType) -> None:
        if self._spec is not None:
            # importlib has just written the spec of the old name into it
            module.__spec__ = self._spec


def new_name(name: str) -> str | None:
    """Where the module that was once called `name` is now; None if it is unknown."""
    if name in MOVED:
        return MOVED[name]
    for old, new in MOVED.items():
        if name.startswith(old + "."):
            return new + name[len(old) :]
    if name.startswith("keras.") and not name.startswith(("keras.src", "keras.api", "keras.ipu")):
        return "keras.src" + name[len("keras") :]
    return None


def find_spec(name: str) -> ModuleSpec | None:
    """The spec of a module that is known under another name; None if there is none."""
    alias = new_name(name) if versions.installed().tier == 1 else None
    if alias is None or alias == name:
        return None
    try:
        # this imports the parents; a module that is not there either is nobody's
        found = importlib.util.find_spec(alias)
    except (ModuleNotFoundError, ValueError):
        return None
    if found is None:
        return None
    return ModuleSpec(name, _Alias(alias), is_package=found.submodule_search_locations is not None)
