"""Tabulates how public Poplar programs build and run: docs/conformance-poplar.md.

    python -m benchmarks.conformance_poplar REPORTS [--page docs/conformance-poplar.md]

This command builds and runs nothing. It reads reports of pytest (`--junitxml`) of the tests that the programs bring,
REPORTS/SET/*.xml for each set, and what is written down in benchmarks/conformance_poplar_records:

    programs.toml   [[program]] project, name, outcome, note: what became of each program and codelet
    figures.toml    [[figure]] program, figure, published, modelled: what a program's profile says
    reasons.toml    [[reason]] pattern, reason: why tests fail

An outcome is one of `OUTCOMES`. Whatever does not run as it is needs a note that says why.
`make conformance-poplar REPORTS=folder` calls this.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORDS = HERE / "conformance_poplar_records"
REASONS = RECORDS / "reasons.toml"
OUTCOMES = {
    "runs": "builds and runs",
    "differs": "builds and runs after the change that the note names",
    "compiles": "compiles (a codelet, or a host file of which parts are missing)",
    "cannot": "does not build or run, for a reason of its own",
    "unsupported": "needs what Tremula does not have",
}


@dataclass
class Suite:
    """The tests of one set of programs."""

    name: str
    passed: int = 0
    skipped: int = 0
    failures: dict[str, str] = field(default_factory=dict)  #: message of each failing case


@dataclass(frozen=True)
class Program:
    """What became of a program or codelet."""

    project: str
    name: str
    outcome: str
    note: str


@dataclass(frozen=True)
class Figure:
    """A figure of a profile, as published and as modelled."""

    program: str
    figure: str
    published: float
    modelled: float

    @property
    def difference(self) -> float:
        """Modelled over published, less one."""
        return self.modelled / self.published - 1


class RecordsError(Exception):
    """A record that cannot be read."""


def suites(folder: Path) -> list[Suite]:
    """The tests of all sets, by name."""
    return [_suite(each) for each in sorted(folder.iterdir()) if each.is_dir()]


def _suite(folder: Path) -> Suite:
    made = Suite(folder.name)
    for report in sorted(folder.glob("*.xml")):
        try:
            cases = list(ET.parse(report).getroot().iter("testcase"))
        except ET.ParseError as problem:
            raise RecordsError(f"{report} is not a report of pytest: {problem}") from None
        for case in cases:
            problem_element = case.find("failure")
            if problem_element is None:
                problem_element = case.find("error")
            if problem_element is not None:
                name = f"{case.get('file') or case.get('classname', '')}: {case.get('name', '?')}"
                made.failures[name] = problem_element.get("message") or ""
            elif case.find("skipped") is not None:
                made.skipped += 1
            else:
                made.passed += 1
    return made


def programs(path: Path) -> list[Program]:
    """The programs of a file of records."""
    found = []
    for row in _rows(path, "program"):
        made = Program(*(str(row.get(key, "")) for key in ("project", "name", "outcome", "note")))
        if made.outcome not in OUTCOMES:
            raise RecordsError(
                f"{path}: {made.name} has the outcome {made.outcome!r}, not one of {', '.join(OUTCOMES)}"
            )
        if made.outcome not in ("runs", "compiles") and not made.note:
            raise RecordsError(f"{path}: {made.name} does not run as it is, and no note says why")
        found.append(made)
    return found


def figures(path: Path) -> list[Figure]:
    """The figures of a file of records."""
    try:
        return [
            Figure(row["program"], row["figure"], float(row["published"]), float(row["modelled"]))
            for row in _rows(path, "figure")
        ]
    except KeyError as problem:
        raise RecordsError(f"{path}: a figure has no {problem}") from None


def _rows(path: Path, name: str) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        return list(tomllib.loads(path.read_text(encoding="utf-8")).get(name, []))
    except tomllib.TOMLDecodeError as problem:
        raise RecordsError(f"{path}: {problem}") from None


def reason_for(message: str, reasons: Sequence[dict[str, str]]) -> str:
    """Why a case fails: the first reason whose pattern is in its message, or the message itself."""
    for each in reasons:
        if re.search(each["pattern"], message):
            return each["reason"]
    return message.strip().splitlines()[0][:160] if message.strip() else "no message"


def page(tests: Sequence[Suite], found: Sequence[Program], profiled: Sequence[Figure]) -> Iterator[str]:
    """docs/conformance-poplar.md, line by line."""
    yield "# Conformance of Poplar"
    yield ""
    yield "Generated by `make conformance-poplar REPORTS=folder` from what runs left behind. Public programs were"
    yield "copied and built by their own Makefiles or CMake files after `source <(tremula cpp enable)`, and run. The"
    yield "sources are unmodified unless a note says otherwise. Hardware is virtual IPUs, and MNIST ran on made-up"
    yield "digits. Some need Boost, CMake, spdlog or glm. [poplar-cpp.md](poplar-cpp.md) says how to build your own."
    yield ""
    yield from _tests(tests)
    yield from _figures(profiled)
    yield from _programs(found)


def _tests(tests: Sequence[Suite]) -> Iterator[str]:
    if not tests:
        return
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))["reason"]
    yield "## The programs' own tests"
    yield ""
    yield "| tests of | pass | fail | skipped |"
    yield "|---|---:|---:|---:|"
    for each in tests:
        yield f"| {each.name} | {each.passed} | {len(each.failures)} | {each.skipped} |"
    yield ""
    grouped: dict[str, list[str]] = {}
    for each in tests:
        for name, message in each.failures.items():
            grouped.setdefault(reason_for(message, reasons), []).append(f"{each.name}, {name}")
    if not grouped:
        return
    yield "Failing cases and why:"
    yield ""
    for reason, cases in sorted(grouped.items(), key=lambda pair: -len(pair[1])):
        yield f"- {reason} ({len(cases)})"
    yield ""


def _figures(profiled: Sequence[Figure]) -> Iterator[str]:
    if not profiled:
        return
    yield "## Profiles beside published ones"
    yield ""
    yield "Modelled, from `printProfileSummary` of the C++ programs. [poplar-estimates.md](poplar-estimates.md)"
    yield "says how each figure is made, and which published ones the rules come from."
    yield ""
    yield "| program | figure | published | modelled | |"
    yield "|---|---|---:|---:|---:|"
    for each in profiled:
        yield (
            f"| {each.program} | {each.figure} | {each.published:,.1f} | {each.modelled:,.1f} | "
            f"{100 * each.difference:+.1f} % |"
        )
    yield ""


def _programs(found: Sequence[Program]) -> Iterator[str]:
    if not found:
        return
    projects = list(dict.fromkeys(each.project for each in found))
    yield "## Programs and codelets"
    yield ""
    yield f"| project | {' | '.join(OUTCOMES)} |"
    yield f"|---|{'---:|' * len(OUTCOMES)}"
    for project in projects:
        counts = [
            sum(1 for each in found if (each.project, each.outcome) == (project, key)) for key in OUTCOMES
        ]
        yield f"| {project} | {' | '.join(str(count) if count else '' for count in counts)} |"
    yield ""
    yield from (f"- *{key}*: {text}" for key, text in OUTCOMES.items())
    yield ""
    for project in projects:
        noted = [each for each in found if each.project == project and each.note]
        if noted:
            yield f"### {project}"
            yield ""
            yield "| program or codelet | | note |"
            yield "|---|---|---|"
            yield from (f"| {each.name} | {each.outcome} | {each.note} |" for each in noted)
            yield ""


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or print it; exit code 1 if a record cannot be read."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reports", type=Path, help="folder with a folder of reports for each set of programs")
    parser.add_argument("--page", type=Path, help="write the tables to this Markdown file")
    options = parser.parse_args(arguments)
    if not options.reports.is_dir():
        parser.error(f"{options.reports} is not a folder")
    try:
        tests = suites(options.reports)
        found = programs(RECORDS / "programs.toml")
        text = "\n".join(page(tests, found, figures(RECORDS / "figures.toml"))).rstrip() + "\n"
    except RecordsError as problem:
        print(problem, file=sys.stderr)
        return 1
    if options.page:
        options.page.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    for each in tests:
        print(f"{each.name}: {each.passed} of {each.passed + len(each.failures)} pass")
    return 0


if __name__ == "__main__":
    sys.exit(main())
