"""Functions that exist once on the device."""

from tremula.frontends.tensorflow.ops.outlining import outlined_function
from tremula.frontends.tensorflow.pipeline.arguments import to_list as _convert_to_list

__all__ = ["outlined_function"]
