"""The report of `tremula estimate` and TREMULA_ESTIMATE: the table, where to cut, ops to look at, what to change."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from tremula import log
from tremula.advise.advice import Advice
from tremula.advise.advise import AdviceList, advise
from tremula.advise.compile_time import compile_time
from tremula.advise.operations import Looks, operations
from tremula.advise.recompilations import recompilations
from tremula.errors import Error
from tremula.formatting import counted, plain
from tremula.invariants import present
from tremula.settings.environment import env
from tremula.study.answer import Answer, Answers, ask
from tremula.study.options import options_from_text, question_of
from tremula.study.placed_subject import PlacedSubject
from tremula.study.question import Question
from tremula.study.saved import save
from tremula.study.subject import Subject
from tremula.study.table import as_csv, legend, print_table

#: columns where the output is not a terminal
_WIDTH = 160
#: batch lines and notes that are printed
_LINES = 8
_ADVICE = 6
_LOOKS = 8


def report(subject: Subject | PlacedSubject, options: argparse.Namespace, file: TextIO | None = None) -> int:
    """Estimate `subject` as `options` request. Returns 1 if there is no estimate."""
    if options.csv and options.why:
        raise Error("--why and --csv cannot be used together; give one of them")
    out = file or sys.stdout
    if isinstance(subject, PlacedSubject):
        return _report_placed(subject, options, out)
    answers = ask(subject, question_of(options, Question))
    width = None if out.isatty() else _WIDTH
    console = Console(file=out, highlight=False, markup=False, emoji=False, width=width)
    if options.save:
        save(answers.results, options.save)
    known = [answer for answer in answers if answer.estimate is not None]
    # advice is about the first that fits, else the first
    chosen = next((answer for answer in known if answer.result.runs), known[0] if known else None)
    if options.csv:
        out.write(as_csv(answers.results))
        return 0 if known else 1
    if not options.json:
        _print_answers(answers, console)
        out.flush()  # what follows may take a while
    why = str(chosen.estimate.explain(options.why)) if options.why and chosen and chosen.estimate else ""
    advice = None
    if chosen is not None and not options.no_advice and not options.why:
        if not options.json:
            _print_more(answers, chosen, console)
            console.print(
                Text("\nLooking for advice; press Ctrl-C to stop and list what was found", style="bold")
            )
            out.flush()
        found_so_far = _Found(console, quiet=options.json)
        advice = advise(answers.study, chosen, budget_seconds=options.advice_seconds, found=found_so_far)
    if options.json:
        found = _plain(answers, chosen, advice)
        json.dump({**found, "why": why} if why else found, out, indent=1, ensure_ascii=False)
        out.write("\n")
    elif why:
        console.print(Text(plain(why)))
    elif advice is not None:
        _print_advice(advice, console)
    out.flush()
    if advice is not None and advice.stopped:
        raise KeyboardInterrupt("; the advice above was found before the interrupt")
    return 0 if known else 1


class _Found:
    """Tells each piece of advice in a line as soon as it was tried, the best of its kind so far."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console, self._quiet = console, quiet
        self._best: dict[str, float] = {}

    def __call__(self, advice: Advice) -> None:
        if self._quiet or advice.effect <= self._best.get(advice.rule, 0.0):
            return
        self._best[advice.rule] = advice.effect
        self._console.print(Text(plain(f"  x{advice.effect:.2f}  {advice.title}", lines=False), style="dim"))
        self._console.file.flush()


def _report_placed(subject: PlacedSubject, options: argparse.Namespace, out: TextIO) -> int:
    """The figures of a program that has placed itself: there are no settings to try and nothing to advise."""
    if options.why:
        raise Error(
            "--why explains plans of the chip model, but this program places its vertices on tiles itself"
        )
    if options.save or options.csv or options.json:
        result = subject.result()
        if options.save:
            save([result], options.save)
        if options.csv:
            out.write(as_csv([result]))
            return 0
        if options.json:
            json.dump({"answers": [asdict(result)]}, out, indent=1, ensure_ascii=False)
            out.write("\n")
            return 0
    out.write(plain(subject.summary()) + "\n")
    return 0


def answer_program(subject: Subject | PlacedSubject) -> None:
    """Report what TREMULA_ESTIMATE asks for; with `stop` the program ends here. Our errors do not end the program."""
    mode = env.get("TREMULA_ESTIMATE")
    try:
        options = options_from_text(env.get("TREMULA_ESTIMATE_OPTIONS"))
        options.no_advice = options.no_advice or mode == "table"
        report(subject, options)
    except Exception as problem:
        if mode == "stop":
            raise
        log.warn_once("estimate", f"TREMULA_ESTIMATE: {subject.name} cannot be estimated: {problem}")
    if mode == "stop":
        raise SystemExit(0)


