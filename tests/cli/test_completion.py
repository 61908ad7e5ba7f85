"""`tremula completion`: scripts that shells accept and that know every command."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
from pathlib import Path

import pytest

from tremula.cli import parsers
from tremula.cli.completion import SHELLS
from tremula.cli.main import main


@pytest.mark.parametrize("name", parsers.COMMANDS)
def test_every_command_has_a_parser_with_its_name(name: str) -> None:
    made = parsers.parser(name)
    assert made.prog == name
    assert made.format_help().startswith(f"usage: {name}")


def test_every_installed_command_is_completed() -> None:
    installed = {
        each.name
        for each in importlib.metadata.distribution("tremula").entry_points
        if each.group == "console_scripts"
    }
    assert installed <= set(parsers.COMMANDS)


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_accepted_by_their_shell(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    assert "gc-monitor" in script.read_text()
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    checked = subprocess.run([found, "-n", str(script)], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr


def test_bash_completes_commands_and_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash", "--command", "tremula"]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    ask = f"""
        source {script}
        COMP_WORDS=(tremula est); COMP_CWORD=1; COMPREPLY=()
        _shtab_tremula; echo "${{COMPREPLY[@]}}"
        COMP_WORDS=(tremula settings --a); COMP_CWORD=2; COMPREPLY=()
        _shtab_tremula; echo "${{COMPREPLY[@]}}"
    """
    shown = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60)
    assert shown.stdout.split() == ["estimate", "--all"], shown.stderr


def test_an_unknown_command_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash", "--command", "gc-nothing"]) == 1
    assert "gc-monitor" in capsys.readouterr().err
