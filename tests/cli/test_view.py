"""`tremula view`: text, page, trace and JSON of a profile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tremula.cli.main import main


def test_text_by_default(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(profile_file)]) == 0
    out = capsys.readouterr().out
    assert "Memory Usage" in out
    assert "Options:" not in out
    assert main(["view", str(profile_file.parent), "--full"]) == 0
    assert "Options:" in capsys.readouterr().out


def test_details(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(profile_file), "--op", "mm0", "--tile", "3", "--ops", "2"]) == 0
    out = capsys.readouterr().out
    assert "Tile # 3 memory usage" in out
    assert "not taken" in out
    assert "Memory Usage" not in out


def test_json(profile_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(profile_file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["note"] == "modelled, not measured"
    assert sum(found["breakdown"].values()) == pytest.approx(found["figures"]["cycles_per_step"]["value"])


def test_files(profile_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, trace = tmp_path / "new" / "page.html", tmp_path / "trace.json"
    assert main(["view", str(profile_file), "--html", str(page), "--trace", str(trace)]) == 0
    out = capsys.readouterr().out
    assert str(page) in out
    assert str(trace) in out
    assert "Memory Usage" not in out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads(trace.read_text())["traceEvents"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["new", "trace.json"]


def test_what_cannot_be_shown(profile_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "profile.pop"
    wrong.write_bytes(b"nothing")
    (tmp_path / "empty").mkdir()
    for arguments, said in (
        ([str(wrong)], "not an SQLite file"),
        ([str(tmp_path / "none")], "cannot be opened"),
        ([str(tmp_path / "empty")], "no profile.pop"),
        ([str(profile_file), "--tile", "999999"], "no tile"),
        ([str(profile_file), "--op", "nothing"], "has no op"),
        ([str(profile_file), "--trace", str(wrong / "t.json")], "cannot be written"),
        ([str(profile_file), "--html", str(wrong / "p.html")], "cannot be written"),
    ):
        assert main(["view", *arguments]) == 1
        assert said in capsys.readouterr().err


def test_several_profiles_are_listed(
    profile_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "profile.pop").write_bytes(profile_file.read_bytes())
    assert main(["view", str(tmp_path)]) == 1
    assert "choose one" in capsys.readouterr().err
    assert main(["view", str(tmp_path), "--html", str(tmp_path / "all.html")]) == 0
    assert (
        main(
            [
                "view",
                str(tmp_path / "a"),
                str(tmp_path / "b"),
                "--compare",
                "--html",
                str(tmp_path / "two.html"),
            ]
        )
        == 0
    )
    assert (tmp_path / "two.html").stat().st_size > 10_000


def test_compare_needs_a_page_and_two_profiles(
    profile_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(profile_file), "--compare"]) == 1
    assert "--html OUT or --serve" in capsys.readouterr().err
    assert main(["view", str(profile_file), "--compare", "--html", str(tmp_path / "p.html")]) == 1
    assert "needs two profiles, but 1 were given" in capsys.readouterr().err


def test_files_for_other_tools(
    profile_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables, speedscope = tmp_path / "tables", tmp_path / "a.speedscope.json"
    assert main(["view", str(profile_file), "--csv", str(tables), "--speedscope", str(speedscope)]) == 0
    assert "speedscope.app" in capsys.readouterr().out
    assert json.loads(speedscope.read_text())["profiles"]
    assert (tables / "ops.csv").read_text().startswith("id,name,")


def test_a_host_trace(trace_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(trace_file)]) == 0
    out = capsys.readouterr().out
    assert "Longest labels" in out
    assert "outer" in out
    files = {name: tmp_path / name for name in ("trace.json", "speedscope.json", "tables", "page.html")}
    command = ["view", str(trace_file), "--trace", str(files["trace.json"]), "--csv", str(files["tables"])]
    assert main([*command, "--speedscope", str(files["speedscope.json"])]) == 0
    assert json.loads(files["trace.json"].read_text())["traceEvents"]
    assert "outer" in (files["tables"] / "events.csv").read_text()
    assert main(["view", str(trace_file), "--html", str(files["page.html"])]) == 0
    assert files["page.html"].read_text().startswith("<!doctype html>")
    assert main(["view", str(trace_file), "--tile", "3"]) == 1
    assert "--tile needs a profile" in capsys.readouterr().err


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    """A trace that a program wrote through libpvti."""
    program = (
        "import libpvti as pvti\n"
        "channel = pvti.createTraceChannel('mine')\n"
        "with pvti.Tracepoint(channel, 'outer'):\n"
        "    with pvti.Tracepoint(channel, 'inner'):\n"
        "        pass\n"
    )
    environment = {**os.environ, "PVTI_OPTIONS": json.dumps({"enable": "true", "directory": str(tmp_path)})}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
    return next(tmp_path.glob("*.pvti"))


def test_a_server_answers_until_it_is_interrupted(profile_file: Path) -> None:
    command = [sys.executable, "-m", "tremula.cli", "view", str(profile_file), "--serve", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        lines = [server.stdout.readline() for _ in range(5)]
        address = lines[1].strip()
        assert address.startswith("http://127.0.0.1:")
        assert "ssh -N -L " in lines[3]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(address, timeout=30) as page:
            assert b"<!doctype html>" in page.read()[:100].lower()
            assert "token" not in page.geturl()
        root = address.partition("?")[0]
        with opener.open(f"{root}api/reports", timeout=30) as answer:
            assert [each["kind"] for each in json.load(answer)["reports"]] == ["profile"]
        with opener.open(f"{root}api/r/0/summary", timeout=30) as answer:
            assert json.load(answer)["file"] == "profile.pop"
        with opener.open(f"{root}api/r/0/frame/lanes?columns=ipu,steps&first=0&rows=2", timeout=30) as answer:
            assert json.load(answer)["rows"] == 2
        for wrong in (
            "api/r/7/summary",
            "api/r/0/nothing",
            "api/r/0/frame/nothing?columns=a",
            "api/r/-1/summary",
        ):
            with pytest.raises(urllib.error.HTTPError) as refused:
                opener.open(root + wrong, timeout=30)
            assert refused.value.code in (404, 422)
            refused.value.close()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=30) == 0
