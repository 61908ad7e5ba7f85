"""Runs the public test suites of TensorFlow for IPUs, unmodified, on the installed package and tabulates the result.

    python -m benchmarks.conformance_tensorflow FOLDER [--tf1 FOLDER] [--files PART ...] [--jobs 2] [--results DIR]
        [--page PAGE]

FOLDER holds copies, outside this repository, of any of the suites below, each anywhere in it: `tensorflow/python/ipu`,
`keras/ipu`, `ipu_tensorflow_addons`. Each file runs in a process of its own with 16 virtual IPUs and the plugin
conformance_aids/tensorflow/tensorflow_suites.py. A method passes if all of its variants pass. Reasons for failing
methods come from benchmarks/conformance_tensorflow_reasons.toml. `make conformance-tensorflow SUITE=FOLDER` installs
what the suites import besides.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field

AIDS = pathlib.Path(__file__).resolve().parent / "conformance_aids" / "tensorflow"
DATA = pathlib.Path(__file__).resolve().parent / "program_aids"
REASONS = pathlib.Path(__file__).resolve().parent / "conformance_tensorflow_reasons.toml"
FILE_TIMEOUT_SECONDS = 1800
CASE_TIMEOUT_SECONDS = 600
_MAIN_WITHOUT_V2 = re.compile(
    r"^if __name__ == .__main__.:\n(?:  .*\n)*?  .*disable_v2_behavior", re.MULTILINE
)
#: a suite -> the folder that its paths are given from
SUITES = {
    "tensorflow/python/ipu": ("tensorflow", "python", "ipu"),
    "keras/ipu": ("keras", "ipu"),
    "ipu_tensorflow_addons": ("ipu_tensorflow_addons",),
}
#: the suite of the branch for TensorFlow 1 has the same paths; `--tf1` names its folder
TENSORFLOW_1 = "tensorflow/python/ipu, TensorFlow 1"
ALL_SUITES = [*SUITES, TENSORFLOW_1]
#: a helper of TensorFlow's TestCase that pytest takes for a test, and that skips itself
_NOT_A_TEST = "test_session"
#: files that the suites start with poprun: instances, replicas, IPUs per replica
LAUNCHED = {
    "host_collective_ops_test.py": (2, 2, 1),
    "popdist_strategy_test.py": (2, 2, 1),
    "horovod_test.py": (2, 2, 1),
    "poprun_replica_partitioning_test.py": (2, 8, 2),
    "distributed_test.py": (2, 8, 1),
    "poprun_test.py": (2, 2, 1),
    "poprun_popdist_strategy_test.py": (2, 2, 1),
}
#: how long instances of a file wait for each other: a method that fails on one of them leaves the others alone
INSTANCE_TIMEOUT_SECONDS = 60


@dataclass
class FileResult:
    """What one test file gave.

    Attributes:
        suite: the suite that it belongs to.
        name: its path in the suite.
        methods: names of its test methods, as they are in its text.
        cases: variants that passed and that ran, of each method.
        failures: the first message of each method that does not pass.
    """

    suite: str
    name: str
    methods: tuple[str, ...]
    cases: dict[str, tuple[int, int]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    note: str = ""

    @property
    def passed(self) -> int:
        """Methods that pass in all variants."""
        return sum(1 for good, ran in self.cases.values() if ran and good == ran)


def suite_of(path: pathlib.Path) -> tuple[str, str, pathlib.Path] | None:
    """The suite of a file, its path in it and the folder that holds the suite; None if it belongs to none."""
    parts = path.parts
    for suite, folder in SUITES.items():
        for start in range(len(parts) - len(folder), -1, -1):
            if parts[start : start + len(folder)] == folder:
                return suite, "/".join(parts[start + len(folder) :]), pathlib.Path(*parts[:start])
    return None


def test_methods(path: pathlib.Path) -> tuple[str, ...]:
    """The test methods in a file's text, as `Class.method`."""
    tree = ast.parse(path.read_text())
    return tuple(
        f"{item.name}.{method.name}"
        for item in tree.body
        if isinstance(item, ast.ClassDef)
        for method in item.body
        if isinstance(method, ast.FunctionDef) and method.name.startswith("test")
    )


def method_of(case: ET.Element, methods: tuple[str, ...]) -> str | None:
    """The method that a case is a variant of."""
    owner = (case.get("classname") or "").rpartition(".")[2]
    name = case.get("name", "")
    if name == _NOT_A_TEST:
        return None
    found = [m for m in methods if m.partition(".")[0] == owner and name.startswith(m.partition(".")[2])]
    if not found:
        # parameterised classes have made-up names
        found = [m for m in methods if name.startswith(m.partition(".")[2])]
    return max(found, key=len, default=None)


