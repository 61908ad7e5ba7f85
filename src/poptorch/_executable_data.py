"""Options and optimizers as data in the file of a compiled model. Names in a file can only mean members of PopTorch's
enumerations, its strategies, and the optimizers that the device has.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, cast

import torch

from tremula.errors import Error
from tremula.frontends.torch.package.container import BadData
from tremula.frontends.torch.package.plain_data import Fields, NotData, decode, encode
from tremula.settings import engine_options, popart_options

from . import _strategies, enums, optim
from ._logging import logger
from ._options_text import _ENUMS
from .options import Options

_GROUPS = ("Jit", "Precision", "Training", "Distributed", "TensorLocations")
#: options that exist only once they are set
_OPTIONAL = {"ipu_id": int, "ipu_version": int, "use_model": bool, "random_seed": int, "model_name": str}
#: options that name files or folders: whoever loads a file sets them
_NOT_FROM_FILES = ("log_dir", "model_name")
_SWITCHES = ("_relax_optimizer_checks", "_show_compilation_progress_bar", "_module_namescope_enabled")
_OPTIMIZERS = {
    f"{kind.__module__.rpartition('.')[0] or kind.__module__}.{kind.__name__}": kind
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop)
} | {
    f"poptorch.{kind.__name__}": kind
    for kind in (optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.LAMB)
}


def encode_value(value: Any, where: str = "an option") -> Any:
    """A value of an option as data."""

    def other(item: Any) -> Any:
        if isinstance(item, enum.Enum) and _ENUMS.get(type(item).__name__) is type(item):
            return {"enum": [type(item).__name__, item.name]}
        if isinstance(item, torch.Tensor) and item.numel() == 1 and item.dim() == 0:
            return {"number": [encode(item.item()), encode(item.dtype)]}
        return None

    return encode(value, other, where)


def decode_value(data: Any) -> Any:
    """What `encode_value` was given."""
    return decode(data, {"enum": _read_enum, "number": _read_number})


def _decode_named(data: Any, what: str = "its optimizer is") -> dict[str, Any]:
    """Values by name; `what` begins the refusal of anything else."""
    values = decode_value(data)
    if not isinstance(values, dict) or not all(type(name) is str for name in values):
        raise BadData(f"{what} malformed")
    return values


def _read_enum(payload: Any) -> Any:
    if not isinstance(payload, list) or [type(item) for item in payload] != [str, str]:
        raise BadData("one of its options is malformed")
    kind, name = payload
    member = _ENUMS[kind].__members__.get(name) if kind in _ENUMS else None
    if member is None:
        raise BadData(f"one of its options has the unknown value {kind[:40]}.{name[:40]}")
    return member


def _read_number(payload: Any) -> torch.Tensor:
    if not isinstance(payload, list) or len(payload) != 2:
        raise BadData("one of its numbers is malformed")
    value, dtype = decode(payload[0]), decode(payload[1])
    if not isinstance(value, bool | int | float) or not isinstance(dtype, torch.dtype):
        raise BadData("one of its numbers is malformed")
    return torch.tensor(value, dtype=dtype)


def encode_options(options: Options) -> dict[str, Any]:
    """The options that a file may hold as data: none that names a file, a folder or a program."""
    return {
        "values": {
            name: encode_value(value, name)
            for name, value in options._values.items()
            if name not in _NOT_FROM_FILES
        },
        **{group: encode_value(dict(getattr(options, group)._values), group) for group in _GROUPS},
        "popart": encode_value(_without_places(options._Popart.options)[0], "_Popart"),
        "strategy": _encode_strategy(options._execution_strategy),
        "source_location_excludes": list(options._source_location_excludes),
        "switches": {name: bool(getattr(options, name)) for name in _SWITCHES},
    }


def decode_options(data: Any) -> Options:
    """Options that are not frozen, as `encode_options` was given them.

    Those that name files, folders or programs keep the values that new options have in this process.
    """
    fields = Fields(data, "the options")
    options = Options()
    values = {name: decode_value(item) for name, item in fields.take("values", dict).items()}
    for name, value in values.items():
        if name in _OPTIONAL and type(value) is not _OPTIONAL[name]:
            raise BadData(f"the option {name} is a {type(value).__name__}")
        if name not in _OPTIONAL and name not in options._values:
            raise BadData(f"there is no option {name[:80]!r}")
    left_out = sorted(
        name for name in _NOT_FROM_FILES if name in values and values.pop(name) != options._values.get(name)
    )
    for name in _OPTIONAL.keys() - set(_NOT_FROM_FILES):
        options.deleteIfExists(name)
    _set(options, values)
    for group in _GROUPS:
        given = _decode_named(fields.take(group), f"the options of {group} are")
        owner = getattr(options, group)
        if group != "TensorLocations" and not given.keys() <= owner._values.keys():
            raise BadData(f"there is an unknown option in {group}")
        _set(owner, given)
    given, dropped = _without_places(
        _decode_named(fields.take("popart"), "the options of the layer below are")
    )
    try:
        popart_options.validate(given)
    except Error as problem:
        raise BadData(f"one of its options is wrong ({problem.message})") from problem
    own = options._Popart.options
    kept = {name: value for name, value in own.items() if not popart_options.may_come_from_file(name)}
    options._Popart.options = {**kept, **given}
    if left_out or dropped:
        logger.warning(
            "The file of the model sets %s. Options that name files, folders or programs are not loaded from a file. "
            "Set them with edit_opts_fn of poptorch.load().",
            ", ".join([*left_out, *dropped]),
        )
    options.setExecutionStrategy(_decode_strategy(fields.take("strategy")))
    # compared with the names of source files, never opened
    options._source_location_excludes = list(fields.strings("source_location_excludes"))
    switches = Fields(fields.take("switches"), "the options")
    for name in _SWITCHES:
        setattr(options, name, switches.take(name, bool))
    switches.done()
    fields.done()
    return options


def _without_places(settings: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Options of the layers below that a file may hold, and the names of the others."""
    kept = {name: value for name, value in settings.items() if popart_options.may_come_from_file(name)}
    dropped = sorted(settings.keys() - kept.keys())
    engine = kept.get("engineOptions")
    if isinstance(engine, Mapping):
        kept["engineOptions"] = {
            name: value for name, value in engine.items() if engine_options.may_come_from_file(name)
        }
        dropped += sorted(str(name) for name in engine.keys() - kept["engineOptions"].keys())
    return kept, dropped


