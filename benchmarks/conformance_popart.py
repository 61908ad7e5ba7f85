"""Runs PopART's own public tests, unmodified, against the installed package and tabulates the result.

    python -m benchmarks.conformance_popart FOLDER [--set operators] [--jobs 2] [--page docs/conformance-popart.md]

FOLDER is a copy of PopART's public repository, or of its `tests`, `docs` and `version.json`. There are three sets:
`operators` (tests/integration/operators_test), `integration` (the other files of tests/integration) and `popxl`
(tests/integration/popxl). Each file runs on the device that the suite's CMakeLists.txt names for it: the host, an IPU
model, or IPUs, which are virtual here. What the suite counts on, and newer packages no longer have, comes from a plugin
(benchmarks/conformance_popart_aids). Reasons for failing cases are in benchmarks/conformance_popart_reasons.toml.
`make conformance-popart SUITE=FOLDER` installs what the suite imports besides.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.conformance import FileResult, reason_for

HERE = pathlib.Path(__file__).resolve().parent
AIDS = (HERE / "conformance_popart_aids", HERE / "conformance_aids")
REASONS = HERE / "conformance_popart_reasons.toml"
CASE_TIMEOUT_SECONDS = 120
#: files that one process runs: importing the frameworks takes longer than most files
FILES_AT_ONCE = 12
FILE_TIMEOUT_SECONDS = 900
#: no tests: helpers, and a generator of data
NO_TESTS = frozenset({"conftest.py", "test_util.py", "generate_keras_lstm_models.py", "__init__.py"})

#: files that name a partition of IPUs, which has to be there: (name, IPUs)
PARTITIONS = {"test_multi_instance_vs_rts.py": ("popxl--test_multi_instance_vs_rts__", 16)}
#: variables of CMake that stand for a device
_DEVICE_VARIABLES = {"${HW_EXCLUDE_C600}": "Hw"}

SETS = {
    "operators": "Operators (tests/integration/operators_test)",
    "integration": "The other integration tests (tests/integration)",
    "popxl": "PopXL (tests/integration/popxl)",
}


@dataclass(frozen=True)
class Group:
    """Files that one process runs, and their device."""

    device: str
    files: tuple[pathlib.Path, ...]


def files_of(suite: str, folder: pathlib.Path) -> list[pathlib.Path]:
    """The files of a set, relative to the folder of integration tests."""
    if suite != "integration":
        part = "operators_test" if suite == "operators" else suite
        found = (folder / part).rglob("*.py")
    else:
        found = (
            path
            for path in folder.rglob("*.py")
            if path.relative_to(folder).parts[0] not in ("operators_test", "popxl")
        )
    return sorted(
        path.relative_to(folder) for path in found if path.name not in NO_TESTS and _has_tests(path)
    )


def _has_tests(path: pathlib.Path) -> bool:
    text = path.read_text(errors="replace")
    return "def test" in text


def device_of(file: pathlib.Path, folder: pathlib.Path) -> str:
    """The device type that the suite's build files name for a file: Cpu, IpuModel2 or Hw."""
    lists = (folder / file).parent / "CMakeLists.txt"
    text = re.sub(r"#.*", "", lists.read_text()) if lists.exists() else ""
    found = re.search(rf"add_popart_py_unit_test\(\s*{re.escape(file.stem)}\b([^)]*)\)", text)
    variant = re.search(r'VARIANTS\s+"?([\w${}]+)', found[1]) if found else None
    if variant is None:
        return "Cpu"
    return _DEVICE_VARIABLES.get(variant[1], variant[1])


def groups_of(files: Sequence[pathlib.Path], folder: pathlib.Path) -> Iterator[Group]:
    """The files that run together: on the same device, not too many of them."""
    by_device: dict[str, list[pathlib.Path]] = {}
    for file in files:
        if file.name in PARTITIONS:
            yield Group(device_of(file, folder), (file,))
        else:
            by_device.setdefault(device_of(file, folder), []).append(file)
    for device, own in sorted(by_device.items()):
        for start in range(0, len(own), FILES_AT_ONCE):
            yield Group(device, tuple(own[start : start + FILES_AT_ONCE]))


