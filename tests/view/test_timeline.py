"""The Execution Trace in a real browser: lanes of recorded runs, zoom to single steps, areas, search, compare."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tremula.profile import Profile
from tremula.view import execution_data
from tremula.view.endpoints import answer
from tremula.view.page import write_page
from tremula.view.reports import OpenReports, find_reports
from tremula.view.routes import routes
from tremula.view.server import ViewServer


@contextmanager
def _served(*paths: Path, compare: bool = False) -> Iterator[ViewServer]:
    """A server of these reports."""
    reports = OpenReports(find_reports(paths))
    with ViewServer(routes(reports, compare=compare)) as server:
        yield server


def _visit(browser: Any, pointer: Any, address: str) -> None:
    browser.open(address, "#trace")
    pointer.ready()


@pytest.fixture
def opened(browser: Any, pointer: Any, executed_file: Path) -> Iterator[Any]:
    """A pointer on the Execution Trace; afterwards nothing may have gone wrong, and only the server been asked."""
    with _served(executed_file) as server:
        _visit(browser, pointer, server.address)
        yield pointer
        assert browser.faults() == []
        assert all(url.startswith(f"http://127.0.0.1:{server.port}/") for url in browser.requests())


def test_it_shows_a_lane_for_each_ipu_and_the_pipeline(opened: Any) -> None:
    names = opened.browser.run(
        "[...document.querySelectorAll('.tl-name')].map(n => n.firstChild.textContent)"
    )
    assert names == ["Pipeline", "IPU 0", "IPU 1", "IPUs", "IPU 0", "IPU 1"]
    assert opened.colours() > 8
    shown = opened.text("#view")
    for words in (
        "parallel efficiency, modelled",
        "tile balance, modelled",
        "sync and waiting",
        "stream copies",
    ):
        assert words in shown
    assert "NaN" not in shown
    assert "undefined" not in shown


def test_zooming_in_shows_single_steps_with_names(opened: Any) -> None:
    opened.move(opened.place("a0", 0.3))
    for _ in range(14):
        opened.key("w")
    opened.wait(
        "!document.getElementById('tip').hidden && "
        "/layer|waiting|exchange/.test(document.getElementById('tip').textContent)"
    )
    opened.press(opened.place("a0", 0.3))
    opened.wait("document.querySelector('.trace-step').textContent !== ''")
    card = opened.text(".trace-step")
    assert "modelled" in card
    assert "stage 0" in card
    assert opened.state("pick").startswith("a0,s")


def test_a_search_goes_from_match_to_match(opened: Any) -> None:
    opened.enter(".tl-search", "LAYER7/")
    opened.wait("document.querySelector('.tl-found').textContent === '24'")
    opened.enter(".tl-search", "LAYER7/", "Enter")
    opened.wait("document.querySelector('.trace-step').textContent.includes('net.layer7/mm7/Convolve')")
    first = opened.state("pick")
    opened.browser.run("document.activeElement.blur()")
    opened.key("n")
    assert opened.text(".tl-found") == "2 of 24"
    assert opened.state("pick") != first
    opened.key("N", "N")
    assert opened.text(".tl-found") == "24 of 24"


def test_an_area_gives_cycles_by_kind_and_by_op(opened: Any, executed_file: Path) -> None:
    opened.click(".tl-select")
    opened.drag(opened.place("a0", 0.001), opened.place("a1", 0.999))
    opened.wait("document.querySelector('.trace-area').textContent.includes('By op')")
    with Profile(executed_file) as profile:
        compute = sum(lane["compute"] for lane in answer(profile, "execution", {})["lanes"])
    found = opened.browser.run("document.querySelector('.trace-area tbody tr td.number').textContent")
    assert int(found.replace(",", "")) == pytest.approx(compute, rel=0.01)
    assert opened.state("area").split(",")[2:] == ["a0", "a1"]


def test_lanes_split_into_kinds_and_fold(opened: Any) -> None:
    height = "document.querySelector('[data-row=a0]').offsetHeight"
    flat = opened.browser.run(height)
    opened.browser.run(
        "[...document.querySelectorAll('.tl-extra button')].find(b => b.textContent === 'split').click()"
    )
    opened.browser.settle()
    assert opened.browser.run(height) > flat
    opened.click("[data-row=a0] .tl-fold")
    assert opened.browser.run(height) < flat


def test_the_address_brings_the_view_back(opened: Any) -> None:
    opened.enter(".tl-zoom", "20,000 - 30,000", "Enter")
    opened.browser.run("document.activeElement.blur()")
    opened.click("[data-row=a1] .tl-pin")
    opened.press(opened.place("a0", 0.5))
    picked = opened.state("pick")
    address = opened.browser.run("location.hash")
    opened.reload()
    assert opened.range() == (20_000, 30_000)
    assert opened.browser.run("location.hash") == address
    assert opened.state("pick") == picked
    assert opened.browser.run("!!document.querySelector('.tl-labels-pinned [data-row=a1]')")


def test_two_fingers_zoom_and_one_moves(opened: Any) -> None:
    browser = opened.browser
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    x, y = opened.place("a0", 0.5)

    def touch(kind: str, *places: float) -> None:
        points = [{"x": place, "y": y, "id": number} for number, place in enumerate(places)]
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    touch("touchStart", x - 20, x + 20)
    for by in (30, 60, 90, 120):
        touch("touchMove", x - 20 - by, x + 20 + by)
    touch("touchEnd")
    browser.settle()
    assert opened.zoom() > 200
    before = opened.range()
    touch("touchStart", x)
    for by in (20, 40, 60, 80):
        touch("touchMove", x - by)
    touch("touchEnd")
    browser.settle()
    assert opened.range()[0] > before[0]
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)


def test_what_is_shown_is_saved_as_a_picture(opened: Any) -> None:
    opened.browser.run(
        "HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href.slice(0, 5)] }"
    )
    opened.click(".tl-image")
    opened.wait("!!window.saved")
    assert opened.browser.run("window.saved") == ["execution-trace.png", "blob:"]


def test_two_reports_share_one_scale(
    browser: Any, pointer: Any, executed_file: Path, hostile_run: Path
) -> None:
    with _served(executed_file, hostile_run, compare=True) as server:
        _visit(browser, pointer, server.address)
        names = browser.run("[...document.querySelectorAll('.tl-name')].map(n => n.firstChild.textContent)")
        assert [name for name in names if name.endswith("IPUs")] == ["First: IPUs", "Second: IPUs"]
        assert "Difference between the two runs, modelled" in pointer.text("#view")
        with Profile(executed_file) as one, Profile(hostile_run) as other:
            longest = max(one.runs[0].cycles, other.runs[0].cycles)
        pointer.key("w", "0")
        assert pointer.range() == (0, longest)
        assert browser.faults() == []


def test_hostile_names_are_text(
    browser: Any, pointer: Any, hostile_run: Path, hostile_texts: tuple[str, ...]
) -> None:
    with _served(hostile_run) as server:
        _visit(browser, pointer, server.address)
        for text in hostile_texts[:4]:
            pointer.enter(".tl-search", text)
            pointer.wait("/^[0-9]+$/.test(document.querySelector('.tl-found').textContent)")
            pointer.enter(".tl-search", text, "Enter")
            pointer.wait(f"document.querySelector('.trace-step').textContent.includes({json.dumps(text)})")
            pointer.move(pointer.place("a0", 0.5))
        assert browser.run("document.querySelectorAll('main script, main img, main iframe').length") == 0
        assert browser.faults() == []


def test_one_file_shows_the_same_without_a_server(
    browser: Any, pointer: Any, executed_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    # as many steps as end in the middle of the run: the rest is there as sums of 16
    monkeypatch.setattr(execution_data, "MOST_STEPS", 300)
    with Profile(executed_file) as profile:
        write_page(profile, page)
        found = answer(profile, "execution", {})["lanes"]
    browser.open(page, "#trace")
    pointer.ready()
    assert "tremula view --serve" in pointer.text("#view")
    pointer.drag(pointer.place("a0", 0.0005), pointer.place("a1", 0.9995), shift=True)
    pointer.wait("document.querySelector('.trace-area').textContent.includes('By kind')")
    shown = browser.run(
        "[...document.querySelectorAll('.trace-area tbody tr td:nth-child(2)')].map(c => c.textContent)"
    )
    compute, exchange, between = (int(text.replace(",", "")) for text in shown[:3])
    assert compute == pytest.approx(sum(lane["compute"] for lane in found), rel=0.01)
    # sums of 16 do not tell the two kinds of exchange apart
    both = sum(lane["exchange"] + lane["between_ipus"] for lane in found)
    assert exchange + between == pytest.approx(both, rel=0.01)
    pointer.key("Escape")
    pointer.enter(".tl-search", "layer3/")
    pointer.wait("/^[0-9]+$/.test(document.querySelector('.tl-found').textContent)")
    pointer.enter(".tl-search", "layer3/", "Enter")
    pointer.wait("document.querySelector('.trace-step').textContent.includes('net.layer3/mm3/Convolve')")
    assert browser.faults() == []
    assert browser.requests() == [page.as_uri()]