def _set(owner: Any, values: Mapping[str, Any]) -> None:
    try:
        owner.createOrSet(**values)
    except AssertionError as problem:
        raise BadData(str(problem)) from problem


def _encode_strategy(strategy: _strategies._IExecutionStrategy) -> dict[str, Any]:
    kind = type(strategy)
    if kind.__module__ != _strategies.__name__:
        raise NotData("the execution strategy", strategy)
    data: dict[str, Any] = {"class": kind.__name__}
    if isinstance(strategy, _strategies._IPhasedExecution):
        data["phases"] = [[_encode_stage(stage) for stage in phase.stages] for phase in strategy._phases]
        data["liveness"] = encode_value(strategy._tensors_liveness)
        data["separate_backward_phase"] = strategy._separate_backward_phase
    elif isinstance(strategy, _strategies.PipelinedExecution):
        stages = {id(stage): stage for stage in strategy._block_map.values()}
        data["auto_stage"] = encode_value(strategy._auto_stage)
        data["stages"] = [
            _encode_stage(stage) for stage in sorted(stages.values(), key=lambda s: s._stage_id)
        ]
    return data


def _encode_stage(stage: _strategies.Stage) -> list[Any]:
    return [list(stage.blocks), stage._ipu]


def _decode_strategy(data: Any) -> _strategies._IExecutionStrategy:
    fields = Fields(data, "the execution strategy")
    name = fields.take("class", str)
    try:
        if name in ("PipelinedExecution", "ShardedExecution"):
            stages = [_decode_stage(item) for item in fields.take("stages", list)]
            auto_stage = decode_value(fields.take("auto_stage"))
            strategy: Any = getattr(_strategies, name)(*(stages or [auto_stage]))
        elif name in ("ParallelPhasedExecution", "SerialPhasedExecution"):
            phases = fields.take("phases", list)
            strategy = getattr(_strategies, name)(
                *(_strategies.Phase(*map(_decode_stage, _listed(phase))) for phase in phases)
            )
            strategy.useSeparateBackwardPhase(fields.take("separate_backward_phase", bool))
            strategy._tensors_liveness = enums.Liveness(decode_value(fields.take("liveness")))
        else:
            raise BadData(f"there is no execution strategy {name[:80]!r}")
    except (AssertionError, ValueError, TypeError) as problem:
        raise BadData(f"the execution strategy is malformed ({problem})") from problem
    fields.done()
    return cast(_strategies._IExecutionStrategy, strategy)


