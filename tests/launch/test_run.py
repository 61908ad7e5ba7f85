"""Real runs on this host: what instances are given, what is shown, how all of it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tremula.machine.reservation import reserve

Poprun = Callable[..., tuple[int, str, str]]
Start = Callable[..., Any]

TWO = ("--num-instances", "2", "--num-replicas", "2")

TELLS = """
import json, os, sys
names = [name for name in os.environ if name.startswith(
    ("POPDIST_", "IPUOF_", "OMPI_", "TORCHELASTIC_", "TREMULA_R", "TREMULA_P", "TREMULA_THREADS", "OMP_", "POPLAR_T"))]
names += ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"]
print(json.dumps({name: os.environ[name] for name in names}))
sys.stderr.write("to stderr\\n")
sys.stdout.write(sys.argv[1])
"""


def tagged(text: str) -> dict[tuple[int, str], list[str]]:
    """Lines of each instance and stream; every line must have a tag."""
    found: dict[tuple[int, str], list[str]] = {}
    for line in text.splitlines():
        match = re.fullmatch(r"\[1,(\d+)\]<(stdout|stderr)>:(.*)", line)
        assert match, line
        found.setdefault((int(match[1]), match[2]), []).append(match[3])
    return found


def test_what_instances_are_given(poprun: Poprun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod16")
    cache = tmp_path / "new" / "cache"
    code, out, err = poprun(
        *("-vv", "--num-instances", "2", "--num-replicas", "4", "--ipus-per-replica", "2"),
        *("--executable-cache-path", str(cache), "--vipu-server-timeout", "300"),
        program=TELLS,
        arguments=("no end of line",),
    )
    assert code == 0, err
    table, _, rest = out.partition("[1,")
    assert "| instances |   0   |   1   |" in table
    lines = tagged("[1," + rest)
    told = [json.loads(lines[index, "stdout"][0]) for index in (0, 1)]
    assert [lines[index, "stdout"][1] for index in (0, 1)] == ["no end of line"] * 2
    assert cache.is_dir()
    for index, variables in enumerate(told):
        cores = len(os.sched_getaffinity(0))
        options = json.loads(variables.pop("POPLAR_TARGET_OPTIONS"))
        assert options["instanceSize"] == "8"
        assert variables.pop("TREMULA_POPRUN") == variables.pop("TREMULA_RESERVATION")
        assert int(variables.pop("MASTER_PORT")) > 0
        variables.pop("OMP_WAIT_POLICY", None)
        assert variables == {
            "POPDIST_NUM_TOTAL_REPLICAS": "4",
            "POPDIST_NUM_IPUS_PER_REPLICA": "2",
            "POPDIST_NUM_LOCAL_REPLICAS": "2",
            "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE": "1",
            "POPDIST_NODE_DEVICE_ID": "28",  # the first of eight, behind 16 singles, 8 pairs and 4 fours
            "POPDIST_EXECUTABLE_CACHE_PATH": str(cache),
            "POPDIST_REPLICA_INDEX_OFFSET": str(2 * index),
            "POPDIST_LOCAL_INSTANCE_INDEX": str(index),
            "IPUOF_VIPU_API_HOST": "localhost",
            "IPUOF_VIPU_API_PORT": "8090",
            "IPUOF_VIPU_API_TIMEOUT": "300",
            "IPUOF_VIPU_API_PARTITION_ID": "p16",
            "IPUOF_LOG_LEVEL": "WARN",
            "OMPI_COMM_WORLD_RANK": str(index),
            "OMPI_COMM_WORLD_SIZE": "2",
            "OMPI_COMM_WORLD_LOCAL_RANK": str(index),
            "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "RANK": str(index),
            "WORLD_SIZE": "2",
            "LOCAL_RANK": str(index),
            "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "OMP_NUM_THREADS": str(max(1, cores // 2)),
            "TREMULA_THREADS": str(max(1, cores // 2)),
        }
    own = [line for line in err.splitlines() if "POPRUN" in line]
    assert all(re.match(r"\d\d:\d\d:\d\d\.\d{3} \d+ POPRUN \[[IDWE]\] \S", line) for line in own)
    for said in (
        "[I] Using V-IPU partition p16 as it is the only one available",
        "[D] Found 2 devices with 8 IPUs",
        "[D] Attached to device 28",
        "[D] Found 2 children (expected 2) of device 28 with 4 IPUs each",
        "[I] Running command: ",
        "[I] 2 instance(s) terminated with exit code 0",
        "[W] --vipu-server-timeout: no effect here, because virtual IPUs have no V-IPU server",
    ):
        assert any(said in line for line in own), said
    assert "mpirun" not in err


STREAMS = """
import os, sys, time
rank = int(os.environ["RANK"])
for number in range(5000):
    print(rank, number)
