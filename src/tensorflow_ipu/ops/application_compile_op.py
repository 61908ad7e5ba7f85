"""Compilation ahead of time."""

from tremula.frontends.tensorflow.executables.compilation import experimental_application_compile_op

__all__ = ["experimental_application_compile_op"]
