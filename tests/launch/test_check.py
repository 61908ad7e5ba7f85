"""What is checked before anything starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tremula.distributed.protocol import LAUNCHER
from tremula.launch import mpi_arguments
from tremula.launch.check import Plan, plan
from tremula.launch.command_line import parse


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))


def checked(*words: str) -> tuple[Plan | None, list[str]]:
    settings, problems = parse(words)
    assert problems == []
    return plan(settings)


def good(*words: str) -> Plan:
    found, problems = checked(*words)
    assert problems == []
    assert found is not None
    return found


def only_problem(*words: str) -> str:
    found, (problem,) = checked(*words)
    assert found is None
    return problem


def test_instances_and_replicas_are_laid_out_in_order() -> None:
    layout = good("--num-replicas", "4", "--num-instances", "2", "true").layout
    assert [
        (each.index, each.local_index, each.first_replica, each.replicas) for each in layout.instances
    ] == [
        (0, 0, 0, 2),
        (1, 1, 2, 2),
    ]
    assert layout.ipus_per_host == 4
    assert good("--num-replicas", "3", "true").layout.ipus_per_host == 4
    words = (
        "--num-replicas",
        "5",
        "--num-instances",
        "5",
        "--ipus-per-replica",
        "3",
        "--offline-mode",
        "yes",
        "true",
    )
    assert good(*words).layout.ipus_per_host == 32  # five devices of four


def test_every_problem_is_named() -> None:
    found, problems = checked(
        *(
            "--num-replicas",
            "5",
            "--num-instances",
            "3",
            "--num-ilds",
            "4",
            "--only-output-from-instance",
            "3",
        ),
        *(
            "--host",
            "a,a",
            "--hostfile",
            "none",
            "--host-subnet",
            "here",
            "--mpi-local-args",
            "'",
            "no-such-program",
        ),
    )
    assert found is None
    text = "\n".join(problems)
    for said in (
        "--num-replicas 5 cannot be divided evenly among --num-instances 3: use 3, 6, 9 or another multiple of 3",
        "--num-instances 3 is less than --num-ilds 4",
        "--only-output-from-instance 3 is out of range: the 3 instance(s) are numbered from 0 to 2",
        "--host and --hostfile cannot be used together",
        "a appears more than once",
        "--host-subnet here is not a network",
        "quotation marks",
        "no-such-program was not found",
    ):
        assert said in text


def test_no_program() -> None:
    assert "No program was given" in only_problem("--num-replicas", "1")
    assert good("--print-topology").settings.command == []


def test_a_script_that_is_not_executable(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    assert f"Use `python {script}`" in only_problem(str(script))


def test_more_ipus_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = only_problem("--num-replicas", "3", "--ipus-per-replica", "2", "true")
    assert "3 replica(s) with 2 IPU(s) each need a device of 8 IPU(s)" in problem
    assert "this machine has 4 virtual IPU(s)" in problem
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod16")
    occupancy = good("--num-replicas", "3", "--ipus-per-replica", "2", "true").occupancy
    assert occupancy is not None
    assert occupancy.partition.name == "p16"


def test_nothing_runs_out_offline_or_with_an_ipu_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert good("--num-replicas", "4096", "--offline-mode", "yes", "true").occupancy is None
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "0")
    assert good("--num-replicas", "4096", "true").occupancy is None


def test_a_partition_that_is_not_there() -> None:
    assert "There is no partition 'mine'" in only_problem("--vipu-partition", "mine", "true")
    assert good("--vipu-partition", "p4", "true").occupancy is not None


def test_slots_of_a_host_file(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("localhost slots=1\n")
    words = ("--hostfile", str(path), "--num-instances", "2", "--num-replicas", "2", "true")
    assert "localhost has 1 slot(s)" in only_problem(*words)
    path.write_text("localhost slots=2\n")
    assert good(*words).here == 0


def test_hosts_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi_arguments, "find_mpirun", lambda: "/usr/bin/mpirun")
    words = ("--host", "localhost,a.invalid,b.invalid", "--num-instances", "3", "--num-replicas", "3", "true")
    assert "Cannot resolve host name(s): a.invalid, b.invalid" in only_problem("--allow-run-as-root", *words)
    assert "127.0.0.1 are the same machine (this one)" in only_problem(
        "--host", "localhost,127.0.0.1", "--num-instances", "2", "--num-replicas", "2", "true"
    )


def test_this_host_alone_needs_no_mpirun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi_arguments, "find_mpirun", lambda: None)
    assert good("--host", "localhost", "true").mpirun is None


def test_without_mpirun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi_arguments, "find_mpirun", lambda: None)
    found = good(
        "--mpi-global-args", "--tag-output --allow-run-as-root", "--mpi-local-args=-x A=b -x PATH", "true"
    )
    assert found.mpirun is None
    assert found.asked.variables == {"A": "b"}
    problem = only_problem("--mpi-global-args", "--mca btl tcp", "true")
    assert "apt install openmpi-bin" in problem
    assert "OPAL_PREFIX" in problem


def test_mpirun_and_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpi_arguments, "find_mpirun", lambda: "/usr/bin/mpirun")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("OMPI_ALLOW_RUN_AS_ROOT", raising=False)
    assert "--allow-run-as-root yes" in only_problem("--mpi-global-args", "--tag-output", "true")
    assert good("--mpi-global-args", "--tag-output", "--allow-run-as-root", "yes", "true").mpirun
    assert good("--mpi-global-args", "--allow-run-as-root", "true").mpirun
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert good("--mpi-global-args", "--tag-output", "true").mpirun


def test_mpirun_is_found_where_it_may_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.delenv("OPAL_PREFIX", raising=False)
    assert mpi_arguments.find_mpirun() is None
    (tmp_path / "mpi" / "bin").mkdir(parents=True)
    (tmp_path / "mpi" / "bin" / "mpirun").write_text("#!/bin/sh\n")
    (tmp_path / "mpi" / "bin" / "mpirun").chmod(0o755)
    monkeypatch.setenv("OPAL_PREFIX", str(tmp_path / "mpi"))
    assert mpi_arguments.find_mpirun() == str(tmp_path / "mpi" / "bin" / "mpirun")


def test_poprun_inside_poprun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LAUNCHER, "4711")
    assert "inside an instance of another poprun (process 4711)" in only_problem("true")
