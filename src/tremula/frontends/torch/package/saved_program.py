"""The compiled form of a model in one file: the program with all that a session needs to run it again.

Besides the graphs that is the optimizer as it was compiled, the nesting of the results, the stages that
the placement rule saw, and the settings that are built into the graphs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from tremula import checked_json
from tremula.execute.settings import ReplicaGrouping
from tremula.frontends.torch.graphs.program import TorchProgram
from tremula.frontends.torch.optimize.spec import (
    GroupSpec,
    HyperValue,
    Kind,
    LossScaleSettings,
    OptimizerSpec,
)
from tremula.frontends.torch.package.container import BadData
from tremula.frontends.torch.package.graph_reading import decode_program
from tremula.frontends.torch.package.graph_writing import encode_program
from tremula.frontends.torch.package.plain_data import (
    Fields,
    Tags,
    decode,
    dtype_name,
    encode,
    read_dtype,
    read_shape,
)
from tremula.frontends.torch.structure import flattenTensorStructure
from tremula.program.op import Placement


@dataclass(frozen=True)
class SavedStages:
    """What a placement rule saw, as plain values."""

    mode: int
    forward_stages: int
    ipus_used: tuple[int, ...]
    blocks: tuple[Placement, ...]
    phases: int
    phase_groups: int


@dataclass(frozen=True)
class SavedProgram:
    """A program that was read from a file."""

    program: TorchProgram
    result: Any  #: what forward returned, with fake tensors in it
    computed: tuple[bool, ...]
    spec: OptimizerSpec | None
    stages: SavedStages | None
    running_mean: bool
    groupings: Mapping[str, ReplicaGrouping]


def encode_saved(saved: SavedProgram, tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
    """The compiled form as JSON data; tensors that it holds are added to `tensors`.

    Raises NotData if it cannot leave this process.
    """
    stages = saved.stages
    return {
        "program": encode_program(saved.program, tensors),
        "result": encode_structure(saved.result, tensors, "result"),
        "computed": list(saved.computed),
        "spec": None if saved.spec is None else _encode_spec(saved.spec),
        "stages": None
        if stages is None
        else {
            **vars(stages),
            "ipus_used": list(stages.ipus_used),
            "blocks": [[b.ipu, b.stage, b.phase, b.block] for b in stages.blocks],
        },
        "running_mean": saved.running_mean,
        "groupings": {name: [g.groups, g.consecutive] for name, g in saved.groupings.items()},
    }


def decode_saved(data: Any, tensors: Mapping[str, torch.Tensor]) -> SavedProgram:
    """What `encode_saved` was given; raises BadData if the data is not that of a sound program."""
    fields = Fields(data, "its compiled form")
    computed = fields.take("computed", list)
    groupings = fields.take("groupings", dict)
    if not all(type(flag) is bool for flag in computed):
        raise BadData("its results are malformed")
    for pair in groupings.values():
        if not isinstance(pair, list) or [type(item) for item in pair] != [int, bool] or pair[0] < 1:
            raise BadData("its replica groups are malformed")
    saved = SavedProgram(
        program=decode_program(fields.take("program"), tensors),
        result=decode_structure(fields.take("result"), tensors),
        computed=tuple(computed),
        spec=_decode_spec(fields.take("spec")),
        stages=_decode_stages(fields.take("stages")),
        running_mean=fields.take("running_mean", bool),
        groupings={name: ReplicaGrouping(*pair) for name, pair in groupings.items()},
    )
    fields.done()
    if saved.program.training != (saved.spec is not None):
        raise BadData("it has an optimizer without a training program, or the other way round")
    results = [isinstance(tensor, FakeTensor) for tensor in flattenTensorStructure(saved.result)]
    if results != computed or sum(results) != len(saved.program.interface.outputs):
        raise BadData("its results are not those of its program")
    return saved


def _decode_stages(data: Any) -> SavedStages | None:
    if data is None:
        return None
    fields = Fields(data, "its stages")
    numbers = {name: fields.take(name, int) for name in ("mode", "forward_stages", "phases", "phase_groups")}
    ipus = fields.take("ipus_used", list)
    blocks = fields.take("blocks", list)
    fields.done()
    if numbers["mode"] not in (0, 1, 2) or not all(type(ipu) is int and ipu >= 0 for ipu in ipus):
        raise BadData("its stages are malformed")
    for block in blocks:
        kinds = [type(item) for item in block] if isinstance(block, list) else []
        if kinds not in ([int, int, int, str], [int, int, int, type(None)]):
            raise BadData("its stages are malformed")
    return SavedStages(**numbers, ipus_used=tuple(ipus), blocks=tuple(Placement(*block) for block in blocks))


# -- nesting of inputs and results ---------------------------------------------------------------------------


def encode_structure(value: Any, tensors: dict[str, torch.Tensor] | None, label: str) -> Any:
    """Nested containers as JSON data; of tensors only shape and dtype.

    Real tensors in a result that otherwise holds fake ones are constants and go to `tensors`, under keys that begin
    with `label`. `tensors` is None for arguments, whose values do not matter.
    """

    def other(item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            if tensors is None or isinstance(item, FakeTensor):
                return {"like": [list(item.shape), dtype_name(item.dtype)]}
            key = f"{label}.{len(tensors)}"
            tensors[key] = item
            return {"tensor": key}
        if isinstance(item, tuple):
            kind = type(item)
            name = f"{kind.__module__}:{kind.__qualname__}"
            if _tuple_class(name) is kind:
                return {"named": [name, [encode(each, other, label) for each in item]]}
        return None

    return encode(value, other, label)


def decode_structure(data: Any, tensors: Mapping[str, torch.Tensor] | None) -> Any:
    """What `encode_structure` was given, with fake tensors for results and zeros for arguments."""
    mode = FakeTensorMode()

    def like(payload: Any) -> torch.Tensor:
        if not isinstance(payload, list) or len(payload) != 2:
            raise BadData("a tensor among its inputs or results is malformed")
        shape, dtype = read_shape(payload[0]), read_dtype(payload[1])
        if tensors is None:
            return torch.zeros((), dtype=dtype).expand(shape)
        with mode:
            return torch.empty(shape, dtype=dtype)

    def constant(payload: Any) -> torch.Tensor:
        if tensors is None or not isinstance(payload, str) or payload not in tensors:
            raise BadData("a constant among its results is missing")
        return tensors[payload]

    def named(payload: Any) -> Any:
        if not isinstance(payload, list) or len(payload) != 2 or not isinstance(payload[1], list):
            raise BadData("a named tuple among its inputs or results is malformed")
        kind = _tuple_class(payload[0])
        if kind is None:
            raise BadData(
                f"its inputs or results use the tuple class {str(payload[0])[:100]!r}, which is not imported "
                "here: import the module that defines it first"
            )
        return (
            kind(decode(item, tags) for item in payload[1])
            if kind.__module__ == "torch.return_types"
            else (tuple.__new__(kind, [decode(item, tags) for item in payload[1]]))
        )

    tags: Tags = {"like": like, "tensor": constant, "named": named}
    return decode(data, tags)


def _tuple_class(name: Any) -> Any:
    """A named-tuple class that is already imported in this process, or None."""
    if not isinstance(name, str):
        return None
    module, _, path = name.partition(":")
    found: Any = torch.return_types if module == "torch.return_types" else sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if found is not None and hasattr(found, "__dict__") else None
    is_tuple = isinstance(found, type) and issubclass(found, tuple)
    return found if is_tuple and (hasattr(found, "_fields") or module == "torch.return_types") else None


# -- optimizers ----------------------------------------------------------------------------------------------

_DTYPES = ("accum_type", "first_order_type", "second_order_type")
_FLAGS = ("use_tf_variant", "centered", "bias_correction", "use_combined_accum")


def _encode_spec(spec: OptimizerSpec) -> dict[str, Any]:
    scaling = spec.automatic_loss_scaling
    return {
        "kind": spec.kind.value,
        "groups": [
            {
                "parameters": list(group.parameters),
                "values": {key: _encode_hyper(value) for key, value in group.values.items()},
            }
            for group in spec.groups
        ],
        **{name: dtype_name(getattr(spec, name)) for name in _DTYPES},
        **{name: getattr(spec, name) for name in _FLAGS},
        "loss_scaling": _encode_hyper(spec.loss_scaling),
        "max_grad_norm": encode(float(spec.max_grad_norm)),
        "automatic_loss_scaling": None if scaling is None else encode(dict(vars(scaling))),
    }


def _encode_hyper(value: HyperValue) -> list[Any]:
    return [encode(float(value.value)), value.constant]


def _decode_hyper(data: Any) -> HyperValue:
    if not isinstance(data, list) or len(data) != 2 or type(data[1]) is not bool:
        raise BadData("a value of its optimizer is malformed")
    value = decode(data[0])
    if type(value) is not float:
        raise BadData("a value of its optimizer is malformed")
    return HyperValue(value, data[1])


def _decode_spec(data: Any) -> OptimizerSpec | None:
    if data is None:
        return None
    fields = Fields(data, "its optimizer")
    kinds = {kind.value: kind for kind in Kind}
    kind = kinds.get(fields.take("kind", str))
    if kind is None:
        raise BadData("its optimizer is of an unknown kind")
    groups = []
    for item in fields.take("groups", list):
        group = Fields(item, "a group of its optimizer")
        values = {key: _decode_hyper(value) for key, value in group.take("values", dict).items()}
        groups.append(GroupSpec(group.strings("parameters"), values))
        group.done()
    scaling = decode(fields.take("automatic_loss_scaling"))
    max_grad_norm = decode(fields.take("max_grad_norm"))
    if type(max_grad_norm) is not float:
        raise BadData("its optimizer is malformed")
    spec = OptimizerSpec(
        kind=kind,
        groups=tuple(groups),
        loss_scaling=_decode_hyper(fields.take("loss_scaling")),
        max_grad_norm=max_grad_norm,
        automatic_loss_scaling=None if scaling is None else checked_json.decode(LossScaleSettings, scaling),
    )
    dtypes = {name: read_dtype(fields.take(name, str)) for name in _DTYPES}
    flags = {name: fields.take(name, bool) for name in _FLAGS}
    fields.done()
    return replace(spec, **dtypes, **flags)  # type: ignore[arg-type]
