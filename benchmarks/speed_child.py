"""What the speed benchmark measures inside one process of its own, for one row.

Starts (the first call of everything) need a fresh process; the steady state has all contestants in one process,
in turns, so that what else the machine does hits them alike. Times are what a clock shows; the processor time of
the process is measured beside it, because on a busy machine it tells a slow program from a waiting one.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import statistics
import tempfile
from typing import Any

import torch

import poptorch

from . import speed_baselines as baselines
from .speed_baselines import Runner, Search, Variant
from .speed_models import ADAM_BETAS, ADAM_EPSILON, ADAM_RATE, NETWORKS, SGD_MOMENTUM, SGD_RATE
from .speed_rows import Row
from .speed_times import Times, interleaved, ratio, timed

MINIMAL_ROUNDS = 7
PILOT_ROUNDS = 3
#: share of the measuring time that a variant of the compiled loop gets when the best is looked for
PILOT_SHARE = 0.25


class Contest:
    """One row: its network, its data, and the ways to run it, all from the same initial weights."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._network = NETWORKS[row.network]
        torch.manual_seed(1)
        samples = self._network.batch * row.iterations
        inputs, labels = self._network.data(samples)
        #: for the wrapped model, which takes the data of all device iterations at once
        self._whole = (*inputs, labels) if row.training else inputs
        chunks = [tensor.chunk(row.iterations) for tensor in self._whole]
        self._micro_batches = list(zip(*chunks, strict=True))
        self.samples = samples

    def _model(self) -> torch.nn.Module:
        torch.manual_seed(0)
        return self._network.make()

    def eager(self) -> Runner:
        """The hand-written eager loop."""
        if self._row.training:
            return baselines.eager_training(self._network, self._model(), self._micro_batches)
        return baselines.eager_inference(self._model(), self._micro_batches)

    def compiled(self, variant: Variant) -> Runner:
        """A hand-written loop with torch.compile."""
        make = baselines.compiled_training if self._row.training else baselines.compiled_inference
        return make(self._network, self._model(), self._micro_batches, variant)

    def ours(self) -> tuple[Runner, Any]:
        """The wrapped model, and the wrapper."""
        options = poptorch.Options().deviceIterations(self._row.iterations).showCompilationProgressBar(False)
        model = self._model()
        whole = self._whole
        if self._row.half:
            model = model.half()
            whole = tuple(each.half() if each.is_floating_point() else each for each in whole)
            if self._row.half == "partials":
                options.Precision.setPartialsType(torch.half)
            options.Precision.enableStochasticRounding(self._row.half == "stochastic")
        if not self._row.training:
            executor = poptorch.inferenceModel(model.eval(), options)
            return lambda: executor(*whole), executor
        if self._network.optimizer == "SGD":
            optimizer = poptorch.optim.SGD(model.parameters(), lr=SGD_RATE, momentum=SGD_MOMENTUM)
        else:
            optimizer = poptorch.optim.Adam(
                model.parameters(), lr=ADAM_RATE, betas=ADAM_BETAS, eps=ADAM_EPSILON
            )
        executor = poptorch.trainingModel(model.train(), options, optimizer)
        return lambda: executor(*whole)[1], executor

    def search(self) -> Search:
        """An unfinished search for the best compiled loop."""
        return Search(self._network, self._row.training)

    def agree(self, result: torch.Tensor, other: torch.Tensor) -> bool | None:
        """Do two first results agree as results of their precision should? None where dropout makes them differ."""
        if self._row.training and self._network.random:
            return None
        if self._row.half:
            return torch.allclose(result.float().reshape_as(other), other, rtol=2e-2)
        return torch.allclose(result.reshape_as(other), other, rtol=1e-3, atol=1e-4)


def measure_start_eager(row: Row) -> dict[str, Any]:
    """The first call of the eager loop."""
    run = Contest(row).eager()
    return {"seconds": timed(run)}