def environment(state: pathlib.Path) -> dict[str, str]:
    """The suite's environment."""
    env = dict(os.environ)
    env["PATH"] = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}"
    paths = [*map(str, AIDS), env.get("PYTHONPATH", "")]
    env["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    env.setdefault("OMP_NUM_THREADS", "1")
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["TREMULA_SUMMARY"] = "0"
    env["TREMULA_STATE_DIR"] = str(state)
    # some files start poprun, which asks for this if root runs it
    env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return env


def run(
    folder: pathlib.Path, group: Group, results: pathlib.Path, plugins: Sequence[str] = ()
) -> list[FileResult]:
    """Run files in one process; each alone again if the process does not survive them together."""
    files = group.files
    name = str(files[0]).replace("/", "_")
    report = results / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"),
        *("-p", "popart_suite", "--continue-on-collection-errors", f"--timeout={CASE_TIMEOUT_SECONDS}"),
        *("-o", "junit_family=xunit1", f"--junitxml={report}", f"--rootdir={folder.parent}"),
        f"--device-type={group.device}",
        *(word for plugin in plugins for word in ("-p", plugin)),
        *(str(folder / file) for file in files),
    ]
    env = environment(results / "state" / name)
    if files[0].name in PARTITIONS:
        partition, ipus = PARTITIONS[files[0].name]
        create = ["vipu", "create", "partition", partition, "--size", str(ipus), "--reconfigurable"]
        subprocess.run(create, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    started = time.monotonic()
    with open(results / f"{name}.log", "w") as log:
        try:
            subprocess.run(
                command,
                cwd=results,
                env=env,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=FILE_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            report.unlink(missing_ok=True)
    if not report.exists() and len(files) > 1:
        alone = (Group(group.device, (file,)) for file in files)
        return [result for each in alone for result in run(folder, each, results, plugins)]
    found = read(report, files, folder)
    found[0].seconds = time.monotonic() - started
    return found


def read(report: pathlib.Path, files: Sequence[pathlib.Path], folder: pathlib.Path) -> list[FileResult]:
    """Count the cases of a junit report by file."""
    found = {str(file): FileResult(str(file)) for file in files}
    if not report.exists():
        only = next(iter(found.values()))
        only.note = "no report: the process ended early, see the log"
        only.failures[f"{only.name} (whole file)"] = only.note
        return list(found.values())
    for case in ET.parse(report).getroot().iter("testcase"):
        result = _file_of(case, found)
        if result is None:
            continue
        name = case.get("name", "?").removeprefix(
            f"{folder.name}."
        )  # a file that cannot be imported is a module
        failure = case.find("failure")
        failure = case.find("error") if failure is None else failure
        if failure is not None:
            result.failures[name] = (failure.get("message") or "").splitlines()[0][:160]
        elif case.find("skipped") is None:
            result.passed += 1
        else:
            result.skipped += 1
    return list(found.values())


def _file_of(case: ET.Element, found: dict[str, FileResult]) -> FileResult | None:
    written = case.get("file") or case.get("name", "").replace(".", "/") + ".py"
    for name, result in found.items():
        if f"/{written}".endswith(f"/{name}") or f"/{name}".endswith(f"/{written}"):
            return result
    return None


def page(results: dict[str, list[FileResult]]) -> Iterator[str]:
    """docs/conformance-popart.md, line by line."""
    reasons = tomllib.loads(REASONS.read_text()) if REASONS.exists() else {}
    yield "# Conformance with PopART's own tests"
    yield ""
    yield "Generated by `make conformance-popart SUITE=FOLDER`, where FOLDER is a copy of PopART's public repository."
    yield "The tests run unmodified. Each file runs on the device that the suite's build files name for it: the host,"
    yield "an IPU model, or IPUs, which are virtual here. `benchmarks/conformance_popart_aids` has the additions that"
    yield "they need: a replacement for torch_scatter, because no wheel exists for this torch, and what NumPy, onnx"
    yield "and torch.onnx have changed since."
    yield ""
    yield "| set | pass | fail | skipped by the suite | share |"
    yield "|---|---:|---:|---:|---:|"
    for suite, found in results.items():
        passed, failed = sum(r.passed for r in found), sum(len(r.failures) for r in found)
        skipped = sum(r.skipped for r in found)
        share = 100 * passed / max(passed + failed, 1)
        yield f"| {SETS[suite]} | {passed} | {failed} | {skipped} | {share:.1f} % |"
    yield ""
    for suite, found in results.items():
        yield f"## {SETS[suite]}"
        yield ""
        yield "| file | pass | fail | skipped by the suite |"
        yield "|---|---:|---:|---:|"
        for result in found:
            yield f"| {result.name} | {result.passed} | {len(result.failures)} | {result.skipped} |"
        yield ""
        yield from _why(found, reasons)


def _why(found: Sequence[FileResult], reasons: dict[str, dict[str, str]]) -> Iterator[str]:
    grouped: dict[str, list[str]] = {}
    for result in found:
        for case, message in result.failures.items():
            reason = reason_for(pathlib.Path(result.name).name, case, message, reasons)
            grouped.setdefault(reason, []).append(f"{result.name}: {case}")
    if not grouped:
        return
    yield "Failing cases and why:"
    yield ""
    for reason, cases in sorted(grouped.items(), key=lambda pair: -len(pair[1])):
        yield f"- {reason} ({len(cases)})"
        yield from (f"  - `{case}`" for case in cases[:6])
        if len(cases) > 6:
            yield f"  - and {len(cases) - 6} more"
    yield ""


def main(arguments: list[str] | None = None) -> int:
    """Run the sets; exit code 0 if at least 90 % of the operators' cases pass."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path, help="copy of the suite's repository")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("conformance-popart-results"))
    parser.add_argument("--page", type=pathlib.Path, help="write the tables to this Markdown file")
    options = parser.parse_args(arguments)
    folder = (options.folder / "tests" / "integration").resolve()
    if not folder.is_dir():
        parser.error(f"{folder} is not a folder: FOLDER must hold a copy of the suite's tests/")
    results = options.results.resolve()
    results.mkdir(parents=True, exist_ok=True)
    done: dict[str, list[FileResult]] = {}
    for suite in options.set or SETS:
        files = files_of(suite, folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            parts = pool.map(lambda group: run(folder, group, results), list(groups_of(files, folder)))
            done[suite] = sorted((result for part in parts for result in part), key=lambda each: each.name)
        passed = sum(r.passed for r in done[suite])
        failed = sum(len(r.failures) for r in done[suite])
        print(f"{suite}: {passed} of {passed + failed} pass ({100 * passed / max(passed + failed, 1):.1f} %)")
    if options.page:
        options.page.write_text("\n".join(page(done)) + "\n")
    first = done.get("operators", [])
    passed, failed = sum(r.passed for r in first), sum(len(r.failures) for r in first)
    return 0 if passed >= 0.9 * (passed + failed) else 1


if __name__ == "__main__":
    sys.exit(main())
