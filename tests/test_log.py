"""Log lines: layouts, levels, destinations, and what is said only once."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import pytest

from tremula import log

BRACKETS = r"\[\d\d:\d\d:\d\d\.\d{3}\] \[%s\] \[%s\] %s\n"


@pytest.fixture(autouse=True)
def clean_log(monkeypatch):
    for group in ("POPTORCH", "POPART", "POPLAR", "POPLIBS", "TREMULA"):
        monkeypatch.delenv(f"{group}_LOG_LEVEL", raising=False)
        monkeypatch.delenv(f"{group}_LOG_DEST", raising=False)
    log.forget_once()
    with log.levels_restored():
        for group in ("poptorch", "popart"):
            log.set_level(group, "WARN")
        yield
    log.forget_once()


def test_layout_of_poptorch_lines(capfd):
    log.layer("poptorch:cpp").warning("text %d", 3)
    assert re.fullmatch(BRACKETS % ("poptorch:cpp", "warning", "text 3"), capfd.readouterr().err)


def test_layout_of_the_layers_below(capfd):
    log.set_level("popart", "TRACE")
    log.layer("popart:devicex").trace("text %s", "here")
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
    assert re.fullmatch(stamp + r" popart:devicex \d+\.\d+ T: text here\n", capfd.readouterr().err)


@pytest.mark.parametrize(
    ("word", "loudest"),
    [
        ("TRACE", "trace"),
        ("DEBUG", "debug"),
        ("INFO", "info"),
        ("WARN", "warning"),
        ("ERR", "error"),
        ("OFF", None),
    ],
)
def test_a_level_lets_itself_and_what_is_graver_through(word, loudest, capfd):
    log.set_level("poptorch", word)
    layer = log.layer("poptorch:cpp")
    for name in ("trace", "debug", "info", "warning", "error"):
        getattr(layer, name)("text")
    words = re.findall(r"\[poptorch:cpp\] \[(\w+)\]", capfd.readouterr().err)
    all_words = ["trace", "debug", "info", "warning", "error"]
    assert words == ([] if loudest is None else all_words[all_words.index(loudest) :])


def test_groups_have_levels_of_their_own(capfd):
    log.set_level("popart", "DEBUG")
    log.layer("poptorch:cpp").debug("one")
    log.layer("popart:ir").debug("two")
    err = capfd.readouterr().err
    assert "one" not in err
    assert "two" in err


def test_our_lines_follow_poptorch_unless_they_have_a_level_of_their_own(monkeypatch, capfd):
    log.set_level("poptorch", "OFF")
    log.layer("tremula").error("silent")
    monkeypatch.setenv("TREMULA_LOG_LEVEL", "INFO")
    log.set_level("poptorch", "ERR")
    log.layer("tremula").info("spoken")
    err = capfd.readouterr().err
    assert "silent" not in err
    assert "spoken" in err


def test_an_unknown_layer_or_level_is_refused():
    with pytest.raises(ValueError, match="no layer group"):
        log.layer("nobody:here")
    with pytest.raises(KeyError):
        log.set_level("poptorch", "LOUD")


def test_a_replaced_stderr_is_followed(monkeypatch):
    layer = log.layer("poptorch:cpp")
    layer.warning("before")
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    layer.warning("after")
    assert "after" in stream.getvalue()
    assert "before" not in stream.getvalue()
    assert "\033" not in stream.getvalue()


def test_colours_on_a_terminal_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    log.layer("poptorch:cpp").warning("text")
    assert stream.getvalue().startswith("\033[1;33m")
    assert stream.getvalue().endswith("\033[0m\n")


def test_destinations(monkeypatch, tmp_path, capfd):
    layer = log.layer("popart:session")
    monkeypatch.setenv("POPART_LOG_DEST", "stdout")
    layer.warning("to stdout")
    path = tmp_path / "popart.log"
    monkeypatch.setenv("POPART_LOG_DEST", str(path))
    layer.warning("to a file")
    monkeypatch.setenv("POPART_LOG_DEST", str(tmp_path / "missing" / "popart.log"))
    layer.warning("to nowhere")
    out, err = capfd.readouterr()
    assert "to stdout" in out
    assert "to a file" in path.read_text()
    assert "Cannot write the log" in err
    assert "to nowhere" in err
    log._files.pop(str(path)).close()


def test_once_only_lines(capfd):
    assert log.no_effect("Options.x", "there is no x")
    assert not log.no_effect("Options.x", "there is no x")
    assert log.no_effect("Options.y", "there is no y")
    err = capfd.readouterr().err
    assert err.count("Options.x has no effect here: there is no x.") == 1
    assert err.count("Options.y") == 1


def test_a_once_only_line_that_the_level_hides_may_still_come(capfd):
    assert not log.recorded("Options.z")
    log.set_level("poptorch", "INFO")
    assert log.recorded("Options.z")
    assert capfd.readouterr().err.count("Options.z is recorded for the chip model") == 1


@pytest.mark.parametrize(("level", "expected"), [("DEBUG", True), ("WARN", False)])
def test_the_level_of_the_environment_holds_from_the_import_on(level, expected):
    code = "from poptorch._logging import logger; logger.debug('spoken')"
    environment = {"POPTORCH_LOG_LEVEL": level, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert bool(re.search(BRACKETS % ("poptorch::python", "debug", "spoken"), done.stderr)) is expected


def test_nothing_that_a_terminal_would_act_on_is_logged(capfd):
    log.layer("poptorch:cpp").warning("model %s", "\x1b[2J\x1b]0;title\x07 of\u202e a file")
    log.layer("popart:session").error("\x9b31mred")
    said = capfd.readouterr().err
    assert not set("\x1b\x07\x9b\u202e") & set(said)
    assert "·[2J·]0;title· of· a file" in said
