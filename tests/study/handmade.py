"""A subject of no framework: two matrix products, one after the other, written by hand."""

from __future__ import annotations

import sys

from tremula import ask
from tremula.program.loops import Loops
from tremula.program.op import Op, Phase, Placement
from tremula.program.program import Program
from tremula.program.stages import StageSummary
from tremula.program.tensor import Role, Tensor
from tremula.program.variant import CapturedVariant, Cut, InputType, StageStart, Variant
from tremula.program.work import MatMul
from tremula.schedule.deployment import Deployment

WIDTH, SAMPLES = 256, 8


class Lines:
    """The words of a front end that has one."""

    front_end = "none"
    accumulation_setting = "accumulate"
    iterations_setting = "iterate"
    host_block = "host"
    half_precision = half_partials = half_accumulators = last_results = ("options.half",)

    def stages(
        self, starts: list[StageStart], *, name: str = "model", replace: bool = False
    ) -> tuple[str, ...]:
        return tuple(f"{name}.cut({module!r}, {ipu})" for module, ipu in starts)

    def pipeline(
        self, ipus: int, training: bool, micro_batches: int, needed: int, *, name: str | None, model: str
    ) -> tuple[str, ...]:
        return (f"{name or 'options'}.pipeline({micro_batches})",)

    def assignment(self, starts: list[StageStart]) -> list[tuple[str, int]]:
        return []

    def micro_batches(self, wanted: int, stages: int, training: bool) -> int:
        return max(wanted, stages)

    def __getattr__(self, change: str) -> object:
        return lambda *values, **named: (f"options.{change}{values}",)


class TwoProducts:
    """What `tremula.study.subject.Subject` asks for."""

    name, training, precision, parameters = "two products", False, "fp32", 2 * WIDTH * WIDTH
    loops, micro_batch, optimizer, accumulator_dtype = Loops(device_iterations=4), SAMPLES, "", None
    inputs = (InputType((SAMPLES, WIDTH), "float32", 4 * SAMPLES * WIDTH),)
    dialect = Lines()

    def captured(self, variant: Variant) -> CapturedVariant:
        return CapturedVariant((Cut(1, "second"),), None, (Placement(), Placement()), ())

    def program(self, variant: Variant, deployment: Deployment) -> Program:
        samples = variant.micro_batch or SAMPLES
        tensors = [Tensor("x", (samples, WIDTH), role=Role.INPUT)]
        ops = []
        for number, module in enumerate(("first", "second")):
            tensors.append(Tensor(f"{module}.w", (WIDTH, WIDTH), role=Role.PARAMETER, module=module))
            tensors.append(Tensor(f"{module}.y", (samples, WIDTH), producer=number, module=module))
            work = MatMul(samples, WIDTH, WIDTH)
            place = (2 * number, 2 * number + 1)
            ops.append(
                Op(
                    module,
                    "mm",
                    Phase.FORWARD,
                    (work,),
                    place,
                    (2 * number + 2,),
                    stage=number,
                    module=module,
                )
            )
        return Program(ops, tensors, loops=self.loops, inputs=(0,), outputs=(4,), samples=samples)

    def deployment(self, stages: StageSummary | None) -> Deployment:
        if stages is None or stages.ipus_per_replica == 1:
            return Deployment()
        return Deployment(execution="pipelined", ipus_per_replica=stages.ipus_per_replica)

    def with_dtypes(self, sent: object, accumulators: object, precision: object) -> TwoProducts:
        return self

    def gives_one_tensor(self, module: str) -> bool:
        return True

    def is_one_product(self, module: str) -> bool:
        return True


if __name__ == "__main__":
    subject = TwoProducts()
    study = ask.scale(subject, folder=sys.argv[1], ipus=[1, 2], target="bow", mode="weak")
    answers = (
        ask.estimate(subject, ipus=[1, 2], target="bow", micro_batch=[8, 16]),
        ask.split(subject, 2).lines(),
        ask.advice(subject, budget_seconds=5.0, target="bow"),
        list(study.rows[0].figures),
        "torch" in sys.modules,
    )
    sys.stdout.write("\n".join(map(str, answers)))
