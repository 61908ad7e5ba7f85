"""gc-docker: a container gets the folder of the virtual IPUs, the host's name and the variables."""

from __future__ import annotations

import os
import shlex
import socket
from pathlib import Path

import pytest

from tremula.tools import container

Capture = pytest.CaptureFixture[str]


def test_the_command_is_shown(capsys: Capture, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod16")
    monkeypatch.setenv("IPUOF_VIPU_API_PARTITION_ID", "a b")
    assert container.main(["--echo", "--", "--rm", "-ti", "image", "gc-monitor"]) == 0
    words = shlex.split(capsys.readouterr().out)
    assert words[:3] == ["docker", "run", "--ipc=host"]
    assert f"--hostname={socket.gethostname()}" in words
    assert f"--volume={machine / 'state'}:/var/lib/tremula" in words
    assert "--env=TREMULA_STATE_DIR=/var/lib/tremula" in words
    assert {"--env=TREMULA_SYSTEM", "--env=IPUOF_VIPU_API_PARTITION_ID"} <= set(words)
    assert "--env=TREMULA_STATE_DIR" not in words
    assert words[-4:] == ["--rm", "-ti", "image", "gc-monitor"]


def test_programs_in_docker_run_as_the_owner_of_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setattr(os, "getgid", lambda: 100)
    words = container.command_line("docker", ["--user=0", "image"])
    assert words.index("--user=1000:100") < words.index("--user=0"), "docker takes the last one"
    assert "--user=1000:100" not in container.command_line("podman", ["image"])  # its root is this user
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert not any(word.startswith("--user") for word in container.command_line("docker", ["image"]))


def test_it_is_run(capsys: Capture, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = machine / "bin" / "podman"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\necho "$@" > {machine}/given\nexit 7\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    assert container.main_podman(["--", "--rm", "image"]) == 7
    assert (machine / "given").read_text().endswith("--rm image\n")
    assert capsys.readouterr().out == ""


def test_without_docker(capsys: Capture, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(machine))
    assert container.main(["--", "image"]) == 1
    told = capsys.readouterr().err
    assert "docker was not found on PATH" in told
    assert "docker run --ipc=host" in told
    assert container.main([]) == 1
    assert "no image was given" in capsys.readouterr().err
