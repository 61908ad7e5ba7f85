"""Hardware files are checked field by field, and the error says where and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tremula.hardware
from tremula.errors import Error
from tremula.hardware.files import parse

DATA = Path(tremula.hardware.__file__).parent / "data"
BOW = (DATA / "chips" / "bow.toml").read_text()


def changed(old: str, new: str) -> str:
    assert old in BOW
    return BOW.replace(old, new)


def test_the_files_of_the_package_are_right() -> None:
    for path in DATA.glob("*/*.toml"):
        entry = parse(path.read_text(), str(path))
        assert (f"{entry.kind}s", entry.name) == (path.parent.name, path.stem)


TILES = 'tiles = { value = 1_472, source = "vendor documentation" }'


@pytest.mark.parametrize(
    ("text", "field", "advice"),
    [
        (changed('kind = "chip"', ""), "kind", "say what the file describes"),
        (changed('kind = "chip"', 'kind = "gpu"'), "kind", "say what the file describes"),
        (changed(TILES, ""), "tiles", "is missing; add tiles"),
        (changed('title = "Bow in the Bow-2000"', ""), "title", "is missing"),
        (changed("clock_hz", "clock_h"), "clock_h", "perhaps clock_hz"),
        (changed(TILES, TILES + "\nzzzzzz = 3"), "zzzzzz", "a chip has:"),
        (changed(TILES, "tiles = 1472"), "tiles", "has no source"),
        (changed(TILES, "tiles = { value = 1472 }"), "tiles", "has no source"),
        (changed(TILES, 'tiles = { value = 1472, source = "  " }'), "tiles", "has no source"),
        (changed(TILES, 'tiles = { source = "x" }'), "tiles", "has no value"),
        (changed(TILES, 'tiles = { value = 1472, source = "x", unit = "y" }'), "tiles", "unit"),
        (changed(TILES, 'tiles = { value = "many", source = "x" }'), "tiles", "whole number"),
        (changed(TILES, 'tiles = { value = 1.5, source = "x" }'), "tiles", "whole number"),
        (changed(TILES, 'tiles = { value = true, source = "x" }'), "tiles", "whole number"),
        (changed(TILES, 'tiles = { value = 0, source = "x" }'), "tiles", "above zero"),
        (changed(TILES, 'tiles = { value = -4, source = "x" }'), "tiles", "above zero"),
        (changed("1_850_000_000", "nan"), "clock_hz", "above zero"),
        (changed("1_850_000_000", "inf"), "clock_hz", "above zero"),
        (changed("1_850_000_000", "1" + 400 * "0"), "clock_hz", "above zero"),
        (changed('"2026-11-16"', '"16.11.2026"'), "date", "year-month-day"),
        (changed('"2026-11-16"', "2026-11-16"), "date", "in quotes"),
        (changed('"ipu2"', '"ipu7"'), "architecture", "ipu1, ipu2, ipu21"),
        (changed('name = "bow"', 'name = ""'), "name", "in quotes"),
    ],
)
def test_what_is_wrong_and_what_to_do(text: str, field: str, advice: str) -> None:
    with pytest.raises(Error) as caught:
        parse(text, "folder/my.toml")
    message = caught.value.message
    assert "folder/my.toml" in message
    assert f" {field} " in message
    assert advice in message


def test_a_base_lets_the_rest_go_unsaid_but_not_its_date() -> None:
    text = 'kind = "chip"\nname = "x"\nbased_on = "bow"\n'
    with pytest.raises(Error, match="date is missing"):
        parse(text, "x.toml")
    assert parse(text + 'date = "2026-01-02"', "x.toml").based_on == "bow"


@given(st.text(max_size=200))
def test_any_text_is_a_file_or_an_error(text: str) -> None:
    with pytest.raises(Error):
        parse(text, "x.toml")


@given(st.data())
def test_any_damage_to_a_line_is_an_error_or_harmless(data: st.DataObject) -> None:
    lines = BOW.splitlines()
    index = data.draw(st.integers(0, len(lines) - 1))
    cut = data.draw(st.integers(0, max(0, len(lines[index]) - 1)))
    lines[index] = lines[index][:cut] + data.draw(st.text(max_size=3)) + lines[index][cut + 1 :]
    text = "\n".join(lines)
    try:
        entry = parse(text, "x.toml")
    except Error:
        with pytest.raises(Error, match=r"x\.toml"):
            parse(text, "x.toml")
    else:
        assert entry.kind == "chip"
        assert all(source.strip() for source in entry.sources.values())
