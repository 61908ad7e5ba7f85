"""The command line as a whole: help, version, mistakes."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tremula
from tremula.cli import main as cli
from tremula.cli.command import Command, CommandError
from tremula.errors import Error


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    for command in cli.COMMANDS:
        assert command.name in out
        assert command.help in out


@pytest.mark.parametrize("command", [command.name for command in cli.COMMANDS])
def test_each_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--help"]) == 0
    assert f"tremula {command}" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"tremula {tremula.__version__}\n"


def test_without_a_command_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "usage: tremula" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "meant"), [("estimte", "estimate"), ("profiel", "profile"), ("sytem", "system")]
)
def test_a_misspelt_command_gets_a_suggestion(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([word]) == 2
    assert f"did you mean {meant}" in capsys.readouterr().err


@pytest.mark.parametrize("line", [["nonsense"], ["demo", "--epochs", "many"], ["settings", "--nonsense"]])
def test_a_wrong_command_line_exits_with_2(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(line) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: tremula" in captured.err


@pytest.mark.parametrize("error", [CommandError("no disk: buy one"), Error("no disk: buy one")])
def test_a_failure_goes_to_stderr_without_a_traceback(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(cli, "COMMANDS", (Command("fail", "always fails", lambda _: None, fail),))
    assert cli.main(["fail"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "tremula: no disk: buy one\n"


def test_ctrl_c_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stopped(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "COMMANDS", (Command("stop", "is stopped", lambda _: None, stopped),))
    assert cli.main(["stop"]) == 130
    assert capsys.readouterr().err == "\ntremula: stopped\n"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    producer = subprocess.Popen(
        [sys.executable, "-m", "tremula.cli", "settings", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert producer.stdout is not None
    assert producer.stderr is not None
    producer.stdout.close()
    errors = producer.stderr.read()
    producer.stderr.close()
    producer.wait()
    assert errors == b""
