"""Predictions for whole models: capture, estimate, and a metric read off the estimate.

Programs are captured once per recipe and flattened once per recipe and precision; what changes with replicas,
accumulation, chip or constants is the estimate alone. All models are written in torch; those of published TensorFlow
programs are written in Keras too (`front_end`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tremula.estimate.energy import power_watts
from tremula.estimate.estimate import Estimate, estimate
from tremula.frontends.torch.capture.stages import BlockRule
from tremula.frontends.torch.rules.program import program_of
from tremula.hardware.system import System
from tremula.plan.planner import Planner
from tremula.program.loops import Loops
from tremula.program.program import Program
from tremula.schedule.deployment import Deployment, Location

from .fidelity_cases import Case
from .fidelity_fp8 import narrowed
from .fidelity_plans import SharingPlanner
from .fidelity_transfers import system_of
from .models.capturing import Recipe, captured

if TYPE_CHECKING:
    from .fidelity_evaluate import Evaluator

_LOCATIONS = {
    "on_chip": Location(),
    "off_chip": Location(on_chip=False),
    "sharded": Location(sharded=True),
    "off_chip_sharded": Location(on_chip=False, sharded=True),
}


#: bytes per cycle at which weights are loaded with `use128BitConvUnitLoad`
WIDE_LOAD_BYTES = 16


@dataclass(frozen=True)
class Setting:
    """What a case says, with defaults filled in."""

    recipe: Recipe
    deployment: Deployment
    loops: Loops
    fp8: bool
    front_end: str = "torch"


def predict_model(case: Case, evaluator: Evaluator, front_end: str = "torch") -> float:
    """The metric of a case of a whole model, in base units."""
    if case.kind == "scaling":
        return _scaling(case, evaluator, front_end)
    if case.metric == "max_batch_fit":
        return _largest_batch(case, evaluator, front_end)
    found = model_estimate(case, evaluator, front_end)
    items = case.parameters.get("items_per_sample", 1.0)
    return _metric(case.metric, found, items, case.parameters.get("calls_in_flight", 1))


def _period(found: Estimate, calls_in_flight: int) -> float:
    """Time from call to call: with several under way, that of the device or the link, or a share of the call's."""
    call = found.time.call
    steady = max(call.device_seconds + call.exposed_stream_seconds, call.link_seconds)
    return max(found.loops.device_iterations * steady, found.seconds_per_call / calls_in_flight)


def _metric(metric: str, found: Estimate, items: float, calls_in_flight: int) -> float:
    call = _period(found, calls_in_flight)
    updates = found.loops.device_iterations
    if metric == "throughput":
        per_call = found.samples * found.micro_batches_per_step * updates * found.loops.replicas
        return items * per_call / call
    if metric == "time_per_update":
        return call / updates
    if metric in ("time_per_call", "time"):
        return call
    if metric == "calls_per_second":
        return 1.0 / call
    if metric == "updates_per_second":
        return updates / call
    if metric == "cycles":
        return found.device_cycles_per_step
    if metric == "tile_bytes_max":
        return float(found.memory.max_tile_bytes)
    if metric == "fits":
        return float(found.memory.fits)
    return _power(metric, found, call / updates)


def _power(metric: str, found: Estimate, update_seconds: float) -> float:
    power = power_watts(found, update_seconds)
    if power is None:
        raise ValueError(f"the power of {found.system.machine.name} is not in its file")
    return power if metric == "power" else power * update_seconds


def _scaling(case: Case, evaluator: Evaluator, front_end: str) -> float:
    """Throughput over that of the base; the base differs in what its table says.

    Where the figure is of a run of `base.seconds` of which `base.fixed_seconds` pass on the host whatever the
    number of IPUs, these do not shrink.
    """
    given = {name: value for name, value in case.parameters.items() if name != "base"}
    base = dict(case.parameters.get("base", {}))
    seconds, fixed = base.pop("seconds", 1.0), base.pop("fixed_seconds", 0.0)
    smaller = replace(case, system=base.pop("system", case.system), parameters={**given, **base})
    larger = model_estimate(replace(case, parameters=given), evaluator, front_end)
    faster = larger.throughput / model_estimate(smaller, evaluator, front_end).throughput
    return float(seconds / ((seconds - fixed) / faster + fixed))


def _largest_batch(case: Case, evaluator: Evaluator, front_end: str) -> float:
    """The largest of `batches` that fits; 0 if none does."""
    fitting = 0
    for batch in sorted(case.parameters.get("batches", (1, 2, 4, 8, 16, 32, 64))):
        tried = replace(case, parameters={**case.parameters, "batch": batch})
        found = model_estimate(tried, evaluator, front_end)
        if found.memory.fits:
            fitting = max(fitting, batch)
    return float(fitting)


def model_estimate(case: Case, evaluator: Evaluator, front_end: str = "torch") -> Estimate:
    """What the chip model says about the model of `case`, written in `front_end`."""
    setting = setting_of(case, front_end)
    system = system_of(case, setting.loops.replicas * setting.deployment.ipus_per_replica)
    if case.parameters.get("wide_weight_loads", False):
        system = system.with_chip(replace(system.chip, conv_weight_bytes_per_cycle=WIDE_LOAD_BYTES))
    # two publications of one configuration share an estimate
    key = (
        setting.recipe, setting.loops, repr(setting.deployment), system.name, system.chip, setting.fp8, front_end
    )  # fmt: skip
    return evaluator.remembered(key, lambda: _estimate(setting, system, evaluator))


