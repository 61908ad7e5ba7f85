"""The ops of weight updates: reduction over replicas, accumulation, clipping, and the optimizer's own."""

from __future__ import annotations

from tremula.frontends.onnx.ir.gradients import GRADIENT
from tremula.frontends.onnx.ir.listing import Listing
from tremula.frontends.torch.optimize.device_ops import update_ops
from tremula.frontends.torch.optimize.spec import ClipGroup, Kind, OptimizerSpec

#: prefixes of tensors that an op of an update makes beside the weight
_ACCUMULATOR = "Accum___"
_COMBINED = ("Accl___", "AcclIntoReduce___", "AcclIntoUpdate___", "AcclOutOfAcclUpdate___")


def updates(listing: Listing, spec: OptimizerSpec, *, accumulates: bool, replicas: int) -> None:
    """Append the updates of all weights."""
    names = [name for name, _group in spec.parameters()]
    gradients = {
        name: _reduced(listing, spec, name, accumulates=accumulates, replicas=replicas) for name in names
    }
    for group in spec.clip_groups:
        _clip(listing, group, gradients)
    counts: dict[str, int] = {}
    for kind, name in update_ops(spec):
        counts[name] = counts.get(name, 0) + 1
        state = _state(spec, kind, name, counts[name])
        if kind.endswith("VarUpdate"):
            listing.add(kind, [name, gradients[name], *state], [f"UpdatedVar___{name}"], like=name)
        else:
            made = _made(spec, kind, name, state, counts[name])
            listing.add(kind, [*state, gradients[name]], made, like=name)


def _reduced(listing: Listing, spec: OptimizerSpec, name: str, *, accumulates: bool, replicas: int) -> str:
    gradient = GRADIENT + name
    if accumulates:
        made = f"{_ACCUMULATOR}{name}"
        listing.add("Accumulate", [made, gradient], [f"UpdatedVar___{made}"], like=name)
        gradient = f"UpdatedVar___{made}"
    if replicas > 1:
        reduced = f"FinalReducedGradient___{name}"
        kind = "ReplicatedAllReduceInplace" if spec.kind is Kind.SGD else "ReplicatedAllReduce"
        listing.add(kind, [gradient], [reduced], like=name)
        gradient = reduced
    return gradient


def _clip(listing: Listing, group: ClipGroup, gradients: dict[str, str]) -> None:
    names = [name for name in gradients if group.parameters is None or name in group.parameters]
    norms = []
    for name in names:
        norms.append(f"{gradients[name]}_squared")
        listing.add("ReduceSumSquare", [gradients[name]], [norms[-1]])
    total = f"GlobalNorm___{names[0]}" if names else ""
    if names:
        listing.add("Sum", norms, [total])
        listing.add("Sqrt", [total], [f"{total}_root"])
    for name in names:
        clipped = f"{gradients[name]}_clipped"
        listing.add("ClipByNorm", [gradients[name], f"{total}_root"], [clipped], like=name)
        gradients[name] = clipped


def _state(spec: OptimizerSpec, kind: str, name: str, count: int) -> list[str]:
    """The tensors of the optimizer that an op reads."""
    if spec.kind is Kind.SGD:
        if kind == "SGD0VarUpdate":
            return []
        if not spec.use_combined_accum:
            return [f"Accl1___{name}"]
        return [f"{_COMBINED[2]}{name}"] if kind != "Accumulate" else [f"{_COMBINED[0]}{name}"]
    if kind == "Accumulate":
        return [f"Accl{min(count, 2)}___{name}"]
    if kind in ("AdamVarUpdate", "ScaledVarUpdate"):
        return [f"AdamUpdater___{name}"]
    return [f"Accl1___{name}", f"Accl2___{name}"]


def _made(spec: OptimizerSpec, kind: str, name: str, state: list[str], count: int) -> list[str]:
    if spec.kind is Kind.SGD and spec.use_combined_accum:
        return [f"{_COMBINED[2]}{name}"] if kind == "Accumulate" else [f"{_COMBINED[3]}{name}"]
    if kind.endswith("Updater"):
        return [f"AdamUpdater___{name}"]
    if kind == "LambSquare":
        return [f"LambR{1 if count % 2 == 0 else 2}Sq___{name}"]
    return [f"UpdatedVar___{state[0]}"]
