"""The same page fed by the server: what a bounded page leaves out is there, and it asks that server alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tremula.view.reports import OpenReports, find_reports
from tremula.view.routes import routes
from tremula.view.server import ViewServer


@pytest.fixture
def served(profile_file: Path, driver: Any, browser: Any) -> Iterator[Any]:
    with ViewServer(routes(OpenReports(find_reports([profile_file, profile_file])))) as server:
        driver.open(server.address)
        yield driver
        assert browser.faults() == []
        own = f"http://127.0.0.1:{server.port}/"
        assert all(address.startswith(own) for address in browser.requests())


def test_every_view_is_drawn_from_the_server(served: Any) -> None:
    for view in ("summary", "insights", "memory", "liveness", "program", "operations", "pipeline"):
        served.view(view)
        drawn = served.text()
        assert len(drawn) > 100, view
        assert "NaN" not in drawn
        assert "undefined" not in drawn
        assert "is not on this page" not in drawn


def test_variables_search_and_reasons_come_from_the_server(served: Any) -> None:
    served.view("memory")
    served.type("input.tiles", "2")
    served.wait("document.querySelector('.content').innerText.includes('Variables of tile 2')")
    served.view("liveness")
    assert served.run("document.querySelectorAll('.grid-row').length") > 0
    served.press("+", ".chart")
    served.mouse(".chart", (0.4, 0.5))
    served.wait(
        "location.hash.includes('at=') && /Alive in program step/.test(document.querySelector('.content').innerText)"
    )
    served.view("program")
    served.type("#view input[type=search]", "mm3")
    served.click("#next")
    served.wait("(document.querySelector('.treerow.chosen .name') || {}).title?.includes('mm3')")
    served.type("#search", "mm3")
    served.wait("document.querySelectorAll('.hit').length > 0")
    served.press("Enter", "#search")
    served.wait("document.querySelector('.opdetails')?.innerText.includes('not taken')")


def test_a_second_report_is_chosen_and_compared(served: Any) -> None:
    served.run(
        "{const box = document.getElementById('compare'); box.value = '1';"
        " box.dispatchEvent(new Event('change', {bubbles: true}))}"
    )
    served.wait("document.querySelector('.cards')?.innerText.includes('±0')")
    served.view("operations")
    assert "ops matched by name" in served.text()
    assert "compare=1" in served.fragment
