"""Finds cases of PopART's own tests that pass whatever sessions compute.

    python -m benchmarks.conformance_popart_audit FOLDER [--set operators] [--page docs/conformance-popart.md]

Runs the tests like `conformance_popart`, but every `run` of a session returns random numbers and changes no weight
(benchmarks/conformance_popart_aids/popart_audit.py). A case that calls `run` and passes all the same does not look at
results; the table `audit` of benchmarks/conformance_popart_reasons.toml says why. Files that start other processes are
left out. `--page` replaces the section of a page that has the list.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.conformance_popart import PARTITIONS, REASONS, SETS, files_of, groups_of, run

HEADING = "## Cases that do not look at results"
_PLUGINS = ("popart_audit",)
#: files whose sessions run in other processes, which the plugin does not reach
_ELSEWHERE = frozenset({*PARTITIONS, "distributed_replicated_graph_test.py", "distributed_test.py"})


@dataclass
class Audit:
    """One set: passing cases that call `run`, cases that call it and fail, and passing cases by file."""

    running: int = 0
    failing: int = 0
    passing: Counter[str] = field(default_factory=Counter)


def audit_of(reports: Sequence[pathlib.Path]) -> Audit:
    """Count the cases of junit reports."""
    found = Audit()
    for report in reports:
        for case in ET.parse(report).getroot().iter("testcase"):
            runs = next(
                (each.get("value") for each in case.iter("property") if each.get("name") == "runs"), "0"
            )
            if not int(runs or 0) or case.find("skipped") is not None:
                continue
            found.running += 1
            if case.find("failure") is not None or case.find("error") is not None:
                found.failing += 1
            else:
                found.passing[(case.get("file") or "").removeprefix("integration/")] += 1
    return found


def section(audits: Mapping[str, Audit]) -> Iterator[str]:
    """The section of the page, line by line."""
    reasons = tomllib.loads(REASONS.read_text()).get("audit", {})
    yield HEADING
    yield ""
    yield "`python -m benchmarks.conformance_popart_audit FOLDER` runs the same tests, but every `run` of a session"
    yield "returns random numbers and changes no weight. Files that start other processes are left out. Of the cases"
    yield "that call `run`, these pass all the same:"
    yield ""
    yield "| set | cases that call `run` | fail with random results | pass with random results |"
    yield "|---|---:|---:|---:|"
    for name, audit in audits.items():
        yield f"| {SETS[name]} | {audit.running} | {audit.failing} | {sum(audit.passing.values())} |"
    yield ""
    grouped: dict[str, list[tuple[str, int]]] = {}
    for audit in audits.values():
        for file, count in sorted(audit.passing.items()):
            grouped.setdefault(reasons.get(pathlib.Path(file).name, "unexplained"), []).append((file, count))
    for reason, files in sorted(grouped.items(), key=lambda pair: -sum(count for _, count in pair[1])):
        names = ", ".join(f"`{file}: {count}`" for file, count in files)
        yield f"- {reason}: {names}"
    yield ""


def replaced(page: str, lines: str) -> str:
    """The page with a new section in the place of the old one, or at its end."""
    before, found, rest = page.partition(HEADING)
    if not found:
        return f"{page.rstrip()}\n\n{lines.rstrip()}\n"
    _, following, after = rest.partition("\n## ")
    return f"{before}{lines.rstrip()}\n" + (f"\n## {after}" if following else "")


def main(arguments: list[str] | None = None) -> int:
    """Run the sets and print the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path, help="folder that holds the suite's tests/")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("conformance-popart-audit"))
    parser.add_argument("--page", type=pathlib.Path, help="replace the section of this Markdown file")
    options = parser.parse_args(arguments)
    folder = (options.folder / "tests" / "integration").resolve()
    audits = {}
    for name in options.set or SETS:
        results = options.results.resolve() / name
        results.mkdir(parents=True, exist_ok=True)
        for old in results.glob("*.xml"):
            old.unlink()
        files = [file for file in files_of(name, folder) if file.name not in _ELSEWHERE]
        for group in groups_of(files, folder):
            run(folder, group, results, _PLUGINS)
        audits[name] = audit_of(sorted(results.glob("*.xml")))
    text = "\n".join(section(audits))
    print(text)
    if options.page:
        options.page.write_text(replaced(options.page.read_text(), text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
