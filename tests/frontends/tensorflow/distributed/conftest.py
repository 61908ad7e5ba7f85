"""TensorFlow programs under poprun, in processes of their own; each instance saves what it has as arrays."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

#: what a program begins with: `save(name, value)` keeps a value for the test
HEAD = """
import os, sys
import numpy as np
import popdist
import popdist.tensorflow
import tensorflow as tf
from tensorflow.python import ipu

instance = popdist.getInstanceIndex()
saved = {}

def save(name, value):
    saved[name] = np.asarray(value)
    np.savez(f"instance{instance}.npz", **saved)

def configure():
    config = ipu.config.IPUConfig()
    popdist.tensorflow.set_ipu_config(config)
    config.configure_ipu_system()
"""


@dataclass
class Finished:
    """A run that has ended: exit code, what was printed, and what each instance saved."""

    code: int
    out: str
    err: str
    saved: list[dict[str, Any]]


class Started:
    """A run under poprun."""

    def __init__(self, folder: Path, program: str, instances: int, replicas: int) -> None:
        self.folder, self.instances = folder, instances
        (folder / "program.py").write_text(HEAD + textwrap.dedent(program))
        options = ["--num-instances", str(instances), "--num-replicas", str(replicas)]
        self.mark = str(uuid.uuid4())
        environment = os.environ | {
            "TREMULA_SUMMARY": "0",
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "OMP_NUM_THREADS": "1",
            "RUN_MARK": self.mark,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tremula.launch", *options, sys.executable, "program.py"],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def finish(self, seconds: float = 80) -> Finished:
        """Wait for its end."""
        out, err = self.process.communicate(timeout=seconds)
        saved = []
        for number in range(self.instances):
            path = self.folder / f"instance{number}.npz"
            saved.append(dict(np.load(path)) if path.exists() else {})
        return Finished(self.process.returncode, out, err, saved)

    def left(self) -> list[int]:
        """Processes of the run that are still there."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
        return found


@pytest.fixture(autouse=True)
def one_free_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An ordinary environment, with a Bow-2000 that nobody else uses."""
    for name in list(os.environ):
        if name.startswith(("POPDIST_", "TREMULA_", "OMPI_", "IPUOF_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TREMULA_SYSTEM", "bow2000")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Starts a program under poprun; nothing of it outlives the test."""
    runs: list[Started] = []

    def begin(program: str, instances: int = 2, replicas: int = 2) -> Started:
        runs.append(Started(tmp_path, program, instances, replicas))
        return runs[-1]

    yield begin
    for run in runs:
        for pid in run.left():
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
        run.process.communicate(timeout=20)


@pytest.fixture
def poprun(start: Callable[..., Started]) -> Callable[..., Finished]:
    """Runs a program under poprun to its end, which is to be a good one."""

    def run(program: str, instances: int = 2, replicas: int = 2) -> Finished:
        done = start(program, instances, replicas).finish()
        assert done.code == 0, done.out + done.err
        return done

    return run
