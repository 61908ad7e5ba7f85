"""The scripts of the pages are made from the sources in web/; they are committed, so that installing needs no node."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

_WEB = Path(__file__).parents[2] / "web"
_ASSETS = Path(__file__).parents[2] / "src" / "tremula" / "view" / "assets"
_BUNDLES = ("graph.js", "system.js")
_REMEDY = "`make web` makes it anew"


def _source_hash() -> str:
    """As build.mjs has it: path, zero byte, content, zero byte, of each file in the order of the paths."""
    names = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"]
    names += [path.relative_to(_WEB).as_posix() for path in (_WEB / "src").rglob("*.ts")]
    found = hashlib.sha256()
    for name in sorted(names):
        found.update(name.encode() + b"\0" + (_WEB / name).read_bytes() + b"\0")
    return found.hexdigest()


@pytest.mark.parametrize("name", _BUNDLES)
def test_a_bundle_is_made_from_the_sources_that_lie_beside_it(name: str) -> None:
    first = (_ASSETS / name).read_text(encoding="utf-8").partition("\n")[0]
    said = re.search(r"sha256:([0-9a-f]{64})", first)
    assert said is not None
    assert said[1] == _source_hash(), f"{name} is older than web/src: {_REMEDY}"


@pytest.mark.parametrize("name", _BUNDLES)
def test_a_bundle_parses_no_text_as_markup_or_code(name: str) -> None:
    text = (_ASSETS / name).read_text(encoding="utf-8")
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert word not in text


def test_the_lock_file_names_versions_and_hashes_but_no_host() -> None:
    text = (_WEB / "package-lock.json").read_text(encoding="utf-8")
    assert "resolved" not in text
    assert '"integrity": "sha512-' in text


def test_building_again_gives_the_same_bundles(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (_WEB / "node_modules").is_dir():
        pytest.skip("no node, or its packages are not installed (make web)")
    subprocess.run(
        [node, str(_WEB / "node_modules" / "typescript" / "bin" / "tsc"), "--noEmit"],
        cwd=_WEB,
        check=True,
        timeout=120,
    )
    subprocess.run([node, "build.mjs", str(tmp_path)], cwd=_WEB, check=True, timeout=120)
    for name in _BUNDLES:
        assert (tmp_path / name).read_bytes() == (_ASSETS / name).read_bytes(), _REMEDY
