"""`GraphTransformer`: changes a model before it is run."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tremula.frontends.onnx.build import storing, transforms

from ._exceptions import popart_errors


class GraphTransformer:
    """A model that is being changed."""

    def __init__(self, modelProtoOrFilename: bytes | str | os.PathLike[str]) -> None:
        with popart_errors():
            self._message = storing.read(modelProtoOrFilename)

    def getModelProto(self) -> bytes:
        """The model in its current state."""
        data: bytes = self._message.SerializeToString()
        return data

    def removeUnusedInputs(self) -> None:
        """Remove unused inputs."""
        transforms.drop_unused_inputs(self._message)

    def prepareNodesForTraining(self) -> None:
        """Add the outputs that training needs to nodes."""
        transforms.prepare_for_training(self._message)

    def convertInitializersToConstants(self, ids: Sequence[str]) -> None:
        """Make constants of weights."""
        with popart_errors():
            transforms.make_constant(self._message, ids)

    def convertAllFixedPointInitializersToConstants(self) -> None:
        """Make constants of all weights of integers."""
        with popart_errors():
            transforms.make_constant(self._message, transforms.fixed_point_initializers(self._message))

    def _retype(self, old: str, new: str) -> None:
        with popart_errors():
            transforms.retype(self._message, old, new)

    def convertFloatsToHalfs(self) -> None:
        """Have floats be halves."""
        self._retype("FLOAT", "FLOAT16")

    def convertUINT8ToINT32(self) -> None:
        """Have integers be those of the device."""
        self._retype("UINT8", "INT32")

    def convertUINT16ToINT32(self) -> None:
        """Have integers be those of the device."""
        self._retype("UINT16", "INT32")

    def convertINT8ToINT32(self) -> None:
        """Have integers be those of the device."""
        self._retype("INT8", "INT32")

    def convertINT16ToINT32(self) -> None:
        """Have integers be those of the device."""
        self._retype("INT16", "INT32")

    def convertINT64ToINT32(self, clip: bool = False) -> None:
        """Have integers be those of the device; with `clip`, values that are too large are cut."""
        with popart_errors():
            transforms.retype(self._message, "INT64", "INT32", check=not clip)

    def convertDoublesToFloats(self) -> None:
        """Have doubles be floats."""
        self._retype("DOUBLE", "FLOAT")

    def convertDoublesToHalfs(self) -> None:
        """Have doubles be halves."""
        self._retype("DOUBLE", "FLOAT16")

    def convertBFloats16ToFloat32(self) -> None:
        """Have the other halves be floats."""
        self._retype("BFLOAT16", "FLOAT")

    def saveInitializersExternally(self, ids: Sequence[str], filename: str) -> None:
        """Save the values of weights in a file next to the model."""
        with popart_errors():
            storing.move_to_file(self._message, list(ids), filename)


__all__ = ["GraphTransformer"]
