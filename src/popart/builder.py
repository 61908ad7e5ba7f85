"""`Builder`: makes ONNX graphs. Operators come from the table of `tremula.frontends.onnx.build`."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tremula.frontends.onnx.build import node_attributes, storing
from tremula.frontends.onnx.build.arguments import WrongArguments
from tremula.frontends.onnx.build.graph import GraphMaker
from tremula.frontends.onnx.build.sources import remember
from tremula.frontends.onnx.dtypes import type_of
from tremula.frontends.onnx.model import STANDARD
from tremula.program.source import user_line

from ._builder_core import name_of
from ._builder_opsets import OWN_FILES, AiGraphcore, AiGraphcoreOpset1, AiOnnx, AiOnnxMl, Opset
from ._builder_placement import Placement
from ._data_flow import InputSettings
from ._exceptions import popart_errors
from ._opsets import defaultAiGraphcoreOpset, defaultAiOnnxOpset
from ._tensor_info import TensorInfo
from ._variable_settings import VariableSettings

_GRAPHCORE = "ai.graphcore"
_FIRST, _LAST = 6, 11


class Builder(Placement):
    """Builds a new graph, or extends an existing one."""

    def __init__(
        self,
        modelProtoOrFilename: bytes | str | os.PathLike[str] | None = None,
        opsets: Mapping[str, int] | None = None,
        builderCore: GraphMaker | None = None,
    ) -> None:
        with popart_errors():
            if builderCore is not None:
                self._maker = builderCore
            elif modelProtoOrFilename is None:
                self._maker = GraphMaker()
            else:
                self._maker = GraphMaker.from_message(storing.read(modelProtoOrFilename))
        self._opsets = dict(opsets or {})
        self._chosen: int | None = self._opsets.get(STANDARD)
        if opsets is not None and self._chosen is None:
            raise KeyError(STANDARD)
        if self._chosen is not None and not _FIRST <= self._chosen <= _LAST:
            raise KeyError(f"aiOnnxOpset{self._chosen}")
        self._parent_opset: Builder | None = None

    @property
    def _impl(self) -> GraphMaker:
        return self._maker

    # -- operators ------------------------------------------------------------------------------------------

    @functools.cached_property
    def aiGraphcore(self) -> AiGraphcore:
        """The IPU's own operators."""
        return AiGraphcore(self, _GRAPHCORE, self._opsets.get(_GRAPHCORE, defaultAiGraphcoreOpset))

    @functools.cached_property
    def aiGraphcoreOpset1(self) -> AiGraphcoreOpset1:
        """The IPU's own operators, version 1."""
        return AiGraphcoreOpset1(self, _GRAPHCORE, 1)

    @functools.cached_property
    def aiOnnxMl(self) -> AiOnnxMl:
        """Operators of ONNX for classical machine learning."""
        return AiOnnxMl(self, "ai.onnx.ml", 1)

    def __getattr__(self, name: str) -> Any:
        if name == "aiOnnx":
            return self._onnx(self._chosen or defaultAiOnnxOpset)
        version = name.removeprefix("aiOnnxOpset")
        if version != name and version.isdecimal() and _FIRST <= int(version) <= _LAST:
            if self._chosen not in (None, int(version)):
                raise RuntimeError(
                    f"Invalid opset '{name}' selected. Opset for domain ai.onnx already defined as {self._chosen}"
                )
            return self._onnx(int(version))
        raise AttributeError(f"'Builder' object has no attribute '{name}'", name=name, obj=self)

    def _onnx(self, version: int) -> AiOnnx:
        self._chosen = version
        found: AiOnnx = self.__dict__.setdefault("_onnx_opset", AiOnnx(self, STANDARD, version))
        return found

    def aiOnnxOpsetVersion(self, version: int) -> None:
        """Have `aiOnnx` be this version."""
        if not _FIRST <= int(version) <= _LAST:
            raise ValueError(f"Unsupported or unrecognized ai.Onnx version: {version}")
        self._chosen = int(version)
        self.__dict__.pop("_onnx_opset", None)

    def customOp(
        self,
        opName: str,
        opVersion: int,
        domain: str,
        inputs: Sequence[str],
        attributes: Mapping[str, Any],
        numOutputs: int = 1,
        name: str = "",
    ) -> list[str]:
        """An operator that is not in the table."""
        with popart_errors():
            return self._maker.add_node(
                domain,
                opVersion,
                opName,
                list(inputs),
                numOutputs,
                attributes,
                name=name,
                source=user_line(OWN_FILES),
            )

    def reshape_const(
        self, aiOnnx: AiOnnx, args: Sequence[str], shape: Sequence[int], debugContext: Any = ""
    ) -> str:
        """Give the tensor another shape, which becomes a constant of the graph."""
        constant = aiOnnx.constant(np.array(shape, dtype=np.int64), debugContext=debugContext)
        found: str = aiOnnx.reshape([args[0], constant], debugContext=debugContext)
        return found

    # -- tensors --------------------------------------------------------------------------------------------

    def addInputTensor(self, *args: Any, **kwargs: Any) -> str:
        """An input: of a TensorInfo, or of a type and a shape."""
        info, settings, context = _input_arguments(args, kwargs)
        with popart_errors():
            found = self._maker.add_input(info.data_type(), info.shape(), name_of("addInputTensor", context))
            if settings is not None:
                self._maker.note(f"__tile_set/{found}", int(settings.tileSet()))
                self._maker.note(f"__exchange_strategy/{found}", int(settings.exchangeStrategy()))
                self._maker.note(f"__replicated_stream_mode/{found}", int(settings.replicatedStreamMode()))
        return found

    def addUntypedInputTensor(self, debugContext: Any = "") -> str:
        """Add an input of a subgraph. It has the type of the tensor that is passed to it."""
        with popart_errors():
            return self._maker.add_untyped_input(name_of("addUntypedInputTensor", debugContext))

    def addInputTensorFromParentGraph(self, tensorId: str) -> None:
        """An input of a subgraph that is a tensor around it."""
        with popart_errors():
            self._maker.add_input_from_parent(tensorId)

    def addInitializedInputTensor(
        self, initVal: Any, variableSettings: Any = None, debugContext: Any = ""
    ) -> str:
        """A weight with its first values."""
        if variableSettings is not None and not isinstance(variableSettings, VariableSettings):
            variableSettings, debugContext = None, variableSettings
        name = name_of("addInitializedInputTensor", debugContext)
        if isinstance(initVal, str) or not hasattr(initVal, "__array__"):
            raise WrongArguments(
                "addInitializedInputTensor", f"initVal must be an array, not {type(initVal).__name__}."
            )
        with popart_errors():
            found = self._maker.add_initializer(np.asarray(initVal), name)
            if variableSettings is not None:
                if variableSettings.isUsingCommGroup():
                    self._maker.note(f"__comm_group_type/{found}", int(variableSettings.getCommGroupType()))
                else:
                    self._maker.note(f"__comm_group_stride/{found}", variableSettings.getStride())
                self._maker.note(f"__comm_group_size/{found}", variableSettings.getGroupSize())
                self._maker.note(f"__variable_settings/{found}", int(variableSettings.getRetrievalMode()))
        return found

    def addOutputTensor(self, outputName: str) -> None:
        """Make a tensor an output of the graph."""
        if not isinstance(outputName, str):
            raise WrongArguments(
                "addOutputTensor", f"outputName must be a str, not {type(outputName).__name__}."
            )
        with popart_errors():
            self._maker.add_output(outputName)

    def createSubgraphBuilder(self) -> Builder:
        """A builder for the body of an operator of this graph."""
        found = Builder(builderCore=self._maker.subgraph())
        found._opsets = dict(self._opsets)
        found._chosen = self._chosen
        return found

    def getTensorShape(self, id: str) -> list[int]:
        """The shape of a tensor."""
        with popart_errors():
            return list(self._maker.type_of(id).shape)

    def getTensorDtypeString(self, id: str) -> str:
        """The type of a tensor, by NumPy's name."""
        with popart_errors():
            return TensorInfo(type_of(self._maker.type_of(id).dtype).name, []).data_type_lcase()

    def isInitializer(self, id: str) -> bool:
        """Whether a tensor is a weight with values."""
        return self._maker.is_initializer(id)

    def getInputTensorIds(self) -> list[str]:
        """The inputs, weights included."""
        return [each.name for each in self._maker.graph.input]

    def getOutputTensorIds(self) -> list[str]:
        """The outputs."""
        return [each.name for each in self._maker.graph.output]

    def getValueTensorIds(self) -> list[str]:
        """The tensors in between."""
        return self._maker.made()

    def getTrainableTensorIds(self) -> list[str]:
        """The weights."""
        return [each.name for each in self._maker.graph.initializer]

    # -- the whole ------------------------------------------------------------------------------------------

    def getModelProto(self) -> bytes:
        """The model so far."""
        with popart_errors():
            message = self._maker.complete()
        data: bytes = message.SerializeToString()
        remember(data, self._maker.sources)
        return data

    def saveModelProto(self, filename: str) -> None:
        """Write the model so far to a file."""
        with popart_errors():
            storing.write(self._maker.complete(), filename)

    def saveInitializersExternally(self, ids: Sequence[str], filename: str) -> None:
        """Save the values of weights in a file next to the model."""
        with popart_errors():
            storing.move_to_file(self._maker.message, list(ids), filename)

    def setGraphName(self, name: str) -> None:
        """Name the graph."""
        self._maker.graph.name = name

    def embedReplicationFactor(self, replicationFactor: int) -> None:
        """Note how many replicas the graph is for."""
        self._maker.note("__replicationFactor", int(replicationFactor))

    # -- attributes of nodes --------------------------------------------------------------------------------

    def addNodeAttribute(self, attributeName: str, attributeValue: Any, nodeOutputNames: set[str]) -> None:
        """Add an attribute to the node with these outputs."""
        with popart_errors():
            node_attributes.put(self._maker, attributeName, attributeValue, nodeOutputNames)

    def nodeHasAttribute(self, attributeName: str, nodeOutputNames: set[str]) -> bool:
        """Whether a node has an attribute."""
        with popart_errors():
            return node_attributes.has(self._maker, attributeName, nodeOutputNames)

    def removeNodeAttribute(self, attributeName: str, nodeOutputNames: set[str]) -> None:
        """Remove an attribute from a node."""
        with popart_errors():
            node_attributes.remove(self._maker, attributeName, nodeOutputNames)

    def getAllNodeAttributeNames(self, nodeOutputNames: set[str]) -> list[str]:
        """The names of a node's attributes."""
        with popart_errors():
            return node_attributes.names(self._maker, nodeOutputNames)

    def _attribute(self, kind: str, name: str, outputs: set[str]) -> Any:
        with popart_errors():
            return node_attributes.read(self._maker, kind, name, outputs)

    def getInt64NodeAttribute(self, attributeName: str, nodeOutputNames: set[str]) -> int:
        """The value of an attribute."""
        return int(self._attribute("integer", attributeName, nodeOutputNames))

    def getInt64VectorNodeAttribute(self, attributeName: str, nodeOutputNames: set[str]) -> list[int]:
        """The value of an attribute."""
        return list(self._attribute("integer vector", attributeName, nodeOutputNames))

    def getFloatNodeAttribute(self, attributeName: str, nodeOutputNames: set[str]) -> float:
        """The value of an attribute."""
        return float(self._attribute("float", attributeName, nodeOutputNames))

    def getFloatVectorNodeAttribute(self, attributeName: str, nodeOutputNames: set[str]) -> list[float]:
        """The value of an attribute."""
        return list(self._attribute("float vector", attributeName, nodeOutputNames))

    def getStringNodeAttribute(self, attributeName: str, nodeOutputNames: set[str]) -> str:
        """The value of an attribute."""
        return str(self._attribute("string", attributeName, nodeOutputNames))

    def getStringVectorNodeAttribute(self, attributeName: str, nodeOutputNames: set[str]) -> list[str]:
        """The value of an attribute."""
        return list(self._attribute("string vector", attributeName, nodeOutputNames))


_BuilderCore = Builder


def _input_arguments(
    args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[TensorInfo, InputSettings | None, Any]:
    left, named = list(args), dict(kwargs)
    info = named.pop("tensorInfo", None)
    if info is None and left and isinstance(left[0], TensorInfo):
        info = left.pop(0)
    if info is None:
        dtype = named.pop("dataType", None)
        dtype = left.pop(0) if dtype is None and left else dtype
        shape = named.pop("shape", None)
        shape = left.pop(0) if shape is None and left else shape
        if not isinstance(dtype, str) or shape is None:
            raise WrongArguments("addInputTensor", "give a TensorInfo, or a type and a shape.")
        info = TensorInfo(dtype, shape)
    settings, context = named.pop("settings", None), named.pop("debugContext", named.pop("debugPrefix", ""))
    for each in left:
        if isinstance(each, InputSettings):
            settings = each
        else:
            context = each
    if named or not isinstance(info, TensorInfo):
        raise WrongArguments("addInputTensor", f"unknown arguments: {', '.join(named)}.")
    return info, settings, context


__all__ = [
    "AiGraphcore",
    "AiGraphcoreOpset1",
    "AiOnnx",
    "AiOnnxMl",
    "Builder",
    "Opset",
]
