"""Elements of datasets and values of variables in files."""

from tremula.frontends.tensorflow.dataset_export import (
    dataset_extractor,
    export_variables,
    get_variable_handles,
    import_variables,
)

__all__ = [
    "dataset_extractor",
    "export_variables",
    "get_variable_handles",
    "import_variables",
]
