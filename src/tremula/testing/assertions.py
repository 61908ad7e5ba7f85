"""Assertions about models. A failed one raises AssertionError with the modelled figures and their range.

`model` is what `tremula estimate` takes (`"model.py:make"`, an ONNX file, a saved program), a function that returns a
model with its inputs, or a subject of `tremula.ask`. Settings are those of `tremula.ask.estimate`: target, ipus,
micro_batch, precision and so on. What they leave out is the program's own.
"""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tremula.errors import Error

if TYPE_CHECKING:
    from tremula.study.result import Result
    from tremula.study.subject import Subject

#: pytest shows the line of the test, not the lines here
__tracebackhide__ = True

#: a model that can be asked about, or where it is
Model = Any


def assert_fits(model: Model, *, probability: float = 0.5, **setting: Any) -> None:
    """Assert that the model fits in tile memory with at least this probability, for every combination of settings.

    Raises:
        AssertionError: it does not.
        Error: the model cannot be estimated.
    """
    for result in _results(model, setting):
        known = result.fit_probability
        fits = result.runs if known is None else known >= probability
        if not fits:
            chance = (
                "" if known is None else f" with a probability of {known:.0%}, {probability:.0%} is asked for"
            )
            _fail(f"{_named(result)} fits{chance}. Modelled: {result.brief}.")


def assert_throughput(model: Model, at_least: float, *, cautious: bool = False, **setting: Any) -> None:
    """Assert that the modelled throughput is at least `at_least` samples per second.

    With `cautious`, the lower end of the range counts, not the middle.

    Raises:
        AssertionError: it is slower, or does not fit.
        Error: the model cannot be estimated.
    """
    for result in _results(model, setting):
        figure = result["throughput"]
        found = figure.low if cautious else figure.value
        if not result.runs or found < at_least:
            end = "the lower end of the range " if cautious else ""
            _fail(
                f"{_named(result)}: {at_least:,.6g} samples/s are asked for, {end}is {found:,.6g}. "
                f"Modelled: {result.brief}, range {figure.low:,.6g} to {figure.high:,.6g} samples/s."
            )


def assert_no_unsupported_ops(model: Model, **setting: Any) -> None:
    """Assert that the device's compiler supports every op of the model. Unsupported ops are listed with their lines.

    Raises:
        AssertionError: there are unsupported ops.
        Error: the model cannot be captured, for example because of ops that the compiler is known to refuse.
    """
    from tremula import ask

    subject = _subject(model)
    found = [look for look in ask.operations(subject, **setting) if look.kind == "unsupported"]
    if found:
        listed = "\n".join(f"  {look}" for look in found)
        _fail(f"{subject.name} has {len(found)} ops that are not known to be supported:\n{listed}")


def assert_no_regression(
    before: str | PathLike[str] | Result, after: Model, *limits: str, **setting: Any
) -> None:
    """Assert that no limit is exceeded between two results, such as `"worst_tile>+2%"` or `"throughput<-3%"`.

    `before` is a file that `tremula estimate --save` wrote, or a profile. `after` is one too, or a model, which is
    estimated with `setting`. docs/estimate.md lists what limits may name.

    Raises:
        AssertionError: a limit is exceeded; every one that is, is listed.
        Error: a limit cannot be read, or the two cannot be compared.
    """
    from tremula import ask
    from tremula.study.limits import check, parse_limit

    if not limits:
        raise Error("Give at least one limit, for example 'worst_tile>+2%'.")
    compared = ask.compare(_side(before, {}), _side(after, setting))
    checks = [check(compared, parse_limit(each)) for each in limits]
    exceeded = [each for each in checks if each.exceeded]
    if exceeded:
        listed = "\n".join(
            f"  {each.limit.text}: {each.shown} (from {each.found.a:,.6g} to {each.found.b:,.6g})"
            for each in exceeded
        )
        _fail(f"{len(exceeded)} of {len(checks)} limits are exceeded (modelled):\n{listed}")


def _side(side: Model, setting: dict[str, Any]) -> Any:
    """A result, or a file that holds one; anything else is a model to estimate."""
    from tremula.study.result import Result

    if isinstance(side, Result):
        return side
    if isinstance(side, str | PathLike) and _holds_results(fspath(side)):
        if setting:
            raise Error(f"{fspath(side)} holds finished results; settings can only be given for a model.")
        return side
    results = _results(side, setting)
    if len(results) != 1:
        raise Error(f"These settings make {len(results)} combinations; give one to compare.")
    return results[0]


def _holds_results(name: str) -> bool:
    from tremula.study.saved import is_saved, numbered

    path, _ = numbered(name)
    return Path(path).suffix == ".pop" or Path(path).is_dir() or is_saved(path)


def _results(model: Model, setting: dict[str, Any]) -> tuple[Result, ...]:
    from tremula import ask

    results = ask.estimate(_subject(model), **setting).results
    for result in results:
        if result.problem:
            raise Error(f"{result.name} ({result.short_setting}): {result.problem}")
    return results


def _subject(model: Model) -> Subject:
    if isinstance(model, str | PathLike):
        from tremula.ask.sources import each_subject

        return each_subject([fspath(model)], lambda subject: subject)[0]
    if hasattr(model, "captured"):
        found: Subject = model
        return found
    from tremula import ask

    return ask.factory(model)


def _named(result: Result) -> str:
    return f"{result.name} ({result.short_setting or 'as the program is'})"


def _fail(message: str) -> None:
    raise AssertionError(message)
