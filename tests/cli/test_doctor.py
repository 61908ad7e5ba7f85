"""`tremula doctor`: each check finds what it is there to find."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import tempfile
from pathlib import Path

import pytest

from tremula.cli import conflicts, doctor
from tremula.cli.main import main
from tremula.settings import VARIABLES
from tremula.telemetry import ledger


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable.name, raising=False)
    monkeypatch.delenv("POPLAR_SDK_ENABLED", raising=False)


def levels(findings: object) -> list[str]:
    return [finding.level for finding in findings]  # type: ignore[attr-defined]


def test_torch_must_be_the_pinned_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "pinned_torch", lambda: "0.4.1")
    [finding] = doctor.check_torch()
    assert finding.level == "problem"
    assert "pip install torch==0.4.1" in finding.text
    installed = importlib.metadata.version("torch").partition("+")[0]
    monkeypatch.setattr(doctor, "pinned_torch", lambda: installed)
    assert levels(doctor.check_torch()) == ["ok"]


def test_the_pin_is_read_from_the_installed_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: ["numpy>=2", "torch==2.13.0"])
    assert doctor.pinned_torch() == "2.13.0"


def test_a_missing_torch_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert levels(doctor.check_torch()) == ["problem"]


def test_a_real_sdk_is_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPLAR_SDK_ENABLED", "/opt/poplar_sdk")
    finding = next(doctor.check_conflicts())
    assert finding.level == "warning"
    assert "/opt/poplar_sdk" in finding.text


def test_a_foreign_poptorch_in_front_of_ours_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "poptorch").mkdir()
    (tmp_path / "poptorch" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "poptorch", raising=False)
    [found] = [each for each in conflicts.foreign_packages() if each.name == "poptorch"]
    assert found.shadows_ours
    assert found.where == str(tmp_path / "poptorch")
    assert "problem" in levels(doctor.check_conflicts())
    assert main(["demo"]) == 1
    assert "loads another package" in capsys.readouterr().err


def test_the_unrelated_popart_of_the_package_index_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A distribution of that name exists that has nothing to do with IPUs."""
    (tmp_path / "popart").mkdir()
    (tmp_path / "popart" / "__init__.py").write_text("")
    (tmp_path / "popart-0.5.dist-info").mkdir()
    (tmp_path / "popart-0.5.dist-info" / "METADATA").write_text("Name: popart\nVersion: 0.5\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "popart", raising=False)
    [finding] = [each for each in doctor.check_conflicts() if each.about == "popart"]
    assert finding.level == "problem"
    assert str(tmp_path / "popart") in finding.text
    assert "pip uninstall popart" in finding.text


def test_what_cpp_enable_made_is_no_other_sdk(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    assert conflicts.poplar_sdk({"POPLAR_SDK_ENABLED": str(tmp_path)}) == str(tmp_path)
    (tmp_path / "lib" / "libtremula_user_ops.so").write_bytes(b"")
    assert conflicts.poplar_sdk({"POPLAR_SDK_ENABLED": str(tmp_path)}) is None


def test_our_own_popc_is_no_other_sdk(tmp_path: Path) -> None:
    command = tmp_path / "popc"
    command.write_text("#!/usr/bin/python\nfrom tremula.frontends.poplar import popc\n")
    command.chmod(0o755)
    assert conflicts.poplar_sdk({"PATH": str(tmp_path)}) is None
    command.write_text("#!/bin/sh\nexec clang\n")
    assert conflicts.poplar_sdk({"PATH": str(tmp_path)}) == str(tmp_path)


def test_a_package_that_we_do_not_ship_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "popnothing.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(conflicts, "STACK_PACKAGES", ("popnothing",))
    [found] = conflicts.foreign_packages()
    assert not found.shadows_ours
    assert "problem" not in levels(doctor.check_conflicts())


def test_a_value_that_cannot_be_read_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert levels(doctor.check_settings()) == ["ok"]
    monkeypatch.setenv("POPTORCH_IPU_MODEL", "maybe")
    [finding] = doctor.check_settings()
    assert finding.level == "problem"
    assert "POPTORCH_IPU_MODEL" in finding.text


def test_an_import_that_fails_is_reported_with_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "poptorch.py").write_text("raise ImportError('no native half')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    [finding] = doctor.check_import()
    assert finding.level == "problem"
    assert "no native half" in finding.text


def test_runs_that_executed_nothing_are_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path))
    assert levels(doctor.check_ledger()) == ["note"]
    idle = ledger.Entry("trainingModel", "Network")
    ledger.append(ledger.Run("/home/me/idle.py", 1, 1.0, 2.0, models=[idle]))
    [finding] = doctor.check_ledger()
    assert finding.level == "warning"
    assert "idle.py" in finding.text
    busy = ledger.Entry("trainingModel", "Network", calls=3, samples=12)
    ledger.append(ledger.Run("/home/me/busy/__main__.py", 1, 1.0, 2.0, models=[busy]))
    warning, fine = doctor.check_ledger()
    assert (warning.level, fine.level) == ("warning", "ok")
    assert "python -m busy: trainingModel Network: 3 calls, 12 samples" in fine.text


def test_problems_decide_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fine = doctor.Finding("ok", "weather", "sunny [bold]")
    bad = doctor.Finding("problem", "roof", "missing")
    monkeypatch.setattr(doctor, "CHECKS", (lambda: iter([fine]),))
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "sunny [bold]" in out
    assert "No problems found" in out
    monkeypatch.setattr(doctor, "CHECKS", (lambda: iter([fine, bad]),))
    assert main(["doctor"]) == 1
    assert "Problems found: 1" in capsys.readouterr().out
    assert main(["doctor", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[1] == {"level": "problem", "about": "roof", "text": "missing"}


def test_a_state_folder_that_cannot_be_written_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "file"))
    [finding] = doctor.check_state()
    assert finding.level == "problem"
    assert "cannot be written (Not a directory)" in finding.text
    assert "TREMULA_STATE_DIR" in finding.text
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "new"))
    assert levels(doctor.check_state()) == ["ok"]
    assert not (tmp_path / "new").exists(), "the doctor only looks"


def test_a_read_only_home_is_pointed_out_with_the_folder_that_is_used_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").write_text("")
    (tmp_path / "temporary").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    [finding] = doctor.check_state()
    assert finding.level == "warning"
    assert f"{tmp_path / 'temporary'}/tremula-" in finding.text
    assert "TREMULA_STATE_DIR" in finding.text


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that nobody can write to")
def test_a_cache_that_cannot_be_written_is_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPTORCH_CACHE_DIR", "/proc/tremula")
    finding = next(each for each in doctor.check_machine() if each.about == "cache")
    assert finding.level == "warning"
    assert "/proc/tremula cannot be written" in finding.text
    assert "POPTORCH_CACHE_DIR" in finding.text


def test_findings_do_not_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = doctor.Finding("ok", "folder", "/home/\x1b[2Jme\x07")
    monkeypatch.setattr(doctor, "CHECKS", (lambda: iter([hostile]),))
    main(["doctor"])
    assert "/home/·[2Jme·" in capsys.readouterr().out
