"""The page in a real browser: it draws every view, asks nobody for anything, and obeys no name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tremula.profile import Profile
from tremula.view.page import write_page

_VIEWS = ("summary", "insights", "memory", "liveness", "program", "operations", "trace", "pipeline")


def test_the_browser_would_tell_of_faults_and_requests(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "faulty.html"
    page.write_text(
        "<script>console.error('seen'); fetch('http://127.0.0.1:9/away').catch(() => {}); undefined.x;</script>"
    )
    browser.open(page)
    assert any("seen" in fault for fault in browser.faults())
    assert any("undefined" in fault for fault in browser.faults())
    assert "http://127.0.0.1:9/away" in browser.requests()


@pytest.mark.parametrize("compared", [False, True], ids=["one", "compared"])
@pytest.mark.parametrize("kind", ["profile_file", "hostile_file"])
def test_every_view_is_drawn_without_an_error_or_a_request(
    driver: Any, browser: Any, tmp_path: Path, request: pytest.FixtureRequest, kind: str, compared: bool
) -> None:
    page = tmp_path / "page.html"
    with Profile(request.getfixturevalue(kind)) as profile:
        write_page(profile, page, *([profile] * compared), compare=compared)
    driver.open(page)
    for view in _VIEWS:
        driver.view(view)
        drawn = driver.text()
        assert len(drawn) > 60, view
        assert "NaN" not in drawn, view
        assert "undefined" not in drawn, view
    driver.click("#theme")
    assert driver.run("document.documentElement.dataset.theme") in ("dark", "light")
    assert browser.faults() == []
    assert browser.requests() == [page.as_uri()]
    assert driver.run("document.scripts.length") == 2
    assert driver.run("document.images.length") == 0
    assert driver.run("document.querySelectorAll('#view iframe, #view script, #view img').length") == 0
    assert driver.run("document.title").endswith("Tremula profile")


def test_the_page_forbids_what_it_does_not_need(profile_page: Any) -> None:
    profile_page.run("fetch('http://127.0.0.1:9/away').catch(() => 0)")
    profile_page.run(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.taken = 1'}))"
    )
    assert profile_page.run("typeof window.taken") == "undefined"
    assert any("Content Security Policy" in fault for fault in profile_page.browser.faults())


def test_narrow_screens_need_no_scrolling_sideways(profile_page: Any, browser: Any) -> None:
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True
    )
    for view in _VIEWS:
        profile_page.view(view)
        assert profile_page.run("document.documentElement.scrollWidth") <= 390, view


def test_the_menu_of_a_narrow_screen_shows_the_open_view(profile_page: Any, browser: Any) -> None:
    profile_page.view("pipeline")
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True
    )
    inside = "{left} >= 0 && {right} <= 390".format(
        left="document.getElementById('tab-pipeline').getBoundingClientRect().left",
        right="document.getElementById('tab-pipeline').getBoundingClientRect().right",
    )
    profile_page.wait(inside)


def test_names_are_shown_as_text(driver: Any, tmp_path: Path, hostile_file: Path) -> None:
    with Profile(hostile_file) as profile:
        write_page(profile, tmp_path / "page.html")
    driver.open(tmp_path / "page.html")
    driver.view("operations")
    driver.click("#view .grid-row")
    assert "<script>alert(1)</script>" in driver.text()
    assert driver.run("document.getElementById('view').querySelectorAll('script, img, iframe').length") == 0
