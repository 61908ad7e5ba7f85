"""The reference page says what the tables say."""

from __future__ import annotations

from pathlib import Path

from tremula.settings import VARIABLES, page

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_in_the_repository_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page.render(), "run: python -m tremula.settings.page"


def test_every_row_has_as_many_cells_as_its_head():
    text = page.render()
    for table in [block for block in text.split("\n\n") if block.startswith("| ")]:
        rows = [line.replace("\\|", "").count("|") for line in table.splitlines()]
        assert len(set(rows)) == 1
    assert all(f"`{variable.name}`" in text for variable in VARIABLES)


def test_writing_replaces_the_whole_file(tmp_path):
    path = tmp_path / "deep" / "settings.md"
    page.write(path)
    path.write_text("old")
    page.write(path)
    assert path.read_text(encoding="utf-8") == page.render()
    assert [each.name for each in path.parent.iterdir()] == ["settings.md"]
