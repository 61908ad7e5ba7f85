"""The documents name modules and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: these name files of other projects
_OTHERS = ("programs.md", "programs-tensorflow.md", "conformance.md", "conformance-tensorflow.md")
PAGES = sorted(
    page
    for page in (*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
    if page.name not in _OTHERS
)
#: a path in backticks that begins with a folder of ours
_PATH = re.compile(r"`((?:src/|tests/|benchmarks/|apps/|docs/)[\w./-]+|[a-z_]+/[\w./]+\.py)`")
_MODULE = re.compile(r"`((?:tremula|poptorch|popdist)(?:\.[a-z_]\w*)+)`")
_IMPORT = re.compile(r"^\s*from (tremula[\w.]*) import", re.MULTILINE)


def exists(path: str) -> bool:
    """Whether a file or folder is there; those of packages may be given without `src/`."""
    bases = (ROOT, ROOT / "src", ROOT / "src" / "tremula", ROOT / "src" / "tremula" / "frontends" / "torch")
    return any((base / path).exists() for base in bases)


def importable(name: str) -> bool:
    """Whether some leading part of a dotted name, at least two words of it, is a module of ours."""
    parts = name.split(".")
    found = ROOT / "src"
    for depth, part in enumerate(parts):
        found = found / part
        if found.is_dir():
            continue
        return depth >= 1 and (found.with_suffix(".py").exists() or (found.parent / "__init__.py").exists())
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_modules_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [path for path in _PATH.findall(text) if not exists(path)] == []
    assert [name for name in [*_MODULE.findall(text), *_IMPORT.findall(text)] if not importable(name)] == []
