"""Keras models as SavedModels for serving."""

from __future__ import annotations

from typing import Any


class Exported:
    """What an extended model can do for serving."""

    def export_for_ipu_serving(
        self,
        export_dir: str,
        batch_size: Any = None,
        output_names: Any = None,
        preprocessing_step: Any = None,
        preprocessing_step_signature: Any = None,
        postprocessing_step: Any = None,
        postprocessing_step_signature: Any = None,
        purge_export_dir: bool = False,
    ) -> Any:
        """Write the model as a SavedModel with a compiled executable; `serving/export.py` describes the arguments.

        Returns:
            The function that was exported.
        """
        from tremula.frontends.tensorflow.serving.export import export_keras

        return export_keras(
            self,
            export_dir,
            batch_size,
            output_names,
            preprocessing_step,
            preprocessing_step_signature,
            postprocessing_step,
            postprocessing_step_signature,
            purge_export_dir,
        )
