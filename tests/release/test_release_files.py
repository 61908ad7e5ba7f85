"""The files that go with a release agree with the code: version, manual pages, changelog."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
import yaml

import tremula
from tremula.cli import parsers

ROOT = Path(__file__).parents[2]
PAGES = {page.stem: page for page in (ROOT / "release" / "man").glob("*.1")}


def options(parser: argparse.ArgumentParser) -> set[str]:
    """All long options, those of subcommands too."""
    found = {
        name
        for action in parser._actions
        if action.help is not argparse.SUPPRESS
        for name in action.option_strings
        if name.startswith("--") and name != "--help"
    }
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                found |= options(each)
    return found


@pytest.mark.parametrize("command", parsers.COMMANDS)
def test_every_command_has_a_current_manual_page(command: str) -> None:
    text = PAGES[command].read_text(encoding="utf-8").replace("\\-", "-")
    missing = {name for name in options(parsers.parser(command)) if name not in text}
    assert not missing, "run `make man`"


def test_no_page_is_left_of_a_command_that_is_gone() -> None:
    assert set(PAGES) <= set(parsers.COMMANDS)


def test_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    assert newest is not None
    assert citation["version"] == newest[1] == tremula.__version__
