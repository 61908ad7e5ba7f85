"""From a torch module and its settings to a whole program: step, accumulation and update. Nothing is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.capture.context import Capture
from tremula.frontends.torch.capture.scopes import module_scopes
from tremula.frontends.torch.capture.stages import check
from tremula.frontends.torch.capture.state import StateSlots
from tremula.frontends.torch.capture.step import CapturedStep, Flatten, capture_step
from tremula.frontends.torch.capture.update import capture_accumulate, capture_update
from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.errors import compile_error
from tremula.frontends.torch.graphs.program import Interface, TorchProgram, parameter_annotations, tensors_of
from tremula.frontends.torch.graphs.verify import verify
from tremula.frontends.torch.ops import ctc_loss as _registers_a_static_form  # noqa: F401
from tremula.frontends.torch.ops.overlap import check_settings, overlap_modes
from tremula.frontends.torch.optimize.rules import apply_update, hyper_tensors, initial_state
from tremula.frontends.torch.optimize.spec import OptimizerSpec
from tremula.frontends.torch.settings import CaptureSettings
from tremula.invariants import present
from tremula.program.stages import Mode, StageSummary


@dataclass(frozen=True)
class Captured:
    """A program before it is loaded."""

    program: TorchProgram
    #: the structure of the model's results, and which of their tensors are computed
    result: Any
    computed: tuple[bool, ...]


def capture_program(
    settings: CaptureSettings,
    spec: OptimizerSpec | None,
    module: torch.nn.Module,
    call: Callable[[list[torch.Tensor]], Any],
    inputs: Sequence[torch.Tensor],
    input_names: Sequence[str],
    flatten: Flatten,
    acquire: Callable[[StageSummary | None], object] = lambda _stages: None,
    dtype_of: Callable[[torch.dtype], torch.dtype] = device_dtype,
) -> Captured:
    """The program of `call` on one micro-batch `inputs` (device dtypes). `module` may be on the meta device; `flatten`
    lists the tensors in what `call` returns; `acquire` gets the stages as soon as they are known, and may refuse.
    """
    slots = StateSlots(module)
    state = {
        name: torch.empty(tensor.shape, dtype=dtype_of(tensor.dtype), device="meta")
        for name, tensor in slots.tensors().items()
    }
    capture = Capture(settings.training, settings.rule)
    with module_scopes(module, capture, enabled=settings.scopes_from_modules):
        step = capture_step(
            module,
            call,
            inputs,
            capture=capture,
            flatten=flatten,
            shapes={name: state[name].shape[1:] for name in settings.groupings},
            dtype_of=dtype_of,
            source_excludes=settings.source_excludes,
            warns_of_unknown_ops=settings.warns_of_unknown_ops,
        )
    loops = settings.loops
    acquire(settings.stages)
    check(settings.rule, settings.training, loops.gradient_accumulation, loops.device_iterations)
    _refuse_broadcast(settings, module, step, slots)
    _check_overlap(settings, step, len(inputs))
    program = _program(settings, spec, step, slots, input_names)
    if settings.training:
        _add_update(settings, present(spec, "the optimizer"), program, state)
    verify(program)
    return Captured(program, step.result, step.computed)


def _refuse_broadcast(
    settings: CaptureSettings, module: torch.nn.Module, step: CapturedStep, slots: StateSlots
) -> None:
    replicas = settings.loops.replicas * settings.instances.count
    if replicas == 1 or not settings.broadcast_buffers:
        return
    # Batch norms keep statistics per replica on the device and need no broadcast.
    norms = {
        name
        for prefix, owner in module.named_modules()
        if isinstance(owner, torch.nn.modules.batchnorm._NormBase)
        for name in (f"{prefix}.{key}" if prefix else key for key in owner._buffers)
    }
    written = sorted(step.mutated_buffers & set(slots.buffer_names) - norms)
    if written:
        raise compile_error(
            f"PopTorch does not support broadcasting buffers, and forward() writes to {', '.join(written)}: with "
            f"{replicas} replicas would each get a separate value. If that is what you "
            "want, set poptorch.Options().broadcastBuffers(False).",
        )


def _check_overlap(settings: CaptureSettings, step: CapturedStep, inputs: int) -> None:
    """Refuse overlapped transfers where the device could not do them."""
    placeholders = [node.name for node in step.graph.graph.nodes if node.op == "placeholder"]
    last = len(placeholders) - settings.training
    given, returned = overlap_modes(step.graph.graph, placeholders[last - inputs : last], sum(step.computed))
    stages = settings.stages
    check_settings(
        [*given.values(), *returned.values()],
        pipelined=stages is not None and stages.mode is Mode.PIPELINED,
        io_tiles=settings.io_tiles,
        all_or_sum=settings.outputs.mode in ("all", "sum"),
    )


def _program(
    settings: CaptureSettings,
    spec: OptimizerSpec | None,
    step: CapturedStep,
    slots: StateSlots,
    input_names: Sequence[str],
) -> TorchProgram:
    trained = {name for name, _ in spec.parameters()} if spec is not None else set()
    interface = Interface(
        parameters=tuple(slots.parameter_names),
        buffers=tuple(slots.buffer_names),
        inputs=tuple(input_names),
        outputs=tuple(f"output/{i}" for i in range(sum(step.computed))),
        gradients=tuple(name for name in step.gradients if name in trained),
    )
    _keep_gradients(step.graph, len(interface.outputs), step.gradients, interface.gradients)
    return TorchProgram(
        training=settings.training,
        step=step.graph,
        interface=interface,
        loops=settings.loops,
        mutated_buffers=step.mutated_buffers,
        mutated_inputs=step.mutated_inputs,
        uses_random=step.uses_random,
    )


def _keep_gradients(
    graph: fx.GraphModule, outputs: int, computed: Sequence[str], wanted: Sequence[str]
) -> None:
    """Drop the gradients that no optimizer group asks for."""
    if tuple(computed) == tuple(wanted):
        return
    node = graph.graph.output_node()
    values = list(node.args[0])  # type: ignore[arg-type]
    remaining = [value for name, value in zip(computed, values[outputs:], strict=True) if name in wanted]
    node.args = ([*values[:outputs], *remaining],)
    graph.graph.eliminate_dead_code()
    graph.recompile()


def _add_update(
    settings: CaptureSettings,
    spec: OptimizerSpec,
    program: TorchProgram,
    state: Mapping[str, torch.Tensor],
) -> None:
    """Capture accumulation and update into `program`."""
    names = program.interface.gradients
    if not names:
        return
    annotations = parameter_annotations(program)
    parameters = {name: state[name] for name in names}
    gradients = parameters
    # Gradients of other instances are added to accumulators, even where there is but one turn.
    if settings.turns_per_update * settings.instances.count > 1:
        outputs = program.step.graph.output_node().args[0]
        values = [tensors_of(node)[0] for node in outputs[len(outputs) - len(names) :]]  # type: ignore
        program.accumulate = capture_accumulate(
            dict(zip(names, values, strict=True)),
            [spec.accumulator_type(parameter) for parameter in parameters.values()],
            annotations,
            running_mean=settings.running_mean,
        )
        gradients = {name: tensor.to(spec.accumulator_type(tensor)) for name, tensor in parameters.items()}
    program.update = capture_update(
        lambda p, g, s, h, each: apply_update(spec, p, g, s, h, each),
        parameters,
        gradients,
        initial_state(spec, parameters),
        hyper_tensors(spec),
        annotations,
    )
