"""What recurrent layers share: their extents, masks of variable lengths, activations, options and work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.calls import computing, work_type
from tremula.frontends.poplar.libs.checks import Array, call, refuse
from tremula.frontends.poplar.libs.options import EXACT_ALREADY, PLANNED_BY_THE_MODEL, check, share
from tremula.frontends.poplar.libs.poplin.options import Options, partials_type
from tremula.frontends.poplar.libs.popnn.nonlinearity import DERIVATIVE, FORWARD, NonLinearityType
from tremula.frontends.poplar.program.library import Arrays, Kernel
from tremula.frontends.poplar.program.programs import Program
from tremula.frontends.poplar.types import Type
from tremula.program.work import Fill, Recurrent

_INVERTIBLE = ("SIGMOID", "HARD_SIGMOID", "RELU", "TANH")
_WITHOUT_EFFECT = {
    "inferenceOnly": PLANNED_BY_THE_MODEL,
    "preCalcWeights": PLANNED_BY_THE_MODEL,
    "weightAccumulatorsType": EXACT_ALREADY,
    "recomputationMode": PLANNED_BY_THE_MODEL,
    "numShards": PLANNED_BY_THE_MODEL,
    "rnnCodeReuse": PLANNED_BY_THE_MODEL,
    "rnnStepsPerWU": PLANNED_BY_THE_MODEL,
    "disableWUPartialInterleaving": PLANNED_BY_THE_MODEL,
}


@dataclass(frozen=True)
class Layer:
    """One recurrent layer and direction. `order` names the gates in the order of the weights."""

    kind: str
    type: Type
    batch: int
    steps: int
    inputs: int
    hidden: int
    order: tuple[int, ...]
    activation: NonLinearityType
    gate_activation: NonLinearityType
    full_sequence: bool = True
    #: how many steps count: of all, or of each example
    lengths: View | None = None
    #: GRU: whether the reset gate is applied after the product
    reset_after: bool = False

    @property
    def gates(self) -> int:
        """How many gates there are."""
        return len(self.order)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Steps, batch, inputs."""
        return (self.steps, self.batch, self.inputs)

    @property
    def state_shape(self) -> tuple[int, ...]:
        """Batch, hidden."""
        return (self.batch, self.hidden)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Of all steps or of the last one."""
        return (self.steps, *self.state_shape) if self.full_sequence else self.state_shape

    @property
    def bias_shape(self) -> tuple[int, ...]:
        """Gates, hidden; two for each gate where the reset gate is applied late."""
        return (self.gates, 2, self.hidden) if self.reset_after else (self.gates, self.hidden)

    def check(self) -> None:
        """Raise an error if there is no such layer."""
        for each in (self.activation, self.gate_activation):
            if each.name not in _INVERTIBLE:
                raise refuse(self.kind, f"{each.name} is not an activation of a recurrent layer")
        if sorted(self.order) != list(range(self.gates)):
            raise refuse(self.kind, f"{list(self.order)} does not name each gate once")
        if self.lengths is not None and self.lengths.elements not in (1, self.batch):
            raise refuse(
                self.kind, f"{self.lengths.elements} numbers of steps do not fit a batch of {self.batch}"
            )

    def extra(self) -> list[View]:
        """The lengths, if there are any."""
        return [] if self.lengths is None else [self.lengths]

    def plain(self) -> dict[str, Any]:
        """Attributes of a library call."""
        return {
            "order": list(self.order),
            "activation": self.activation.name,
            "gate_activation": self.gate_activation.name,
            "full": self.full_sequence,
            "varying": self.lengths is not None,
            "reset_after": self.reset_after,
        }

    def work(self, where: str, options: Options | None, *, gradient: bool) -> Recurrent:
        """The layer for the planner."""
        given = options or {}
        check(where, given, ("availableMemoryProportion", "partialsType"), _WITHOUT_EFFECT)
        return Recurrent(
            kind=self.kind,
            steps=self.steps,
            batch=self.batch,
            inputs=self.inputs,
            hidden=self.hidden,
            dtype=work_type(self.type),
            partials=partials_type(where, given),
            proportion=share(where, given, "availableMemoryProportion", 0.6),
            gradient=gradient,
        )


@dataclass(frozen=True)
class Weights:
    """The weights of a layer: gates by inputs by hidden, gates by hidden by hidden, and biases."""

    inputs: View
    outputs: View
    biases: View

    def views(self) -> list[View]:
        """All of them."""
        return [self.inputs, self.outputs, self.biases]


class Activations:
    """The functions of a layer and their derivatives by results."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self.state = FORWARD[attributes["activation"]]
        self.gate = FORWARD[attributes["gate_activation"]]
        self.state_slope = DERIVATIVE[attributes["activation"]]
        self.gate_slope = DERIVATIVE[attributes["gate_activation"]]


def alive(lengths: Sequence[Array], steps: int, batch: int) -> Array | None:
    """For each step and example whether it counts, with a last dimension of 1; None if all do."""
    if not lengths:
        return None
    limit = np.broadcast_to(lengths[0].reshape(-1).astype(np.int64), (batch,))
    return np.asarray((np.arange(steps)[:, None] < limit)[:, :, None])


def weight_sums(before: Array, gradients: Array) -> Array:
    """Products of what a gate was given with the gradients of its sums, over steps and batch."""
    steps, batch, width = before.shape
    gates, hidden = gradients.shape[1], gradients.shape[3]
    flat = gradients.transpose(1, 0, 2, 3).reshape(gates, steps * batch, hidden)
    return np.asarray(np.matmul(before.reshape(steps * batch, width).T[None], flat))


def zero_state(views: Sequence[View], prog: Program, debug: str) -> None:
    """Set states to zero."""
    works = [Fill(each.elements, work_type(each.type)) for each in views]
    call(prog, "popnn.zeroState", [], views, works, debug)


@computing("popnn.zeroState")
def _zero(_: Mapping[str, Any]) -> Kernel:
    def run(_: Arrays, outputs: Arrays) -> None:
        for out in outputs:
            out[...] = 0

    return run
