"""Whether advice tells the truth: what it predicts against an independent look at the changed model.

    python -m benchmarks.advice [--models resnet50,bert-base ...] [--top 5] [--budget 30] [--json OUT]
    python -m benchmarks.advice --write-band
    python -m benchmarks.advice --compile-times

Run from the repository's root. The first form asks for advice about models of the catalogue, makes each change on a
new model, captured with its blocks and checkpoints in place and without the study, and compares the effect that was
told with the one that is found; exit status 1 if one is off by more than 20 %. The second predicts pairs of published
configurations that differ in one thing and writes how far published effects lie from modelled ones. The third counts
the ops of programs whose compile times are published and fits the formula to them. All figures are modelled unless
they are called published.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from tremula.advise.advice import Advice
from tremula.advise.advise import AdviceList, advise
from tremula.errors import Error
from tremula.estimate.estimate import Estimate, estimate
from tremula.frontends.torch.factory import Made, subject_of
from tremula.frontends.torch.ops.vendor_schemas import identity_loss
from tremula.frontends.torch.rules.program import program_of
from tremula.frontends.torch.subject import TorchSubject
from tremula.program.loops import Loops
from tremula.study.answer import answer
from tremula.study.case import Case, Study
from tremula.study.question import Setting

from .fidelity_cases import ROOT, shipped_cases
from .models import build
from .models.capturing import DTYPES, Recipe, captured

TOLERANCE = 0.2
_REDUCTION_NONE = 2
BAND = ROOT / "src" / "tremula" / "advise" / "effect_bands.toml"
TIMES = ROOT / "src" / "tremula" / "advise" / "compile_times.toml"


@dataclass(frozen=True)
class Entry:
    """A model of the catalogue and how a program would first run it."""

    model: str
    batch: int
    arguments: dict[str, Any] = field(default_factory=dict)
    training: bool = True
    optimizer: str = "adamw"
    dtype: str = "fp32"
    accumulation: int = 8


CATALOGUE: dict[str, Entry] = {
    "workshop": Entry("workshop_cnn", 16, {"image": 28}, optimizer="adam", accumulation=1),
    "resnet50": Entry("resnet", 4, optimizer="momentum"),
    "resnet50-inference": Entry("resnet", 4, training=False, dtype="fp16"),
    "bert-base": Entry("bert", 2, {"size": "base"}),
    "bert-large": Entry("bert", 2, {"size": "large"}, dtype="fp16"),
    "gpt2": Entry("gpt", 1, {"size": "small", "sequence": 256}, dtype="fp16"),
    "vit": Entry("vit", 4, dtype="fp16"),
    "unet": Entry("unet", 1, {"image": 256}, dtype="fp16", optimizer="adam"),
}


def study_of(entry: Entry) -> Study:
    """A new study of a new model."""
    with torch.device("meta"):
        module = build(entry.model, entry.arguments).to(DTYPES[entry.dtype])
        given = module.sample(entry.batch, entry.training)
    made = Made(module, tuple(given.values()), {}, None)
    loops = Loops(gradient_accumulation=entry.accumulation if entry.training else 1)
    subject = subject_of(made, entry.model, training=entry.training, optimizer=entry.optimizer, loops=loops)
    if not entry.training:
        return Study(subject)
    call = subject.parts.call

    def with_loss(values: list[torch.Tensor]) -> Any:
        result, loss = call(values)
        return result, identity_loss(loss, _REDUCTION_NONE)

    return Study(TorchSubject(replace(subject.parts, call=with_loss)))


def looked_at_anew(entry: Entry, case: Case) -> Estimate:
    """What the chip model says of a model that is made and captured as `case` says, blocks, checkpoints and all.

    The capture is that of the accuracy benchmark: no segments, no layout afterwards, no study. It has no words for
    inputs of other types, memory proportions of single ops, and the running mean that half accumulators bring; for
    those a new study of a new model is asked (tests/poptorch/test_advice_applied.py has them through poptorch).
    """
    variant, changes = case.variant, case.changes
    batch, dtype = variant.micro_batch or entry.batch, variant.precision or entry.dtype
    if any(changes.sent) or changes.proportions or changes.accumulators is not None:
        own = replace(variant, micro_batch=None, precision=None)
        return study_of(replace(entry, batch=batch, dtype=dtype)).estimate(replace(case, variant=own))
    recipe = Recipe(
        model=entry.model,
        arguments=tuple(sorted(entry.arguments.items())),
        dtype=dtype,
        batch=batch,
        training=entry.training,
        optimizer=entry.optimizer,
        stages=tuple(f"{module}@{ipu}" for module, ipu in case.cuts or ()),
        checkpoints=changes.kept,
        accumulates=case.loops.gradient_accumulation * case.loops.replicas > 1,
    )
    program = captured(recipe).with_loops(case.loops)
    return estimate(program_of(program, case.deployment.lowering, batch), case.deployment, case.system)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if advice is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.advice", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--models", default=",".join(CATALOGUE), help="of " + ", ".join(CATALOGUE))
    parser.add_argument("--top", type=int, default=5, help="pieces of advice per model that are checked")
    parser.add_argument("--budget", type=float, default=40.0, help="seconds for the advice about one model")
    parser.add_argument("--json", help="write the table as JSON")
    parser.add_argument("--write-band", action="store_true", help="write effect_bands.toml")
    parser.add_argument("--compile-times", action="store_true", help="fit the formula for compile times")
    options = parser.parse_args(arguments)
    if options.write_band:
        return write_band()
    if options.compile_times:
        return fit_compile_times()
    unknown = sorted(set(options.models.split(",")) - set(CATALOGUE))
    if unknown:
        print(f"there is no model {', '.join(unknown)}; there is {', '.join(CATALOGUE)}", file=sys.stderr)
        return 2
    rows: list[dict[str, Any]] = []
    for name in options.models.split(","):
        rows += _of_model(name, options.top, options.budget)
    wrong = [row for row in rows if not row["within"]]
    print(f"\n{len(rows) - len(wrong)} of {len(rows)} effects within {TOLERANCE:.0%} of what was told")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def _of_model(name: str, top: int, budget: float) -> list[dict[str, Any]]:
    entry = CATALOGUE[name]
    began = time.perf_counter()
    study = study_of(entry)
    found = answer(study, Setting())
    looked = time.perf_counter() - began
    told = advise(study, found, budget_seconds=budget)
    print(
        f"\n{name}: {told.before.brief} (modelled, {looked:.1f} s; {told.tried} changes tried in {told.seconds:.1f} s"
        f"{f', {len(told.untried)} not tried' if told.untried else ''})"
    )
    rows = []
    assert found.case is not None
    before = looked_at_anew(entry, found.case)
    for advice in _chosen(told, top):
        after = looked_at_anew(entry, advice.case)
        effect = after.throughput / before.throughput
        tile = after.memory.max_tile_bytes / before.memory.max_tile_bytes
        told_tile = advice.after["tile_bytes"].value / advice.before["tile_bytes"].value
        within = _close(advice.effect, effect) and _close(told_tile, tile)
        print(
            f"  {'ok ' if within else 'OFF'} x{advice.effect:<6.3f} told, x{effect:<6.3f} found; tile x{told_tile:.3f}"
            f", x{tile:.3f}{'' if advice.after.runs else ' (does not fit)'}: {advice.title}",
            flush=True,
        )
        rows.append(
            {"model": name, "title": advice.title, "told": advice.effect, "found": effect, "told_tile": told_tile,
             "found_tile": tile, "within": within}
        )  # fmt: skip
    return rows


def _chosen(told: AdviceList, top: int) -> list[Advice]:
    return [*told.advice[:top], *([told.together] if told.together is not None else [])]


def _close(told: float, found: float) -> bool:
    same = (told > 1.0) == (found > 1.0) or abs(told - 1.0) < 0.01
    return same and abs(found - told) <= TOLERANCE * told


# -- the band of an effect -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Two published rows that differ in one thing."""

    what: str
    first: str
    second: str
    published: float
    modelled: float

    def turned(self) -> Pair:
        """From the second to the first."""
        return Pair(self.what, self.second, self.first, 1.0 / self.published, 1.0 / self.modelled)


