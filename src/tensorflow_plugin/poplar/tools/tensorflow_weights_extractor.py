"""Weights of models and sessions in files."""

from tremula.frontends.tensorflow.live_weights import (
    export_variables_from_live_model,
    export_variables_from_live_session,
    import_data_in_live_model,
    import_data_in_live_session,
)

__all__ = [
    "export_variables_from_live_model",
    "export_variables_from_live_session",
    "import_data_in_live_model",
    "import_data_in_live_session",
]
