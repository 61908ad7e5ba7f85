"""Profiles in notebooks: static markup by themselves, the whole page in a sandbox when it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tremula.errors import Error
from tremula.profile import Profile
from tremula.view.notebook import show


def test_a_profile_shows_itself_without_a_script(hostile_file: Path) -> None:
    with Profile(hostile_file) as profile:
        markup = profile._repr_html_()
    assert "<script" not in markup
    assert "<img" not in markup


def test_the_page_runs_in_a_frame_without_access_to_the_notebook(
    browser: Any, profile_file: Path, tmp_path: Path
) -> None:
    page = tmp_path / "notebook.html"
    markup = show(profile_file, height=500)._repr_html_()
    assert markup.startswith('<iframe sandbox="allow-scripts allow-downloads" srcdoc="')
    assert "allow-same-origin" not in markup
    page.write_text(f"<!doctype html><meta charset=utf-8><body>{markup}", encoding="utf-8")
    browser.open(page)
    browser.run(
        "new Promise(done => { const wait = () => document.querySelector('iframe') ? setTimeout(() => done(1), 500) "
        ": setTimeout(wait, 50); wait(); })"
    )
    assert browser.faults() == []
    assert browser.run("document.querySelector('iframe').contentDocument") is None
    assert all(each.startswith(("file:", "about:")) for each in browser.requests())


def test_a_file_that_is_no_profile_is_told(tmp_path: Path) -> None:
    (tmp_path / "profile.pop").write_bytes(b"nothing")
    with pytest.raises(Error, match="not an SQLite file"):
        show(tmp_path / "profile.pop")