print("to stderr", file=sys.stderr)
sys.stdout.buffer.write(b"\\xff\\x00\\xfe")
sys.stdout.flush()
sys.stdin.read()
"""


def test_lines_are_whole_and_none_is_lost(start: Start) -> None:
    run = start(*TWO, program=STREAMS)
    run.process.stdout.reconfigure(errors="surrogateescape")
    code, out, err = run.finish()
    assert code == 0, err
    lines = tagged(out)
    for rank in (0, 1):
        assert lines[rank, "stdout"] == [*(f"{rank} {number}" for number in range(5000)), "\udcff\0\udcfe"]
    assert tagged(err) == {(0, "stderr"): ["to stderr"], (1, "stderr"): ["to stderr"]}


def test_one_instance_alone_is_shown_and_a_failure_of_another_anyway(poprun: Poprun, tmp_path: Path) -> None:
    program = (
        "import os, sys, time\n"
        "rank = os.environ['RANK']\n"
        "print('words of', rank); print('errors of', rank, file=sys.stderr)\n"
        "if rank == '1':\n"
        "    for n in range(50): print('line', n)\n"
        "    while not os.path.exists(sys.argv[1]): time.sleep(0.02)\n"
        "    sys.exit(7)\n"
        "open(sys.argv[1], 'w').close()\n"
        "time.sleep(600)\n"
    )
    code, out, err = poprun(
        *TWO, "--only-output-from-instance", "0", program=program, arguments=(str(tmp_path / "go"),)
    )
    assert code == 7
    assert out == "[1,0]<stdout>:words of 0\n"
    assert "[1,0]<stderr>:errors of 0\n" in err
    assert "[1,1]" not in err
    assert "Only the output of instance 0 is shown" in err
    assert "Instance 1 failed with exit code 7; 1 other(s) stopped because of it. Its last lines:" in err
    shown = re.findall(r"^    \| (.*)$", err, re.MULTILINE)
    # its other stream comes through a pipe of its own, and may be read last
    lines = [line for line in shown if line != "errors of 1"]
    assert lines == [f"line {number}" for number in range(50 - len(lines), 50)]
    assert len(shown) == 20


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "600"], start_new_session=True)
if os.environ["RANK"] == "1":
    print("ready", flush=True)
    if sys.argv[1] == "die":
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
while True:
    time.sleep(600)
"""


def test_a_killed_instance_ends_the_others_and_all_they_started(start: Start) -> None:
    """Even one that does not listen, and processes that moved to sessions of their own."""
    run = start(*TWO, program=STUBBORN, arguments=("die",))
    code, _, err = run.finish()
    assert run.left() == []
    assert code == 128 + signal.SIGKILL
    assert "Instance 1 was ended by SIGKILL" in err
    # the IPUs are free again
    reservation = reserve(4)
    assert reservation is not None
    reservation.release()


READY = "import os\nprint('ready', flush=True)\nos.execvp('sleep', ['sleep', '600'])\n"


def test_signals_end_the_run(start: Start) -> None:
    """Asked to end, asked twice by a user in a hurry, and killed without being asked."""
    asked = start(*TWO, program=READY)
    hurried = start(*TWO, program=STUBBORN, arguments=("stay",))
    killed = start(*TWO, "--offline-mode", "yes", program=READY)
    for run in (asked, hurried, killed):
        assert run.process.stdout.readline().endswith("ready\n")
    killed.process.kill()
    asked.process.send_signal(signal.SIGTERM)
    hurried.process.send_signal(signal.SIGINT)
    code, _, err = asked.finish()
    hurried.process.send_signal(signal.SIGINT)
    assert code == 128 + signal.SIGTERM
    assert "SIGTERM received: all instances were stopped." in err
    assert hurried.finish()[0] == 130
    killed.process.wait(10)
    assert killed.all_gone(20)  # the mark is the same for all three
    reservation = reserve(4)
    assert reservation is not None
    reservation.release()


def test_a_reader_that_goes_away_ends_the_run(start: Start) -> None:
    run = start(program="while True: print('y' * 1000)\n")
    assert run.process.stdout.readline().startswith("[1,0]<stdout>:yyy")
    run.process.stdout.close()
    assert run.process.wait(60) == 141
    assert run.left() == []


