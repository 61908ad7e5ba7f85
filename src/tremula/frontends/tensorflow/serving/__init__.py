"""Programs exported for serving: a SavedModel that runs on stock TensorFlow, with the executable beside it."""

from tremula.frontends.tensorflow.serving.export import export_keras, export_pipeline, export_single_step

__all__ = ["export_keras", "export_pipeline", "export_single_step"]
