"""A torch program on the (virtual) device: loaded with a module's weights, and run through `tremula.device`."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.anchors import Anchors
from tremula.frontends.torch.assembly import Captured, capture_program
from tremula.frontends.torch.capture.state import StateSlots
from tremula.frontends.torch.capture.step import Flatten
from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.execute.buckets import bucket_members
from tremula.frontends.torch.execute.device_state import TrainingState
from tremula.frontends.torch.execute.executable import Executable
from tremula.frontends.torch.execute.failures import report_failure
from tremula.frontends.torch.execute.memory_format import channels_last_parameters, placed
from tremula.frontends.torch.execute.precision import Precision
from tremula.frontends.torch.graphs.names import Names
from tremula.frontends.torch.graphs.program import TorchProgram
from tremula.frontends.torch.join_instances import join, random_state
from tremula.frontends.torch.optimize.fused import fused_update
from tremula.frontends.torch.optimize.loss_scale import loss_scale
from tremula.frontends.torch.optimize.rules import hyper_tensors, initial_state
from tremula.frontends.torch.optimize.scalars import scalar_names
from tremula.frontends.torch.optimize.spec import OptimizerSpec, replaced
from tremula.frontends.torch.package.saved_program import SavedProgram
from tremula.frontends.torch.settings import SessionSettings
from tremula.program.stages import StageSummary

if TYPE_CHECKING:
    from tremula.distributed.process_group import ProcessGroup


class Session:
    """One compiled model on the (virtual) device.

    Attributes:
        result: the structure of the model's results.
        computed: which of their tensors are computed.
        process_group: all instances, if several train the model.
    """

    def __init__(self, settings: SessionSettings, spec: OptimizerSpec | None = None) -> None:
        self.settings = settings
        self.spec = spec
        self.result: Any = None
        self.computed: tuple[bool, ...] = ()
        self.process_group: ProcessGroup | None = None
        self._anchors = Anchors(settings.anchors, training=settings.training)
        self._executable: Executable | None = None
        self._names: Names | None = None

    def compile(
        self,
        module: torch.nn.Module,
        call: Callable[[list[torch.Tensor]], Any],
        inputs: Sequence[torch.Tensor],
        input_names: Sequence[str],
        flatten: Flatten,
        acquire: Callable[[StageSummary | None], object] = lambda _stages: None,
    ) -> None:
        """Capture `call` on one micro-batch `inputs` (device dtypes) and load it with the module's weights. `acquire`
        is called with the stages as soon as they are known, and may refuse.
        """
        self.join(module, inputs)
        captured = capture_program(
            self.settings, self.spec, module, call, inputs, input_names, flatten, acquire
        )
        state = device_state(module, captured.program)
        self.load(captured, state, self.training_state(captured.program, state))

    def join(self, module: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> None:
        """Meet the other instances, if there are any."""
        self.process_group = join(self.settings, self.spec, module, inputs)

    def load(
        self,
        captured: Captured | SavedProgram,
        state: dict[str, torch.Tensor],
        training: TrainingState | None,
    ) -> None:
        """Put a program and its state on the device."""
        settings, group, program = self.settings, self.process_group, captured.program
        if group is not None and training is not None:
            names = program.interface.gradients
            buckets = bucket_members(program, training.accumulator_dtypes)
            group.agree_on_gradients([[names[i] for i in bucket] for bucket in buckets])
        self._names = Names(program)
        anchor_rules = self._anchors.add_to(program, self._names)
        self.result, self.computed = captured.result, captured.computed
        update = None
        if training is not None and self.spec is not None and program.update is not None:
            trained = {name: state[name] for name in program.interface.gradients}
            update = fused_update(self.spec, trained, training.state, training.hyper)
        self._executable = Executable(
            program,
            state,
            outputs=[settings.outputs] * len(program.interface.outputs) + anchor_rules,
            random=random_state(settings, group),
            groupings=settings.groupings,
            training=training,
            precision=Precision(settings.stochastic_rounding, settings.half_partials),
            traps=settings.trap_floating_point,
            clock=time.perf_counter,
            execution=settings.execution,
            fused_update=update,
            reduction=None if group is None or training is None else group.reduction(),
        )

    def training_state(self, program: TorchProgram, state: dict[str, torch.Tensor]) -> TrainingState | None:
        """Fresh optimizer state for a program that trains."""
        spec, settings = self.spec, self.settings
        if spec is None or not settings.training:
            return None
        names = [name for name in program.interface.gradients if name in state]
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
            accumulator_dtypes=tuple(spec.accumulator_type(state[name]) for name in names),
        )
        return training

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
        return self.settings.stages

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
        training.hyper.update(hyper_tensors(self.spec))

    def run(self, inputs: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Outputs and anchored tensors of one combined batch."""
        executable = self.executable
        try:
            found = executable.run(inputs)
        except Exception as error:
            report_failure(error)
            raise
        return self._anchors.split(found, executable)


def device_state(module: torch.nn.Module, program: TorchProgram) -> dict[str, torch.Tensor]:
    """The module's parameters and buffers in the device's dtypes and the host's preferred order in memory."""
    narrowed = {
        name: tensor.detach().to(device_dtype(tensor.dtype))
        for name, tensor in StateSlots(module).tensors().items()
    }
    return placed(narrowed, channels_last_parameters(program))