INDEPENDENT = """
import os, sys, time
from tremula.distributed import rendezvous
notes = rendezvous.connect(int(os.environ["RANK"]), 2, 60.0)
notes.set("advice/" + os.environ["RANK"], "options = popdist.poptorch.Options()")
notes.set("independent/" + os.environ["RANK"], "UResNet\\x1b[31m")
if os.environ["RANK"] == "0":
    print("told", flush=True)
    sys.exit(0)  # ends early, and well: the other goes on
sys.stdin.read()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""


def test_independent_trainings_are_noticed_while_they_run(start: Start, tmp_path: Path) -> None:
    go = tmp_path / "go"
    run = start(*TWO, program=INDEPENDENT, arguments=(str(go),))
    assert "train 2 INDEPENDENT models" in (line := run.process.stderr.readline())
    assert "wrapped UResNet" in line
    assert "\x1b" not in line
    go.write_text("")
    code, _, err = run.finish()
    assert code == 0
    assert "options = popdist.poptorch.Options()" in err
    assert err.count("not one data-parallel training") == 1
    assert "INDEPENDENT" not in err  # the long warning comes once


def test_a_program_may_ask_torch_for_a_group_of_its_own(poprun: Poprun) -> None:
    program = (
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "mine = torch.tensor([float(dist.get_rank() + 1)])\n"
        "dist.all_reduce(mine)\n"
        "print(mine.item())\n"
        "dist.destroy_process_group()\n"
    )
    code, out, err = poprun(*TWO, program=program)
    assert code == 0, err
    assert tagged(out) == {(0, "stdout"): ["3.0"], (1, "stdout"): ["3.0"]}


def test_offline_mode_holds_no_device(poprun: Poprun) -> None:
    program = (
        "import os\n"
        "for name in ('POPDIST_NODE_DEVICE_ID', 'TREMULA_RESERVATION', 'IPUOF_VIPU_API_PARTITION_ID',\n"
        "             'POPLAR_TARGET_OPTIONS'):\n"
        "    print(os.environ.get(name))\n"
    )
    with reserve(4) or pytest.fail("nothing to reserve"):
        # all IPUs are taken, as the refusal says
        code, _, err = poprun("true")
        assert code == 1
        assert "Failed to reserve 1 IPU(s)" in err
        assert f"process {os.getpid()}" in err
        code, out, err = poprun("--num-replicas", "64", "--offline-mode", "yes", program=program)
        assert code == 0, err
        assert tagged(out)[0, "stdout"] == ["None", "None", "None", "None"]


def test_a_slow_reader_gets_everything_and_a_hangup_that_is_ignored_ends_nothing(start: Start) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        run = start("seq", "1", "200000")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert run.process.stdout.readline() == "[1,0]<stdout>:1\n"
    run.process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        run.process.wait(1)  # nobody reads on: it waits
    code, out, _ = run.finish()
    assert code == 0
    assert out.splitlines()[-1] == "[1,0]<stdout>:200000"
    assert out.count("\n") == 199_999


def test_help_and_versions_are_quick_and_load_no_torch() -> None:
    probe = (
        "import sys\nfrom tremula.launch.main import main\n"
        "for words in (['--help'], ['--version'], ['--version-format=full-text'], ['--num-replicas', '3',"
        " '--num-instances', '2', 'true'], ['--print-topology', '--offline-mode', 'yes', '--num-replicas', '2']):\n"
        "    print(main(words), flush=True)\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[-1] == "False"
    assert [line for line in lines if line in ("0", "2")] == ["0", "0", "0", "2", "0"]
    assert "poprun [options] program [arguments]" in lines
    assert any(line.startswith("poprun (Tremula) ") for line in lines)
    assert any(line.startswith("torch: 2.") for line in lines)
    assert "| replicas  | 0 | 1 |" in lines
    assert "Nothing was started." in done.stderr


def test_configuration_is_exported_and_imported(poprun: Poprun, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert poprun(*TWO, "--numa-aware=no", "--export-config", path)[0] == 0
    assert json.loads(path.read_text())["num-instances"] == 2
    code, out, _ = poprun("--import-config", path, "--num-replicas", "4", "--print-topology")
    assert code == 0
    assert "| instances |   0   |   1   |" in out
    code, _, err = poprun(*TWO, "--export-config", path)
    assert code == 2
    assert "use --overwrite-config yes to replace it" in err