def pairs() -> Iterator[Pair]:
    """Pairs of throughputs of one model, chip and source that differ in one thing, the modelled slower one first.

    Rows that a constant was fitted to are left out, and so are pairs with a third row between them: of n batch sizes
    there are n - 1 steps, and not n (n - 1) / 2 pieces of evidence.
    """
    from .fidelity_evaluate import Evaluator

    evaluator = Evaluator()
    cases = [
        case
        for case in shipped_cases()
        if case.kind == "model" and case.metric == "throughput" and not case.fit
    ]
    for at, first in enumerate(cases):
        for second in cases[at + 1 :]:
            what = _difference(first, second)
            if what is None or any(_between(each, first, second, what) for each in cases):
                continue
            one, two = evaluator.predict(first), evaluator.predict(second)
            if one.predicted is None or two.predicted is None:
                continue
            pair = Pair(
                what, first.id, second.id, second.published / first.published, two.predicted / one.predicted
            )
            yield pair if pair.modelled >= 1.0 else pair.turned()


def _between(each: Any, first: Any, second: Any, what: str) -> bool:
    """Whether `each` differs from both in `what` alone and lies between them."""
    values = [case.parameters.get(what) for case in (first, each, second)]
    if not all(isinstance(value, int | float) for value in values):
        return False
    low, high = sorted((values[0], values[2]))
    return low < values[1] < high and _difference(first, each) == _difference(each, second) == what