def run_file(
    path: pathlib.Path, suite: str, name: str, root: pathlib.Path, results: pathlib.Path
) -> FileResult:
    """Run one file and read its report."""
    result = FileResult(suite, name, test_methods(path))
    label = f"{suite}/{name}".replace("/", "-")
    report = results / f"{label}.xml"
    for old in reports(report, name):
        old.unlink(missing_ok=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, open(results / f"{label}.log", "w") as log:
        # away from its folder, whose packages would hide the installed ones
        copy = pathlib.Path(scratch) / path.name
        copy.write_bytes(path.read_bytes())
        for aid in path.parent.iterdir():
            if (aid.is_file() and aid.suffix in (".cc", ".cpp", ".json")) or aid.name.endswith(
                ("_lib.py", "_utils.py")
            ):
                (pathlib.Path(scratch) / aid.name).write_bytes(aid.read_bytes())
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "tensorflow_suites",
            "-o",
            "addopts=",
            "-o",
            "filterwarnings=",
        ]
        limits = [f"--timeout={CASE_TIMEOUT_SECONDS}", f"--junitxml={report}", f"--rootdir={scratch}"]
        command = [*launcher(name), sys.executable, "-m", "pytest", *options, *limits, str(copy)]
        environment = os.environ | {
            "TREMULA_STATE_DIR": str(results / "state" / label),
            "TREMULA_VIRTUAL_IPUS": "16",
            "TREMULA_SUMMARY": "0",
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "OMP_NUM_THREADS": "1",
            "POPLAR_RUNTIME_OPTIONS": f'{{"target.hostSyncTimeout": "{INSTANCE_TIMEOUT_SECONDS}"}}',
            "TREMULA_TENSORFLOW": "1" if suite == TENSORFLOW_1 else "2",
            "SUITE_ROOT": str(root.resolve()),
            "SUITE_IS_TENSORFLOW_1": "1" if _MAIN_WITHOUT_V2.search(path.read_text()) else "",
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(AIDS), str(DATA), os.environ.get("PYTHONPATH", "")])
            ),
        }
        try:
            subprocess.run(command, cwd=scratch, env=environment, stdout=log, stderr=subprocess.STDOUT,
                           stdin=subprocess.DEVNULL, timeout=FILE_TIMEOUT_SECONDS, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            result.note = f"stopped after {FILE_TIMEOUT_SECONDS} s"
    result.seconds = time.monotonic() - started
    return read_report(report, result)


def launcher(name: str) -> list[str]:
    """What starts a file of the suites, in front of the command; nothing for one process."""
    started = LAUNCHED.get(pathlib.PurePath(name).name)
    if started is None:
        return []
    words = zip(("--num-instances", "--num-replicas", "--ipus-per-replica"), map(str, started), strict=True)
    return [sys.executable, "-m", "tremula.launch", *(word for pair in words for word in pair)]


def reports(report: pathlib.Path, name: str) -> list[pathlib.Path]:
    """The reports of all instances that a file of the suites is started with."""
    instances = LAUNCHED.get(pathlib.PurePath(name).name, (1,))[0]
    return [report, *(report.with_suffix(f".{number}.xml") for number in range(1, instances))]


def read_report(report: pathlib.Path, result: FileResult) -> FileResult:
    """Count the methods of the junit reports of a file."""
    counts = dict.fromkeys(result.methods, (0, 0))
    for each in reports(report, result.name):
        if not each.exists():
            result.note = result.note or "no report: the process ended early"
            counts = dict.fromkeys(result.methods, (0, 0))
            break
        root = ET.parse(each).getroot()
        result.seconds = result.seconds or sum(
            float(suite.get("time", 0)) for suite in root.iter("testsuite")
        )
        for case in root.iter("testcase"):
            method = method_of(case, result.methods)
            failure = next(
                (e for kind in ("failure", "error", "skipped") if (e := case.find(kind)) is not None), None
            )
            message = (
                ((failure.get("message") or "").splitlines() or [""])[0][:160] if failure is not None else ""
            )
            if method is None:
                result.note = result.note or message
                continue
            good, ran = counts[method]
            if failure is None:
                good += 1
            else:
                result.failures.setdefault(method, message)
            counts[method] = good, ran + 1
    result.cases = counts
    for method, (_, ran) in counts.items():
        if not ran:
            result.failures.setdefault(method, result.note or "not collected")
    return result


def reason_for(result: FileResult, method: str, reasons: dict[str, dict[str, str]]) -> str:
    """The known reason why a method fails, else the first line of its message."""
    message = result.failures[method]
    of_both = result.suite.partition(",")[0]  # reasons of a file hold for both branches
    for key in (f"{result.suite}/{result.name}", f"{of_both}/{result.name}", "messages"):
        for part, reason in reasons.get(key, {}).items():
            if part in (message if key == "messages" else method):
                return reason
    return f"unexplained: {message}"


def page(results: list[FileResult]) -> Iterator[str]:
    """docs/conformance-tensorflow.md, line by line."""
    reasons = tomllib.loads(REASONS.read_text()) if REASONS.exists() else {}
    yield "# Conformance with the test suites of TensorFlow for IPUs"
    yield ""
    yield "Generated by `make conformance-tensorflow SUITE=FOLDER`, where FOLDER has copies of the public suites:"
    yield "`tensorflow/python/ipu` of github graphcore/tensorflow (branch r2.6/sdk-release-3.4), `keras/ipu` of"
    yield "graphcore/keras, and graphcore/ipu_tensorflow_addons. `TF1=FOLDER` adds the suite of the branch"
    yield "r1.15/sdk-release-3.4, which runs with `TREMULA_TENSORFLOW=1`. The suites run unmodified on the standard"
    yield "TensorFlow package, with 16 virtual IPUs. A method counts as passed if all of its variants pass; a method"
    yield "that the suite skips does not count as passed."
    yield ""
    yield "`benchmarks/conformance_aids/tensorflow/tensorflow_suites.py` sets up the runs:"
    yield ""
    yield "- The configuration is reset after each test, because the suites run each test in its own process."
    yield "- Files that the suites start with poprun are started with poprun, and a method must pass on all instances."
    yield "- Files that turn off the behaviour of TensorFlow 2 when they are started as programs run in the same way."
    yield "- With `--mnist FOLDER`, MNIST comes from files, and random data replaces other downloads."
    yield ""
    yield "| suite | methods | pass | share |"
    yield "|---|---:|---:|---:|"
    for suite in ALL_SUITES:
        of_suite = [r for r in results if r.suite == suite]
        if of_suite:
            passed, count = sum(r.passed for r in of_suite), sum(len(r.methods) for r in of_suite)
            yield f"| {suite} | {count} | {passed} | {100 * passed / max(count, 1):.1f} % |"
    for suite in ALL_SUITES:
        of_suite = [r for r in results if r.suite == suite]
        if not of_suite:
            continue
        yield ""
        yield f"## {suite}"
        yield ""
        yield "| file | methods | pass | seconds |"
        yield "|---|---:|---:|---:|"
        for result in of_suite:
            yield f"| {result.name} | {len(result.methods)} | {result.passed} | {result.seconds:.0f} |"
        yield ""
        yield "Methods that do not pass, and why:"
        yield ""
        for result in of_suite:
            grouped: dict[str, list[str]] = {}
            for method in result.failures:
                grouped.setdefault(reason_for(result, method, reasons), []).append(method)
            for reason, methods in grouped.items():
                yield f"- {result.name}: {reason}: {', '.join(f'`{m}`' for m in methods)}"
    yield ""


def main(arguments: list[str] | None = None) -> int:
    """Run the suites; exit code 0 if every file could be run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path, nargs="?", help="folder that holds copies of the suites")
    parser.add_argument(
        "--tf1", type=pathlib.Path, help="folder that holds the suite of the branch for TensorFlow 1"
    )
    parser.add_argument("--files", nargs="*", default=[], help="only files whose path contains one of these")
    parser.add_argument(
        "--mnist", type=pathlib.Path, help="folder with the four files of MNIST, in place of downloads"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument(
        "--results", type=pathlib.Path, default=pathlib.Path("conformance-tensorflow-results")
    )
    parser.add_argument("--page", type=pathlib.Path, help="write the table to this Markdown file")
    parser.add_argument("--reuse", action="store_true", help="tabulate the reports of an earlier run")
    options = parser.parse_args(arguments)
    found = [
        (path, TENSORFLOW_1 if folder is options.tf1 else place[0], *place[1:])
        for folder in (options.folder, options.tf1)
        if folder is not None
        for path in sorted(folder.rglob("*_test.py"))
        if (place := suite_of(path))
    ]
    found = [f for f in found if not options.files or any(part in f"{f[1]}/{f[2]}" for part in options.files)]
    if not found:
        parser.error(f"{options.folder or options.tf1} holds no test file of {', '.join(SUITES)}")
    if options.mnist:
        os.environ["TREMULA_MNIST"] = str(options.mnist.resolve())
    results = options.results.resolve()
    results.mkdir(parents=True, exist_ok=True)
    done: list[FileResult] = []
    if options.reuse:
        for path, suite, name, _ in found:
            label = f"{suite}/{name}".replace("/", "-")
            done.append(read_report(results / f"{label}.xml", FileResult(suite, name, test_methods(path))))
    else:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for future in concurrent.futures.as_completed(pool.submit(run_file, *f, results) for f in found):
                result = future.result()
                done.append(result)
                print(f"{result.suite}/{result.name:60} {result.passed:4} of {len(result.methods):4} methods "
                      f"{result.seconds:6.0f} s {result.note}", flush=True)  # fmt: skip
    done.sort(key=lambda result: (ALL_SUITES.index(result.suite), result.name))
    if options.page:
        options.page.write_text("\n".join(page(done)))
    for suite in ALL_SUITES:
        of_suite = [r for r in done if r.suite == suite]
        if of_suite:
            passed, count = sum(r.passed for r in of_suite), sum(len(r.methods) for r in of_suite)
            print(f"{suite}: {passed} of {count} methods pass ({100 * passed / max(count, 1):.1f} %)")
    return 0 if all(result.cases for result in done) else 1


if __name__ == "__main__":
    sys.exit(main())
