"""A session: a checked graph with its weights on the host and on the device, run step by step."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tremula.distributed.replica_share import ReplicaShare
from tremula.errors import Error
from tremula.execute.allocation import keep_freed_memory
from tremula.execute.settings import ExecutionSettings
from tremula.frontends.onnx.run.anchors import SUM, Turn, Turns, place_of, returned_shape
from tremula.frontends.onnx.run.chosen_step import ChosenStep
from tremula.frontends.onnx.run.device_types import device_type
from tremula.frontends.onnx.run.exchange import Meeting, together
from tremula.frontends.onnx.run.feeds import StepData
from tremula.frontends.onnx.run.gradient_sums import GradientSums, Reduction
from tremula.frontends.onnx.run.groups import WeightGroups, is_first, key_of
from tremula.frontends.onnx.run.program import GraphProgram
from tremula.frontends.onnx.run.step import EagerStep, TurnResult
from tremula.frontends.onnx.run.synthetic import Synthetic
from tremula.frontends.onnx.run.updating import ACCUMULATOR, UPDATED, Updater
from tremula.frontends.onnx.shapes import TensorType
from tremula.frontends.torch.optimize.loss_scale import FINAL_SCALE

if TYPE_CHECKING:
    from tremula.distributed.replica_exchange import ReplicaExchange

#: between the seeds of two instances
_SEEDS_APART = 0x9E3779B97F4A7C15


class GraphSession:
    """Runs one program.

    Attributes:
        program: what is run.
        turns: the loops of a step.
        seed: that the random numbers began with.
        updater: trains the weights; None where nothing is trained.
        host: the host's copies of the weights.
        share: the replicas of this instance among those of the run.
        exchange: talks to the other instances; None where there are none.
    """

    def __init__(
        self,
        program: GraphProgram,
        turns: Turns,
        updater: Updater | None = None,
        reduction: Reduction | None = None,
        synthetic: Synthetic = Synthetic.Off,
        groups: Mapping[str, WeightGroups] | None = None,
        whole: Mapping[str, Tensor] | None = None,
        exchange: ReplicaExchange | None = None,
        cache_folder: str | None = None,
    ) -> None:
        """`groups` are of weights that differ between replicas, `whole` their values for all groups; compiled code is
        kept in `cache_folder`, else in the user's own.
        """
        for rule in program.request.anchors.values():
            if rule.period < 1:
                raise Error("an anchor is returned every 1 or more batches.")
        self.program = program
        self.turns = turns
        self.updater = updater
        self.reduction = reduction or Reduction()
        self.host = {
            name: _on_device(stored.tensor()) for name, stored in program.model.graph.initializers.items()
        }
        self.host |= {name: _on_device(tensor) for name, tensor in (whole or {}).items()}
        self.groups = dict(groups or {})
        self._execution = ExecutionSettings(cache_folder, program.model.graph.name)
        self._synthetic = synthetic
        self._made: dict[str, Tensor] = {}
        #: the factor on the loss in the last batch
        self._scale_used = torch.ones(())
        self.seed = 0
        self.exchange = exchange
        self.share = ReplicaShare.alone(turns.replicas) if exchange is None else exchange.share
        self._generator = torch.Generator().manual_seed(self.seed)
        self.set_seed(self.seed)
        self._step: ChosenStep | None = None
        self._together = self.share.total > 1 and program.collective
        self._rounds = [list(self._rounds_of(batch)) for batch in range(turns.batches)]
        retyped = program.request.settings.retyped
        #: of inputs, as they are computed with
        self._input_types = {
            name: retyped.get(kind.dtype, kind.dtype) for name, kind in program.inputs.items()
        }
        #: of anchored tensors of the graph, whose types do not change
        self._returned_types: dict[str, torch.dtype] = {}
        self._anchored_weights = [name for name in program.request.anchors if name in program.weights]
        #: the weights of all replicas of the run, so that they are updated alike on all instances
        self._device: list[dict[str, Tensor]] = []
        self._gradients: GradientSums | None = None
        if updater is not None:
            self._gradients = GradientSums(
                turns,
                self.share,
                self.reduction,
                self.groups,
                updater.accumulator,
                frozenset(name.removeprefix(ACCUMULATOR) for name in program.beside),
            )
        if updater is not None:
            updater.begin(self._trained(self._replicas()))
            for name, stored in program.model.graph.initializers.items():
                if name in updater.tensors():
                    updater.write(name, stored.tensor())
        self._check_anchors()

    def _check_anchors(self) -> None:
        known = self._beside()
        for name in self.program.beside:
            if name not in known:
                raise Error(f"the anchor tensor {name} is not in the graph: it has no such tensor.")

    def _beside(self) -> dict[str, Tensor]:
        """Tensors of the update: the optimizer's, and the new values of weights."""
        if self.updater is None:
            return {}
        weights = self.device or self.host
        updated = {f"{UPDATED}{name}": weights[name] for name in self.program.trained}
        if self.turns.accumulation > 1:
            types = {name: self.updater.accumulator(weights[name]) for name in self.program.trained}
            updated |= {
                f"{ACCUMULATOR}{name}": torch.zeros(weights[name].shape, dtype=dtype)
                for name, dtype in types.items()
            }
        return {**self.updater.present(), **updated}

    # -- preparing ------------------------------------------------------------------------------------------

    @property
    def prepared(self) -> bool:
        return self._step is not None

    def prepare(self) -> None:
        """Compile."""
        keep_freed_memory()
        eager = EagerStep(self.program, self._generator)
        alone = self.turns.accumulation * self.share.total == 1 and not self.groups
        self._step = ChosenStep(
            self.program,
            eager,
            self._generator,
            self._execution,
            one_set=self.turns.replicas == 1,
            updater=self.updater if alone else None,
        )

    @property
    def generator(self) -> torch.Generator:
        """Where random numbers come from."""
        return self._generator

    def set_seed(self, seed: int) -> None:
        """Begin the random numbers anew; those of each instance are others."""
        self.seed = seed
        self._generator.manual_seed((seed + self.share.instance * _SEEDS_APART) % (1 << 63))

    # -- weights --------------------------------------------------------------------------------------------

    @property
    def device(self) -> Mapping[str, Tensor]:
        """The weights on the device, those of the first replica of this instance."""
        return self._device[self.share.first] if self._device else {}

    def weights_from_host(self) -> None:
        """Copy the host's weights to the device: one for all replicas, but what the graph itself changes."""
        self._device = self._replicas()
        if self.updater is not None:
            self.updater.begin(self._trained(self._device))

    def _replicas(self) -> list[dict[str, Tensor]]:
        """The host's weights as each replica has them; those of one group are one tensor."""
        by_key: dict[str, Tensor] = {}
        replicas = []
        for replica in range(self.share.total):
            held = {}
            for name in self.program.weights:
                groups = self.groups.get(name)
                key = key_of(name, groups, replica)
                own = name in self.program.stores
                if key not in by_key or own:
                    host = self.host[name]
                    value = host if groups is None else groups.value(host, groups.group_of(replica))
                    by_key[key] = value.clone()
                held[name] = by_key[key]
            replicas.append(held)
        return replicas

    def _trained(self, replicas: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        """The weights that are trained, once for each group, by the optimizer's names."""
        return {
            key_of(name, self.groups.get(name), replica): held[name]
            for name in self.program.trained
            for replica, held in enumerate(replicas)
        }

    def weights_to_host(self) -> None:
        """Copy the device's weights to the host."""
        self._take_from_owners()
        for name in self.device:
            copies = [held[name].detach() for held in self._device]
            groups = self.groups.get(name)
            self.host[name] = (copies[0] if groups is None else groups.gathered(copies)).clone()
        if self.updater is not None:
            self.updater.to_host()

    def _take_from_owners(self) -> None:
        """Take over what the graph itself changes on replicas of other instances, as far as the host gets it."""
        if self.exchange is None or not self._device:
            return
        for name in self.program.stores:
            groups = self.groups.get(name)
            first = [0] if groups is None else [members[0] for members in groups.replicas]
            own = functools.partial(self._held_by, name)
            values = self.exchange.from_owners(first, own, self.device[name])
            for replica, value in zip(first, values, strict=True):
                self._device[replica][name] = value

    def _held_by(self, name: str, replica: int) -> Tensor:
        return self._device[replica][name]

    def held(self) -> dict[str, Tensor]:
        """The host's copies of the weights, and of the state of what trains them."""
        weights = {
            name: self.groups[name].returned(tensor) if name in self.groups else tensor
            for name, tensor in self.host.items()
        }
        if self.updater is None:
            return weights
        state = {name: tensor for name, tensor in self.updater.tensors().items() if is_first(name)}
        return {**weights, **state}

    def write(self, name: str, value: Tensor) -> None:
        """Give the host's copy of a weight another value."""
        if self.updater is not None and name in self.updater.tensors():
            self.updater.write(name, value)
            return
        own = self.host.get(name)
        if own is None:
            raise Error(f"there is no weight {name} in the graph.")
        if (
            name in self.groups
            and value.numel() != own.numel()
            and value.numel() == self.held()[name].numel()
        ):
            value = self.groups[name].taken(value, own)
        if own.numel() != value.numel():
            raise Error(f"the weight {name} has {own.numel()} elements, and {value.numel()} were given.")
        self.host[name] = _on_device(value).to(own.dtype).reshape(own.shape).clone()

    def reset(self, values: Mapping[str, Tensor], *, ignore_unknown: bool) -> None:
        """Take over the weights of another model."""
        known = self.held()
        unknown = [name for name in values if name not in known]
        if unknown and not ignore_unknown:
            raise Error(f"resetHostWeights, no tensor {unknown[0]} in the graph.")
        for name, value in values.items():
            if name in known:
                self.write(name, value)

    # -- running --------------------------------------------------------------------------------------------

    def anchor_shape(self, name: str) -> tuple[int, ...]:
        """The shape of the host's array of an anchored tensor."""
        return returned_shape(self.program.request.anchors[name], self.turns, self.info(name).shape)

    def info(self, name: str) -> TensorType:
        """Shape and type of a tensor on the device, those of the update included."""
        beside = self._beside().get(name)
        if beside is not None:
            return TensorType(tuple(beside.shape), beside.dtype)
        return self.program.info(name)

    def run(self, data: StepData) -> None:
        """One step."""
        if self._step is None:
            raise Error("the session is not prepared.")
        if not self._device:
            self.weights_from_host()
        data.begin(self.program.inputs if self._synthetic is Synthetic.Off else {}, self.turns)
        if self._synthetic is not Synthetic.Off and not self._made:
            self._made = {
                name: self._synthetic.make(kind, self._generator)
                for name, kind in self.program.inputs.items()
            }
        for batch, rounds in enumerate(self._rounds):
            self._scale_used = torch.tensor(1.0 if self.updater is None else self.updater.loss_scale)
            for turns in rounds:
                found = self._compute(self._step, data, turns)
                for turn, result in zip(turns, found, strict=True):
                    self._take(result, data, turn)
            if self.turns.accumulation > 1:
                self._return_weights(data, batch)
            self._update(self._step)
            if self.turns.accumulation == 1:
                self._return_weights(data, batch)
            if self.program.beside:
                self._return_after(data, batch)

    def _update(self, step: ChosenStep) -> None:
        """Change the weights by the gradients of a batch, if its turns have left any to do so."""
        sums = self._gradients
        if self.updater is None or sums is None or not self.program.trained:
            return
        if not sums.sums and self.exchange is None:
            return
        with step.updating():
            weights = self._trained(self._device)
            self.updater.update(weights, sums.finish(weights, self.exchange))

    def _turns_of(self, batch: int) -> Iterator[Turn]:
        for accumulation in range(self.turns.accumulation):
            for replica in range(self.turns.replicas):
                yield Turn(batch, accumulation, replica)

    def _rounds_of(self, batch: int) -> Iterator[list[Turn]]:
        """The turns that run together: those of all replicas if they talk to each other, else one by one."""
        turns = list(self._turns_of(batch))
        size = self.turns.replicas if self._together else 1
        for start in range(0, len(turns), size):
            yield turns[start : start + size]

    def _compute(self, step: ChosenStep, data: StepData, turns: Sequence[Turn]) -> list[TurnResult]:
        scale = 1.0 if self.updater is None else self.updater.loss_scale
        given = [(self._weights(turn), self._inputs(data, turn)) for turn in turns]
        if not self._together:
            return [step(*given[0], scale)]
        meeting = Meeting(len(turns), self.exchange)
        steps = [
            EagerStep(
                self.program,
                self._generator,
                self.share.first + turn.replica,
                functools.partial(meeting.exchange, turn.replica),
            )
            for turn in turns
        ]
        return together(
            meeting,
            [functools.partial(each, *own, scale) for each, own in zip(steps, given, strict=True)],
        )

    def _inputs(self, data: StepData, turn: Turn) -> dict[str, Tensor]:
        return {
            name: (self._made[name] if name in self._made else data.input(name, turn)).to(dtype)
            for name, dtype in self._input_types.items()
        }

    def _weights(self, turn: Turn) -> dict[str, Tensor]:
        """The weights of the replica of a turn."""
        return self._device[self.share.first + turn.replica]

    def _take(self, found: TurnResult, data: StepData, turn: Turn) -> None:
        """What a turn gave: gradients to the sums, values to the weights and to the host."""
        weights = self._weights(turn)
        if self._gradients is not None:
            self._gradients.add(found.gradients, turn, weights)
            for name in self.program.beside:
                if name.startswith(ACCUMULATOR):
                    self._return(
                        data, name, turn, self._gradients.accumulated(name.removeprefix(ACCUMULATOR), turn)
                    )
        if found.stored:
            with torch.no_grad():
                for name, value in found.stored.items():
                    weights[name].copy_(value)
        for name, value in found.anchors.items():
            if name not in weights:
                self._return(data, name, turn, value)

    def _return_weights(self, data: StepData, batch: int) -> None:
        """Anchored weights come back from every turn; with accumulation, the update follows the last one."""
        if self._anchored_weights:
            for turn in self._turns_of(batch):
                for name in self._anchored_weights:
                    self._return(data, name, turn, self._weights(turn)[name])

    def _return_after(self, data: StepData, batch: int) -> None:
        """Anchored tensors of the update come back as they are after it."""
        # the scale is that of the batch, not that of the next
        beside = {**self._beside(), FINAL_SCALE: self._scale_used}
        names = [name for name in beside if name in self.program.beside and not name.startswith(ACCUMULATOR)]
        for turn in self._turns_of(batch):
            for name in names:
                self._return(data, name, turn, beside[name])

    def _return(self, data: StepData, name: str, turn: Turn, value: Tensor) -> None:
        rule = self.program.request.anchors[name]
        place = place_of(rule, self.turns, turn)
        if place is not None:
            first = turn.batch == 0 and turn.accumulation == 0
            dtype = self._returned_types.get(name)
            if dtype is None:
                dtype = self._returned_types[name] = self.info(name).dtype
            if value.dtype != dtype:
                value = value.to(dtype)
            data.output(name, turn, place, value, add=rule.mode == SUM and not first)


def _on_device(tensor: Tensor) -> Tensor:
    return tensor.to(device_type(tensor.dtype))
