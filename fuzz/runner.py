"""Runs batches of cases in child processes and counts what becomes of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fuzz import processes
from fuzz.tally import Failure, Kind, Tally
from fuzz.target import Events
from fuzz.targets import find

_ROOT = Path(__file__).resolve().parent.parent
_BATCH_SECONDS = 600
#: processes of a batch that are still there after this time were left behind
_GRACE_SECONDS = 10


class Run:
    """A target under way, in a folder of its own; `step` tries one batch."""

    def __init__(self, name: str, seed: int, keep: Path | None = None) -> None:
        self.tally = Tally(name)
        self._target = find(name)
        self.batch = self._target.batch
        self._seed = seed
        self._keep = keep
        self._next = 0
        self.folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
        self._guard = _guard_pages(self.folder) if self._target.guarded else None
        (self.folder / "valid").mkdir()
        code = f"from pathlib import Path; from fuzz.targets import find; find({name!r}).make(Path('valid'))"
        subprocess.run([sys.executable, "-c", code], cwd=self.folder, env=self._environment(), check=True)

    def step(self, count: int | None = None) -> Tally:
        """Try a batch; a process that ends too early costs one case."""
        last = self._next + (count or self.batch)
        while self._next < last:
            self._batch(last - self._next)
        return self.tally

    def close(self) -> None:
        """End what an interrupted batch left, and remove the folder."""
        processes.left(str(self.folder), 0)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _batch(self, count: int) -> None:
        command = [
            sys.executable,
            "-m",
            "fuzz.child",
            self.tally.name,
            str(self._seed),
            str(self._next),
            str(count),
        ]
        errors = self.folder / "errors"
        with open(errors, "wb") as stderr:
            child = subprocess.Popen(
                [*command, str(self.folder)],
                cwd=self.folder,
                env=self._environment(guard=True),
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
            try:
                said, _ = child.communicate(timeout=_BATCH_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                said, _ = child.communicate()
        self.tally.left_behind += processes.left(str(self.folder), _GRACE_SECONDS)
        begun: int | None = None
        for line in _lines(said):
            if line["state"] == "begun":
                begun = line["number"]
                continue
            begun, self._next = None, line["number"] + 1
            if line["state"] == "failed":
                self._fail(line["number"], Kind(line["kind"]), line["problem"])
            elif line["state"] == "read":
                self.tally.read += 1
            elif line["state"] == "survived":
                self.tally.events[line["sort"]] += 1
            else:
                self.tally.refused += 1
        if begun is not None:
            self._fail(begun, Kind.CRASH, f"the process ended: {_ending(child.returncode)}; {_where(errors)}")
            self._next = begun + 1
        elif child.returncode:
            raise RuntimeError(f"{self.tally.name}: {errors.read_text(errors='replace')[-2000:]}")

    def _fail(self, number: int, kind: Kind, problem: str) -> None:
        self.tally.failures.append(Failure(number, kind, problem))
        if self._keep is not None:
            self._keep.mkdir(parents=True, exist_ok=True)
            case = self.folder / "case"
            if case.exists() and self._next <= number:
                shutil.copy(case, self._keep / f"{self.tally.name}-{self._seed}-{number}")

    def _environment(self, guard: bool = False) -> dict[str, str]:
        folders = {
            name: str(self.folder / place)
            for name, place in (
                ("HOME", "home"),
                ("TMPDIR", "tmp"),
                ("XDG_CACHE_HOME", "home/cache"),
                ("XDG_STATE_HOME", "home/state"),
                ("TREMULA_STATE_DIR", "home/state/tremula"),
            )
        }
        for folder in folders.values():
            os.makedirs(folder, mode=0o700, exist_ok=True)
        environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            **folders,
            "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "src"), str(_ROOT / "apps")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "TREMULA_SUMMARY": "0",
            "TREMULA_EXECUTION": "quick",
        }
        if isinstance(self._target, Events):
            watched = str(_ROOT / "fuzz" / "watched")
            environment["PYTHONPATH"] = os.pathsep.join([watched, environment["PYTHONPATH"]])
            environment["FUZZ_FOLDER"] = str(self.folder)
        if guard and self._guard is not None:
            environment["LD_PRELOAD"] = str(self._guard)
        return environment


def _guard_pages(folder: Path) -> Path | None:
    """The allocator with guard pages, or None where it cannot be made."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    library = folder / "guard_pages.so"
    source = str(_ROOT / "fuzz" / "guard_pages.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", str(library), source, "-ldl"], check=True)
    return library


def _lines(text: str) -> Iterator[dict]:  # type: ignore[type-arg]
    for line in text.splitlines():
        if line.startswith("{") and line.endswith("}"):
            yield json.loads(line)


def _ending(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _where(errors: Path) -> str:
    """The innermost frames that the fault handler wrote."""
    lines = [line.strip() for line in errors.read_text(errors="replace").splitlines() if "File " in line]
    return " <- ".join(lines[:3])