def measure_start(row: Row) -> dict[str, Any]:
    """The first call of the wrapped model; the environment says in which form and with which cache."""
    run, executor = Contest(row).ours()
    seconds = timed(run)
    return {"seconds": seconds, "form": _form(executor)}


def measure_steady(row: Row, seconds: float, with_compile: bool) -> dict[str, Any]:
    """Times per sample of all contestants, and ratios: medians over interleaved rounds."""
    # torch.compile remarks on record_function in optimizers; nothing here depends on it
    torch._logging.set_logs(all=logging.ERROR)
    contest = Contest(row)
    runners: dict[str, Runner] = {}
    report: dict[str, Any] = {}
    if with_compile:
        search = _pilot(contest, seconds * PILOT_SHARE)
        report["variants"] = {str(variant): round(figure, 3) for variant, figure in search.figures.items()}
        report["variants_failed"] = {str(variant): why for variant, why in search.failures.items()}
        report["variant"] = str(search.best)
        runners["compile"] = contest.compiled(search.best)
    runners["eager"] = contest.eager()
    runners["ours"], executor = contest.ours()
    results = {name: run().clone() for name, run in runners.items()}
    report["agrees"] = contest.agree(results["ours"], results["eager"])
    times = interleaved(runners, seconds, MINIMAL_ROUNDS)
    report["form"] = _form(executor)
    for name, each in times.items():
        report[f"{name}_us_per_sample"] = statistics.median(each.clock) / contest.samples * 1e6
    for name in ("eager", "compile"):
        known = name in times
        report[f"ratio_{name}"] = ratio(times["ours"].clock, times[name].clock) if known else None
        report[f"ratio_{name}_cpu"] = ratio(times["ours"].processor, times[name].processor) if known else None
    return report


def _pilot(contest: Contest, seconds: float) -> Search:
    """Measure variants of the compiled loop, each in turns with the eager loop."""
    eager = contest.eager()
    expected = eager().clone()
    search = contest.search()
    for variant in search.candidates():
        torch._dynamo.reset()  # guards of one variant must not cost the next anything
        try:
            run, result = _started(contest, variant)
            if contest.agree(result, expected) is False:
                raise ArithmeticError("its first result differs from the eager loop's")
        except Exception as error:
            # whatever a compiler may raise: the variant is out, and the report says why
            first_line = (str(error).strip().splitlines() or [""])[0]
            search.failures[variant] = f"{type(error).__name__}: {first_line[:200]}"
            continue
        times = interleaved({"variant": run, "eager": eager}, seconds, PILOT_ROUNDS)
        search.figures[variant] = _choice_ratio(times["variant"], times["eager"])
        # the eager loop has moved on: the next variant's first result is compared with a fresh one's
        eager = contest.eager()
        expected = eager().clone()
    torch._dynamo.reset()
    return search


def _started(contest: Contest, variant: Variant) -> tuple[Runner, torch.Tensor]:
    """A compiled loop and its first result.

    A run that was killed while torch wrote to its cache leaves libraries there that never load again. A baseline
    must not fail by that, so the second try compiles into an empty cache, which this process keeps from then on.
    """
    from torch._inductor import utils  # not above: the first calls are timed without a compiler in memory

    try:
        run = contest.compiled(variant)
        return run, run().clone()
    except Exception:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = _empty_folder()
        utils.clear_caches()  # it remembers where things were
        torch._dynamo.reset()
        run = contest.compiled(variant)
        return run, run().clone()


def _empty_folder() -> str:
    """A folder that is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="tremula-speed-inductor-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _choice_ratio(times: Times, others: Times) -> float:
    """What variants are chosen by: with one thread processor time, which other programs disturb least."""
    if torch.get_num_threads() == 1:
        return ratio(times.processor, others.processor)
    return ratio(times.clock, others.clock)


def _form(executor: Any) -> str | None:
    """Which form of the program ran, if the engine says so."""
    executable = getattr(getattr(executor, "_session", None), "executable", None)
    form = getattr(executable, "form", None)
    return None if form is None else str(form)