def _listed(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise BadData("the execution strategy is malformed")
    return data


def _decode_stage(data: Any) -> _strategies.Stage:
    pair = _listed(data)
    if len(pair) != 2 or type(pair[1]) not in (int, type(None)):
        raise BadData("a stage of the execution strategy is malformed")
    stage = _strategies.Stage(*_listed(pair[0]))
    return stage if pair[1] is None else stage.ipu(pair[1])


def encode_optimizer(
    optimizer: torch.optim.Optimizer, key_of: Mapping[int, str], tensors: dict[str, torch.Tensor]
) -> dict[str, Any]:
    """An optimizer as data; `key_of`: id of a parameter of the model -> its key, `tensors` receives the state."""
    kind: Any = next((k for k in type(optimizer).__mro__ if k in _OPTIMIZERS.values()), None)
    if kind is None:
        raise NotData("the optimizer", optimizer)
    own = isinstance(optimizer, optim.Optimizer)
    groups = []
    for group in optimizer.param_groups:
        values = {name: value for name, value in group.items() if name not in ("params", "param_names")}
        keys = [key_of[id(parameter)] for parameter in group["params"] if id(parameter) in key_of]
        groups.append({"params": keys, "values": encode_value(values, "a value of the optimizer")})
    data = {
        "class": next(name for name, known in _OPTIMIZERS.items() if known is kind),
        "groups": groups,
        "defaults": encode_value(dict(optimizer.defaults), "a value of the optimizer"),
    }
    if own:
        marks: Any = optimizer.variable_attrs  # type: ignore[attr-defined]
        data["own"] = encode_value({name: getattr(optimizer, name) for name in kind._own_attributes})
        data["marks"] = [list(marks._variable_attributes), list(marks._allowed_attributes)]
        held = optimizer.state_dict()
        for part in ("ipu_state", "ipu_param"):
            data[part] = None if held[part] is None else list(held[part])
            for name, tensor in (held[part] or {}).items():
                tensors[f"{part}/{name}"] = torch.as_tensor(tensor)
    return data


def decode_optimizer(
    data: Any, parameters: Mapping[str, torch.Tensor], tensors: Mapping[str, torch.Tensor]
) -> torch.optim.Optimizer:
    """The optimizer that `encode_optimizer` was given, for the restored `parameters`."""
    fields = Fields(data, "its optimizer")
    kind = _OPTIMIZERS.get(fields.take("class", str))
    if kind is None:
        raise BadData("its optimizer is of an unknown class")
    groups = [_decode_group(item, parameters) for item in fields.take("groups", list)]
    defaults = _decode_named(fields.take("defaults"))
    try:
        optimizer = kind(groups, lr=defaults.get("lr", 0.0))
    except (TypeError, ValueError, RuntimeError, AssertionError) as problem:
        raise BadData(f"its optimizer is malformed ({problem})") from problem
    optimizer.defaults = defaults
    if isinstance(optimizer, optim.Optimizer):
        _fill_own(optimizer, fields, tensors)
    fields.done()
    return optimizer


def _decode_group(data: Any, parameters: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    fields = Fields(data, "a group of its optimizer")
    keys = fields.strings("params")
    if not parameters.keys() >= set(keys):
        raise BadData("its optimizer has parameters that its model does not have")
    values = _decode_named(fields.take("values"))
    fields.done()
    return {**values, "params": [parameters[key] for key in keys]}


def _fill_own(optimizer: Any, fields: Fields, tensors: Mapping[str, torch.Tensor]) -> None:
    own = _decode_named(fields.take("own"))
    if own.keys() != set(optimizer._own_attributes):
        raise BadData("its optimizer is malformed")
    for name, value in own.items():
        setattr(optimizer, name, value)
    marks = fields.take("marks", list)
    if len(marks) != 2 or not all(
        isinstance(each, list) and all(type(n) is str for n in each) for each in marks
    ):
        raise BadData("its optimizer is malformed")
    optimizer.variable_attrs = optim.VariableAttributes(*marks)
    state: dict[str, Any] = {}
    for part in ("ipu_state", "ipu_param"):
        names = fields.take(part, list, type(None))
        if names is not None and not all(f"{part}/{name}" in tensors for name in names):
            raise BadData("the state of its optimizer is missing")
        state[part] = None if names is None else {name: tensors[f"{part}/{name}"] for name in names}
    if all(held is not None for held in state.values()):
        optimizer.set_state_dict(state)
