"""The wrapper of an instance: what it settles before the program begins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tremula.launch import instance
from tremula.launch.run import WRAPPER


def wrapped(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "TREMULA_"))
    }
    return subprocess.run(
        [sys.executable, "-I", "-S", str(WRAPPER), *words],
        env={**environment, **more},
        input="typed",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


SAYS = "echo $OMP_NUM_THREADS,$TREMULA_THREADS,$OMP_WAIT_POLICY"


def test_cores_are_shared_unless_the_user_decides() -> None:
    cores = len(instance.allowed_cores())
    assert wrapped("share=1", "--", "sh", "-c", SAYS).stdout == ",,\n"
    half = max(1, cores // 2)
    assert wrapped("share=2", "--", "sh", "-c", SAYS).stdout.startswith(f"{half},{half},")
    assert wrapped(f"share={cores + 1}", "--", "sh", "-c", SAYS).stdout == "1,1,PASSIVE\n"
    assert wrapped("share=2", "--", "sh", "-c", SAYS, OMP_NUM_THREADS="3").stdout.startswith("3,,")


def test_input_is_for_one_instance() -> None:
    assert wrapped("stdin=1", "--", "cat").stdout == "typed"
    assert wrapped("stdin=0", "--", "cat").stdout == ""


def test_arguments_arrive_as_they_are() -> None:
    words = ["", "a b", "--", "parent=3", "$HOME", "ä\n", "x" * 100_000]
    program = "import sys; print(ascii(sys.argv[1:]))"
    done = wrapped("--", sys.executable, "-c", program, *words)
    assert done.stdout == f"{words!a}\n"


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    done = wrapped("--", "no-such-program")
    assert done.returncode == 127
    assert "no-such-program cannot be started" in done.stderr
    (tmp_path / "data").write_text("")
    assert wrapped("--", str(tmp_path / "data")).returncode == 126


def test_a_broken_pipe_ends_programs_as_ever() -> None:
    # the wrapper is Python, which ignores the signal; what is ignored stays so in the program
    ignored = int(wrapped("--", "grep", "SigIgn", "/proc/self/status").stdout.split()[1], 16)
    assert not ignored & 1 << (signal.SIGPIPE - 1)


def test_it_ends_with_its_parent() -> None:
    starts = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-I', '-S', sys.argv[1], f'parent={os.getpid()}', '--', 'sh', '-c',"
        " 'echo $$; exec sleep 600'], stdout=subprocess.PIPE, text=True)\n"
        "print(child.stdout.readline().strip(), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", starts, str(WRAPPER)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL
    pid = int(done.stdout)
    # the system has sent the signal; whoever reaps it now, it does not run any more
    for _ in range(500):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state in "ZX":
            return
        signal.sigtimedwait([], 0.02)
    pytest.fail("it is still there")


def test_lists_of_cores() -> None:
    assert instance.parse_cores("0-3,8\n") == {0, 1, 2, 3, 8}
    assert instance.parse_cores("\n") == set()


def test_numa_nodes_take_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for number, cores in enumerate(("0-1", "2-3", "")):
        (tmp_path / f"node{number}").mkdir()
        (tmp_path / f"node{number}" / "cpulist").write_text(cores)
    (tmp_path / "possible").write_text("0-2")
    monkeypatch.setattr(instance, "_NODES", str(tmp_path))
    nodes = instance.numa_nodes()
    assert nodes == [(0, {0, 1}), (1, {2, 3})]
    bound: list[set[int]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _pid, cores: bound.append(set(cores)))
    monkeypatch.setenv("PATH", str(tmp_path))
    for local in range(3):
        assert instance.bound(["p"], nodes, local, {0, 1, 2}) == ["p"]
    assert bound == [{0, 1}, {2}, {0, 1}]
    assert instance.bound(["p"], nodes, 1, {0, 1}) == ["p"]  # none of its cores may be used
    assert len(bound) == 3
    (tmp_path / "numactl").write_text("#!/bin/sh\n")
    (tmp_path / "numactl").chmod(0o755)
    assert instance.bound(["p"], nodes, 1, {2}) == [str(tmp_path / "numactl"), "--membind=1", "--", "p"]
