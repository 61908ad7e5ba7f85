"""`tensorflow.python.ipu`: Tremula's, for programs written for IPUs. Modules are imported when they are first used."""

import importlib as _importlib

from tremula.frontends.tensorflow import hooks as _hooks

_hooks.apply()
_importlib.import_module("tensorflow_ipu._questions")

#: attributes of this package -> the module that each is, or is in
_MODULES = {
    "all_to_all_op": "ops.all_to_all_op",
    "application_compile_op": "ops.application_compile_op",
    "config": "config",
    "control_flow_ops": "ops.control_flow_ops",
    "cross_replica_ops": "ops.cross_replica_ops",
    "cross_replica_optimizer": "optimizers.cross_replica_optimizer",
    "custom_ops": "ops.custom_ops",
    "data": "data",
    "dataset_benchmark": "dataset_benchmark",
    "dataset_extractor": "dataset_extractor",
    "distributed": "distributed",
    "eager": "eager",
    "embedded_runtime": "ops.embedded_runtime",
    "embedding_ops": "ops.embedding_ops",
    "f8_ops": "ops.f8_ops",
    "functional_ops": "ops.functional_ops",
    "grad_util_ops": "ops.grad_util_ops",
    "gradient_accumulation": "gradient_accumulation",
    "gradient_accumulation_optimizer": "optimizers.gradient_accumulation_optimizer",
    "horovod": "horovod",
    "image_ops": "ops.image_ops",
    "internal_ops": "ops.internal_ops",
    "ipu_compiler": "ipu_compiler",
    "ipu_estimator": "ipu_estimator",
    "ipu_infeed_queue": "ipu_infeed_queue",
    "ipu_multi_worker_strategy": "ipu_multi_worker_strategy",
    "ipu_optimizer": "optimizers.ipu_optimizer",
    "ipu_outfeed_queue": "ipu_outfeed_queue",
    "ipu_pipeline_estimator": "ipu_pipeline_estimator",
    "ipu_run_config": "ipu_run_config",
    "ipu_session_run_hooks": "ipu_session_run_hooks",
    "ipu_strategy": "ipu_strategy",
    "autoshard": "autoshard",
    "keras": "keras",
    "keras_extensions": "keras_extensions",
    "layers": "keras.layers",
    "loops": "loops",
    "map_gradient_optimizer": "optimizers.map_gradient_optimizer",
    "math_ops": "ops.math_ops",
    "nn_ops": "ops.nn_ops",
    "normalization_ops": "ops.normalization_ops",
    "ops": "ops",
    "optimizers": "optimizers",
    "outlined_function": "ops.functional_ops",
    "pipelining_ops": "ops.pipelining_ops",
    "popfloat_cast_to_gfloat": "ops.experimental.popfloat_cast_to_gfloat",
    "rand_ops": "ops.rand_ops",
    "reduce_scatter_op": "ops.reduce_scatter_op",
    "replication_ops": "ops.replication_ops",
    "scopes": "scopes",
    "serving": "serving",
    "sharded_optimizer": "optimizers.sharded_optimizer",
    "sharding": "sharding",
    "slicing_ops": "ops.slicing_ops",
    "statistics_ops": "ops.statistics_ops",
    "utils": "utils",
    "vertex_edsl": "vertex_edsl",
    "within_replica_ops": "ops.within_replica_ops",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> object:
    place = _MODULES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _importlib.import_module(f"{__name__}.{place}")
    found = module if place.rpartition(".")[2] == name else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
