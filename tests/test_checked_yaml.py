"""YAML of people and strangers: plain values, or one error that says what and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tremula.checked_json import BadValue
from tremula.checked_yaml import LARGEST_BYTES, parse_yaml, read_yaml


def test_plain_values_come_back() -> None:
    assert parse_yaml("a: 1\nb: [x, 2.5, null]\n") == {"a": 1, "b": ["x", 2.5, None]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: " + "[" * 5000, "line 1 is nested too deeply"),
        ("a: &x [1]\nb: *x\n", r"line 2 refers to another place \(\*x\)"),
        ("a: !!python/object/apply:os.system [true]", "could not determine a constructor"),
        ("a: [1", "expected"),
        ("a: 2023-99-99", "a value cannot be understood"),
        ("a: \x1b[2J", "special characters are not allowed"),
    ],
)
def test_anything_else_is_one_error(text: str, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        parse_yaml(text)


def test_files_that_cannot_be_configurations(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with pytest.raises(BadValue, match="No such file"):
        read_yaml(path)
    path.write_bytes(b"a: \xff")
    with pytest.raises(BadValue, match="not text in UTF-8"):
        read_yaml(path)
    path.write_bytes(b" " * (LARGEST_BYTES + 1))
    with pytest.raises(BadValue, match="more than 1,048,576 bytes"):
        read_yaml(path)
