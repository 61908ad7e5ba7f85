"""Adds the operators of the table to a graph: what a call of a method means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tremula import log
from tremula.errors import Error
from tremula.frontends.onnx.build import checks
from tremula.frontends.onnx.build.arguments import Bound
from tremula.frontends.onnx.build.graph import GraphMaker
from tremula.frontends.onnx.build.signatures import Signature
from tremula.frontends.onnx.dtypes import named_type
from tremula.frontends.onnx.model import STANDARD
from tremula.program.op import SourceLine

_LOG = log.layer("popart:builder")
#: what sets operators apart whose message is not what their arguments say: attributes in, attributes out
Rewrite = Callable[[GraphMaker, Bound], Mapping[str, Any]]


def add(
    maker: GraphMaker, signature: Signature, opset: int, bound: Bound, name: str, source: SourceLine | None
) -> list[str]:
    """Add one operator; the names of its outputs."""
    attributes = dict(bound.attributes)
    attributes.update(_REWRITES.get((signature.domain, signature.type), _unchanged)(maker, bound))
    attributes = {key: value for key, value in attributes.items() if value is not None}
    _LOG.debug("Adding %s.%s of opset %d", signature.domain, signature.type, opset)
    signature.check_outputs(bound.outputs or 0)
    signature.check_arity(len(bound.inputs))
    checks.check(maker, signature, bound.inputs, attributes)
    return maker.add_node(
        signature.domain,
        opset,
        signature.type,
        bound.inputs,
        bound.outputs or 0,
        attributes,
        name=name,
        source=source,
        optional_from=2 if signature.type == "Resize" else signature.fewest_inputs,
    )


def _unchanged(_maker: GraphMaker, _bound: Bound) -> Mapping[str, Any]:
    return {}


def _cast(_maker: GraphMaker, bound: Bound) -> Mapping[str, Any]:
    return {"to": named_type(bound.attributes["to"]).number}


def _shape_filled(_maker: GraphMaker, bound: Bound) -> Mapping[str, Any]:
    return {"value": bound.attributes["value"].reshape(-1)}


def _constant(_maker: GraphMaker, bound: Bound) -> Mapping[str, Any]:
    if bound.attributes.get("is_value_sparse"):
        raise Error("Attributes of type `sparse_tensor' are currently not supported.")
    return {"is_value_sparse": None}


def _ctc(_maker: GraphMaker, bound: Bound) -> Mapping[str, Any]:
    kind = bound.attributes["outDataType"]
    return {"outDataType": 0 if kind == "UNDEFINED" else named_type(kind).number}


def _call(_maker: GraphMaker, bound: Bound) -> Mapping[str, Any]:
    graph = bound.attributes["callee"].graph
    for what, given, own in (
        ("input", len(bound.inputs), len(graph.input)),
        ("output", bound.outputs, len(graph.output)),
    ):
        if given != own:
            raise Error(
                f"For CallOp '{bound.name}', number of {what}s ({given}) does not match that of the callee "
                f"subgraph ({own})"
            )
    return {"num_outputs": bound.outputs}


def _copy(maker: GraphMaker, bound: Bound) -> Mapping[str, Any]:
    if len(bound.inputs) != 2:
        raise Error("copyvarupdate should have two args.")
    if not maker.is_initializer(bound.inputs[0]):
        raise Error("The first arg of copyvarupdate should be an initialised tensor.")
    return {}


def _collective(_maker: GraphMaker, bound: Bound) -> Mapping[str, Any]:
    operator, group = bound.attributes.get("collectiveOperator"), bound.attributes.get("commGroup")
    return {
        "collectiveOperator": None,
        "commGroup": None,
        "__collectiveOperator": None if operator is None else int(operator.value),
        "__collectiveCommGroup": None if group is None else [int(each) for each in group],
    }


def _scattered(_maker: GraphMaker, bound: Bound) -> Mapping[str, Any]:
    name = bound.attributes["reduction"]
    return {"reduction": "none" if name == "NoReduction" else str(name).lower()}


_GRAPHCORE = "ai.graphcore"
_REWRITES: dict[tuple[str, str], Rewrite] = {
    (STANDARD, "Cast"): _cast,
    (STANDARD, "Constant"): _constant,
    (STANDARD, "ConstantOfShape"): _shape_filled,
    (_GRAPHCORE, "Call"): _call,
    (_GRAPHCORE, "CopyVarUpdate"): _copy,
    (_GRAPHCORE, "Ctc"): _ctc,
    (_GRAPHCORE, "ScatterReduce"): _scattered,
    (_GRAPHCORE, "ReplicatedAllReduce"): _collective,
    (_GRAPHCORE, "ReplicatedReduceScatter"): _collective,
}
