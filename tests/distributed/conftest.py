"""Runs of several instances: real processes, started as the launcher starts them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import filelock
import pytest
import torch
from torch import distributed

from tremula.atomic_files import write_text_atomically

#: what every script begins with: a model, data of the whole run, and how it is trained
_PRELUDE = Path(__file__).parent / "training_run.py"
_TIMEOUT_S = 110
#: what instances tell the launcher
NOTES = ("popdist", "independent")


@dataclass
class Finished:
    """One instance after its end."""

    code: int
    out: str
    err: str
    #: what the script left with `leave`
    left: Any


class Run:
    """A store as the launcher hosts it, and instances that know where it is."""

    def __init__(self, folder: Path) -> None:
        self.store = distributed.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
        self.notes = distributed.PrefixStore("tremula", self.store)
        self._folder = folder
        self._started: list[subprocess.Popen[str]] = []

    def start(
        self, script: str, rank: int, instances: int, replicas: int = 1, **variables: str
    ) -> subprocess.Popen[str]:
        """Start one instance with a script."""
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("POPDIST_", "OMPI_"))},
            "POPDIST_NUM_TOTAL_REPLICAS": str(instances * replicas),
            "POPDIST_NUM_LOCAL_REPLICAS": str(replicas),
            "POPDIST_NUM_IPUS_PER_REPLICA": "1",
            "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE": "1",
            "POPDIST_REPLICA_INDEX_OFFSET": str(rank * replicas),
            "POPDIST_LOCAL_INSTANCE_INDEX": str(rank),
            "OMPI_COMM_WORLD_RANK": str(rank),
            "OMPI_COMM_WORLD_SIZE": str(instances),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
            "OMPI_COMM_WORLD_LOCAL_SIZE": str(instances),
            "RANK": str(rank),
            "WORLD_SIZE": str(instances),
            "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(instances),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(self.store.port),
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "TREMULA_VIRTUAL_IPUS": "0",
            "TREMULA_CHIP_MODEL": "off",
            "TREMULA_CACHE_DIR": str(self._folder / "cache"),
            "TREMULA_EXECUTION": "quick",
            "OMP_NUM_THREADS": "1",
            **variables,
        }
        path = self._folder / "script.py"
        # not at the top: processes that load data import the script, too
        body = textwrap.indent(textwrap.dedent(script), "    ")
        # an instance that was started before may just be reading it
        write_text_atomically(
            path,
            f"{_PRELUDE.read_text()}\n\ndef main():\n{body}\n\nif __name__ == '__main__':\n    main()\n",
        )
        command = [sys.executable, str(path), str(self._left(rank))]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._started.append(process)
        return process

    def finish(self, rank: int, process: subprocess.Popen[str]) -> Finished:
        """Wait for the end of an instance."""
        out, err = process.communicate(timeout=_TIMEOUT_S)
        path = self._left(rank)
        left = torch.load(path, weights_only=True) if path.exists() else None
        return Finished(process.returncode, out, err, left)

    def __call__(
        self,
        script: str,
        instances: int = 2,
        replicas: int = 1,
        each: Callable[[int], dict[str, str]] = lambda _rank: {},
        **variables: str,
    ) -> list[Finished]:
        """Run a script in several instances; `each` gives variables of single ones."""
        processes = [
            self.start(script, rank, instances, replicas, **{**variables, **each(rank)})
            for rank in range(instances)
        ]
        return [self.finish(rank, process) for rank, process in enumerate(processes)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        # nothing is left behind
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()

    def _left(self, rank: int) -> Path:
        return self._folder / f"left-{rank}.pt"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Runs scripts in several instances."""
    with Run(tmp_path) as made:
        yield made


@pytest.fixture(scope="session")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], list[Any]]:
    """Runs a script in two instances, once for all tests and all workers of pytest, and gives what they left.

    Processes take longer to start than to train.
    """

    def run_it(name: str, script: str) -> list[Any]:
        folder = tmp_path_factory.getbasetemp()
        if os.environ.get("PYTEST_XDIST_WORKER"):
            folder = folder.parent  # the workers have folders of their own in it
        kept = folder / f"{name}.pt"
        with filelock.FileLock(folder / f"{name}.lock"):
            if not kept.exists():
                with Run(tmp_path_factory.mktemp(name)) as made:
                    finished = made(script)
                    notes = [made.notes.check([f"{kind}/{rank}"]) for kind in NOTES for rank in range(2)]
                for each in finished:
                    assert each.code == 0, each.err
                assert notes == [True, True, False, False]  # both took part, and neither trained alone
                torch.save([each.left for each in finished], kept)
            left: list[Any] = torch.load(kept, weights_only=True)
        return left

    return run_it
