"""`make docs` fails if a link of the documentation leads nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
_LINKS = {
    "nothing": ("", 0),
    "a page that is not there": ("[gone](nowhere.md)", 1),
    "a heading that is not there": ("[gone](index.md#nowhere)", 1),
}


def options() -> list[str]:
    """The options that the Makefile gives to mkdocs."""
    found = re.search(r"/mkdocs (build.*)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert found is not None
    return found[1].split()


@pytest.mark.parametrize("name", _LINKS)
def test_a_broken_link_fails_the_build(name: str, tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is installed by `make docs`")
    link, code = _LINKS[name]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Title\n\n{link}\n", encoding="utf-8")
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    strict = {key: yaml.safe_load(text)[key] for key in ("site_name", "strict", "validation")}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(strict), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", *options()]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert built.returncode == code, built.stderr


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r": ([\w-]+\.md)$", text, re.MULTILINE))
    assert listed == {page.name for page in (ROOT / "docs").glob("*.md")}
