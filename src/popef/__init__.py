"""Reads executable files that Tremula has compiled; thin re-exports."""

from tremula.frontends.tensorflow.executables.reader import Anchor, Metadata, OpaqueBlob, Reader

__all__ = ["Anchor", "Metadata", "OpaqueBlob", "Reader"]
