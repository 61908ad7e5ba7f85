"""Several hosts for real: two network namespaces with names and an SSH server each, joined by a cable, and Open MPI.

They need root, openmpi-bin, openssh-server and iproute2; `make test-hosts` installs these and runs the file.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_NEEDED = ("mpirun", "sshd", "ssh", "ssh-keygen", "ip", "unshare", "nsenter", "mount")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_MISSING = [name for name in _NEEDED if shutil.which(name, path=_PATH) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.hosts,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
    pytest.mark.skipif(bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)} (make test-hosts)"),
    pytest.mark.timeout(300),
]


@dataclass
class Hosts:
    """Two hosts, host0 and host1: the processes whose namespaces they are, and how to log in."""

    servers: list[int]
    key: Path
    port: int
    state: Path

    def run(self, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run poprun on host0; the instances reach host1 through SSH."""
        login = (
            f"-i {self.key} -p {self.port} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
            "-o LogLevel=ERROR -o BatchMode=yes"
        )
        command = [
            *("nsenter", "-t", str(self.servers[0]), "--net", "--uts", "--mount", "--"),
            *(sys.executable, "-m", "tremula.launch", "--allow-run-as-root", "yes"),
            *("--mpi-global-args", f"--mca plm_rsh_args '{login}'", *words),
        ]
        environment = {
            **os.environ,
            "PATH": _PATH,
            "OMP_NUM_THREADS": "1",
            "TREMULA_STATE_DIR": str(self.state),
        }
        environment["TREMULA_LOG_LEVEL"] = "WARN"
        return subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=environment, check=False
        )


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    folder = tmp_path_factory.mktemp("hosts")
    names = [f"trm{os.getpid()}{letter}" for letter in "ab"]
    cable = [f"v{os.getpid()}{letter}" for letter in "ab"]
    with contextlib.ExitStack() as stack:
        try:
            for name in names:
                _do("ip", "netns", "add", name)
                stack.callback(_do, "ip", "netns", "delete", name)
            _do(
                "ip",
                "link",
                "add",
                cable[0],
                "netns",
                names[0],
                "type",
                "veth",
                "peer",
                cable[1],
                "netns",
                names[1],
            )
            for number, name in enumerate(names):
                _do("ip", "-n", name, "address", "add", f"10.213.77.{number + 1}/24", "dev", cable[number])
                _do("ip", "-n", name, "link", "set", cable[number], "up")
                _do("ip", "-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as problem:
            pytest.skip(f"no network namespaces here: {problem.stderr.strip()}")
        key = _keys(folder)
        port = 2222
        servers = []
        for number, name in enumerate(names):
            server = _server(folder, key, port, number, name)
            stack.callback(_stop, server)
            servers.append(server)
        for number, server in enumerate(servers):
            _wait_for(names[number], port, server)
        yield Hosts([server.pid for server in servers], key, port, folder / "state")


def _do(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True, env={**os.environ, "PATH": _PATH})


def _keys(folder: Path) -> Path:
    for name in ("user", "server"):
        _do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
    shutil.copy(folder / "user.pub", folder / "authorized")
    return folder / "user"


def _server(folder: Path, key: Path, port: int, number: int, namespace: str) -> subprocess.Popen[bytes]:
    """An SSH server whose sessions live on a host of its own: network, name and /etc/hosts."""
    names = folder / "etc-hosts"
    names.write_text("127.0.0.1 localhost\n10.213.77.1 host0\n10.213.77.2 host1\n")
    configuration = folder / f"sshd{number}"
    configuration.write_text(
        f"Port {port}\nHostKey {folder / 'server'}\nAuthorizedKeysFile {folder / 'authorized'}\nStrictModes no\n"
        f"PermitRootLogin yes\nUsePAM no\nPasswordAuthentication no\nPidFile {folder}/sshd{number}.pid\n"
    )
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    sshd = shutil.which("sshd", path=_PATH)
    script = (
        f"mount --bind {names} /etc/hosts && hostname host{number} && exec {sshd} -D -e -f {configuration}"
    )
    with (folder / f"sshd{number}.log").open("wb") as log:
        return subprocess.Popen(
            ["ip", "netns", "exec", namespace, "unshare", "--uts", "--mount", "sh", "-c", script],
            env={**os.environ, "PATH": _PATH},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )


def _wait_for(namespace: str, port: int, server: subprocess.Popen[bytes]) -> None:
    probe = f"import socket; socket.create_connection(('127.0.0.1', {port}), 1)"
    for _ in range(100):
        assert server.poll() is None, "the SSH server has ended"
        words = ["ip", "netns", "exec", namespace, sys.executable, "-S", "-c", probe]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1)
    pytest.fail("the SSH server does not answer")


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    server.wait(10)


