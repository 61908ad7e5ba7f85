"""`tensorflow.python.ipu.keras`: layers, as the packages for TensorFlow 1 and SDKs before 3.1 have them."""

from tensorflow.python.ipu.keras import layers

#: what older SDKs had here -> what programs do now
_REMOVED = {
    "Model": "make a tf.keras.Model",
    "Sequential": "make a tf.keras.Sequential",
    "PipelineModel": "make a tf.keras.Model, and call its set_pipelining_options",
    "PipelineSequential": "make a tf.keras.Sequential, and call its set_pipelining_options",
    "PipelineStage": "use keras.ipu.PipelineStage",
}

__all__ = ["layers"]


def __getattr__(name: str) -> object:
    if name in _REMOVED:
        raise AttributeError(
            f"ipu.keras.{name} was part of SDKs before 2.6 and is not there: {_REMOVED[name]} in the scope of an "
            f"IPUStrategy."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