def print_recompilations(
    shapes: Mapping[tuple[str, bool], Sequence[Sequence[tuple[int, ...]]]], file: TextIO
) -> None:
    """Models that a program compiled for more than one set of input shapes, by name and whether they train."""
    for (name, training), compiled in shapes.items():
        found = recompilations(compiled)
        if found.compilations:
            kind = "training" if training else "inference"
            words = "is compiled more than once, for micro-batches of other shapes."
            file.write(plain(f"\n{name} ({kind}) {words}\n{found}\n"))


def _print_answers(answers: Answers, console: Console) -> None:
    subject = answers.subject
    kind = "training" if subject.training else "inference"
    title = (
        f"{plain(subject.name, 80)}: {kind}, {subject.parameters:,} parameters, {subject.precision} weights"
    )
    console.print(Text(title, style="bold"), Text("(modelled, not measured)", style="italic"))
    console.print()
    print_table(answers.results, console)
    console.print()
    results = [result for result in answers.results if not result.problem]
    for line in _some(dict.fromkeys(result.batch for result in results)):
        console.print(Text(f"batch: {line}"))
    for line in _some(dict.fromkeys(note for result in results for note in result.notes)):
        console.print(Text(plain(f"note: {line}")))
    if results:
        console.print(Text(legend(results), style="dim"))


def _some(lines: Iterable[str]) -> list[str]:
    listed = list(lines)
    if len(listed) <= _LINES:
        return listed
    return [*listed[: _LINES - 1], f"and {len(listed) - _LINES + 1} more"]


def _print_more(answers: Answers, chosen: Answer, console: Console) -> None:
    estimate = present(chosen.estimate, "the estimate")
    cut = chosen if chosen.split is not None else next((each for each in answers if each.split), None)
    if cut is not None and cut.split is not None:
        console.print(
            Text(
                f"\nPipeline stages on {counted(int(cut.result.setting['stages']), 'IPU')}",
                style="bold",
            )
        )
        console.print(Text(plain(cut.split.chart())))
        _print_code([*cut.split.lines(), *cut.split.options_lines()], console)
    looks = _looks(answers, chosen)
    if len(looks):
        console.print(Text("\nOps to check", style="bold"))
        for look in looks.looks[:_LOOKS]:
            console.print(Text(plain(f"  {look}")))
        _print_rest(len(looks) - _LOOKS, console)
    console.print(Text(f"\nCompilation: {plain(str(compile_time(estimate)))}."))


def _print_rest(count: int, console: Console) -> None:
    if count > 0:
        console.print(Text(f"and {count} more with --json", style="dim"))


def _looks(answers: Answers, chosen: Answer) -> Looks:
    estimate, case = present(chosen.estimate, "the estimate"), present(chosen.case, "the case")
    unknown = answers.subject.captured(case.variant).unknown
    return operations(estimate, unknown, answers.subject.dialect)


def _print_advice(advice: AdviceList, console: Console) -> None:
    console.print(Text("\nAdvice, by predicted effect (modelled)", style="bold"))
    console.print(Text(f"as it is: {plain(advice.before.brief)}"))
    if not len(advice):
        console.print(Text("no change helps by 2 % or more"))
    for number, each in enumerate(advice.advice[:_ADVICE], 1):
        title, *lines = each.lines()
        console.print(Text(f"{number}. {title}", style="bold"))
        console.print(Text("\n".join(lines)))
        _print_code(each.code, console)
    _print_rest(len(advice) - _ADVICE, console)
    if advice.together is not None:
        title, headline, *_ = advice.together.lines()
        console.print(Text(f"together: {title}", style="bold"))
        console.print(Text(headline))
    if advice.untried and not advice.stopped:
        named = ", ".join(advice.untried)
        console.print(
            Text(
                plain(f"not tried, because the time limit was reached (--advice-seconds): {named}"),
                style="dim",
            )
        )


def _print_code(lines: Iterable[str], console: Console) -> None:
    text = "\n".join(f"    {plain(line)}" for line in lines)
    if console.is_terminal:
        console.print(Syntax(text, "python", background_color="default"))
    else:
        console.print(Text(text), soft_wrap=True)


def _plain(answers: Answers, chosen: Answer | None, advice: AdviceList | None) -> dict[str, Any]:
    subject = answers.subject
    found: dict[str, Any] = {
        "name": subject.name,
        "training": subject.training,
        "parameters": subject.parameters,
        "modelled": True,
        "answers": [
            {**asdict(answer.result), "split": None if answer.split is None else answer.split.config()}
            for answer in answers
        ],
    }
    if chosen is not None and chosen.estimate is not None:
        found["compile_time"] = asdict(compile_time(chosen.estimate))
        found["operations"] = _looks(answers, chosen).to_plain()
    if advice is not None:
        found["advice"] = advice.to_plain()
    return found
