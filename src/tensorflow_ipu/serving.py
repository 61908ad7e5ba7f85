"""Export for serving."""

from tremula.frontends.tensorflow.serving import export_keras, export_pipeline, export_single_step

__all__ = ["export_keras", "export_pipeline", "export_single_step"]
