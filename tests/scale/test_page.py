"""The page: self-contained as text; in a real browser, drawn without an error or a request, and obeying no name."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tremula.errors import Error
from tremula.scale.page import page_html, write_page
from tremula.scale.row import ScalingStudy


def opened(browser: Any, study: ScalingStudy, page: Path) -> str:
    write_page(study, page)
    browser.open(page)
    text: str = browser.run("document.body.innerText")
    return text


def test_nothing_in_it_points_elsewhere(study: ScalingStudy) -> None:
    html = page_html(study).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:)?//[a-z0-9.-]+\.[a-z]{2,}", html, re.I)
    assert not re.search(r"\b(src|href)\s*=", html)
    assert "innerHTML" not in html
    assert "eval(" not in html


def test_the_policy_allows_the_shipped_script_and_style_only(study: ScalingStudy) -> None:
    html = page_html(study)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    allowed = policy[1].replace("&#x27;", "'")
    assert "default-src 'none'" in allowed
    assert "unsafe" not in allowed
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.S)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in allowed


def test_hostile_names_stay_inside_the_data(hostile_study: ScalingStudy) -> None:
    html = page_html(hostile_study)
    assert "<script>alert" not in html
    assert "<img" not in html
    assert html.count("</script>") == 2
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    assert data is not None
    assert json.loads(data[1])["series"][0]["target"] == "<script>alert(1)</script>"
    assert len(html) < 500_000


@pytest.mark.parametrize("kind", ["study", "hostile_study", "empty_study"])
def test_every_series_is_drawn_without_an_error_or_a_request(
    browser: Any, tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    page = tmp_path / "page.html"
    assert "Modelled, not measured" in opened(browser, request.getfixturevalue(kind), page)
    for mode in range(2):
        browser.run(f"document.querySelectorAll('input[name=mode]')[{mode}].click()")
        for target in range(1 if kind == "empty_study" else 2):
            if kind != "empty_study":
                browser.run(f"document.querySelectorAll('input[name=target]')[{target}].click()")
            browser.run(
                "document.querySelectorAll('select').forEach(s => {s.value = 1; s.dispatchEvent(new Event('change'))})"
            )
            browser.settle()
            drawn = browser.run("document.getElementById('series').innerText")
            for fault in ("NaN", "undefined", "null", "Infinity"):
                assert fault not in drawn
            assert not browser.run(
                "[...document.querySelectorAll('svg *')].some(node => "
                "[...node.attributes].some(each => /NaN|undefined|Infinity/.test(each.value)))"
            )
    browser.run("document.querySelectorAll('button.more').forEach(button => button.click())")
    browser.run("document.getElementById('theme').click()")
    assert browser.run("document.documentElement.dataset.theme") in ("dark", "light")
    assert "NaN" not in browser.run("document.body.innerText")
    assert browser.faults() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("document.scripts.length") == 2
    assert browser.run("document.images.length") == 0
    assert browser.run("document.title").endswith("Tremula scaling study")


def test_a_series_can_be_chosen(browser: Any, tmp_path: Path, study: ScalingStudy) -> None:
    opened(browser, study, tmp_path / "page.html")
    shown = "document.querySelector('#series').innerText"
    assert browser.run(shown).startswith("Weak scaling on bow")
    assert "Energy of a sample" in browser.run(shown)
    browser.run("document.querySelectorAll('input[name=mode]')[1].click()")
    browser.run("document.querySelectorAll('input[name=target]')[1].click()")
    browser.settle()
    assert browser.run(shown).startswith("Strong scaling on mk2")
    assert "Energy of a sample" not in browser.run(shown), "it is not known for this target"
    bars = browser.run(
        "[...document.querySelectorAll('#series svg')].map(each => each.querySelectorAll('rect.box').length)"
    )
    assert max(bars) >= 7 * 3, "three parts of every size that has figures"


def test_charts_can_be_read_with_the_keyboard(browser: Any, tmp_path: Path, study: ScalingStudy) -> None:
    opened(browser, study, tmp_path / "page.html")
    press = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s'}))"
    charts = browser.run("document.querySelectorAll('.chart').length")
    assert charts == 5
    for chart in range(charts):
        browser.run(f"document.querySelectorAll('.chart')[{chart}].focus()")
        browser.run(press % "End")
        assert browser.run("document.getElementById('tip').innerText").startswith("64 IPUs")
        browser.run(press % "ArrowLeft")
        said = browser.run("document.getElementById('tip').innerText")
        assert said.startswith("32 IPUs")
        assert "likely" in said
        browser.run("document.activeElement.blur()")
        assert browser.run("document.getElementById('tip').hidden")
    assert browser.faults() == []


def test_layouts_open_and_close(browser: Any, tmp_path: Path, study: ScalingStudy) -> None:
    opened(browser, study, tmp_path / "page.html")
    button = "document.querySelectorAll('button.more')[1]"
    assert browser.run(f"{button}.getAttribute('aria-expanded')") == "false"
    browser.run(f"{button}.click()")
    assert browser.run(f"{button}.getAttribute('aria-expanded')") == "true"
    detail = browser.run(f"document.getElementById({button}.getAttribute('aria-controls')).innerText")
    assert "Layouts tried for 2 IPUs" in detail
    assert "network.up on IPU 1" in detail
    assert "a note of the model" in detail
    browser.run("document.querySelectorAll('button.more')[2].click()")
    assert "no such cut" in browser.run("document.getElementById('sizes').innerText")
    browser.run(f"{button}.click()")
    assert browser.run(f"document.getElementById({button}.getAttribute('aria-controls')).hidden")


def test_what_stands_beside_the_model_is_there(browser: Any, tmp_path: Path, study: ScalingStudy) -> None:
    text = opened(browser, study, tmp_path / "page.html")
    assert "tremula scale tagger.py --target bow,mk2" in text
    assert "2026-11-16" in text
    assert "Weak scaling on bow: loading becomes the limit at 16 IPUs." in text
    assert "the speed does not apply to IPUs" in text
    assert "they train like one process" in text
    assert "they do NOT train like one process" in text
    for sentence in study.assumptions:
        assert sentence in text
    captions = browser.run("[...document.querySelectorAll('table')].every(table => table.caption !== null)")
    assert captions
    assert browser.run(
        "[...document.querySelectorAll('.chart')].every(chart => chart.getAttribute('aria-label'))"
    )


def test_names_are_shown_as_text(browser: Any, tmp_path: Path, hostile_study: ScalingStudy) -> None:
    text = opened(browser, hostile_study, tmp_path / "page.html")
    assert "<script>alert(1)</script>" in text
    assert browser.run("document.body.querySelectorAll('img, iframe, b b').length") == 0
    assert "taken" not in browser.run("document.title").split(" - ")[-1]


@pytest.mark.parametrize("width", [400, 1400])
def test_it_fits_the_window(browser: Any, tmp_path: Path, hostile_study: ScalingStudy, width: int) -> None:
    write_page(hostile_study, tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False
    )
    browser.run("new Promise(done => setTimeout(done, 300))")  # charts are drawn anew a little later
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert (
        browser.run(
            "Math.max(...[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().right))"
        )
        <= width
    )


def test_a_study_without_rows_has_a_page(browser: Any, tmp_path: Path, empty_study: ScalingStudy) -> None:
    text = opened(browser, replace(empty_study, rows=()), tmp_path / "page.html")
    assert "This study has no rows." in text
    assert browser.faults() == []


def test_a_page_that_cannot_be_written_is_told(study: ScalingStudy, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Error, match="cannot be written"):
        write_page(study, tmp_path / "file" / "page.html")
