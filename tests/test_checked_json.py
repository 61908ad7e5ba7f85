"""Checked JSON: what is written comes back; what does not fit its type is refused with the place."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.checked_json import BadValue, decode, read_document, write_document
from tremula.errors import Error


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Part:
    name: str
    share: float


@dataclass(frozen=True)
class Whole:
    count: int
    parts: tuple[Part, ...] = ()
    pair: tuple[int, str] = (0, "")
    colour: Colour = Colour.RED
    mode: Literal["weak", "strong"] = "weak"
    by_number: Mapping[int, float] = field(default_factory=dict)
    setting: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None


PARTS = st.builds(Part, st.text(max_size=20), st.floats(allow_nan=False, allow_infinity=False))
WHOLES = st.builds(
    Whole,
    count=st.integers(),
    parts=st.lists(PARTS, max_size=3).map(tuple),
    pair=st.tuples(st.integers(), st.text(max_size=5)),
    colour=st.sampled_from(Colour),
    mode=st.sampled_from(["weak", "strong"]),
    by_number=st.dictionaries(st.integers(), st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    setting=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none(), max_size=3),
    note=st.none() | st.text(max_size=10),
)


def as_json(whole: Whole) -> Any:
    plain = asdict(whole) | {"colour": whole.colour.value}
    return json.loads(json.dumps(plain))


@given(WHOLES)
def test_what_is_written_comes_back(whole: Whole) -> None:
    assert decode(Whole, as_json(whole)) == whole


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"count": 1.5}, "Whole.count"),
        ({"count": True}, "Whole.count"),
        ({"parts": [{"name": "a"}]}, "Whole.parts lacks share"),
        ({"parts": [{"name": "a", "share": "1"}]}, r"Whole.parts.share is '1'"),
        ({"parts": [{"name": "a", "share": float("inf")}]}, "not a figure"),
        ({"parts": [{"name": "a", "share": 10**400}]}, "not a figure"),
        ({"pair": [1]}, "has 1 items, not 2"),
        ({"colour": "green"}, "no Colour"),
        ({"mode": "both"}, "not one of weak, strong"),
        ({"by_number": {"x": 1.0}}, "not a number"),
        ({"setting": {"a": {"b": 1}}}, "neither a number nor a text"),
        ({"note": 3}, "Whole.note"),
        ({"more": 1}, "unknown fields: more"),
        ({"note": "x" * 20_001}, "more than 20,000 characters"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(change: dict[str, Any], where: str) -> None:
    with pytest.raises(BadValue, match=where):
        decode(Whole, as_json(Whole(1)) | change)


def test_files_of_other_versions_are_read_leniently() -> None:
    assert decode(Whole, {"count": 2, "later": True}, lenient=True) == Whole(2)
    with pytest.raises(BadValue, match="lacks count"):
        decode(Whole, {}, lenient=True)


def test_deep_nesting_is_refused() -> None:
    nested: Any = 1
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(BadValue, match="deeply"):
        decode(Whole, as_json(Whole(1)) | {"setting": {"a": nested}})


def test_a_document_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_document(path, "tremula test", 2, {"whole": as_json(Whole(3))})
    content = read_document(path, "tremula test", 2, "a test")
    assert decode(Whole, content["whole"]) == Whole(3)
    with pytest.raises(Error, match="is not a test"):
        read_document(path, "tremula other", 2, "a test")
    with pytest.raises(Error, match="reads version 3"):
        read_document(path, "tremula test", 3, "a test")
    path.write_text(path.read_text(encoding="utf-8")[:-5], encoding="utf-8")
    with pytest.raises(Error, match="cut off"):
        read_document(path, "tremula test", 2, "a test")
    with pytest.raises(Error, match="cannot be read"):
        read_document(tmp_path / "none.json", "tremula test", 2, "a test")