def _difference(first: Any, second: Any) -> str | None:
    """The one thing in which two rows differ; accumulation may follow replicas, to keep the global batch."""
    if first.chip != second.chip or first.source != second.source or first.unit != second.unit:
        return None
    one, two = dict(first.parameters), dict(second.parameters)
    names = {name for name in {*one, *two} if one.get(name) != two.get(name)}
    if first.precision != second.precision:
        names.add("precision")
    for together in ({"replicas", "accumulation"}, {"batch", "accumulation"}, {"batch", "device_iterations"}):
        if names == together:
            names = {min(together - {"accumulation", "device_iterations"})}
    names -= {"system"}
    if len(names) != 1:
        return None
    (name,) = names
    # replicas have a band of their own: that of scaling (estimate/bands.toml)
    return None if name in ("model", "arguments", "stages", "replicas") else name


def write_band() -> int:
    """Predict all pairs and write the bands."""
    from .fidelity_statistics import percentile

    found = list(pairs())
    for pair in found:
        print(
            f"{pair.what:<14} {pair.first:<24} {pair.second:<24} published x{pair.published:.3f}, modelled "
            f"x{pair.modelled:.3f}: {pair.published / pair.modelled:.2f}"
        )
    ratios = sorted(pair.published / pair.modelled for pair in found)
    rows = {name for pair in found for name in (pair.first, pair.second)}
    low, high = percentile(ratios, 0.1), percentile(ratios, 0.9)
    text = BAND.read_text(encoding="utf-8").split("\n[")[0].rstrip() + "\n"
    text += f"\n[gain]\nlow = {low:.3g}\nhigh = {high:.3g}\nrows = {len(ratios)}\n"
    print(f"{low:.2f} to {high:.2f} from {len(ratios)} pairs of {len(rows)} rows")
    BAND.write_text(text, encoding="utf-8")
    return 0


# -- compile times ---------------------------------------------------------------------------------------------


def fit_compile_times() -> int:
    """Count the ops of the published programs, fit the line, and print what to put into compile_times.toml."""

    rows = [row for row in tomllib.loads(TIMES.read_text(encoding="utf-8"))["row"] if "model" in row]
    counted: list[tuple[float, int, str]] = []
    for row in rows:
        recipe = Recipe(
            row["model"], tuple(sorted(row.get("arguments", {}).items())), "fp16", row["batch"], row["training"],
            row.get("optimizer", "sgd"), stages=tuple(row.get("stages", ())),
        )  # fmt: skip
        program = captured(recipe).program
        flat = program_of(program, samples=recipe.batch)
        counted.append((float(row["seconds"]), sum(len(op.works) for op in flat.ops), row["what"]))
    base, each = _line(counted)
    print(f"base_seconds = {base:.3g}\nseconds_per_op = {each:.3g}")
    for seconds, ops, what in counted:
        told = base + each * ops
        print(f"{what}: {ops} ops, published {seconds:.0f} s, predicted {told:.0f} s ({seconds / told:.2f})")
    return 0


def _line(rows: Sequence[tuple[float, int, str]]) -> tuple[float, float]:
    """The line with the smallest squared errors of logarithms: times span two orders of magnitude."""

    def error(base: float, each: float) -> float:
        return sum(math.log(seconds / (base + each * ops)) ** 2 for seconds, ops, _ in rows)

    grid = [(b / 5, e / 500) for b in range(10, 100) for e in range(25, 250)]
    return min(grid, key=lambda line: error(*line))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Error as problem:
        sys.exit(str(problem))
