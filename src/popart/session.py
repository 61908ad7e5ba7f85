"""`InferenceSession` and `TrainingSession`: run a model step by step."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tremula.errors import Error
from tremula.frontends.onnx.arrays import array_of, tensor_of
from tremula.frontends.onnx.build.sources import lines_of
from tremula.frontends.onnx.dtypes import type_of
from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.run.anchors import Turns
from tremula.frontends.onnx.run.export import write_model
from tremula.frontends.onnx.run.program import GraphProgram, Request
from tremula.frontends.onnx.run.session import GraphSession
from tremula.frontends.onnx.run.updating import Updater

from ._data_flow import DataFlow, InputShapeInfo
from ._devices import DeviceInfo
from ._enums import DeviceConnectionType
from ._exceptions import OutOfMemoryException, popart_errors, popart_exception
from ._patterns import Patterns
from ._session_options import SessionOptions
from ._step_io import IStepIO, PyWeightsIO
from ._tensor_info import TensorInfo

Model = bytes | str | os.PathLike[str]


class _Session:
    """What both kinds of sessions do."""

    def __init__(
        self,
        fnModel: Model,
        dataFlow: DataFlow,
        deviceInfo: DeviceInfo,
        inputShapeInfo: InputShapeInfo | None,
        patterns: Patterns | None,
        userOptions: SessionOptions | None,
        name: str,
        *,
        loss: str | None = None,
        updater: Updater | None = None,
    ) -> None:
        if deviceInfo is None or not isinstance(deviceInfo, DeviceInfo):
            raise TypeError("__init__(): incompatible constructor arguments: deviceInfo is a DeviceInfo.")
        self._name = name
        self._data_flow = dataFlow
        self._device = deviceInfo
        self._options = userOptions or SessionOptions()
        self._patterns = patterns or Patterns()
        self._model_source = fnModel
        shapes = (inputShapeInfo or InputShapeInfo()).shapes()
        with popart_errors():
            sources = lines_of(fnModel) if isinstance(fnModel, bytes) else {}
            model = OnnxModel.load(fnModel, sources)
            program = GraphProgram(model, Request(dataFlow.rules(), loss, shapes))
            turns = Turns(dataFlow.batchesPerStep(), self.accumulationFactor, self.replicationFactor)
            self._session = GraphSession(program, turns, updater)
        self._weights_sent = False

    # -- looking at it --------------------------------------------------------------------------------------

    @property
    def dataFlow(self) -> DataFlow:
        """What goes in and comes out."""
        return self._data_flow

    @property
    def replicationFactor(self) -> int:
        """Copies of the graph that run together."""
        return int(self._options.replicatedGraphCount) if self._options.enableReplicatedGraphs else 1

    @property
    def accumulationFactor(self) -> int:
        """Micro-batches of one weight update."""
        return int(self._options.accumulationFactor) if self._options.enableGradientAccumulation else 1

    def getInfo(self, id: str) -> TensorInfo:
        """Type and shape of a tensor."""
        with popart_errors():
            kind = self._session.program.info(id)
            return TensorInfo(type_of(kind.dtype).name, kind.shape)

    def getAllTensorIds(self) -> set[str]:
        """All tensors."""
        return set(self._session.program.types)

    def initAnchorArrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Arrays for the anchored tensors of a step."""
        found = {}
        for name in self._data_flow.anchors():
            try:
                shape = self._session.anchor_shape(name)
            except Error as problem:
                raise RuntimeError(problem.message) from problem
            found[name] = np.empty(shape, dtype=self.getInfo(name).data_type_lcase())
        return found

    # -- preparing ------------------------------------------------------------------------------------------

    def prepareDevice(self, loadEngine: bool = True) -> None:
        """Compile, and put the program on the device."""
        with popart_errors():
            if loadEngine and self._device.connectionType is not DeviceConnectionType.Never:
                self._attach()
            self._session.prepare()

    def _attach(self) -> None:
        if self._device.isAttached:
            return
        if self._device.connectionType is DeviceConnectionType.OnDemand:
            if not self._device.tryAttachUntilTimeout():
                raise Error("Failed to attach to device: it is in use.")
        elif not self._device.attach():
            raise Error("Failed to attach to device")

    def _prepared(self, what: str) -> GraphSession:
        if not self._session.prepared:
            raise popart_exception(
                f"Devicex::prepare() must be called before {what} is called: did you forget to call prepareDevice()?"
            )
        return self._session

    def setRandomSeed(self, seedValue: int) -> None:
        """Begin the random numbers anew."""
        self._prepared("setRandomSeed").set_seed(int(seedValue))

    # -- weights --------------------------------------------------------------------------------------------

    def weightsFromHost(self) -> None:
        """Copy the host's weights to the device."""
        with popart_errors():
            self._prepared("weightsFromHost").weights_from_host()
        self._weights_sent = True

    def weightsToHost(self) -> None:
        """Copy the device's weights to the host."""
        with popart_errors():
            self._prepared("weightsToHost").weights_to_host()

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
        with popart_errors():
            for name, array in weightsIo.arrays.items():
                self._session.write(name, tensor_of(array))

    def modelToHost(self, fileName: str) -> None:
        """Write the model with the weights as they are on the device."""
        with popart_errors():
            if self._session.prepared:
                self._session.weights_to_host()
            write_model(self._model_source, self._session.held(), fileName)

    def resetHostWeights(
        self,
        modelProtoOrFilename: Model,
        ignoreWeightsInModelWithoutCorrespondingHostWeight: bool = False,
    ) -> None:
        """Take over the weights of another model."""
        with popart_errors():
            other = OnnxModel.load(modelProtoOrFilename)
            self._session.reset(
                {name: stored.tensor() for name, stored in other.graph.initializers.items()},
                ignore_unknown=ignoreWeightsInModelWithoutCorrespondingHostWeight,
            )

    # -- running --------------------------------------------------------------------------------------------

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Run one step: `run(stepio[, debugName])`."""
        named = dict(kwargs)
        stepio = named.pop("stepio", None)
        given = list(args)
        if stepio is None and given:
            stepio = given.pop(0)
        if not isinstance(stepio, IStepIO):
            raise TypeError(
                "run(): incompatible function arguments: stepio is a PyStepIO or PyStepIOCallback."
            )
        self._before_run()
        with popart_errors():
            session = self._prepared("run")
            if self._device.connectionType is DeviceConnectionType.Never:
                raise Error("Offline devices cannot run programs: the device's connection type is Never.")
            session.run(stepio)

    def _before_run(self) -> None:
        pass


class InferenceSession(_Session):
    """Runs a model."""

    def __init__(
        self,
        fnModel: Model,
        dataFlow: DataFlow,
        deviceInfo: DeviceInfo,
        inputShapeInfo: InputShapeInfo | None = None,
        patterns: Patterns | None = None,
        userOptions: SessionOptions | None = None,
        name: str = "inference",
    ) -> None:
        super().__init__(fnModel, dataFlow, deviceInfo, inputShapeInfo, patterns, userOptions, name)


class TrainingSession(_Session):
    """Trains a model."""

    def __init__(
        self,
        fnModel: Model,
        dataFlow: DataFlow,
        loss: str,
        optimizer: Any,
        deviceInfo: DeviceInfo,
        inputShapeInfo: InputShapeInfo | None = None,
        patterns: Patterns | None = None,
        userOptions: SessionOptions | None = None,
        name: str = "training",
    ) -> None:
        updater = optimizer.updater(userOptions)
        super().__init__(
            fnModel,
            dataFlow,
            deviceInfo,
            inputShapeInfo,
            patterns,
            userOptions,
            name,
            loss=loss,
            updater=updater,
        )

    def updateOptimizerFromHost(self, optimizer: Any) -> None:
        """Use other values of the optimizer from the next step on."""
        with popart_errors():
            updater = self._session.updater
            if updater is None:
                raise Error("nothing is trained here.")
            updater.replace(optimizer.updater(self._options))

    def _before_run(self) -> None:
        if self._session.prepared and self._session.host and not self._weights_sent:
            raise popart_exception(
                "Must call weightsFromHost before run as the model has initializers and the session has been created "
                "in training mode"
            )


_InferenceSessionCore = InferenceSession
_TrainingSessionCore = TrainingSession

__all__ = ["InferenceSession", "OutOfMemoryException", "TrainingSession"]
