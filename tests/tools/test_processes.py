"""The tools as commands: quick to start, quiet when nobody reads, and a live view in a real terminal."""

from __future__ import annotations

import importlib
import os
import re
import select
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

Holder = Callable[..., "subprocess.Popen[str]"]

PYPROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
TOOLS = {
    name: where
    for name, where in PYPROJECT["project"]["scripts"].items()
    if name.startswith("gc-") or name == "vipu"
}


def command(name: str, *arguments: str) -> list[str]:
    """The command as pip's entry point would run it."""
    module, function = TOOLS[name].split(":")
    script = f"import sys; sys.argv[0] = {name!r}; from {module} import {function} as main; sys.exit(main())"
    return [sys.executable, "-c", script, *arguments]


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_has_help_in_its_own_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module, function = TOOLS[name].split(":")
    main = getattr(importlib.import_module(module), function)
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: {name} ")
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith(f"{name} of Tremula ")
    assert main(["--no-such-option"]) == 2
    assert capsys.readouterr().out == ""


def test_they_start_without_anything_heavy() -> None:
    modules = {where.split(":")[0] for where in TOOLS.values()}
    script = f"import importlib, sys\nfor m in {sorted(modules)}: importlib.import_module(m)\n"
    script += "assert not {'torch', 'numpy', 'rich'} & {n.split('.')[0] for n in sys.modules}"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_nobody_reads() -> None:
    process = subprocess.Popen(
        command("gc-inventory"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    told = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() in (0, 141)
    assert "Traceback" not in told
    assert "BrokenPipe" not in told


def test_ctrl_c() -> None:
    process = subprocess.Popen(
        command("gc-powertest", "--interval", "0.05"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(6)]
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in told
    assert lines[4].startswith(b" | 0001: ")
    assert lines[5].startswith(b" | 0002: ")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
@pytest.mark.parametrize("columns", [80, 160])
def test_the_live_view(columns: int, holder: Holder) -> None:
    process = holder(ipus=2)
    shown, code = in_terminal(
        command("gc-monitor", "--live", "--interval", "0.1"), columns, until=str(process.pid)
    )
    assert code == 0
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).splitlines()
    assert any(line.startswith("ID") and "busy" in line and "program" in line for line in lines)
    assert any("█" in line or "░" in line for line in lines)
    assert max(len(line.rstrip("\r")) for line in lines) <= columns
    assert any("modelled" in line for line in lines)
    assert any("47%" in line for line in lines)


def test_the_live_view_needs_a_terminal() -> None:
    done = subprocess.run(command("gc-monitor", "--live"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "gc-monitor: --live needs a terminal; use `watch gc-monitor` or `gc-monitor --json` instead.\n"
    )


def in_terminal(arguments: list[str], columns: int, *, until: str) -> tuple[str, int]:
    """Run in a terminal that wide until a text appears; then press q."""
    import fcntl
    import struct
    import termios

    controller, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        arguments, stdin=terminal, stdout=terminal, stderr=terminal, env=environment, start_new_session=True
    )
    os.close(terminal)
    shown, pressed, deadline = b"", False, time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            ready, _, _ = select.select([controller], [], [], 0.1)
            if ready:
                try:
                    part = os.read(controller, 65536)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                shown += part
            if not pressed and until.encode() in shown:
                os.write(controller, b"q")
                pressed = True
            if process.poll() is not None and not ready:
                break
    finally:
        os.close(controller)
        if process.poll() is None:
            process.kill()
    return shown.decode(errors="replace"), process.wait()
