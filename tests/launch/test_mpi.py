"""Open MPI: the command line that starts the instances, and real runs through it where it is installed."""

from __future__ import annotations

import itertools
import os
import re
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tremula.launch.check import Plan, plan
from tremula.launch.command_line import parse
from tremula.launch.environment import variables
from tremula.launch.logger import Logger
from tremula.launch.mpi_arguments import arguments, find_mpirun
from tremula.launch.output_stream import OutputStream
from tremula.launch.reservation import Devices

installed = pytest.mark.skipif(find_mpirun() is None, reason="Open MPI is not installed (openmpi-bin)")
#: what lets mpirun run for root, and several instances on few cores
MPI = (
    "--num-instances",
    "2",
    "--num-replicas",
    "2",
    "--allow-run-as-root",
    "yes",
    "--mpi-global-args=--tag-output",
)


def words_of(*words: str) -> list[list[str]]:
    """The command line of mpirun, cut at its colons."""
    settings, problems = parse(words)
    assert problems == []
    found, problems = plan(settings)
    assert problems == []
    assert isinstance(found, Plan)
    devices = Devices(found, Logger(OutputStream(-1), 0))
    instances = found.layout.instances
    stores = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "4711"}
    given = [variables(found, instance, devices, stores) for instance in instances]
    line = arguments(
        "mpirun", found.layout, settings, found.asked, given, [["wrapper", "prog"]] * len(instances)
    )
    blocks: list[list[str]] = [[]]
    for word in line:
        if word == ":":
            blocks.append([])
        else:
            blocks[-1].append(word)
    return blocks


def test_one_block_for_each_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod16")
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")
    monkeypatch.setenv("TREMULA_STATE_DIR", os.environ["TREMULA_STATE_DIR"])
    monkeypatch.setattr("tremula.launch.mpi_arguments.find_mpirun", lambda: "mpirun")
    first, second = words_of(
        *(
            "--num-instances",
            "2",
            "--num-replicas",
            "4",
            "--mpi-global-args",
            "--allow-run-as-root --mca btl tcp",
        ),
        *("--mpi-local-args=-x HOME -x FOO=a,b", "true"),
    )
    head = ["mpirun", "--bind-to", "none", "--tag-output", "--allow-run-as-root", "--mca", "btl", "tcp"]
    assert first[: len(head)] == head
    assert first[len(head) : len(head) + 2] == ["-np", "1"]
    assert second[:4] == ["-np", "1", "--host", "localhost:2"]
    for index, block in enumerate((first, second)):
        given = [value for name, value in itertools.pairwise(block) if name == "-x"]
        assert f"POPDIST_REPLICA_INDEX_OFFSET={2 * index}" in given
        assert f"RANK={index}" in given
        assert "MASTER_ADDR=10.0.0.1" in given
        for name in ("PATH", "TREMULA_SYSTEM", "TREMULA_EXECUTION", "HOME", "FOO=a,b"):
            assert given.count(name) == 1
        assert "TREMULA_STATE_DIR" not in given
        assert not any(value.startswith("OMPI_") for value in given)  # mpirun sets them
        assert block[-2:] == ["wrapper", "prog"]


@installed
def test_a_run_through_mpirun(poprun: Callable[..., tuple[int, str, str]]) -> None:
    program = (
        "import os, sys\n"
        "print(os.environ['OMPI_COMM_WORLD_RANK'], os.environ['RANK'], os.environ['FOO'], sys.argv[1])\n"
        "sys.exit(int(os.environ['RANK']) * 5)\n"
    )
    code, out, err = poprun(*MPI, "-v", "--mpi-local-args=-x FOO=bar", program=program, arguments=("a b",))
    assert code == 5
    assert sorted(re.findall(r"^\[1,\d\]<stdout>:.*", out, re.MULTILINE)) == [
        "[1,0]<stdout>:0 0 bar a b",
        "[1,1]<stdout>:1 1 bar a b",
    ]
    assert re.search(r"POPRUN \[I\] Running command: \S*mpirun --bind-to none --tag-output", err)
    assert re.search(r"POPRUN \[I\] Waiting for mpirun \(PID \d+\)", err)
    assert re.search(r"POPRUN \[I\] mpirun \(PID \d+\) terminated with exit code 5", err)
    assert "Instance 1 failed with exit code 5. Its last lines:\n    | 1 1 bar a b" in err


@installed
def test_signals_end_mpirun_and_all_below_it(start: Callable[..., Any]) -> None:
    """One that is asked to end, and one that is killed."""
    program = "import time\nprint('ready', flush=True)\ntime.sleep(600)\n"
    asked = start(*MPI, "--only-output-from-instance", "1", program=program)
    killed = start(*MPI, program=program)
    assert asked.process.stdout.readline() == "[1,1]<stdout>:ready\n"
    assert killed.process.stdout.readline().endswith("ready\n")
    asked.process.send_signal(signal.SIGINT)
    killed.process.kill()
    assert asked.finish()[0] == 130
    killed.process.wait(10)
    assert killed.all_gone(20)  # the mark is the same for both
