"""From a torch module and its settings to something that runs: capture, check, lower, load.

This is what a shim drives. It knows nothing of the shim: settings come as plain values, and errors are
the engine's own.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from tremula.distributed.instances import Instances
from tremula.errors import Error
from tremula.frontends.torch.capture.context import Capture
from tremula.frontends.torch.capture.placement import PlacementRule, SingleIpu
from tremula.frontends.torch.capture.scopes import module_scopes
from tremula.frontends.torch.capture.stages import BlockRule, RestoredStages, check
from tremula.frontends.torch.capture.state import StateSlots
from tremula.frontends.torch.capture.step import CapturedStep, Flatten, capture_step
from tremula.frontends.torch.capture.update import capture_accumulate, capture_update
from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.execute.buckets import bucket_members
from tremula.frontends.torch.execute.choice import ExecutionSettings
from tremula.frontends.torch.execute.device_state import ReplicaGrouping, TrainingState
from tremula.frontends.torch.execute.executable import Executable
from tremula.frontends.torch.execute.memory_format import channels_last_parameters, placed
from tremula.frontends.torch.execute.outputs import OutputRule
from tremula.frontends.torch.execute.precision import Precision
from tremula.frontends.torch.execute.random_state import RandomState, fresh_seed
from tremula.frontends.torch.graphs.names import Names
from tremula.frontends.torch.graphs.program import Interface, TorchProgram, parameter_annotations, tensors_of
from tremula.frontends.torch.graphs.verify import verify
from tremula.frontends.torch.ops import ctc_loss as _registers_a_static_form  # noqa: F401
from tremula.frontends.torch.ops.overlap import check_settings, overlap_modes
from tremula.frontends.torch.optimize.fused import fused_update
from tremula.frontends.torch.optimize.loss_scale import FINAL_SCALE, loss_scale
from tremula.frontends.torch.optimize.rules import apply_update, hyper_tensors, initial_state
from tremula.frontends.torch.optimize.scalars import scalar_names
from tremula.frontends.torch.optimize.spec import OptimizerSpec, replaced
from tremula.frontends.torch.package.compatibility import Expected, check_fit
from tremula.frontends.torch.package.saved_program import SavedProgram, SavedStages
from tremula.program.loops import Loops
from tremula.program.stages import Mode, StageSummary

if TYPE_CHECKING:
    from tremula.distributed.process_group import ProcessGroup

#: prefix of the name of a parameter's value after the update
_UPDATED = "UpdatedVar___"


@dataclass(frozen=True)
class SessionSettings:
    """Everything about a run that is not the model itself."""

    training: bool
    loops: Loops = Loops()
    outputs: OutputRule = OutputRule()
    #: tensors to return besides the outputs: name -> which of their values
    anchors: Mapping[str, OutputRule] = field(default_factory=dict)
    seed: int | None = None
    rule: PlacementRule = field(default_factory=SingleIpu)
    mean_reduction: bool = True
    running_mean: bool = False
    #: whether buffers that the model writes would have to be kept equal between replicas
    broadcast_buffers: bool = True
    groupings: Mapping[str, ReplicaGrouping] = field(default_factory=dict)
    scopes_from_modules: bool = True
    source_excludes: tuple[str, ...] = ()
    trap_floating_point: bool = False
    #: tiles set aside for transfers, which overlapped transfers need
    io_tiles: int = 0
    stochastic_rounding: bool = False
    half_partials: bool = False
    execution: ExecutionSettings = ExecutionSettings()
    #: who trains the model together with this process
    instances: Instances = Instances()

    @property
    def turns_per_update(self) -> int:
        """Micro-batches of this instance that each update of the weights is made from."""
        return self.loops.gradient_accumulation * self.loops.replicas


@dataclass(frozen=True)
class Captured:
    """A program with the state that it begins with, before it is loaded."""

    program: TorchProgram
    state: Mapping[str, torch.Tensor]
    training: TrainingState | None
    #: the structure of the model's results, and which of their tensors are computed
    result: Any
    computed: tuple[bool, ...]


class Session:
    """One compiled model on the (virtual) device."""

    def __init__(self, settings: SessionSettings, spec: OptimizerSpec | None = None) -> None:
        self.settings = settings
        self.spec = spec
        self.result: Any = None
        self.computed: tuple[bool, ...] = ()
        self._executable: Executable | None = None
        self._names: Names | None = None
        #: the other instances, if they train the model too
        self._team: ProcessGroup | None = None

    # -- compiling ---------------------------------------------------------------------------------------

    def compile(
        self,
        module: torch.nn.Module,
        call: Callable[[list[torch.Tensor]], Any],
        inputs: Sequence[torch.Tensor],
        input_names: Sequence[str],
        flatten: Flatten,
        acquire: Callable[[StageSummary | None], object] = lambda _stages: None,
    ) -> None:
        """Capture `call` on one micro-batch `inputs` (device dtypes) and load it with the module's weights.

        `acquire` is told what the program needs as soon as that is known, and may refuse.
        """
        self._join(module, inputs)
        captured = self.capture(module, call, inputs, input_names, flatten, acquire)
        self._load(captured.program, captured.state, captured.training, captured.result, captured.computed)

    def capture(
        self,
        module: torch.nn.Module,
        call: Callable[[list[torch.Tensor]], Any],
        inputs: Sequence[torch.Tensor],
        input_names: Sequence[str],
        flatten: Flatten,
        acquire: Callable[[StageSummary | None], object] = lambda _stages: None,
        dtype_of: Callable[[torch.dtype], torch.dtype] | None = None,
    ) -> Captured:
        """The program of `call`, and the state that it would begin with; nothing is loaded.

        The module may be on the meta device, which has shapes and no memory. With `dtype_of`, which says in which
        dtype the device would hold a parameter or buffer, the state is on the meta device as well.
        """
        settings = self.settings
        slots = StateSlots(module)
        host = slots.tensors()
        if dtype_of is not None:
            host = {name: _described(tensor, dtype_of) for name, tensor in host.items()}
        capture = Capture(settings.training, settings.rule)
        shapes = {name: host[name].shape[1:] for name in settings.groupings}
        with module_scopes(module, capture, enabled=settings.scopes_from_modules):
            step = capture_step(
                module,
                call,
                inputs,
                capture=capture,
                flatten=flatten,
                shapes=shapes,
                dtype_of=dtype_of or device_dtype,
                source_excludes=settings.source_excludes,
            )
        loops = settings.loops
        acquire(self.stages())
        check(settings.rule, settings.training, loops.gradient_accumulation, loops.device_iterations)
        self._refuse_broadcast(module, step, slots)
        self._check_overlap(step, len(inputs))
        program = self._program(step, slots, input_names)
        state = _device_state(host, program)
        training = self._add_update(program, state) if settings.training else None
        verify(program)
        return Captured(program, state, training, step.result, step.computed)

    def _load(
        self,
        program: TorchProgram,
        state: Mapping[str, torch.Tensor],
        training: TrainingState | None,
        result: Any,
        computed: tuple[bool, ...],
    ) -> None:
        """Put a program and its state on the device."""
        settings = self.settings
        team = self._team
        if team is not None and training is not None:
            names = program.interface.gradients
            together = bucket_members(program, training.accumulator_dtypes)
            team.agree_on_gradients([[names[i] for i in bucket] for bucket in together])
        self._names = Names(program)
        anchor_rules = self._add_anchors(program)
        self.result, self.computed = result, computed
        self._executable = Executable(
            program,
            state,
            outputs=[settings.outputs] * len(program.interface.outputs) + anchor_rules,
            random=self._random_state(),
            groupings=settings.groupings,
            training=training,
            precision=Precision(settings.stochastic_rounding, settings.half_partials),
            traps=settings.trap_floating_point,
            clock=time.perf_counter,
            execution=settings.execution,
            fused_update=self._fused_update(program, state, training),
            reduction=None if team is None or training is None else team.reduction(),
        )

    def _join(self, module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> None:
        """Meet the other instances, see that they train the same model, and begin with the same weights."""
        settings = self.settings
        if not settings.training or settings.instances.count == 1:
            return
        # here, for it takes a moment and a run of one instance does without
        from tremula.distributed.process_group import ProcessGroup

        if settings.groupings:
            raise Error(
                f"{', '.join(settings.groupings)}: replicaGrouping() is not supported in a run of several instances "
                f"(there are {settings.instances.count}): groups would reach over them. Run all replicas in one "
                "instance."
            )
        self._team = ProcessGroup(settings.instances)
        slots = StateSlots(module)
        tensors = slots.tensors()
        self._team.agree_on_model(
            settings.execution.label,
            {name: tensors[name] for name in slots.parameter_names},
            {name: tensors[name] for name in slots.buffer_names},
            inputs,
            {
                "loops": str(settings.loops),
                "optimizer": "none" if self.spec is None else self.spec.kind.name,
                "reduction": f"mean {settings.mean_reduction}, running {settings.running_mean}",
            },
        )
        self._team.share(list(tensors.values()))

    def _random_state(self) -> RandomState:
        """The streams of this instance's replicas."""
        seed, replicas = self.settings.seed, self.settings.loops.replicas
        if self._team is None:
            return RandomState(seed, replicas)
        common = self._team.common_seed(fresh_seed() if seed is None else seed)
        first = self.settings.instances.index * replicas
        return RandomState(common if seed is None else seed, replicas, first, common)

    def _fused_update(
        self, program: TorchProgram, state: Mapping[str, torch.Tensor], training: TrainingState | None
    ) -> Callable[..., None] | None:
        if training is None or self.spec is None or program.update is None:
            return None
        trained = {name: state[name] for name in program.interface.gradients}
        return fused_update(self.spec, trained, training.state, training.hyper)

    def _refuse_broadcast(self, module: torch.nn.Module, step: CapturedStep, slots: StateSlots) -> None:
        replicas = self.settings.loops.replicas * self.settings.instances.count
        if replicas == 1 or not self.settings.broadcast_buffers:
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
            raise Error(
                f"PopTorch does not support broadcasting buffers, and forward() writes to {', '.join(written)}: with "
                f"{replicas} replicas each would get a value of its own. If that is what you "
                "want, set poptorch.Options().broadcastBuffers(False).",
                type="poptorch_cpp_error",
            )

    def _check_overlap(self, step: CapturedStep, inputs: int) -> None:
        """Refuse overlapped transfers where the device could not do them."""
        settings = self.settings
        placeholders = [node.name for node in step.graph.graph.nodes if node.op == "placeholder"]
        last = len(placeholders) - settings.training
        given, returned = overlap_modes(
            step.graph.graph, placeholders[last - inputs : last], sum(step.computed)
        )
        stages = self.stages()
        check_settings(
            [*given.values(), *returned.values()],
            pipelined=stages is not None and stages.mode is Mode.PIPELINED,
            io_tiles=settings.io_tiles,
            all_or_sum=settings.outputs.mode in ("all", "sum"),
        )

    def _program(self, step: CapturedStep, slots: StateSlots, input_names: Sequence[str]) -> TorchProgram:
        wanted = self._trained(step.gradients)
        interface = Interface(
            parameters=tuple(slots.parameter_names),
            buffers=tuple(slots.buffer_names),
            inputs=tuple(input_names),
            outputs=tuple(f"output/{i}" for i in range(sum(step.computed))),
            gradients=wanted,
        )
        _keep_gradients(step.graph, len(interface.outputs), step.gradients, wanted)
        return TorchProgram(
            training=self.settings.training,
            step=step.graph,
            interface=interface,
            loops=self.settings.loops,
            mutated_buffers=step.mutated_buffers,
            mutated_inputs=step.mutated_inputs,
            uses_random=step.uses_random,
        )

    def _trained(self, gradients: Sequence[str]) -> tuple[str, ...]:
        if self.spec is None:
            return ()
        listed = {name for name, _ in self.spec.parameters()}
        return tuple(name for name in gradients if name in listed)

    def _add_update(self, program: TorchProgram, state: Mapping[str, torch.Tensor]) -> TrainingState:
        """Capture accumulation and update into `program`."""
        training = self._training_state(program, state)
        spec = self.spec
        assert spec is not None
        names = program.interface.gradients
        if not names:
            return training
        outputs = program.step.graph.output_node().args[0]
        values = [tensors_of(node)[0] for node in outputs[len(outputs) - len(names) :]]  # type: ignore
        annotations = parameter_annotations(program)
        gradients = {name: torch.empty_like(state[name], device="meta") for name in names}
        # Gradients of other instances are added to accumulators, even where there is but one turn.
        if self.settings.turns_per_update * self.settings.instances.count > 1:
            dtypes = training.accumulator_dtypes
            made = dict(zip(names, values, strict=True))
            program.accumulate = capture_accumulate(
                made, dtypes, annotations, running_mean=training.running_mean
            )
            gradients = {n: g.to(d) for (n, g), d in zip(gradients.items(), dtypes, strict=True)}
        program.update = capture_update(
            lambda p, g, s, h, each: apply_update(spec, p, g, s, h, each),
            {name: state[name] for name in names},
            gradients,
            training.state,
            training.hyper,
            annotations,
        )
        return training

    def _training_state(self, program: TorchProgram, state: Mapping[str, torch.Tensor]) -> TrainingState:
        """Fresh optimizer state for a program that has its update already."""
        spec = self.spec
        assert spec is not None
        names = [name for name in program.interface.gradients if name in state]
        settings = self.settings
        divisor = 1.0
        if settings.mean_reduction:
            turns = 1 if settings.running_mean else settings.turns_per_update
            divisor = float(turns * settings.instances.count)
        # a number that stays the same from call to call is made a tensor once
        constant = functools.lru_cache(maxsize=1)(lambda value: torch.tensor(value, dtype=torch.float32))

        def scale() -> torch.Tensor:
            value = loss_scale(self.spec or spec, training.state, training.hyper)
            return value.to(torch.float32) if isinstance(value, torch.Tensor) else constant(value)

        training = TrainingState(
            state=initial_state(spec, {name: state[name] for name in names}),
            hyper=hyper_tensors(spec),
            loss_scale=scale,
            scale_varies=bool(spec.automatic_loss_scaling),
            divisor=divisor,
            running_mean=settings.running_mean,
            accumulator_dtypes=tuple(spec.accum_type for _ in names),
        )
        return training

    def _add_anchors(self, program: TorchProgram) -> list[OutputRule]:
        """Make the step return the anchored tensors; updated weights are read after the step instead."""
        names = self._names
        assert names is not None
        output = program.step.graph.output_node()
        values = list(output.args[0])  # type: ignore[arg-type]
        first_gradient = len(values) - len(program.interface.gradients)
        gradients = dict(
            zip(
                (f"Gradient___{n}" for n in program.interface.gradients), values[first_gradient:], strict=True
            )
        )
        added: list[fx.Node] = []
        rules = []
        for name, rule in self.settings.anchors.items():
            if self._after_step(name):
                continue
            node = gradients.get(name) or names.tensors.get(name)
            if node is None:
                raise Error(
                    f"There is no tensor called {name} in the compiled model to anchor. getTensorNames() on a "
                    "model compiled without this anchor lists the names.",
                    type="poptorch_cpp_error",
                )
            added.append(node)
            rules.append(rule)
        if added:
            output.args = ([*values[:first_gradient], *added, *values[first_gradient:]],)
            anchors = tuple(name for name in self.settings.anchors if not self._after_step(name))
            program.interface = replace(program.interface, anchors=anchors)
        return rules

    # -- using -------------------------------------------------------------------------------------------

    @property
    def executable(self) -> Executable:
        """The loaded program."""
        if self._executable is None:
            raise Error("Model has not been compiled or has been destroyed.")
        return self._executable

    @property
    def program(self) -> TorchProgram:
        """The captured program."""
        return self.executable.program

    @property
    def names(self) -> Names:
        """Op and tensor names of the program."""
        if self._names is None:
            raise Error("Model has not been compiled or has been destroyed.")
        return self._names

    def stages(self) -> StageSummary | None:
        """What the placement rule saw, if the model was compiled with one."""
        rule = self.settings.rule
        return rule.summary() if isinstance(rule, BlockRule) else None

    def tensor_names(self) -> list[str]:
        """All tensor names, the optimizer's among them."""
        training = self.executable.training
        if training is None or self.spec is None:
            return self.names.all_tensors([])
        constants = [name for name in scalar_names(self.spec) if name not in training.hyper]
        return self.names.all_tensors([*training.hyper, *constants, *training.state])

    def set_optimizer(self, spec: OptimizerSpec) -> None:
        """New values for the hyperparameters that may change after compilation."""
        training = self.executable.training
        if training is None or self.spec is None:
            raise Error("An optimizer can only be set on a training model.")
        self.spec = replaced(self.spec, spec)
        for name, tensor in hyper_tensors(self.spec).items():
            training.hyper[name] = tensor

    def run(self, inputs: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Outputs and anchored tensors of one combined batch."""
        executable = self.executable
        values = executable.run(inputs)
        if not self.settings.anchors:
            return values, []
        count = len(executable.program.interface.outputs)
        outputs, anchored = values[:count], iter(values[count:])
        anchors = [
            self._value_after_step(name) if self._after_step(name) else next(anchored)
            for name in self.settings.anchors
        ]
        return outputs, anchors

    def _after_step(self, name: str) -> bool:
        """Whether an anchored tensor is device state rather than a result of the step's graph."""
        return self.settings.training and (name == FINAL_SCALE or name.startswith(_UPDATED))

    def _value_after_step(self, name: str) -> torch.Tensor:
        if name == FINAL_SCALE:
            return self.executable.loss_scale.clone()
        return self.executable.read_state()[name.removeprefix(_UPDATED)].clone()

    # -- in files ----------------------------------------------------------------------------------------

    def saved(self) -> SavedProgram:
        """The compiled form, to be put into a file."""
        summary = self.stages()
        stages = None if summary is None else SavedStages(**{**vars(summary), "mode": summary.mode.value})
        return SavedProgram(
            program=self.program,
            result=self.result,
            computed=self.computed,
            spec=self.spec,
            stages=stages,
            running_mean=self.settings.running_mean,
            groupings=self.settings.groupings,
        )

    @classmethod
    def restore(
        cls,
        settings: SessionSettings,
        spec: OptimizerSpec | None,
        module: torch.nn.Module,
        inputs: Sequence[torch.Tensor],
        saved: SavedProgram,
    ) -> Session:
        """A session that runs a program from a file with the weights of `module`; nothing is captured.

        Args:
            settings: must agree with those of the compilation where the graphs depend on them.
            spec: the optimizer to go on with.
            module: has the parameters and buffers that the program was compiled for.
            inputs: one micro-batch in device dtypes.
            saved: what `saved` returned, read back.

        Raises:
            Error: listing what does not fit.
        """
        if saved.stages is not None:
            seen = StageSummary(**{**vars(saved.stages), "mode": Mode(saved.stages.mode)})
            settings = replace(settings, rule=RestoredStages(seen))
        # With the compiled optimizer, whose order of tensors is that of the graph; `spec` brings new values.
        session = cls(settings, saved.spec)
        session._join(module, inputs)
        slots = StateSlots(module)
        host = slots.tensors()
        state = _device_state(host, saved.program)
        training = None
        if spec is not None and saved.spec is not None and settings.training:
            replaced(saved.spec, spec)
            training = session._training_state(saved.program, state)
        expected = Expected(
            training=settings.training,
            loops=settings.loops,
            instances=settings.instances.count,
            running_mean=settings.running_mean,
            groupings=settings.groupings,
            parameters=tuple(slots.parameter_names),
            buffers=tuple(slots.buffer_names),
            state=state,
            inputs=inputs,
            optimizer=training,
        )
        check_fit(saved, expected)
        session._load(saved.program, state, training, saved.result, saved.computed)
        if spec is not None:
            session.set_optimizer(spec)
        return session


def _described(tensor: torch.Tensor, dtype_of: Callable[[torch.dtype], torch.dtype]) -> torch.Tensor:
    """Shape and dtype of a tensor, without its memory."""
    return torch.empty(tensor.shape, dtype=dtype_of(tensor.dtype), device="meta")


def _device_state(host: Mapping[str, torch.Tensor], program: TorchProgram) -> dict[str, torch.Tensor]:
    """The module's tensors as the device holds them."""
    narrowed = {name: tensor.detach().to(device_dtype(tensor.dtype)) for name, tensor in host.items()}
    return placed(narrowed, channels_last_parameters(program))


def _keep_gradients(
    graph: fx.GraphModule, outputs: int, computed: Sequence[str], wanted: Sequence[str]
) -> None:
    """Drop the gradients that no optimizer group asks for."""
    if tuple(computed) == tuple(wanted):
        return
    node = graph.graph.output_node()
    values = list(node.args[0])  # type: ignore[arg-type]
    kept = [value for name, value in zip(computed, values[outputs:], strict=True) if name in wanted]
    node.args = ([*values[:outputs], *kept],)
    graph.graph.eliminate_dead_code()
    graph.recompile()
