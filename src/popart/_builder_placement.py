"""Placement of operators by a builder: for one node, or for all that are added inside a `with`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tremula.errors import Error
from tremula.frontends.onnx.build import node_attributes
from tremula.frontends.onnx.build.arguments import WrongArguments
from tremula.frontends.onnx.build.graph import GraphMaker
from tremula.frontends.onnx.model import STANDARD
from tremula.program.source import user_line

from ._builder_core import outputs_of
from ._enums import RecomputeType
from ._exceptions import popart_errors
from ._opsets import defaultAiOnnxOpset

_IPU, _STAGE, _PHASE = "__ipu_number", "__pipeline_stage", "__execution_phase"
_RECOMPUTE = "__recompute_output_in_backward_pass"
_WORDS = {_IPU: "Virtual graph", _STAGE: "Pipeline stage", _PHASE: "Execution phase"}
_LOCATION, _PRIORITY, _OUTLINE = "__output_tensor_location", "__schedule_priority", "__outline"
_GROUP, _EXCLUDED = "__collectiveCommGroup", "__exclude_patterns"
_SERIAL_MODES = ("none", "input_channels", "reducing_dim", "output_channels")


class Placement:
    """The methods of a builder that write `__...` attributes."""

    _maker: GraphMaker

    def _put(self, name: str, method: str, outputs: Any, value: Any, *, replace: bool = False) -> None:
        names = outputs_of(method, outputs)
        with popart_errors():
            if replace and node_attributes.has(self._maker, name, names):
                node_attributes.remove(self._maker, name, names)
            node_attributes.put(self._maker, name, value, names)

    def _one_or_all(self, name: str, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """`method(outputs, value)` sets, `method(value)` is a context."""
        named = dict(kwargs)
        outputs = named.pop("nodeOutputNames", None)
        left = list(args)
        if outputs is None and left and not isinstance(left[0], int):
            outputs = left.pop(0)
        value = left.pop(0) if left else named.pop("value", 0)
        if left or named or isinstance(value, str) or not hasattr(value, "__index__"):
            raise WrongArguments(
                method, "it takes outputs of a node and a whole number, or the number alone."
            )
        if outputs is None:
            return self._maker.attribute(name, int(value))
        self._put(name, method, outputs, int(value))
        return None

    def virtualGraph(self, *args: Any, **kwargs: Any) -> Any:
        """The IPU of a node, or of those added inside."""
        return self._one_or_all(_IPU, "virtualGraph", args, kwargs)

    def pipelineStage(self, *args: Any, **kwargs: Any) -> Any:
        """The pipeline stage of a node, or of those added inside."""
        return self._one_or_all(_STAGE, "pipelineStage", args, kwargs)

    def executionPhase(self, *args: Any, **kwargs: Any) -> Any:
        """The phase of a node, or of those added inside."""
        return self._one_or_all(_PHASE, "executionPhase", args, kwargs)

    def recomputeOutput(self, *args: Any, **kwargs: Any) -> Any:
        """Whether outputs are computed again for the backward pass."""
        named = dict(kwargs)
        given = [each for each in (*args, named.pop("value", None)) if isinstance(each, RecomputeType)]
        value = given[0] if given else RecomputeType.Undefined
        outputs = [each for each in (*args, named.pop("nodeOutputNames", None)) if isinstance(each, str)]
        if named:
            raise WrongArguments("recomputeOutput", f"unknown arguments: {', '.join(named)}.")
        if not outputs:
            return self._maker.attribute(_RECOMPUTE, int(value))
        self._put(_RECOMPUTE, "recomputeOutput", outputs[0], int(value))
        return None

    def recomputeOutputInBackwardPass(
        self, nodeOutputNames: Any, value: RecomputeType = RecomputeType.Recompute
    ) -> None:
        """Have outputs computed again for the backward pass."""
        self._put(_RECOMPUTE, "recomputeOutputInBackwardPass", nodeOutputNames, int(value))

    def getRecomputeOutputInBackwardPass(self, nodeOutputNames: Any) -> bool:
        """Whether outputs are computed again for the backward pass."""
        names = outputs_of("getRecomputeOutputInBackwardPass", nodeOutputNames)
        with popart_errors():
            if not node_attributes.has(self._maker, _RECOMPUTE, names):
                return False
            return bool(node_attributes.read(self._maker, "integer", _RECOMPUTE, names))

    def checkpointOutput(self, nodeOutputNames: Sequence[str]) -> list[str]:
        """Copies of tensors that are kept for the backward pass."""
        found = []
        with popart_errors():
            for each in nodeOutputNames:
                opset = self._maker.opsets.get(STANDARD, defaultAiOnnxOpset)
                (output,) = self._maker.add_node(
                    STANDARD,
                    opset,
                    "Identity",
                    [each],
                    1,
                    {},
                    name="Checkpoint",
                    source=user_line((os.path.dirname(__file__),)),
                )
                node_attributes.put(self._maker, _RECOMPUTE, int(RecomputeType.Checkpoint), [output])
                node_attributes.put(self._maker, _EXCLUDED, ["PreUniRepl", "PostNRepl"], [output])
                found.append(output)
        return found

    def outputTensorLocation(self, *args: Any, **kwargs: Any) -> Any:
        """The memory of outputs."""
        values = [*args, *kwargs.values()]
        outputs = [each for each in values if isinstance(each, str)]
        places = [each for each in values if hasattr(each, "serialize")]
        if not places:
            raise WrongArguments("outputTensorLocation", "it takes a TensorLocation.")
        serialised = [int(each) for each in places[0].serialize()]
        if not outputs:
            return self._maker.attribute(_LOCATION, serialised)
        self._put(_LOCATION, "outputTensorLocation", outputs[0], serialised)
        return None

    def schedulePriority(self, value: float) -> AbstractContextManager[None]:
        """How early nodes added inside are run."""
        return self._maker.attribute(_PRIORITY, float(value))

    def commGroup(self, type: int = 0, groupSize: int = 0) -> AbstractContextManager[None]:
        """The replicas that collectives added inside go over."""
        return self._maker.attribute(_GROUP, [int(type), int(groupSize)])

    def outlineAttributes(self, values: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Notes by which nodes are told apart when repeated parts are looked for."""
        flat = [str(part) for pair in values.items() for part in pair]
        return self._maker.attribute(_OUTLINE, flat)

    @contextlib.contextmanager
    def nameScope(self, name: str) -> Iterator[None]:
        """Prefix the names of operators that are added inside."""
        self._maker.names.scopes.append(name)
        try:
            yield
        finally:
            self._maker.names.scopes.pop()

    def getNameScope(self, name: str = "") -> str:
        """`name` inside the scopes in force."""
        return "/".join([*self._maker.names.scopes, name])

    def excludePatterns(self, nodeOutputName: Any, patternNames: Sequence[str]) -> None:
        """Rewrites that a node is left out of."""
        self._put(_EXCLUDED, "excludePatterns", nodeOutputName, list(patternNames))

    def setInplacePreferences(self, nodeOutputName: Any, prefs: Mapping[str, float]) -> None:
        """Set the priorities of the in-place forms of an operator."""
        self._put("__inplace_op_names", "setInplacePreferences", nodeOutputName, list(prefs))
        self._put(
            "__inplace_op_priorities",
            "setInplacePreferences",
            nodeOutputName,
            [float(each) for each in prefs.values()],
        )

    def hasVirtualGraph(self) -> bool:
        """Whether nodes added now get an IPU."""
        return self._maker.in_force(_IPU) is not None

    def getVirtualGraph(self, nodeOutputNames: Any = None) -> int:
        """The IPU of a node, or that of nodes added now."""
        return self._placed(_IPU, "getVirtualGraph", nodeOutputNames)

    def hasPipelineStage(self) -> bool:
        """Whether nodes added now get a pipeline stage."""
        return self._maker.in_force(_STAGE) is not None

    def getPipelineStage(self) -> int:
        """The pipeline stage of nodes added now."""
        return self._placed(_STAGE, "getPipelineStage", None)

    def hasExecutionPhase(self) -> bool:
        """Whether nodes added now get a phase."""
        return self._maker.in_force(_PHASE) is not None

    def getExecutionPhase(self) -> int:
        """The phase of nodes added now."""
        return self._placed(_PHASE, "getExecutionPhase", None)

    def _placed(self, name: str, method: str, outputs: Any) -> int:
        with popart_errors():
            if outputs is not None:
                names = outputs_of(method, outputs)
                return int(node_attributes.read(self._maker, "integer", name, names))
            value = self._maker.in_force(name)
            if value is None:
                raise Error(f"{_WORDS[name]} not set in current scope")
            return int(value)

    def setPartialsType(self, nodeOutputName: str, partialsType: str) -> None:
        """The type of intermediate sums of a convolution or product."""
        self._only("setPartialsType", nodeOutputName, ("Conv", "MatMul"), "operators: Conv, MatMul")
        self._put("__partials_type", "setPartialsType", nodeOutputName, partialsType)

    def getPartialsType(self, nodeOutputName: str) -> str:
        """The type of intermediate sums of a convolution or product."""
        with popart_errors():
            if not node_attributes.has(self._maker, "__partials_type", [nodeOutputName]):
                return "FLOAT"
            return str(node_attributes.read(self._maker, "string", "__partials_type", [nodeOutputName]))

    def setAvailableMemoryProportion(self, nodeOutputName: Any, availableMemoryProportion: float) -> None:
        """The share of memory that a plan may take."""
        with popart_errors():
            if not 0 < availableMemoryProportion <= 1:
                raise Error("availableMemoryProportion must be in (0,1]")
        value = float(availableMemoryProportion)
        self._put("__available_memory", "setAvailableMemoryProportion", nodeOutputName, value, replace=True)

    def setEnableConvDithering(self, nodeOutputName: str, enableConvDithering: int) -> None:
        """Whether a convolution starts on another tile."""
        with popart_errors():
            if enableConvDithering not in (0, 1):
                raise Error("enableConvDithering must be a bool value")
        self._only("setEnableConvDithering", nodeOutputName, ("Conv",), "convolutions")
        self._put(
            "__enable_conv_dithering", "setEnableConvDithering", nodeOutputName, int(enableConvDithering)
        )

    def _only(self, method: str, output: str, kinds: Sequence[str], words: str) -> None:
        with popart_errors():
            kind = self._maker.node_of([output]).op_type
            if kind not in kinds:
                raise Error(f"Builder::{method} should only be called on {words} but was given: {kind}")

    def setSerializeMatMul(
        self, nodeOutputName: Any, mode: str, factor: int = 0, keep_precision: bool = False
    ) -> None:
        """Have a product computed in pieces."""
        names = outputs_of("setSerializeMatMul", nodeOutputName)
        with popart_errors():
            kind = self._maker.node_of(names).op_type
            if kind != "MatMul":
                raise Error(
                    f"Builder::setSerializeMatMul should only be called on MatMul but was given: {kind}"
                )
            if mode not in _SERIAL_MODES:
                raise Error(
                    f"Unsupported mat mul serialization mode '{mode}'. Supported modes are {', '.join(_SERIAL_MODES)}"
                )
        if mode == "none":
            return
        self._put("__serialize_matmul_mode", "setSerializeMatMul", names, mode)
        self._put("__serialize_matmul_factor", "setSerializeMatMul", names, int(factor))
        self._put("__serialize_matmul_precision", "setSerializeMatMul", names, int(keep_precision))
