"""Advice about a case: tries the changes of every rule on the chip model and lists the useful ones, best first.

Quick changes come first, then those that need other plans, another capture or a search, within a budget of seconds.
If no change makes a program fit, pairs of the best are tried.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from tremula.advise.advice import SMALLEST_EFFECT, Advice, Change, effect_band, plain_figures, ranked, worth
from tremula.advise.rules import RULES
from tremula.errors import Error
from tremula.estimate.estimate import Estimate
from tremula.formatting import plain, plain_values
from tremula.progress import ProgressCallback, bar
from tremula.study.answer import Answer
from tremula.study.case import Case, Study
from tremula.study.result import Result, result_of

#: changes that are paired when no single one makes a program fit
_PAIRED = 5


@dataclass(frozen=True)
class AdviceList:
    """Advice, best first; notebooks show it as a list."""

    before: Result
    advice: tuple[Advice, ...]
    #: changes that the budget left no time for
    untried: tuple[str, ...] = ()
    #: changes that the program does not allow, with the reason
    refused: tuple[tuple[str, str], ...] = ()
    tried: int = 0
    seconds: float = 0.0
    #: the best of all with those that still bring something on top, if that is more than one
    together: Advice | None = None
    estimate: Estimate | None = field(default=None, repr=False)
    #: whether the user stopped the search
    stopped: bool = False

    def __iter__(self) -> Iterator[Advice]:
        return iter(self.advice)

    def __len__(self) -> int:
        return len(self.advice)

    def __getitem__(self, number: int) -> Advice:
        return self.advice[number]

    def __str__(self) -> str:
        lines = [f"As it is, modelled: {self.before.brief}."]
        if not self.advice:
            lines.append("No change made the program at least 2 % faster or freed memory that it needs.")
        lines += [f"{number}. {each}" for number, each in enumerate(self.advice, 1)]
        if self.together is not None:
            lines.append(f"Together: {self.together}")
        return "\n".join(filter(None, [*lines, self._footer]))

    @property
    def _footer(self) -> str:
        names = ", ".join(plain(each, 80) for each in self.untried)
        return f"Not tried, because the time limit was reached (budget_seconds): {names}." if names else ""

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{each._repr_html_()}</li>" for each in self.advice)
        both = f"<p>Together:</p>{self.together._repr_html_()}" if self.together is not None else ""
        head, footer = f"As it is, modelled: {escape(self.before.brief)}.", escape(self._footer)
        return f"<div><p>{head}</p><ol>{items}</ol>{both}<p>{footer}</p></div>"

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "before": plain_figures(self.before),
            "advice": [each.to_plain() for each in self.advice],
            "together": None if self.together is None else self.together.to_plain(),
            **{key: plain_values(getattr(self, key)) for key in ("untried", "refused", "tried", "seconds")},
        }


def advise(
    study: Study,
    about: Case | Answer,
    *,
    budget_seconds: float = 30.0,
    search: bool = True,
    tell: ProgressCallback | None = None,
    found: Callable[[Advice], None] | None = None,
) -> AdviceList:
    """Changes that improve a case, best first. `tell` receives the progress and replaces the bar.

    No new change is tried after `budget_seconds`; settings are tried before captures, those before searches. `found`
    gets each piece that is worth listing as soon as it was tried; Ctrl-C then ends the search, and what was found is
    listed. Without `search`, a pipeline is only searched for where the case does not fit.
    """
    if isinstance(about, Answer):
        if about.case is None:
            raise Error(f"No advice is possible, because the program cannot be estimated: {about.problem}")
        about = about.case
    with bar("Looking for advice", tell) as progress:
        return _Advising(study, about, budget_seconds, progress, found, search=search).result()


def _planned(case: Case) -> tuple[object, ...]:
    """What the plans of ops depend on, besides the capture."""
    deployment = case.deployment
    return deployment.partials, dict(deployment.proportions), deployment.io_tiles, case.changes.proportions


class _Advising:
    """One round of advice."""

    def __init__(
        self,
        study: Study,
        case: Case,
        budget: float,
        tell: ProgressCallback,
        found: Callable[[Advice], None] | None,
        *,
        search: bool,
    ) -> None:
        self._report = found
        self._began = time.perf_counter()
        self._study, self._case, self._budget, self._tell = study, case, budget, tell
        self._found = study.estimate(case)
        self._before = result_of(self._found)
        self._search = search or not self._before.runs
        self._tried: list[Advice] = []
        self._refused: list[tuple[str, str]] = []
        self._untried: list[str] = []
        self._count = 0

    def result(self) -> AdviceList:
        proposed = [change for rule in RULES for change in rule(self._study, self._case, self._found)]
        # without lines, the front end has no such setting
        changes = [change for change in proposed if change.code or change.search is not None]
        # sorting keeps the order of rules among the quick and among the slow
        changes.sort(key=self._slow)
        together, stopped, number = None, False, 0
        try:
            for number, change in enumerate(changes):
                self._tell(plain(change.title, lines=False), number / len(changes))
                self._attempt(change)
            if not self._before.runs and not any(advice.after.runs for advice in self._tried):
                self._pairs()
            together = self._together(ranked(self._tried))
        except KeyboardInterrupt:
            if self._report is None:
                raise
            stopped = True
            self._untried += [change.title for change in changes[number:]]
        self._tell("", 1.0)
        return AdviceList(
            before=self._before,
            advice=tuple(ranked(self._tried)),
            together=together,
            untried=tuple(dict.fromkeys(self._untried)),
            refused=tuple(self._refused),
            tried=self._count,
            seconds=time.perf_counter() - self._began,
            estimate=self._found,
            stopped=stopped,
        )

    def _slow(self, change: Change) -> bool:
        """Whether a change takes seconds to try: a search, another capture or other plans."""
        if change.search is not None:
            return True
        case, now = change.apply(self._case), self._case
        captured = case.variant != now.variant or case.changes.dtypes(case.variant) is not None
        return captured or _planned(case) != _planned(now)

    @property
    def _spent(self) -> bool:
        return time.perf_counter() - self._began > self._budget

    def _attempt(self, change: Change) -> None:
        if change.search is not None and any(a.rule == change.rule and a.after.runs for a in self._tried):
            return  # fewer IPUs were enough
        if self._spent or (change.search is not None and not self._search):
            self._untried.append(change.title)
            return
        self._count += 1
        try:
            advice = self._advice(change if change.search is None else change.search())
        except Error as problem:
            self._refused.append((change.title, problem.message))
            return
        self._tried.append(advice)
        if self._report is not None and worth(advice):
            self._report(advice)

    def _advice(self, change: Change) -> Advice:
        case = change.apply(self._case)
        after = result_of(self._study.estimate(case))
        band = effect_band(more_ipus=after.ipus > self._before.ipus)
        has = self._case.system.ipus
        return Advice(**vars(change), before=self._before, after=after, band=band, case=case, system_ipus=has)

    def _pairs(self) -> None:
        """The changes that make most room, two by two."""
        best: dict[str, Advice] = {}
        for advice in sorted(self._tried, key=lambda each: -each.frees):
            if advice.frees > 0:
                best.setdefault(advice.rule, advice)
        for one, other in itertools.combinations(list(best.values())[:_PAIRED], 2):
            if not one.sets & other.sets:
                self._attempt(one.then(other))

    def _together(self, chosen: Sequence[Advice]) -> Advice | None:
        """The best, with every other change that still brings something on top of it, on the same IPUs."""
        before = self._before
        usual = [advice for advice in chosen if advice.after.ipus == before.ipus or not before.runs]
        if not usual or not usual[0].after.runs:
            return None
        best = usual[0]
        # what is hidden behind the host now may show once that is gone: all that was tried gets its turn
        for other in (*usual[1:], *(advice for advice in self._tried if advice not in chosen)):
            if other.after.ipus != before.ipus or other.sets & best.sets or self._spent:
                continue
            try:
                both = self._advice(best.then(other))
            except Error:
                continue
            if both.after.runs and both.effect_per_ipu >= (1.0 + SMALLEST_EFFECT) * best.effect_per_ipu:
                best = both
        return best if best is not usual[0] else None
