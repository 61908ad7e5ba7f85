"""docs/poprun.md lists the options as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tremula.launch.help_text import default_text, help_text
from tremula.launch.options import OPTIONS, Option

PAGE = Path(__file__).parents[2] / "docs" / "poprun.md"


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_on_the_page_and_in_the_help(option: Option) -> None:
    names = f"`--{option.name}`" + (f", `{option.short}`" if option.short else "")
    text = option.help + (f". **No effect**: {option.no_effect}" if option.no_effect else "")
    row = f"| {names} | {default_text(option)} | {text} |"
    assert row in PAGE.read_text(encoding="utf-8").splitlines()
    assert f"--{option.name}" in help_text()
    assert option.help.split()[0] in help_text()


def test_the_page_has_no_other_options() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `--")]
    assert len(rows) == len(OPTIONS)
