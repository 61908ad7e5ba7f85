"""Nothing reaches for the network: not when it is imported, not in a training, not in a command.

Commands run with the folder `forbidden_network`: an audit hook sees what Python code tries, a preloaded library what C
code tries, and where the system allows it they have a network namespace with nothing but the loopback interface.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="LD_PRELOAD and network namespaces are Linux's"
)

FOLDER = Path(__file__).parent / "forbidden_network"

MODEL = """
import torch, poptorch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, x, target):
        out = self.layer(x)
        return out, torch.nn.functional.mse_loss(out, target)
"""

TRAINS = (
    MODEL
    + """
def main(options):
    model = Model()
    training = poptorch.trainingModel(model, options, poptorch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(2):
        training(torch.ones(4, 4), torch.ones(4, 2))

if __name__ == "__main__":
    main(poptorch.Options())
"""
)

TRAINS_TOGETHER = TRAINS.replace("poptorch.Options()", "popdist.poptorch.Options()").replace(
    "import torch, poptorch", "import torch, poptorch, popdist, popdist.poptorch"
)

Forbidden = Callable[..., tuple["subprocess.CompletedProcess[str]", str]]


@pytest.fixture(scope="session")
def guards(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], list[str]]:
    """The environment, and the first words of a command, that keep a command off the network."""
    environment = {"PYTHONPATH": str(FOLDER)}
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler:
        library = tmp_path_factory.mktemp("preload") / "preload.so"
        source = str(FOLDER / "preload.c")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), source, "-ldl"], check=True, timeout=60
        )
        environment["LD_PRELOAD"] = str(library)
    else:
        assert not os.environ.get("CI"), "no C compiler: what C code tries would not be seen"
    alone = [sys.executable, str(FOLDER / "alone.py")]
    allowed = subprocess.run([*alone, "true"], capture_output=True, timeout=60, check=False).returncode == 0
    return environment, alone if allowed else []


@pytest.fixture
def forbidden(guards: tuple[dict[str, str], list[str]], tmp_path: Path) -> Forbidden:
    """Runs a command without the network; gives back how it ended and what it tried."""
    environment, first = guards

    def run(*words: str | Path) -> tuple[subprocess.CompletedProcess[str], str]:
        log = tmp_path / "tried"
        log.write_text("")
        done = subprocess.run(
            [*first, *map(str, words)],
            env={**os.environ, **environment, "FORBIDDEN_NETWORK_LOG": str(log)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        return done, log.read_text()

    return run


def script(name: str) -> Path:
    return Path(sysconfig.get_path("scripts")) / name


def written(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


def assert_offline(ended: tuple[subprocess.CompletedProcess[str], str]) -> None:
    done, tried = ended
    assert tried == ""
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.socket().connect(('192.0.2.1', 80))",
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 53))",
        "socket.getaddrinfo('example.org', 80)",
        "socket.gethostbyname(socket.gethostname() + '.example')",
        "socket.gethostbyaddr('127.0.0.1')",
        "socket.getfqdn()",
    ],
)
def test_what_python_code_tries_is_seen(forbidden: Forbidden, attempt: str) -> None:
    _, tried = forbidden(sys.executable, "-c", f"import socket; {attempt}")
    assert tried != ""


def test_what_c_code_tries_is_seen(forbidden: Forbidden, guards: tuple[dict[str, str], list[str]]) -> None:
    if "LD_PRELOAD" not in guards[0]:
        pytest.skip("no C compiler")
    look_up = "import ctypes; ctypes.CDLL(None).gethostbyname(b'example.org')"
    _, tried = forbidden(sys.executable, "-c", look_up)
    assert tried.startswith("gethostbyname(example.org) in the C code")


def test_the_loopback_interface_stays(forbidden: Forbidden) -> None:
    text = (
        "import socket\n"
        "with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "    socket.create_connection(server.getsockname())\n"
        "    socket.create_connection(('localhost', server.getsockname()[1]))\n"
    )
    assert_offline(forbidden(sys.executable, "-c", text))


def test_a_training_is_offline(forbidden: Forbidden, tmp_path: Path) -> None:
    assert_offline(forbidden(sys.executable, written(tmp_path, TRAINS)))


@pytest.mark.slow
def test_a_compiled_training_is_offline(
    forbidden: Forbidden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_EXECUTION", "compiled")
    assert_offline(forbidden(sys.executable, written(tmp_path, TRAINS)))


def test_instances_that_train_together_look_no_name_up(
    forbidden: Forbidden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch's store looks up the name of the address that it connects to, in C code."""
    monkeypatch.delenv("TREMULA_VIRTUAL_IPUS")
    program = written(tmp_path, TRAINS_TOGETHER)
    two = ("--num-instances", "2", "--num-replicas", "2")
    assert_offline(forbidden(script("poprun"), *two, sys.executable, program))


@pytest.mark.parametrize(
    "words",
    [
        ("tremula", "settings"),
        ("tremula", "doctor"),
        ("tremula", "system"),
        ("gc-info", "--list-devices"),
        ("gc-inventory",),
        ("gc-monitor", "--no-card-info"),
        ("vipu", "list", "partitions"),
    ],
    ids=" ".join,
)
def test_a_command_is_offline(forbidden: Forbidden, words: tuple[str, ...]) -> None:
    assert_offline(forbidden(script(words[0]), *words[1:]))


def test_showing_a_profile_is_offline(forbidden: Forbidden, profile_file: Path, tmp_path: Path) -> None:
    assert_offline(forbidden(script("tremula"), "view", profile_file))
    assert_offline(forbidden(script("tremula"), "view", profile_file, "--html", tmp_path / "page.html"))


@pytest.mark.parametrize("words", [("estimate", "run"), ("profile",)], ids=" ".join)
def test_asking_about_a_program_is_offline(
    forbidden: Forbidden, tmp_path: Path, words: tuple[str, ...]
) -> None:
    assert_offline(forbidden(script("tremula"), *words, written(tmp_path, TRAINS)))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_demo_is_offline(forbidden: Forbidden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREMULA_VIRTUAL_IPUS")
    small = ("--events", "4", "--steps", "2", "--ipus", "1,2")
    assert_offline(forbidden(script("tremula"), "demo", "--out", tmp_path / "demo", *small))
