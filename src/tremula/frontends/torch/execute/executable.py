"""A compiled and loaded program with its device state, run by the form in use (`forms`, chosen by `choice`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch

from tremula.errors import Error
from tremula.execute import executable as protocol
from tremula.execute.allocation import keep_freed_memory
from tremula.execute.executable import OptimizerState, Progress, TurnTimes
from tremula.execute.outputs import OutputRule
from tremula.execute.settings import ExecutionSettings, ReplicaGrouping
from tremula.frontends.torch.execute.buckets import Reduction
from tremula.frontends.torch.execute.choice import Choice, ChoiceReport
from tremula.frontends.torch.execute.device_state import DeviceState, TrainingState
from tremula.frontends.torch.execute.folding import folded
from tremula.frontends.torch.execute.forms import QuickForm
from tremula.frontends.torch.execute.lower import lower
from tremula.frontends.torch.execute.memory_format import channels_last_parameters
from tremula.frontends.torch.execute.outputs import OutputCollector
from tremula.frontends.torch.execute.packing import packed
from tremula.frontends.torch.execute.precision import DEFAULT_PRECISION, Precision, follow
from tremula.frontends.torch.execute.random_state import RandomState
from tremula.frontends.torch.execute.rollback import Rollback
from tremula.frontends.torch.execute.run_context import RunContext
from tremula.frontends.torch.execute.shared_update import EarlyStep, SharedUpdate, can_copy
from tremula.frontends.torch.execute.threads import choose_threads
from tremula.frontends.torch.graphs.program import TorchProgram


class Executable(protocol.Executable[torch.Tensor]):
    """Runs a torch program."""

    def __init__(
        self,
        program: TorchProgram,
        state: Mapping[str, torch.Tensor],
        *,
        outputs: Sequence[OutputRule],
        random: RandomState,
        groupings: Mapping[str, ReplicaGrouping] | None = None,
        training: TrainingState | None = None,
        precision: Precision = DEFAULT_PRECISION,
        traps: bool = False,
        clock: Callable[[], float],
        execution: ExecutionSettings | None = None,
        fused_update: Callable[..., None] | None = None,
        reduction: Reduction | None = None,
    ) -> None:
        choose_threads()
        keep_freed_memory()
        self.program = program
        self.random = random
        self.training = training
        self.times = TurnTimes()
        self._clock = clock
        self._rules = list(outputs)
        loops = program.loops
        turns = loops.device_iterations * loops.gradient_accumulation * loops.replicas
        #: whether a call is one turn of the loops, whose values are returned as they are
        self._only_turn = turns == 1 and all(rule.period == 1 for rule in self._rules)
        self._state = DeviceState(program, state, groupings or {}, training, bucketed=reduction is not None)
        self._draws = program.uses_random or precision.stochastic_rounding
        #: the program as it is computed; halves by way of float32
        computed = follow(program, precision)
        any_order = bool(channels_last_parameters(program))
        fold = None if traps else folded(computed)
        step = computed.step if fold is None else fold.step
        pack = None if fold is None else packed(step, fold.held)
        around = RunContext(
            computed,
            self._state,
            random,
            draws=self._draws,
            prepare=None if fold is None else lower(fold.prepare, any_order=any_order),
            pack=None if pack is None else pack.pack.forward,
            reduction=reduction,
        )
        self._around = around
        self._rollback = Rollback(around)
        update = None if traps else fused_update
        if update is None and computed.update is not None:
            update = lower(computed.update)
        lowered = lower(step if pack is None else pack.step, traps=traps, any_order=any_order)
        end, early, copies = None, None, False
        buckets = self._state.buckets
        if training is not None and buckets is not None and update is not None:
            end = SharedUpdate(around, update)
            copies = not traps and not precision.stochastic_rounding and can_copy(program, training)
            if copies and len(buckets.flat) > 1:
                early = EarlyStep(program, lowered, end)
        quick = QuickForm(
            around,
            lowered,
            None if computed.accumulate is None else lower(computed.accumulate),
            update,
            end=end,
            early=early,
            copies=copies,
        )
        why_not = "floating-point exceptions are looked for op by op" if traps else None
        self.choice = Choice(around, step, quick, execution or ExecutionSettings(), why_not, end)

    @property
    def form(self) -> str:
        """The form in use: `quick` or `compiled`."""
        return self.choice.form.name

    @property
    def waits(self) -> bool:
        """Whether nothing may run before the compiled form is ready."""
        return self.choice.waits

    @property
    def report(self) -> ChoiceReport:
        """Figures about the compiled form."""
        return self.choice.report

    @property
    def loss_scale(self) -> torch.Tensor:
        """The factor on the loss in the last device iteration."""
        return self._around.loss_scale

    def read_state(self) -> dict[str, torch.Tensor]:
        """The device's parameters and the first replica's buffers. Not copies: do not write to them."""
        self._rollback.warn_if_torn()
        return self._state.read()

    def write_state(self, values: Mapping[str, torch.Tensor]) -> None:
        """Copy host values into the device's parameters and every replica's buffers."""
        self._rollback.torn = False
        self._state.write(values)

    def read_optimizer(self) -> OptimizerState[torch.Tensor]:
        """Copies of the optimizer's tensors and hyperparameters; empty where nothing is trained."""
        if self.training is None:
            return OptimizerState()
        return OptimizerState(_copies(self.training.state), _copies(self.training.hyper))

    def write_optimizer(self, state: OptimizerState[torch.Tensor]) -> list[str]:
        """Take over an optimizer's state; the names of tensors that `state` lacks, or has in another shape."""
        if self.training is None:
            raise Error("Only a training model has optimizer state.")
        own, hyper = self.training.state, self.training.hyper
        tensors, parameters = _fitting(own, state.tensors), _fitting(hyper, state.parameters)
        for name, value in tensors.items():
            own[name].copy_(value)
        hyper.update(_copies(parameters))
        return sorted((own.keys() - tensors.keys()) | (hyper.keys() - parameters.keys()))

    def random_words(self) -> list[int]:
        """The random state as whole numbers, the seed first."""
        return self.random.words()

    def restore_random(self, words: Sequence[int]) -> None:
        """Take over what `random_words` returned earlier; a seed alone restarts the streams."""
        self.random.restore(words)

    def prepare(self, micro_batch: Sequence[torch.Tensor], progress: Progress | None = None) -> None:
        """Have the compiled form ready before anything runs; `progress` is told how far the compiler is."""
        if self.choice.open:
            iterations = self.program.loops.device_iterations
            self.choice.prepare([[tensor] * iterations for tensor in micro_batch], progress)

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """One host call on a combined batch: the outputs, then the anchored tensors."""
        chunks = [self._chunks(tensor) for tensor in inputs]
        call = _OnlyTurn(self._clock) if self._only_turn else _Call(self._rules, self)
        started = self._clock()
        gradients = torch.is_grad_enabled()
        # Autograd's dispatch keys are off either way; some forward kernels keep what their backward kernel
        # needs only while gradients are "enabled". (torch's own context for this costs more than a small step.)
        torch._C._set_grad_enabled(self.training is not None)
        try:
            with torch._C._AutoDispatchBelowAutograd():
                if self._draws:
                    with self._random_streams():
                        self._iterate(chunks, call)
                else:
                    self._iterate(chunks, call)
        except BaseException as problem:
            self._rollback.undo(problem)
            raise
        finally:
            torch._C._set_grad_enabled(gradients)
        if self.choice.open:
            self.choice.after_call(self._clock() - started)
        self.times = call.times
        return call.results()

    def _iterate(self, chunks: Sequence[Sequence[torch.Tensor]], call: _Call | _OnlyTurn) -> None:
        if self.choice.open:
            self.choice.before_call(chunks)
        self._rollback.begin()
        self.choice.form.iterate(chunks, call, 0, self.program.loops.device_iterations)

    @contextlib.contextmanager
    def _random_streams(self) -> Iterator[None]:
        with self.random.host_untouched():
            if self.program.loops.replicas > 1:
                yield
            else:
                with self.random.replica(0):
                    yield

    def _chunks(self, tensor: torch.Tensor) -> Sequence[torch.Tensor]:
        factor = self.program.loops.factor
        if factor == 1:
            return (tensor,)
        if tensor.dim() == 0:
            return [tensor] * factor
        return torch.split(tensor, tensor.shape[0] // factor)


def _copies(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in tensors.items()}


def _fitting(own: Mapping[str, torch.Tensor], given: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Those of the `given` tensors that have the names and shapes of `own`."""
    return {
        name: value
        for name, tensor in own.items()
        if isinstance(value := given.get(name), torch.Tensor) and value.shape == tensor.shape
    }


class _OnlyTurn:
    """What a host call of one turn returns, and when it began and ended."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = self._ended = 0.0
        self._values: Sequence[torch.Tensor] = ()

    def started(self) -> None:
        self._started = self._clock()

    def produced(self, values: Sequence[torch.Tensor], *_turn: int) -> None:
        self._ended = self._clock()
        self._values = values

    @property
    def times(self) -> TurnTimes:
        return TurnTimes([self._started], [self._ended])

    def results(self) -> list[torch.Tensor]:
        return [value if value.is_contiguous() else value.contiguous() for value in self._values]


class _Call:
    """What one host call returns, and when its turns began and ended."""

    def __init__(self, rules: Sequence[OutputRule], executable: Executable) -> None:
        self.times = TurnTimes()
        self._clock = executable._clock
        self._collectors = [OutputCollector(rule, executable.program.loops) for rule in rules]

    def started(self) -> None:
        self.times.started.append(self._clock())

    def produced(
        self, values: Sequence[torch.Tensor], iteration: int, accumulation: int, replica: int
    ) -> None:
        self.times.ended.append(self._clock())
        for collector, value in zip(self._collectors, values, strict=True):
            collector.add(value, iteration, accumulation, replica)

    def results(self) -> list[torch.Tensor]:
        return [collector.result() for collector in self._collectors]
