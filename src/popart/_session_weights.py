"""The weights of a session: between host and device, in arrays of the program, and in model files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tremula.errors import Error
from tremula.frontends.onnx.arrays import array_of, tensor_of
from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.run.export import moved_weights, write_model

from ._exceptions import popart_errors, popart_exception

if TYPE_CHECKING:
    from tremula.frontends.onnx.run.session import GraphSession

    from ._session_options import SessionOptions
    from ._step_io import PyWeightsIO


class SessionWeights:
    """Weights of a session."""

    _session: GraphSession
    _options: SessionOptions
    _model_source: bytes | str | os.PathLike[str]
    _weights_sent = False

    def _prepared(self, what: str) -> GraphSession:
        """The session, which must have been compiled before `what` is called."""
        if not self._session.prepared:
            found = popart_exception(f"Devicex::prepare() must be called before {what} is called.")
            found.add_note("Did you forget to call prepareDevice()?")
            raise found
        return self._session

    def weightsFromHost(self) -> None:
        """Copy the host's weights to the device."""
        with popart_errors():
            self._prepared("Devicex::weightsFromHost").weights_from_host()
        self._weights_sent = True

    def weightsToHost(self) -> None:
        """Copy the device's weights to the host."""
        with popart_errors():
            self._prepared("Devicex::weightsToHost").weights_to_host()

    def readWeights(self, weightsIo: PyWeightsIO) -> None:
        """Copy the host's weights into arrays."""
        with popart_errors():
            held = self._session.held()
            for name, array in weightsIo.arrays.items():
                if name not in held:
                    raise Error(f"there is no weight {name} in the graph.")
                found = array_of(held[name])
                if array.size != found.size:
                    raise Error(f"the array for {name} has {array.size} elements, the weight {found.size}.")
                array.reshape(-1)[...] = found.reshape(-1)

    def writeWeights(self, weightsIo: PyWeightsIO) -> None:
        """Copy arrays into the host's weights."""
        self._check_writable("writeWeights")
        with popart_errors():
            for name, array in weightsIo.arrays.items():
                self._session.write(name, tensor_of(array))

    def modelToHost(self, fileName: str) -> None:
        """Write the model with the weights as they are on the device."""
        with popart_errors():
            self._prepared("Devicex::weightsToHost").weights_to_host()
            write_model(self._model_source, self._session.held(), fileName)

    def updateExternallySavedTensorLocations(self, fromLocation: str, toLocation: str) -> None:
        """From now on, write the weights that are stored in the file `fromLocation` to another file."""
        with popart_errors():
            self._model_source = moved_weights(self._model_source, fromLocation, toLocation)

    def resetHostWeights(
        self,
        modelProtoOrFilename: bytes | str | os.PathLike[str],
        ignoreWeightsInModelWithoutCorrespondingHostWeight: bool = False,
    ) -> None:
        """Replace the weights by those of another model."""
        self._check_writable("resetHostWeights")
        with popart_errors():
            other = OnnxModel.load(modelProtoOrFilename)
            self._session.reset(
                {name: stored.tensor() for name, stored in other.graph.initializers.items()},
                ignore_unknown=ignoreWeightsInModelWithoutCorrespondingHostWeight,
            )

    def _check_writable(self, call: str) -> None:
        """Raise if the weights are constants of the compiled program."""
        if self._session.updater is None and self._options.constantWeights:
            raise popart_exception(
                f"Cannot call {call} when constantWeights is set. Set `constantWeights` to False in the session's "
                "options before the session is created."
            )
