"""The ops that the device's runtime makes of an update: their type names, for dumps of the program."""

from __future__ import annotations

from tremula.frontends.torch.optimize.scalars import ADAPTIVE, has_velocity
from tremula.frontends.torch.optimize.spec import GroupSpec, Kind, OptimizerSpec


def update_ops(spec: OptimizerSpec) -> list[tuple[str, str]]:
    """(op type, parameter) for every op of the update, in the order in which a parameter is updated."""
    return [(op, name) for name, group in spec.parameters() for op in _ops_of(spec, group)]


def _ops_of(spec: OptimizerSpec, group: GroupSpec) -> list[str]:
    if spec.kind is Kind.SGD:
        if not has_velocity(group):
            return ["SGD0VarUpdate"]
        if spec.use_combined_accum:
            return ["Accumulate", "SGD1VarUpdate", "SGD1AcclUpdate"]
        # the runtime lists no op types of its own for the variant with separate tensors
        return ["SGD1AcclUpdate", "Accumulate", "SGD1VarUpdate"]
    if spec.kind is Kind.ADADELTA:
        return ["Accumulate", "AdaDeltaUpdater", "Accumulate", "ScaledVarUpdate"]
    if spec.kind in ADAPTIVE:
        averages = 2 if spec.centered else 1
        return [*["Accumulate"] * averages, "RMSPropUpdater", "ScaledVarUpdate"]
    moments = ["Accumulate", "Accumulate", "AdamUpdater"]
    norms = ["LambSquare", "LambSquare"] if spec.kind is Kind.LAMB else []
    return [*moments, *norms, "AdamVarUpdate"]