def _estimate(setting: Setting, system: System, evaluator: Evaluator) -> Estimate:
    flat = _flat(setting)
    planner = _planner(evaluator, system, setting)
    program = narrowed(flat.program) if setting.fp8 else flat.program
    return estimate(
        replace(program, loops=setting.loops),
        replace(setting.deployment, checkpoints=flat.checkpoints),
        system,
        constants=evaluator.constants,
        schedule=evaluator.schedule,
        planner=planner,
    )


class Flat(NamedTuple):
    """A flat program, and the tensors that it keeps by name; the torch version marks them itself."""

    program: Program
    checkpoints: frozenset[str] = frozenset()


#: flat programs by recipe and by what their works depend on
_flat_programs: dict[tuple[str, Recipe, str, tuple[tuple[int, float], ...]], Flat] = {}


def _flat(setting: Setting) -> Flat:
    deployment, recipe = setting.deployment, setting.recipe
    proportions = tuple(sorted(deployment.proportions.items()))
    key = (setting.front_end, recipe, deployment.partials, proportions)
    # both refuse a pipeline with too few micro-batches
    if setting.front_end == "tensorflow":
        from .models_keras.capturing import captured as captured_keras

        keras = captured_keras(recipe)
        keras.check(setting.loops)
        if key not in _flat_programs:
            program = keras.program(deployment)
            _flat_programs[key] = Flat(program, keras.checkpoints(program))
        return _flat_programs[key]
    torch_program = captured(recipe).with_loops(setting.loops)
    if key not in _flat_programs:
        _flat_programs[key] = Flat(program_of(torch_program, deployment.lowering, recipe.batch))
    return _flat_programs[key]


def forget() -> None:
    """Let the next evaluation flatten its programs anew."""
    _flat_programs.clear()


def _planner(evaluator: Evaluator, system: System, setting: Setting) -> Planner:
    chip = system.chip
    if setting.deployment.io_tiles:
        chip = chip.with_tiles(chip.tiles - setting.deployment.io_tiles)
    return evaluator.remembered((chip, SharingPlanner), lambda: SharingPlanner(chip, evaluator.constants))


def setting_of(case: Case, front_end: str = "torch") -> Setting:
    """What `case` says about its model, with defaults filled in."""
    given: Mapping[str, Any] = case.parameters
    training = bool(given.get("training", False))
    stages = tuple(given.get("stages", ()))
    execution = given.get("execution", "pipelined" if stages else "single")
    fp8 = case.dtype == "fp8"
    accumulation, replicas = int(given.get("accumulation", 1)), int(given.get("replicas", 1))
    recipe = Recipe(
        model=given["model"],
        arguments=tuple(sorted((name, _frozen(value)) for name, value in given.get("arguments", {}).items())),
        dtype="fp16" if fp8 else case.dtype,
        batch=int(given["batch"]),
        training=training,
        optimizer=given.get("optimizer", "sgd"),
        state_dtype=given.get("state_dtype", "fp32"),
        accumulator_dtype=given.get("accumulator_dtype", "fp32"),
        stages=stages,
        pipelined=execution == "pipelined",
        checkpoints=tuple(given.get("checkpoints", ())),
        accumulates=accumulation * replicas > 1,
    )
    loops = Loops(
        device_iterations=int(given.get("device_iterations", 1)),
        gradient_accumulation=accumulation if training else 1,
        replicas=replicas,
    )
    if execution == "pipelined" and not training:
        # an inference pipeline is fed by the turns of the device's loop
        loops = replace(loops, device_iterations=max(loops.device_iterations, 1 + len(stages)))
    return Setting(recipe, _deployment(case, recipe, execution, front_end), loops, fp8, front_end)


def _deployment(case: Case, recipe: Recipe, execution: str, front_end: str) -> Deployment:
    given = case.parameters
    proportion = given.get("proportion", 0.6)
    if isinstance(proportion, list):
        proportions = {-1: float(proportion[-1]), **{ipu: float(each) for ipu, each in enumerate(proportion)}}
    else:
        proportions = {-1: float(proportion)}
    ipus = int(given.get("ipus_per_replica", 0)) or _ipus(recipe, front_end)
    places: dict[str, Any] = {
        name: _LOCATIONS[given[name]]
        for name in ("weights", "optimizer_state", "accumulators", "activations")
        if name in given
    }
    options: dict[str, Any] = {
        name: given[name]
        for name in ("recompute", "io_tiles", "overlap_io", "prefetch_depth", "synthetic_data", "returned_share",
                     "call_seconds")
        if name in given
    }  # fmt: skip
    if "sample_seconds" in given:
        own = options.get("call_seconds") or 0.0
        options["call_seconds"] = own + given["sample_seconds"] * recipe.batch
    return Deployment(
        execution=execution,
        pipeline_schedule=given.get("schedule", "grouped"),
        ipus_per_replica=ipus,
        proportions=proportions,
        partials=given.get("partials", case.partials),
        **places,
        **options,
    )


def _ipus(recipe: Recipe, front_end: str) -> int:
    """IPUs of one replica."""
    if front_end == "tensorflow":
        from .models_keras.capturing import captured as captured_keras

        return captured_keras(recipe).ipus
    rule = captured(recipe).rule
    return rule.summary().ipus_per_replica if isinstance(rule, BlockRule) else 1


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value
