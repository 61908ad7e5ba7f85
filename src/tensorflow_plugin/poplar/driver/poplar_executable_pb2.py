"""The description of an executable."""

from tremula.frontends.tensorflow.executables.signature import PoplarExecutableProto

__all__ = ["PoplarExecutableProto"]
