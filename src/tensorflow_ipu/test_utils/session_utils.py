"""Sessions for tests."""

from tremula.frontends.tensorflow.testing.sessions import ipu_session
from tremula.frontends.tensorflow.variable_placement import move_variable_initialization_to_cpu

__all__ = ["ipu_session", "move_variable_initialization_to_cpu"]
