"""Which form runs: the quick one at once, the compiled one when the program has run for a fair part of the time that
compiling takes (about 10 s and 30 ms per op, wrong by a factor of three either way) and a trial on its own data found
it faster, with the numbers of the quick form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from safetensors import SafetensorError
from torch import fx

from tremula import log
from tremula.cache.store import Store
from tremula.cache.trust import default_root, usable_root
from tremula.execute.executable import Progress
from tremula.execute.settings import ExecutionSettings
from tremula.frontends.torch.execute.compilation import Compilation
from tremula.frontends.torch.execute.compile_request import (
    CompileRequest,
    NotCompilable,
    cxx_compiler,
    request_for,
)
from tremula.frontends.torch.execute.compiled import load
from tremula.frontends.torch.execute.folding import drop_detached, drop_unused
from tremula.frontends.torch.execute.forms import CompiledForm, End, Form
from tremula.frontends.torch.execute.index_checks import IndexChecks, index_checks
from tremula.frontends.torch.execute.kernels import pick_kernels
from tremula.frontends.torch.execute.memory_format import allow_any_order, channels_last_parameters
from tremula.frontends.torch.execute.products import pick_products
from tremula.frontends.torch.execute.run_context import (
    Chunks,
    RunContext,
    turn_arguments,
    update_arguments,
)
from tremula.frontends.torch.execute.trial import Verdict, enough_memory, tried
from tremula.frontends.torch.execute.whole_step import WholeStep, op_count, whole_step
from tremula.frontends.torch.execute.widening import expand_roundings
from tremula.invariants import present
from tremula.private_files import Untrusted
from tremula.settings import env

_COMPILE_SECONDS = 10.0
_COMPILE_SECONDS_PER_OP = 0.03
#: a compilation begins when the program has run for this share of the compilation's expected time
_SHARE_BEFORE_COMPILING = 0.25


@dataclass
class ChoiceReport:
    """What was done about the compiled form, for the log and the summary."""

    #: hit, miss and why; empty before the cache was asked
    cache: str = ""
    compile_seconds: float = 0.0
    speedup: float = 0.0
    #: why the quick form stays, if it does
    why_quick: str = ""
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class _Wanted:
    """The compiled form, described, and where it is kept."""

    whole: WholeStep
    #: shapes, strides and dtypes of what each graph is called with
    arguments: dict[str, list[torch.Tensor]]
    #: of the program as it was captured: which kernels are picked for it, measurements decide anew
    key: str
    store: Store

    def graphs(self) -> dict[str, fx.GraphModule]:
        """The graphs, by name."""
        graphs = {"turn": self.whole.turn}
        if self.whole.update is not None:
            graphs["update"] = self.whole.update
        return graphs


class Choice:
    """Chooses the form of one executable. `open` while it may still change."""

    def __init__(
        self,
        around: RunContext,
        step: fx.GraphModule,
        quick: Form,
        settings: ExecutionSettings,
        why_not: str | None,
        end: End | None = None,
    ) -> None:
        self._around = around
        self._end = end
        self._step = step
        self._quick = quick
        #: the form for the next call
        self.form: Form = quick
        self._settings = settings
        self.report = ChoiceReport()
        self.open = True
        self._wanted: _Wanted | None = None
        self._candidate: CompiledForm | None = None
        self._compilation: Compilation | None = None
        self._checks: IndexChecks | None = None
        self._mode: str = env.get("TREMULA_EXECUTION") or "auto"
        self._asked = False
        if why_not is not None:
            self._settle(why_not)
        elif self._mode == "quick":
            self._settle("TREMULA_EXECUTION=quick")

    def before_call(self, chunks: Chunks) -> None:
        """Change `form` if there is a better one; `chunks` are the micro-batches of the call that follows."""
        if not self._asked:
            self._asked = True
            if self._mode == "compiled":
                self.prepare(chunks)
            elif torch.are_deterministic_algorithms_enabled():
                # Bits must not depend on when a compiler happens to be ready; a wait for it would be repeatable.
                self._settle("deterministic algorithms are enabled; TREMULA_EXECUTION=compiled waits for it")
            else:
                self._look_up(chunks)
        if self._compilation is not None and self._compilation.poll():
            self._take_result(chunks)
        if self._candidate is not None:
            self._try(chunks)

    def after_call(self, seconds: float) -> None:
        """Count the work done, and start a compilation when there is enough of it."""
        report = self.report
        report.calls += 1
        report.seconds += seconds
        if not self.open or self._compilation is not None or self._wanted is None:
            return
        if report.seconds >= _SHARE_BEFORE_COMPILING * self._expected_seconds():
            self._start(background=True)

    @property
    def waits(self) -> bool:
        """Whether nothing is to run before the compiled form is ready."""
        return self.open and self._mode == "compiled"

    def prepare(self, chunks: Chunks, progress: Progress | None = None) -> None:
        """Have the compiled form in the cache, and loaded, before this returns; of `chunks` only the shapes matter."""
        self._asked = True
        if not self.open or (self._wanted is None and not self._look_up(chunks)):
            return
        if self._candidate is None and self.open:
            self._start(background=False)
        if self._compilation is not None:
            self._compilation.wait(progress)
            self._take_result(chunks)

    def _look_up(self, chunks: Chunks) -> bool:
        """Describe what is to be compiled and look for it in the cache; False if it cannot be compiled."""
        if not enough_memory(self._around, chunks):
            self._settle("there is not enough memory to try compiled code beside it")
            return False
        try:
            self._describe(chunks)
        except NotCompilable as problem:
            self._settle(str(problem))
            return False
        found = self._target.store.get(self._target.key)
        self.report.cache = found.reason
        log.layer("tremula").info("executable cache: %s (%s)", found.reason, self._target.key[:12])
        if found.entry is not None:
            self._load(found.entry.metadata, found.entry.blobs)
        elif cxx_compiler() is None:
            log.info_once(
                "no C++ compiler",
                "No C++ compiler (g++ or clang++) was found: programs run in the quick form only. Results "
                "are the same; long runs of small models take longer.",
            )
            self._settle("there is no C++ compiler")
            return False
        return True

    def _describe(self, chunks: Chunks) -> None:
        around = self._around
        training = around.state.training
        divisor = 1.0 if training is None else training.divisor
        fixed_scale = training is None or not training.scale_varies
        held = len(around.held(0))
        whole = whole_step(around.program, self._step, held, divisor=divisor, fixed_scale=fixed_scale)
        if self._end is not None:
            whole = replace(whole, update=None)
        inputs = [chunk[i] for i in range(whole.unrolled) for chunk in chunks]
        arguments = {"turn": _shapes([*turn_arguments(around, 0), *inputs])}
        if whole.update is not None:
            arguments["update"] = _shapes(update_arguments(around))
        root = default_root()
        if self._settings.cache_folder is not None:
            root, _ = usable_root(self._settings.cache_folder)
        wanted = _Wanted(whole, arguments, "", Store(root))
        for module in wanted.graphs().values():
            drop_detached(module.graph)
            drop_unused(module.graph)
            expand_roundings(module.graph)
            if channels_last_parameters(around.program):
                allow_any_order(module.graph)
        if torch.get_num_threads() > 1 and not self._settings.untrusted:
            self._checks = index_checks(self._step, held, len(chunks))
        request = self._request(wanted)
        self._wanted = replace(wanted, key=request.key())

    def _request(self, wanted: _Wanted) -> CompileRequest:
        settled = self._checks is None or self._checks.settled
        return request_for(
            wanted.graphs(), wanted.arguments, untrusted=self._settings.untrusted, settled=settled
        )

    @property
    def _target(self) -> _Wanted:
        return present(self._wanted, "the graph to compile")

    def _expected_seconds(self) -> float:
        ops = op_count(self._target.whole.turn)
        if self._target.whole.update is not None:
            ops += op_count(self._target.whole.update)
        return _COMPILE_SECONDS + _COMPILE_SECONDS_PER_OP * ops

    def _start(self, *, background: bool) -> None:
        kind = "training" if self._around.program.training else "inference"
        ops = op_count(self._target.whole.turn)
        for module in self._target.graphs().values():
            pick_kernels(module.graph, for_compiler=True)
            pick_products(module.graph)
        request = self._request(self._target)
        metadata = {"about": f"{self._settings.label}, {kind}, {ops} ops"}
        try:
            self._compilation = Compilation(
                request, self._target.key, self._target.store, metadata, background=background
            )
        except (OSError, Untrusted, SafetensorError) as problem:
            reason = f"the compiler cannot be started ({problem})"
            log.warn_once(
                f"compile {reason}",
                f"{self._settings.label} stays in the quick form: {reason}. Results are the same.",
            )
            self._settle(reason)
            return
        log.layer("tremula").info(
            "compiling %s%s (%s ops, about %.0f s)",
            self._settings.label,
            " in the background" if background else "",
            ops,
            self._expected_seconds(),
        )

    def _take_result(self, chunks: Chunks) -> None:
        compilation = present(self._compilation, "the compilation")
        self._compilation = None
        self.report.compile_seconds = compilation.seconds
        if compilation.failure is not None:
            log.warn_once(
                f"compile {compilation.failure}",
                f"{self._settings.label} stays in the quick form: {compilation.failure}. Results are the same. "
                "TREMULA_EXECUTION=quick never compiles.",
            )
            self._settle(compilation.failure)
            return
        found = self._target.store.get(self._target.key)
        if found.entry is None:
            self._settle(f"what was compiled is not in the cache: {found.reason}")
            return
        if compilation.shared:
            self.report.cache = "compiled by another process at the same time"
        word = "found after" if compilation.shared else "compiled in"
        log.layer("tremula").info("%s %.1f s", word, compilation.seconds)
        self._load(found.entry.metadata, found.entry.blobs)

    def _load(self, metadata: dict[str, Any], blobs: dict[str, bytes]) -> None:
        verdict = Verdict.of(metadata.get("verdict"))
        if verdict is not None and not verdict.use:
            self.report.speedup = verdict.speedup
            self._settle(f"compiled code is not faster here ({verdict.speedup:.2f} times)")
            return
        try:
            code = load(blobs)
        except (RuntimeError, OSError, Untrusted) as problem:
            self._settle(f"compiled code cannot be loaded ({problem})")
            return
        form = CompiledForm(
            self._around, code, self._target.whole.unrolled, self._end, self._checks, self._quick
        )
        if verdict is not None:
            self._adopt(form, verdict)
        else:
            self._candidate = form

    def _try(self, chunks: Chunks) -> None:
        form, self._candidate = present(self._candidate, "the compiled form"), None
        verdict = tried(self._around, self._quick, form, chunks)
        if verdict.equal:
            self._remember(verdict)
        if verdict.use:
            self._adopt(form, verdict)
        elif verdict.equal:
            self.report.speedup = verdict.speedup
            self._settle(f"compiled code is not faster here ({verdict.speedup:.2f} times)")
        else:
            log.warn_once(
                f"numbers {self._target.key}",
                f"Compiled code for {self._settings.label} does not give the numbers of the quick form "
                f"({verdict.difference}) and is not used.",
            )
            self._settle(f"compiled code gives other numbers ({verdict.difference})")

    def _remember(self, verdict: Verdict) -> None:
        """Keep the verdict with the code, so that the next process need not try it."""
        entry = self._target.store.get(self._target.key).entry
        if entry is not None and "verdict" not in entry.metadata:
            self._target.store.put(
                self._target.key, {**entry.metadata, "verdict": verdict.as_data()}, entry.blobs
            )

    def _adopt(self, form: CompiledForm, verdict: Verdict) -> None:
        self.form = form
        self.open = False
        self._wanted = None
        self.report.speedup = verdict.speedup
        log.layer("tremula").info(
            "%s runs compiled from here on, %.2f times as fast as before",
            self._settings.label,
            verdict.speedup,
        )

    def _settle(self, why: str) -> None:
        """Stay with the quick form."""
        self.open = False
        self._candidate = self._wanted = None
        self.report.why_quick = why
        log.layer("tremula").info("%s stays in the quick form: %s", self._settings.label, why)


def _shapes(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Stand-ins without memory."""
    return [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for t in tensors]
