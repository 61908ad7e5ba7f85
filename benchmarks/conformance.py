"""Runs PopTorch's own public test suite, unmodified, against the installed package and tabulates the result.

    python benchmarks/conformance.py FOLDER [FILE ...] [--jobs 2] [--results DIR] [--page docs/conformance.md]

FOLDER holds the suite's `tests/` (a copy outside this repository). Each file runs in a process of its own,
with virtual IPUs shown as hardware. Custom-op libraries that the suite would build from C++ are replaced by
empty shared objects; their ops are found through TREMULA_CUSTOM_OPS. Reasons for failing cases come from
benchmarks/conformance_reasons.toml. `make conformance SUITE=FOLDER` installs what the suite imports besides, and
takes about 20 minutes on two idle cores.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
AIDS = HERE / "conformance_aids"
REASONS = HERE / "conformance_reasons.toml"
FILE_TIMEOUT_SECONDS = 3600
CASE_TIMEOUT_SECONDS = 900
#: the suite's own skips carry these words; everything else that is skipped is counted against us
OUR_SKIPS = ("Hardware IPU needed", "could not import")


@dataclass
class FileResult:
    """What one test file gave."""

    name: str
    passed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def run(self) -> int:
        """Cases that the suite did not skip itself."""
        return self.passed + len(self.failures)


def environment() -> dict[str, str]:
    """The suite's environment: this interpreter first in PATH, virtual hardware, our custom ops."""
    env = dict(os.environ)
    env["PATH"] = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{env.get('PATH', '')}"
    paths = [str(AIDS), str(HERE.parent / "tests" / "frontends" / "torch" / "ops"), env.get("PYTHONPATH", "")]
    env["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    env.setdefault("OMP_NUM_THREADS", "1")
    env.setdefault("TREMULA_VIRTUAL_IPUS", "64")
    env["TREMULA_CUSTOM_OPS"] = "vendor_like_ops"
    env["TREMULA_LEGACY_TORCH"] = "1"
    env["TREMULA_SUMMARY"] = "0"
    env["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"
    return env


def run_file(folder: pathlib.Path, name: str, results: pathlib.Path) -> FileResult:
    """Run one file and read its report."""
    report = results / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--extended-tests",
        f"--timeout={CASE_TIMEOUT_SECONDS}",
        f"--junitxml={report}",
        f"tests/{name}",
    ]
    started = time.monotonic()
    result = FileResult(name)
    with open(results / f"{name}.log", "w") as log:
        try:
            subprocess.run(
                command,
                cwd=folder,
                # IPUs of its own: files run side by side, and each is meant to have the machine to itself
                env=environment() | {"TREMULA_STATE_DIR": str(results / "state" / name)},
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=FILE_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            result.note = f"stopped after {FILE_TIMEOUT_SECONDS} s"
    result.seconds = time.monotonic() - started
    return read_report(report, result)


def read_report(report: pathlib.Path, result: FileResult) -> FileResult:
    """Count the cases of a junit report."""
    if not report.exists():
        result.note = result.note or "no report: the process ended early, see the log"
        result.failures[f"{result.name} (whole file)"] = result.note
        return result
    root = ET.parse(report).getroot()
    if not result.seconds:
        result.seconds = sum(float(suite.get("time", 0)) for suite in root.iter("testsuite"))
    for case in root.iter("testcase"):
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        skipped = case.find("skipped")
        name = case.get("name", "?")
        if failure is not None:
            result.failures[name] = (failure.get("message") or "").splitlines()[0][:200]
        elif skipped is None:
            result.passed += 1
        elif any(words in (skipped.get("message") or "") for words in OUR_SKIPS):
            result.failures[name] = f"skipped: {skipped.get('message')}"
        else:
            result.skipped += 1
    return result


def reason_for(file: str, case: str, message: str, reasons: dict[str, dict[str, str]]) -> str:
    """The known reason of a failing case, else the first line of its message."""
    for prefix, reason in reasons.get(file, {}).items():
        if case.startswith(prefix):
            return reason
    return f"unexplained: {message}"


def page(results: list[FileResult]) -> Iterator[str]:
    """docs/conformance.md, line by line."""
    reasons = tomllib.loads(REASONS.read_text()) if REASONS.exists() else {}
    passed = sum(result.passed for result in results)
    run = sum(result.run for result in results)
    skipped = sum(result.skipped for result in results)
    yield "# Conformance with PopTorch's own test suite"
    yield ""
    yield "Generated by `python benchmarks/conformance.py FOLDER --page docs/conformance.md`, where FOLDER has a copy"
    yield "of `tests/` from PopTorch's public repository. The suite runs unmodified, including cases marked for"
    yield "hardware (64 virtual IPUs appear as hardware). It needs a few additions:"
    yield ""
    yield "- `TREMULA_LEGACY_TORCH=1`, because the suite calls `Sampler.__init__` as older torch allowed"
    yield "- Python implementations of its C++ custom ops (`TREMULA_CUSTOM_OPS`)"
    yield "- a replacement for torch_scatter, because no wheel exists for this torch"
    yield "- declarations of torchvision's operators, because its only wheel is linked to CUDA"
    yield "- torch.load reading whole modules"
    yield ""
    share = 100 * passed / run if run else 0.0
    yield f"**{passed} of {run} cases pass ({share:.1f} %)**; {skipped} more are skipped by the suite itself."
    yield ""
    yield "| file | pass | fail | skipped by the suite | seconds |"
    yield "|---|---:|---:|---:|---:|"
    for result in results:
        cells = (result.name, result.passed, len(result.failures), result.skipped, f"{result.seconds:.0f}")
        yield "| " + " | ".join(str(cell) for cell in cells) + " |"
    yield ""
    yield "## Failing cases and why"
    yield ""
    for result in results:
        if not result.failures:
            continue
        yield f"### {result.name}"
        yield ""
        grouped: dict[str, list[str]] = {}
        for case, message in result.failures.items():
            grouped.setdefault(reason_for(result.name, case, message, reasons), []).append(case)
        for reason, cases in grouped.items():
            yield f"- {reason}"
            for case in cases:
                yield f"  - `{case}`"
        yield ""


def main(arguments: list[str] | None = None) -> int:
    """Run the suite; exit code 0 if at least 95 % of the cases pass."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path, help="folder that holds the suite's tests/")
    parser.add_argument("files", nargs="*", help="only these files, such as batching_test.py")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("conformance-results"))
    parser.add_argument("--page", type=pathlib.Path, help="write the table to this Markdown file")
    parser.add_argument("--reuse", action="store_true", help="tabulate the reports of an earlier run")
    options = parser.parse_intermixed_args(arguments)
    tests = options.folder / "tests"
    if not tests.is_dir():
        parser.error(f"{tests} is not a folder: FOLDER must hold a copy of the suite's tests/")
    results = options.results.resolve()
    results.mkdir(parents=True, exist_ok=True)
    found = sorted({*tests.glob("*_test.py"), *tests.glob("test_*.py")})
    names = options.files or [path.name for path in found]
    make_custom_op_libraries(tests)
    done: list[FileResult] = []
    if options.reuse:
        done = [read_report(results / f"{name}.xml", FileResult(name)) for name in names]
    else:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            futures = [pool.submit(run_file, options.folder, name, results) for name in names]
            for future in concurrent.futures.as_completed(futures):
                result = future.result()
                done.append(result)
                print(
                    f"{result.name:45} {result.passed:4} pass {len(result.failures):4} fail "
                    f"{result.skipped:4} skip {result.seconds:7.0f} s {result.note}",
                    flush=True,
                )
    done.sort(key=lambda result: result.name)
    if options.page:
        options.page.write_text("\n".join(page(done)))
    passed, run = sum(r.passed for r in done), sum(r.run for r in done)
    print(f"{passed} of {run} pass ({100 * passed / max(run, 1):.1f} %), results in {results}")
    return 0 if run and passed >= 0.95 * run else 1


def make_custom_op_libraries(tests: pathlib.Path) -> None:
    """Empty shared objects where the suite expects its compiled custom ops, so that it can be imported."""
    for source in (tests / "custom_ops").glob("*.cpp"):
        library = source.with_name(f"lib{source.stem}.so")
        if not library.exists():
            subprocess.run(["cc", "-shared", "-x", "c", "-o", str(library), os.devnull], check=True)


if __name__ == "__main__":
    sys.exit(main())
