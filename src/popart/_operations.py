"""The available operators."""

from __future__ import annotations

from dataclasses import dataclass, field

from tremula.frontends.onnx.build.signatures import signatures
from tremula.frontends.onnx.ops.table import find, known_operators

from ._enums import DataType
from ._exceptions import popart_exception
from ._identifiers import OperatorIdentifier

_OPSETS = range(6, 12)
_GRAPHCORE = "ai.graphcore"


@dataclass(frozen=True)
class OpInput:
    """An input or output of an operator, and the types that it may have."""

    name: str
    supportedTensors: list[DataType] = field(default_factory=list)


@dataclass(frozen=True)
class OpAttribute:
    """An attribute of an operator."""

    supportedValuesRegex: list[str] = field(default_factory=lambda: ["*"])


@dataclass(frozen=True)
class OpDefinition:
    """An operator."""

    inputs: list[OpInput]
    outputs: list[OpInput]
    attributes: dict[str, OpAttribute]


def getSupportedOperations(includeInternal: bool = False) -> list[OperatorIdentifier]:
    """The operators that graphs may have; internal ones are those that no builder adds."""
    return list(_supported(includeInternal))


def getSupportedOperationsDefinition(
    includeInternal: bool = False,
) -> dict[OperatorIdentifier, OpDefinition]:
    """The operators that graphs may have, with their inputs, outputs and attributes."""
    return {each: _definition(each) for each in _supported(includeInternal)}


def getUnsupportedOperations(opsetVersion: int) -> list[OperatorIdentifier]:
    """The operators of a version of ONNX that builders add and graphs may not have."""
    if opsetVersion not in _OPSETS:
        raise popart_exception(f"there is no builder for opset {opsetVersion}; the opsets are 6 to 11.")
    kinds = sorted({each.type for each in signatures("ai.onnx", opsetVersion).values()})
    return [
        OperatorIdentifier("ai.onnx", kind, opsetVersion)
        for kind in kinds
        if find("ai.onnx", kind, opsetVersion) is None
    ]


def _supported(internal: bool) -> list[OperatorIdentifier]:
    offered = {("ai.onnx", each.type) for opset in _OPSETS for each in signatures("ai.onnx", opset).values()}
    offered |= {(_GRAPHCORE, each.type) for each in signatures(_GRAPHCORE, 1).values()}
    return [
        OperatorIdentifier(domain, kind, version)
        for domain, kind, versions in known_operators()
        for version in versions
        if internal or ((domain, kind) in offered and version <= _OPSETS[-1])
    ]


def _definition(operator: OperatorIdentifier) -> OpDefinition:
    if operator.domain == "ai.onnx":
        import onnx

        try:
            schema = onnx.defs.get_schema(operator.type, operator.version)
        except onnx.defs.SchemaError:
            return OpDefinition([], [], {})
        return OpDefinition(
            [OpInput(each.name, _types(each.types)) for each in schema.inputs],
            [OpInput(each.name, _types(each.types)) for each in schema.outputs],
            {name: OpAttribute() for name in schema.attributes},
        )
    for each in signatures(operator.domain, operator.version).values():
        if each.type == operator.type:
            inputs = [OpInput(f"input{place}") for place in range(each.most_inputs or each.fewest_inputs)]
            outputs = [OpInput(f"output{place}") for place in range(each.outputs or 1)]
            return OpDefinition(
                inputs, outputs, {parameter.name: OpAttribute() for parameter in each.parameters}
            )
    return OpDefinition([], [], {})


def _types(names: set[str]) -> list[DataType]:
    """The types among ONNX's names of them that the device has."""
    found = []
    for name in sorted(names):
        kind = name.removeprefix("tensor(").removesuffix(")").upper()
        if kind in DataType.__members__:
            found.append(DataType[kind])
    return found


__all__ = [
    "OpDefinition",
    "getSupportedOperations",
    "getSupportedOperationsDefinition",
    "getUnsupportedOperations",
]
