"""Said to fit, did fit: the verdicts on configurations whose fate is known.

Two sets of verdicts are shown: by the shipped curve (memory/fit.toml), which has seen all rows, and by curves that were
found without the family of each row. The second says what to expect of a model that is not among the cases.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tremula.memory.verdict import FITTING, WORDS, Curve, curve, word_of

from .fidelity_fit_curve import FAILURES, MOST_WEIGHT, curves_without
from .fidelity_fit_evidence import Evidence, families

#: share of the configurations called likely that must have run
LIKELY_TARGET = 0.8


@dataclass(frozen=True)
class Verdicts:
    """Counts of what was said and what happened, and how good the probabilities are."""

    title: str
    #: word -> (ran, failed)
    counts: Mapping[str, tuple[int, int]]
    #: mean square of probability - outcome, and that of saying the share of all that ran of each
    brier: float
    brier_of_base_rate: float

    @property
    def rows(self) -> int:
        return sum(map(sum, self.counts.values()))

    def _share(self, words: Sequence[str], outcome: int) -> float | None:
        known = sum(pair[outcome] for pair in self.counts.values())
        return sum(self.counts[word][outcome] for word in words) / known if known else None

    @property
    def ran_said_to_fit(self) -> float | None:
        """Of those that ran, the share with a yes or likely."""
        return self._share(FITTING, 0)

    @property
    def failed_said_not_to(self) -> float | None:
        """Of those that failed, the share with an unlikely or no."""
        return self._share([word for word, _ in WORDS if word not in FITTING], 1)

    def ran_of(self, word: str) -> float | None:
        """Of those that were called `word`, the share that ran."""
        ran, failed = self.counts[word]
        return ran / (ran + failed) if ran + failed else None

    @property
    def met(self) -> bool | None:
        """Whether enough of the likely ones ran; None: there are none."""
        share = self.ran_of("likely")
        return None if share is None else share >= LIKELY_TARGET


def verdicts(title: str, rows: Sequence[Evidence], probabilities: Sequence[float]) -> Verdicts:
    """What was said of `rows` with these probabilities."""
    counts = {word: [0, 0] for word, _ in WORDS}
    for row, probability in zip(rows, probabilities, strict=True):
        counts[word_of(probability)][not row.ran] += 1
    base = statistics.fmean(row.ran for row in rows) if rows else 0.0
    return Verdicts(
        title,
        {word: (ran, failed) for word, (ran, failed) in counts.items()},
        _brier(rows, probabilities),
        _brier(rows, [base] * len(rows)),
    )


def _brier(rows: Sequence[Evidence], probabilities: Sequence[float]) -> float:
    errors = [(each - row.ran) ** 2 for row, each in zip(rows, probabilities, strict=True)]
    return statistics.fmean(errors) if errors else 0.0


def tables(rows: Sequence[Evidence], shipped: Curve | None = None) -> list[Verdicts]:
    """By the shipped curve, without each row's family, and of blind rows alone (if there are any)."""
    used = shipped or curve()
    without = curves_without(rows)
    found = [
        verdicts("shipped curve", rows, [used.probability(row.fill) for row in rows]),
        verdicts("family left out", rows, [without[row.family].probability(row.fill) for row in rows]),
    ]
    blind = [row for row in rows if row.blind]
    if blind:
        left_out = [without[row.family].probability(row.fill) for row in blind]
        found.append(verdicts("blind rows, family left out", blind, left_out))
    return found


def as_text(rows: Sequence[Evidence]) -> str:
    """What the command prints."""
    if not rows:
        return ""
    failed = sum(not row.ran for row in rows)
    lines = [f"said to fit / did fit: {len(rows)} configurations, {failed} of them failed; {_curve_words()}"]
    for table in tables(rows):
        cells = "  ".join(f"{word} {ran} ran {failed} failed" for word, (ran, failed) in table.counts.items())
        lines.append(f"  {table.title + ':':30} {cells}")
        lines.append(f"  {'':30} {_shares(table)}")
    return "\n".join(lines)


def _curve_words() -> str:
    used = curve()
    return f"curve of {used.rows} rows: centre {used.centre:.3g}, width {used.width:.3g}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _shares(table: Verdicts) -> str:
    verdict = {True: " (met)", False: " (MISSED)", None: ""}[table.met]
    return (
        f"{_percent(table.ran_said_to_fit)} of those that ran were said to fit, "
        f"{_percent(table.failed_said_not_to)} of those that "
        f"failed were said not to fit; of the likely ones {_percent(table.ran_of('likely'))} ran, target "
        f"{LIKELY_TARGET:.0%}{verdict}; Brier score {table.brier:.3f}, base rate {table.brier_of_base_rate:.3f}"
    )


_INTRODUCTION = """## Said to fit, did fit

For {rows} configurations it is known whether they ran: a speed, a run or a failure was published. {failed} of them
failed because of too little memory. The model computes the bytes on the fullest tile of each, and a curve converts
them to a probability (`memory/fit.toml`: half of the programs run at {centre:.0%} of a tile; the width in log(fill) is
{width:.2f}). The verdict is "yes" from {yes:.0%}, "likely" from {likely:.0%}, "unlikely" from {unlikely:.0%}, and
otherwise "no". "Family left out" means that the curve was fitted without the rows of the same model from the same
publication.

Runs are published more often than failures. The curve corrects for this: it was fitted as if {failures:.0%} of all
programs failed, with a failure counting as {most:g} runs at most.
"""


def as_markdown(rows: Sequence[Evidence]) -> str:
    """The section of the page on accuracy."""
    least, used = dict(WORDS), curve()
    lines = [
        _INTRODUCTION.format(
            rows=len(rows),
            failed=sum(not row.ran for row in rows),
            centre=used.centre,
            width=used.width,
            failures=FAILURES,
            most=MOST_WEIGHT,
            **least,
        ),
        "| said | ran | failed | ran, family left out | failed, family left out |",
        "|---|---:|---:|---:|---:|",
    ]
    found = tables(rows)
    for word, _ in WORDS:
        cells = " | ".join(str(count) for table in found[:2] for count in table.counts[word])
        lines.append(f"| {word} | {cells} |")
    lines += ["", *(f"- {table.title}, {table.rows} rows: {_shares(table)}." for table in found), ""]
    lines += ["| fill of the fullest tile | ran | failed |", "|---|---:|---:|"]
    lines += [f"| {each.says} of a tile | {each.ran} | {each.failed} |" for each in used.bins]
    wrong = [row for row in rows if (row.said() in FITTING) != row.ran]
    if wrong:
        lines += ["", "Wrong verdicts:", "", "| row | modelled fill | said | did |", "|---|---:|---|---|"]
        lines += [
            f"| `{row.id}` | {row.fill:.0%} | {row.said()} | {'ran' if row.ran else 'failed'} |"
            for row in wrong
        ]
    lines += ["", f"{len(families(rows))} families.", ""]
    return "\n".join(lines)
