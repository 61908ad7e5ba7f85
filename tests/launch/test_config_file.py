"""Configuration files: what is exported is what is imported, and nothing else gets in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.launch.command_line import parse
from tremula.launch.config_file import as_json, export, import_into
from tremula.launch.options import COUNT, FLAG, INDEX, OPTIONS, SWITCH, Option, Settings

_KEPT = [option for option in OPTIONS if option.kept]


def _value(option: Option) -> st.SearchStrategy[Any]:
    if option.kind in (FLAG, SWITCH):
        return st.booleans()
    if option.kind == COUNT:
        return st.integers(1, 1_000_000)
    if option.kind == INDEX:
        return st.integers(0, 1_000_000)
    return st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=40)


@given(st.fixed_dictionaries({}, optional={option.name: _value(option) for option in _KEPT}))
def test_what_is_written_is_read_again(values: dict[str, Any]) -> None:
    import tempfile

    settings = Settings()
    for option in _KEPT:
        if option.name in values:
            settings.put(option, values[option.name], "a test")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        assert export(settings, path) == []
        again = Settings()
        assert import_into(again, path) == []
    assert as_json(again) == as_json(settings)
    for option in _KEPT:
        assert again.get(option) == settings.get(option)


def test_the_command_line_wins(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"num-replicas": 8, "num-instances": 4, "numa-aware": False}))
    settings, _ = parse(["--num-replicas", "4", "p"])
    assert import_into(settings, path) == []
    assert (settings.num_replicas, settings.num_instances, settings.numa_aware) == (4, 4, False)
    assert settings.given["num-instances"] == str(path)


def test_a_file_that_is_there_is_only_replaced_on_request(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("mine")
    settings, _ = parse(["--num-replicas", "2", "p"])
    assert "--overwrite-config" in export(settings, path)[0]
    assert path.read_text() == "mine"
    settings, _ = parse(["--num-replicas", "2", "--overwrite-config", "p"])
    assert export(settings, path) == []
    assert json.loads(path.read_text())["num-replicas"] == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ("[1]", "a JSON object"),
        ('{"num-replicas": "2"}', "'num-replicas' takes a whole number"),
        ('{"num-replicas": true}', "'num-replicas' takes a whole number"),
        ('{"num-replicas": 0}', "of 1 or more"),
        ('{"numa-aware": 1}', "'numa-aware' takes true or false"),
        ('{"host": ["a"]}', "'host' takes a text"),
        ('{"command": "rm"}', "'command' is not an option of a configuration file"),
        ('{"export-config": "x"}', "'export-config' is not an option of a configuration file"),
        ('{"host": "a", "host": "b"}', "twice"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_every_field_is_checked(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    settings = Settings()
    (problem,) = import_into(settings, path)
    assert said in problem
    assert settings == Settings()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (problem,) = import_into(Settings(), tmp_path / "none.json")
    assert "cannot be read" in problem
