"""The page in a real browser: it draws every view, asks nobody for anything, and obeys no name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tremula.profile import Profile
from tremula.view.page import write_page

_VIEWS = ("summary", "memory", "liveness", "modules", "operations", "pipeline", "execution", "about")


def _opened(browser: Any, profile: Path, page: Path) -> None:
    with Profile(profile) as opened:
        write_page(opened, page)
    browser.open(page)


def test_the_browser_would_tell_of_faults_and_requests(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "faulty.html"
    page.write_text(
        "<script>console.error('seen'); fetch('http://127.0.0.1:9/away').catch(() => {}); undefined.x;</script>"
    )
    browser.open(page)
    assert any("seen" in fault for fault in browser.faults())
    assert any("undefined" in fault for fault in browser.faults())
    assert "http://127.0.0.1:9/away" in browser.requests()


@pytest.mark.parametrize("kind", ["profile_file", "hostile_file"])
def test_every_view_is_drawn_without_an_error_or_a_request(
    browser: Any, tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    page = tmp_path / "page.html"
    _opened(browser, request.getfixturevalue(kind), page)
    for view in _VIEWS:
        browser.run(f"document.getElementById('tab-{view}').click()")
        browser.settle()
        drawn = browser.run("document.getElementById('view').innerText")
        assert len(drawn) > 60, view
        assert "NaN" not in drawn
        assert "undefined" not in drawn
    browser.run("document.getElementById('theme').click()")
    assert browser.run("document.documentElement.dataset.theme") in ("dark", "light")
    assert browser.faults() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("document.scripts.length") == 2
    assert browser.run("document.images.length") == 0
    assert browser.run("document.title").endswith("Tremula profile")


def test_the_summary_says_why_and_what_to_do(browser: Any, tmp_path: Path, profile_file: Path) -> None:
    _opened(browser, profile_file, tmp_path / "page.html")
    text = browser.run("document.getElementById('view').innerText")
    assert "Why, and what to do" in text
    assert "A step takes " in text
    assert [f"Change number {n}" in text for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert "x1.50 throughput (x1.20 to x1.50), modelled" in text
    assert "options.change(1)" in text
    browser.run("document.getElementById('tab-liveness').click()")
    browser.settle()
    assert "memory of the IPU" in browser.run("document.querySelector('svg text.limit').textContent")
    browser.run("document.getElementById('tab-modules').click()")
    browser.settle()
    assert "(host call overhead)" in browser.run("document.getElementById('view').innerText")


def test_names_are_shown_as_text(browser: Any, tmp_path: Path, hostile_file: Path) -> None:
    _opened(browser, hostile_file, tmp_path / "page.html")
    browser.run("document.getElementById('tab-operations').click()")
    browser.run("document.querySelectorAll('tbody tr.pick').forEach(row => row.click())")
    text = browser.run("document.getElementById('view').textContent")
    assert "<script>alert(1)</script>" in text
    assert browser.run("document.getElementById('view').querySelectorAll('script, img, iframe').length") == 0


def test_an_op_can_be_searched_and_opened_with_the_keyboard(
    browser: Any, tmp_path: Path, profile_file: Path
) -> None:
    _opened(browser, profile_file, tmp_path / "page.html")
    browser.run("document.getElementById('tab-operations').click()")
    browser.run(
        "{const box = document.querySelector('input[type=search]'); box.value = 'mm3';"
        " box.dispatchEvent(new Event('input'))}"
    )
    shown = browser.run(
        "[...document.querySelectorAll('tbody tr.pick td.name')].map(cell => cell.textContent)"
    )
    assert shown
    assert all("mm3" in name for name in shown)
    browser.run(
        "document.querySelector('tbody tr.pick').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))"
    )
    detail = browser.run("document.querySelector('tr.detail').textContent")
    assert "not taken" in detail
    assert "source:" in detail
    assert browser.faults() == []


def test_the_page_forbids_what_it_does_not_need(browser: Any, tmp_path: Path, profile_file: Path) -> None:
    _opened(browser, profile_file, tmp_path / "page.html")
    browser.run("fetch('http://127.0.0.1:9/away').catch(() => 0)")
    browser.run(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.taken = 1'}))"
    )
    assert browser.run("typeof window.taken") == "undefined"
    assert any("Content Security Policy" in fault for fault in browser.faults())