def _processes_with(text: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if text in line and path.parent.name != str(os.getpid()):
                found.append(line)
    return found


PRINTS = """
import os, socket
names = ("POPDIST_REPLICA_INDEX_OFFSET", "POPDIST_LOCAL_INSTANCE_INDEX", "POPDIST_NUM_LOCAL_REPLICAS", "RANK",
         "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "IPUOF_VIPU_API_GCD_ID",
         "TREMULA_RESERVATION", "MASTER_ADDR")
print(socket.gethostname(), *(os.environ.get(name, "-") for name in names))
"""


def test_instances_are_told_what_belongs_to_their_host(hosts: Hosts, tmp_path: Path) -> None:
    program = tmp_path / "prints.py"
    program.write_text(PRINTS)
    done = hosts.run(
        *("-v", "--host", "host[0-1]", "--num-instances", "4", "--num-replicas", "8"),
        *(sys.executable, str(program)),
    )
    assert done.returncode == 0, done.stderr
    lines = dict(re.findall(r"\[1,(\d)\]<stdout>:(.*)", done.stdout))
    told = {rank: line.split() for rank, line in lines.items()}
    # host, replica offset, local instance, local replicas, rank, local rank, the same from MPI, graph compile domain
    assert " ".join(told["0"][:9]) == "host0 0 0 2 0 0 0 0 0"
    assert " ".join(told["1"][:9]) == "host0 2 1 2 1 1 1 1 0"
    assert " ".join(told["2"][:9]) == "host1 4 0 2 2 0 2 0 1"
    assert " ".join(told["3"][:9]) == "host1 6 1 2 3 1 3 1 1"
    # the reservation is one of host0; host1 has IPUs of its own
    assert [told[rank][9] == "-" for rank in "0123"] == [False, False, True, True]
    assert {words[10] for words in told.values()} == {"10.213.77.1"}
    assert re.search(r"POPRUN \[I\] mpirun \(PID \d+\) terminated with exit code 0", done.stderr)
    assert "| hosts     |     host0     |     host1     |" in done.stdout


MEETS = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
value = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(value)
print("sum", value.item())
dist.destroy_process_group()
"""


def test_instances_on_both_hosts_meet(hosts: Hosts, tmp_path: Path) -> None:
    program = tmp_path / "meets.py"
    program.write_text(MEETS)
    done = hosts.run(
        *(
            "--host",
            "host0,host1",
            "--host-subnet",
            "10.213.77.0/24",
            "--num-instances",
            "2",
            "--num-replicas",
            "2",
        ),
        *(sys.executable, str(program)),
    )
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"\[1,(\d)\]<stdout>:sum (.*)", done.stdout)) == [("0", "3.0"), ("1", "3.0")]


TRAINS = """
import popdist.poptorch, poptorch, torch
torch.manual_seed(1)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
    def forward(self, x, y):
        out = self.layer(x)
        return out, torch.nn.functional.mse_loss(out, y)
net = Net()
options = popdist.poptorch.Options()
model = poptorch.trainingModel(net, options, optimizer=poptorch.optim.SGD(net.parameters(), lr=0.1))
data = torch.Generator().manual_seed(10 + popdist.getInstanceIndex())
for _ in range(3):
    model(torch.randn(4, 4, generator=data), torch.randn(4, 2, generator=data))
model.copyWeightsToHost()
print("weights", net.layer.weight.double().sum().item().hex())
"""


def test_one_model_is_trained_on_both_hosts(hosts: Hosts, tmp_path: Path) -> None:
    program = tmp_path / "trains.py"
    program.write_text(TRAINS)
    done = hosts.run(
        *("--host", "host0,host1", "--num-instances", "2", "--num-replicas", "2"),
        *(sys.executable, str(program)),
    )
    assert done.returncode == 0, done.stderr
    weights = re.findall(r"\[1,\d\]<stdout>:weights (\S+)", done.stdout)
    assert len(weights) == 2
    assert len(set(weights)) == 1
    assert "INDEPENDENT" not in done.stderr


def test_a_failure_on_the_other_host_ends_all(hosts: Hosts, tmp_path: Path) -> None:
    mark = f"poprun-hosts-{os.getpid()}"
    program = tmp_path / "fails.py"
    program.write_text(
        "import os, sys, time\n"
        "print('on my way', flush=True)\n"
        "if os.environ['RANK'] == '1': sys.exit('it is broken')\n"
        "time.sleep(600)\n"
    )
    done = hosts.run(
        *("--host", "host0,host1", "--num-instances", "2", "--num-replicas", "2"),
        *(sys.executable, str(program), mark),
    )
    assert done.returncode == 1
    assert "Instance 1 failed with exit code 1. Its last lines:" in done.stderr
    assert "    | it is broken" in done.stderr
    deadline = time.monotonic() + 20
    while _processes_with(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _processes_with(mark)


def test_a_host_that_nobody_knows_is_named_before_anything_starts(hosts: Hosts) -> None:
    done = hosts.run("--host", "host0,host7", "--num-instances", "2", "--num-replicas", "2", "true")
    assert done.returncode == 2
    assert "Cannot resolve host name(s): host7" in done.stderr
    assert socket.gethostname() not in done.stdout
