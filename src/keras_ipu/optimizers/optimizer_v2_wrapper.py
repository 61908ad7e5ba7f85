"""An optimizer around another one."""

from tremula.frontends.tensorflow.keras.optimizers.wrapper import OptimizerWrapper as _OptimizerV2Wrapper

__all__ = ["_OptimizerV2Wrapper"]
