"""A TensorFlow program that can be asked about: read from its traced graph, in other sizes and precisions on demand.

A program of a session or of `strategy.run` is read in the size that it was traced for. A Keras model is traced again
for another micro-batch. Precision and types of inputs are changed in the captured program.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tremula.errors import Error
from tremula.frontends.tensorflow.capture import variants
from tremula.frontends.tensorflow.capture.captured import Captured
from tremula.frontends.tensorflow.capture.layers import LayerTree
from tremula.frontends.tensorflow.dialect.advice_code import KerasCode
from tremula.frontends.tensorflow.dialect.session_code import SessionCode
from tremula.frontends.tensorflow.modelling.deployment import deployment_of
from tremula.frontends.tensorflow.rules import placements
from tremula.frontends.tensorflow.rules.lower import lower, unknown_work
from tremula.frontends.tensorflow.rules.program import program_of
from tremula.program.dtypes import ITEM_BYTES, ON_HOST
from tremula.program.loops import Loops
from tremula.program.program import Program
from tremula.program.stages import StageSummary
from tremula.program.tensor import Role
from tremula.program.variant import CapturedVariant, InputType, UnknownOp, Variant
from tremula.schedule.deployment import Deployment

if TYPE_CHECKING:
    from tremula.distributed.host_run import HostRun, ReadingSpeed

_SEVERAL_RESULTS = ("LSTM", "GRU", "RNN", "MultiHeadAttention")
_ONE_PRODUCT = (
    "Dense",
    "SerialDense",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "Embedding",
    "DepthwiseConv2D",
    "EinsumDense",
)


@dataclass(frozen=True)
class Parts:
    """A program and how it is configured, in plain values."""

    name: str
    #: reads the program for a micro-batch of so many samples; None: as it is
    capture: Callable[[int | None], Captured]
    #: how often it runs
    loops: Loops
    #: samples in a micro-batch
    micro_batch: int
    #: the layers of its Keras model, if it has one
    layers: LayerTree
    #: how changes are written
    dialect: KerasCode | SessionCode = field(default_factory=KerasCode)
    #: with its constants, as text; empty in inference
    optimizer: str = ""
    #: of its pipeline and its accumulating optimizer, by name
    options: Mapping[str, Any] = field(default_factory=dict)
    prefetch_depth: int | None = None
    #: trains the program for real, with other processes: whether it draws random numbers, this process, all, steps
    train: Callable[[bool, int, int, int], HostRun | None] | None = None


class TensorFlowSubject:
    """See `tremula.study.subject.Subject`."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._captures: dict[tuple[int | None, str | None], Captured] = {}
        self._programs: dict[tuple[object, ...], Program] = {}
        self._sent: tuple[str | None, ...] = ()
        self._accumulators: str | None = None
        self.name = parts.name
        self.loops = parts.loops
        self.micro_batch = parts.micro_batch
        own = self._capture(Variant())
        self.training = own.training
        self.optimizer = parts.optimizer if own.training else ""
        self.accumulator_dtype = _accumulator_dtype(own)
        self.precision = _precision(own)
        self.parameters = sum(
            each.value.elements
            for each in own.variables
            if each.role is Role.PARAMETER and each.dtype in ("fp32", "fp16") and each.value.users
        )
        self.inputs: Sequence[InputType] = tuple(
            InputType(
                value.shape, ON_HOST.get(value.dtype, "float32"), value.elements * ITEM_BYTES[value.dtype]
            )
            for value in own.inputs
        )

    @property
    def dialect(self) -> KerasCode | SessionCode:
        """How changes are written for its users."""
        return self.parts.dialect

    def captured(self, variant: Variant) -> CapturedVariant:
        """Where the program of `variant` can be cut."""
        captured = self._capture(variant)
        found = self._segments(captured)
        unknown = unknown_work(lower(captured.nodes, results=captured.kept))
        return CapturedVariant(
            found.cuts,
            found.summary,
            found.own,
            tuple(UnknownOp(each.type, each.sources) for each in unknown),
        )

    def program(self, variant: Variant, deployment: Deployment) -> Program:
        """The program of `variant` in segments; the caller sets its loop counts."""
        size = None if variant.micro_batch == self.micro_batch else variant.micro_batch
        key = (size, variant.precision, deployment.partials, *sorted(deployment.proportions.items()))
        if key not in self._programs:
            captured = self._capture(variant)
            self._programs[key] = program_of(
                captured,
                lower(captured.nodes, deployment.lowering, captured.kept),
                self._segments(captured).places,
                samples=variant.micro_batch or self.micro_batch,
            )
        return self._programs[key]

    def deployment(self, stages: StageSummary | None) -> Deployment:
        """How the program's options put these stages on IPUs."""
        return deployment_of(stages, self.training, self.parts.options, self.parts.prefetch_depth)

    def with_dtypes(
        self, sent: Sequence[str | None], accumulators: str | None, precision: str | None
    ) -> TensorFlowSubject:
        """The same program with inputs and accumulators of other types, by name."""
        if accumulators is not None and not self.training:
            raise Error("Inference has no gradient accumulators.")
        other = copy.copy(self)
        other._captures, other._programs = {}, {}
        other._sent, other._accumulators = tuple(sent) if any(sent) else (), accumulators
        if not other._sent and not self._sent:
            # other accumulators change no node: what is captured already serves both
            other._captures = {key: other._accumulating(found) for key, found in self._captures.items()}
        other.accumulator_dtype = accumulators or self.accumulator_dtype
        return other

    def gives_one_tensor(self, module: str) -> bool:
        """Whether the result of a layer is likely to be a single tensor."""
        layer = self.parts.layers.layer(module)
        return layer is not None and not type(layer).__name__.endswith(_SEVERAL_RESULTS)

    def is_one_product(self, module: str) -> bool:
        """Whether a layer is a single matrix product, convolution or lookup."""
        return type(self.parts.layers.layer(module)).__name__ in _ONE_PRODUCT

    def train_together(self, instance: int, instances: int, steps: int) -> HostRun | None:
        """Train in this process and the others, for real."""
        if not self.training:
            raise Error(
                "The program's first model is not trained, and replicas for inference share no results, so there "
                "is nothing to compare."
            )
        if self.parts.train is None:
            raise Error(
                "Only Keras models are measured: run this program itself with `poprun --num-instances N "
                "--num-replicas N`, and add --no-measure here."
            )
        random = any(_draws(node.type) for node in self._capture(Variant()).nodes)
        return self.parts.train(random, instance, instances, steps)

    def loader_speed(self, seconds: float) -> ReadingSpeed:
        """How fast the program's data can be read on this host."""
        raise Error(
            "The data of a TensorFlow program are not read on their own: ipu.dataset_benchmark measures them; give the "
            "rate with --loader-rate."
        )

    def _segments(self, captured: Captured) -> placements.Segments:
        pipelined = any(node.stage is not None for node in captured.nodes)
        return placements.segments(captured.nodes, self.parts.layers.assignable, pipelined=pipelined)

    def _capture(self, variant: Variant) -> Captured:
        size = None if variant.micro_batch == self.parts.micro_batch else variant.micro_batch
        key = size, variant.precision
        if key not in self._captures:
            captured = self.parts.capture(size)
            if variant.precision == "fp16" and _precision(captured) == "fp32":
                variants.in_half(captured)
            elif variant.precision == "fp32" and _precision(captured) == "fp16":
                raise Error("A program in half precision cannot be modelled in single precision.")
            if self._sent:
                variants.with_sent_types(captured, self._sent)
            self._captures[key] = self._accumulating(captured)
        return self._captures[key]

    def _accumulating(self, captured: Captured) -> Captured:
        """A program with accumulators of the type that was asked for."""
        if self._accumulators is None:
            return captured
        wanted = "fp16" if self._accumulators == "float16" else "fp32"
        return replace(
            captured, trained=[replace(each, accumulator_dtype=wanted) for each in captured.trained]
        )


def _draws(kind: str) -> bool:
    """Whether an op draws random numbers."""
    return "Random" in kind or kind == "tremula.Dropout" or kind.startswith(("Stateful", "Multinomial"))


def _accumulator_dtype(captured: Captured) -> str | None:
    """The type of gradient accumulators; None in inference."""
    if not captured.training:
        return None
    first = captured.trained[0]
    return ON_HOST.get(first.accumulator_dtype or first.variable.dtype, "float32")


def _precision(captured: Captured) -> str:
    """The precision in which most of the products are computed."""
    counts = {"fp32": 0, "fp16": 0}
    for node in captured.nodes:
        if node.type.startswith(("MatMul", "BatchMatMul", "Conv", "Einsum", "Depthwise")) and node.outputs:
            counts[node.output.dtype] = counts.get(node.output.dtype, 0) + 1
    return "fp16" if counts["fp16"] > counts["fp32"] else "fp32"
