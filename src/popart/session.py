"""`InferenceSession` and `TrainingSession`: run a model step by step."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tremula import log
from tremula.device.settings import Connection, DeviceSettings
from tremula.errors import Error
from tremula.formatting import counted
from tremula.frontends.onnx.arrays import array_of, tensor_of
from tremula.frontends.onnx.build.sources import lines_of
from tremula.frontends.onnx.dtypes import type_of
from tremula.frontends.onnx.model import OnnxModel
from tremula.frontends.onnx.run.anchors import Turns
from tremula.frontends.onnx.run.device_state import SessionExecutable
from tremula.frontends.onnx.run.export import write_model
from tremula.frontends.onnx.run.feeds import StepData
from tremula.frontends.onnx.run.gradient_sums import Reduction
from tremula.frontends.onnx.run.groups import on_replicas
from tremula.frontends.onnx.run.patterns import refuse_missing_patterns
from tremula.frontends.onnx.run.program import DEVICE_SETTINGS, GraphProgram, Request
from tremula.frontends.onnx.run.session import GraphSession
from tremula.frontends.onnx.run.synthetic import Synthetic
from tremula.frontends.onnx.run.updating import Updater
from tremula.frontends.sessions.on_device import WORDS, OnDevice, of_executable
from tremula.program.op import SourceLine
from tremula.settings import engine_options

from ._data_flow import DataFlow, InputShapeInfo
from ._devices import DeviceInfo
from ._enums import DeviceConnectionType, DeviceType, MeanReductionStrategy, ReductionType
from ._exceptions import OutOfMemoryException, popart_errors, popart_exception, poplar_exception
from ._patterns import Patterns
from ._session_checks import check_options, check_pipeline_depth, check_placement, check_virtual_graphs
from ._session_executables import SessionExecutables
from ._session_instances import SessionInstances
from ._session_ir import SessionIr
from ._session_options import SessionOptions
from ._session_random import SessionRandomState
from ._session_reports import SessionReports
from ._step_io import IStepIO, PyWeightsIO
from ._tensor_info import TensorInfo
from ._weight_groups import weight_groups

if TYPE_CHECKING:
    pass

_LOG = log.layer("popart:session")
Model = bytes | str | os.PathLike[str]


class _Session(SessionReports, SessionRandomState, SessionIr, SessionExecutables, SessionInstances):
    """Base class of both kinds of sessions."""

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
            check_options(self._options, training=loss is not None)
            sources = lines_of(fnModel) if isinstance(fnModel, bytes) else {}
            model = _loaded(fnModel, sources)
            if loss is None and not dataFlow.nAnchors():
                raise Error("User must specify an anchor tensor when doing inference.")
            share = self._options._share()
            groups = weight_groups(model.properties, share.total)
            whole = {
                name: model.graph.initializers[name].tensor() for name, own in groups.items() if own.split
            }
            model = on_replicas(model, groups)
            check_placement(self._options, model.graph.nodes, self._device.numIpus)
            settings = replace(
                DEVICE_SETTINGS,
                strided_groups=bool(self._options.groupNormStridedChannelGrouping),
                replicas=share.total,
            )
            program = GraphProgram(model, Request(dataFlow.rules(), loss, shapes, settings))
            check_pipeline_depth(
                self._options, model.graph.nodes, dataFlow.batchesPerStep(), training=loss is not None
            )
            turns = Turns(dataFlow.batchesPerStep(), self.accumulationFactor, self.replicationFactor)
            if loss is not None:
                refuse_missing_patterns(program, self._patterns.isPatternEnabled)
            self._options.report()
            self._session = GraphSession(
                program,
                turns,
                updater,
                self._reduction(),
                Synthetic[self._options.syntheticDataMode.name],
                groups,
                whole,
                self._exchange(share, training=loss is not None),
                self._options.cachePath if self._options.enableEngineCaching else None,
            )
        self._weights_sent = self._engine_loaded = False
        self._on_device: OnDevice | None = None

    def _reduction(self) -> Reduction:
        options = self._options
        return Reduction(
            options.accumulationAndReplicationReductionType is ReductionType.Mean,
            options.meanAccumulationAndReplicationReductionStrategy is MeanReductionStrategy.Running,
        )

    # -- looking at it --------------------------------------------------------------------------------------

    @property
    def dataFlow(self) -> DataFlow:
        """Inputs and outputs."""
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
            kind = self._session.info(id)
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
        """Compile, and put the program on the device unless `loadEngine` is False."""
        self._compile(loadEngine)
        _LOG.info("Graph compiled")
        if loadEngine:
            self.loadEngineAndConnectStreams()

    def loadEngineAndConnectStreams(self) -> None:
        """Put the compiled program on the device."""
        if not self._session.prepared:
            raise popart_exception("There is no compiled engine to load: call prepareDevice() first.")
        with popart_errors():
            if self._device.connectionType is not DeviceConnectionType.Never:
                self._attach()
        self._engine_loaded = True
        _LOG.info("Engine loaded")

    def _compile(self, loadEngine: bool) -> None:
        with popart_errors():
            if loadEngine and self._device.connectionType is not DeviceConnectionType.Never:
                self._attach()
            self._check_engine_options()
            check_virtual_graphs(self._options, self._session.program.model.graph.nodes, self._device.numIpus)
            self._find_executable()
            if self._device.type is DeviceType.Cpu:
                self._session.prepare()  # no IPU has a part in it
                return
            words = of_executable(WORDS) if self._from_executable else WORDS
            self._on_device = OnDevice(self._device_settings(), words, lambda: self._device.attachment)
            self._on_device.compile(
                SessionExecutable(self._session),
                self._ready,
                max(1, self._device.numIpus // self.replicationFactor),
                self._chip,
            )
            nodes = counted(len(self._session.program.model.graph.nodes), "node")
            self._keep_executable(f"PopART session {self._name}, {nodes}")

    def _ready(self) -> int:
        """Prepare the session; the number of its nodes."""
        self._session.prepare()
        return len(self._session.program.model.graph.nodes)

    def _device_settings(self) -> DeviceSettings:
        training = self._session.program.request.loss is not None
        never = self._device.connectionType is DeviceConnectionType.Never
        return DeviceSettings(
            kind=type(self).__name__,
            label=self._name,
            training=training,
            name=self._name,
            replicas=self.replicationFactor,
            instance=self._session.share.instance,
            instances=self._session.share.instances,
            connection=Connection.NEVER if never else Connection.ALWAYS,
            use_model=self._device.type is not DeviceType.Ipu,
            engine_options=self._options.engineOptions,
            front_end="popart",
        )

    def _check_engine_options(self) -> None:
        options = self._options.engineOptions
        for name in options:
            if engine_options.known(name) is None:
                raise poplar_exception(f"Unrecognised option '{name}'")
        engine_options.validate(options, "SessionOptions.engineOptions")

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
            found = popart_exception(f"Devicex::prepare() must be called before {what} is called.")
            found.add_note("Did you forget to call prepareDevice()?")
            raise found
        return self._session

    def setRandomSeed(self, seedValue: int) -> None:
        """Restart the random numbers."""
        self._random_seed = int(seedValue)
        self._prepared("Devicex::setRandomSeedFromHost(uint64_t)").set_seed(int(seedValue))

    # -- weights --------------------------------------------------------------------------------------------

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
        with popart_errors():
            for name, array in weightsIo.arrays.items():
                self._session.write(name, tensor_of(array))

    def modelToHost(self, fileName: str) -> None:
        """Write the model with the weights as they are on the device."""
        with popart_errors():
            self._prepared("Devicex::weightsToHost").weights_to_host()
            write_model(self._model_source, self._session.held(), fileName)

    def resetHostWeights(
        self,
        modelProtoOrFilename: Model,
        ignoreWeightsInModelWithoutCorrespondingHostWeight: bool = False,
    ) -> None:
        """Replace the weights by those of another model."""
        if self._session.updater is None and self._options.constantWeights:
            raise popart_exception(
                "Cannot call resetHostWeights when constantWeights is set. Set `constantWeights` to False"
            )
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
            session = self._prepared("Devicex::run")
            if not self._engine_loaded and self._device.connectionType is not DeviceConnectionType.Never:
                self.loadEngineAndConnectStreams()
            if self._device.connectionType is DeviceConnectionType.Never:
                raise Error("Offline devices cannot run programs: the device's connection type is Never.")
            self._agree()
            if self._on_device is None:
                session.run(cast(StepData, stepio))
            else:
                self._on_device.run(functools.partial(_step, session, stepio))
        self._has_run = True

    def _before_run(self) -> None:
        pass


def _step(session: GraphSession, stepio: IStepIO) -> tuple[list[Any], list[Any]]:
    """One step: the arrays that it took, and those that it filled."""
    session.run(cast(StepData, stepio))
    return stepio.given, stepio.returned


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
                raise Error("this session does not train.")
            updater.replace(optimizer.updater(self._options))

    def _before_run(self) -> None:
        if self._session.prepared and self._session.host and not self._weights_sent:
            raise popart_exception(
                "Must call weightsFromHost before run as the model has initializers and the session has been created "
                "in training mode"
            )


def _loaded(model: Model, sources: Mapping[str, SourceLine]) -> OnnxModel:
    if not isinstance(model, bytes) and not os.path.exists(model):
        raise Error(f"Failed to load a ModelProto from the string '{model}': there is no such file.")
    return OnnxModel.load(model, sources)


_InferenceSessionCore = InferenceSession
_TrainingSessionCore = TrainingSession

__all__ = ["InferenceSession", "OutOfMemoryException", "TrainingSession"]
