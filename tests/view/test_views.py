"""What users do in each view, in a real browser: click, zoom, search, compare, keys, links that restore a view."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tremula.profile import Profile, model
from tremula.view.page import write_page


@pytest.fixture(autouse=True)
def _no_faults(browser: Any) -> Iterator[None]:
    yield
    assert browser.faults() == []


def _rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_the_summary_says_whether_it_fits_and_what_to_do(profile_page: Any) -> None:
    text = profile_page.text()
    assert text.index("Does it fit?") < text.index("Modelled throughput") < text.index("Why, and what to do")
    assert "Probability that it fits: " in text
    assert [f"Change number {n}" in text for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert "x1.50 throughput (x1.20 to x1.50), modelled" in text
    assert "options.change(1)" in text
    assert "A step takes " in text


def test_a_tile_is_chosen_by_number_by_click_and_by_dragging(profile_page: Any, profile_file: Path) -> None:
    profile_page.view("memory")
    profile_page.type("input.tiles", "1, 5")
    profile_page.wait("document.querySelector('#view').innerText.includes('What tiles 1 and 5 of IPU')")
    assert "tiles=1%2C5" in profile_page.fragment
    with Profile(profile_file) as profile:
        sizes = profile.tile_bytes(int(profile_page.run("document.querySelector('select').value")) - 1)
    table = _rows(profile_page.csv(".table.plain .copy"))
    assert table[0] == ["use", "tile 1", "tile 5", "difference"]
    assert len(table) - 1 == sum(1 for values in sizes.values() if values[1] + values[5] > 0)
    profile_page.mouse(".tilemap canvas", (0.001, 0.01))
    profile_page.wait("document.querySelector('#view').innerText.includes('What tile 0 of IPU')")
    profile_page.mouse(".chart:not(.tilemap)", (0.3, 0.5), (0.4, 0.5), (0.5, 0.5))
    chosen = profile_page.run("document.querySelector('input.tiles').value")
    first, last = map(int, chosen.split("-"))
    assert last - first > 100


def test_bytes_on_tiles_are_shown_by_region_and_by_layer(profile_page: Any) -> None:
    profile_page.view("memory")
    profile_page.run("document.querySelectorAll('.toggles button')[1].click()")
    profile_page.wait("document.querySelector('.content').innerText.includes('by region')")
    assert "not always live" in profile_page.text()
    profile_page.run("document.querySelectorAll('.toggles button')[2].click()")
    profile_page.wait("document.querySelector('.content').innerText.includes('by layer')")
    assert "by=layer" in profile_page.fragment


def test_a_chart_zooms_with_keys_and_the_link_keeps_it(profile_page: Any, tmp_path: Path) -> None:
    profile_page.view("liveness")
    profile_page.press("+", ".chart")
    profile_page.press("+", ".chart")
    fragment = profile_page.fragment
    assert "from=" in fragment
    profile_page.open(tmp_path / "page.html", fragment)
    assert profile_page.fragment == fragment
    profile_page.press("0", ".chart")
    assert "from=" not in profile_page.fragment


def test_two_cursors_give_the_difference_of_two_moments(profile_page: Any) -> None:
    profile_page.view("liveness")
    assert "(the fullest moment)" in profile_page.text()
    profile_page.mouse(".chart", (0.3, 0.5))
    profile_page.mouse(".chart", (0.7, 0.5), shiftKey=True)
    profile_page.wait(
        "document.querySelector('.content').innerText.includes('Difference between program steps')"
    )
    assert "at=" in profile_page.fragment
    assert "and=" in profile_page.fragment


def test_the_program_is_searched_forwards_and_backwards(profile_page: Any) -> None:
    profile_page.view("program")
    profile_page.type("#view input[type=search]", "mm")
    found = []
    for selector in ("#next", "#next", "#previous"):
        profile_page.click(selector)
        profile_page.wait("/ of /.test(document.querySelector('#view [role=status]').innerText)")
        browser_text = profile_page.run("document.querySelector('.treerow.chosen .name').title")
        found.append((profile_page.text("#view [role=status]").split(" ")[0], browser_text))
    assert [place for place, _ in found] == ["1", "2", "1"]
    assert all("mm" in name for _, name in found)
    assert found[0] == found[2]
    assert "node=" in profile_page.fragment


def test_the_tree_opens_and_closes_with_the_keyboard(profile_page: Any) -> None:
    profile_page.view("program")
    profile_page.press("Home", ".treebox")
    count = "document.querySelectorAll('.treerow').length"
    before = profile_page.run(count)
    profile_page.press("ArrowLeft", ".treebox")
    assert profile_page.run(count) < before
    profile_page.press("ArrowRight", ".treebox")
    assert profile_page.run(count) == before


def test_ops_are_filtered_sorted_opened_and_copied(profile_page: Any, profile_file: Path) -> None:
    profile_page.view("operations")
    profile_page.type("#view input[type=search]", "mm3")
    rows = _rows(profile_page.csv("#view .table:not(.plain) .copy"))
    with Profile(profile_file) as profile:
        wanted = [
            op for op in profile.ops if "mm3" in f"{op.name} {op.target} {op.module} {op.source}".lower()
        ]
    assert len(rows) - 1 == len(wanted) > 0
    column = rows[0].index("cycles per step")
    cycles = [float(row[column]) for row in rows[1:]]
    assert cycles == sorted(cycles, reverse=True)
    assert sum(cycles) == pytest.approx(sum(op.cycles for op in wanted), rel=1e-6)
    profile_page.run("document.querySelectorAll('.grid-head button')[0].click()")
    assert "sort=0" in profile_page.fragment
    profile_page.press("ArrowDown", ".grid")
    profile_page.press("Enter", ".grid")
    profile_page.wait("document.querySelector('.opdetails').innerText.includes('Why it costs this much')")
    detail = profile_page.text(".opdetails")
    assert "not taken" in detail
    assert "source:" in detail
    assert "op=" in profile_page.fragment


def test_ops_are_added_up_by_layer(profile_page: Any, profile_file: Path) -> None:
    profile_page.view("operations")
    profile_page.run(
        "{const s = document.querySelector('#view select'); s.value = 1; s.dispatchEvent(new Event('change'))}"
    )
    rows = _rows(profile_page.csv("#view .table:not(.plain) .copy"))
    column = rows[0].index("cycles per step")
    with Profile(profile_file) as profile:
        total = sum(op.cycles for op in profile.ops)
    assert sum(float(row[column]) for row in rows[1:]) == pytest.approx(total, rel=1e-6)


def test_keys_open_views_help_and_search(profile_page: Any) -> None:
    profile_page.press("3")
    profile_page.wait("document.getElementById('view').dataset.view === 'memory'")
    profile_page.press("o")
    profile_page.wait("document.getElementById('view').dataset.view === 'operations'")
    profile_page.press("?")
    assert profile_page.run("document.querySelector('dialog').open")
    profile_page.run("document.querySelector('dialog').close()")
    profile_page.press("/")
    assert profile_page.run("document.activeElement.id") == "search"
    profile_page.type("#search", "mm3")
    profile_page.wait("document.querySelectorAll('.hit').length > 0")
    assert all(
        "mm3" in name
        for name in profile_page.run("[...document.querySelectorAll('.hit')].map(hit => hit.innerText)")
    )
    profile_page.press("Enter", "#search")
    profile_page.wait("location.hash.includes('op=')")
    assert "mm3" in profile_page.text(".opdetails")


def test_two_reports_are_compared_with_the_largest_difference_first(
    driver: Any, tmp_path: Path, profile_file: Path, rewrite_profile: Callable[..., Path]
) -> None:
    with Profile(profile_file) as profile:
        slow = max(profile.ops, key=lambda op: op.cycles)

    def change(row: Any) -> Any:
        if isinstance(row, model.Op) and row.id == slow.id:
            return replace(row, compute_cycles=row.compute_cycles * 3)
        if isinstance(row, model.Figure) and row.name == "seconds_per_step":
            return replace(row, value=row.value * 2)
        return row

    other = rewrite_profile(profile_file, tmp_path / "other.pop", change)
    with Profile(profile_file) as before, Profile(other) as after:
        write_page(before, tmp_path / "page.html", after, names=["before.pop", "after.pop"], compare=True)
    driver.open(tmp_path / "page.html")
    assert "+100.0%" in driver.text(".cards")
    driver.view("operations")
    rows = _rows(driver.csv("#view .table:not(.plain) .copy"))
    differences = [float(row[-1]) for row in rows[1:]]
    assert differences[0] == pytest.approx(2 * slow.compute_cycles, rel=1e-6)
    assert rows[1][0] == slow.name.rpartition("/")[2]
    assert not any(differences[1:])
    driver.view("program")
    assert "difference" in driver.text(".treehead")
    driver.click("#swap")
    driver.view("summary")
    assert "−50.0%" in driver.text(".cards")
    driver.run(
        "{const box = document.getElementById('compare'); box.value = '';"
        " box.dispatchEvent(new Event('change', {bubbles: true}))}"
    )
    driver.wait()
    assert "Probability that it fits" in driver.text(".cards")


def test_charts_are_saved_as_pictures(profile_page: Any) -> None:
    profile_page.view("memory")
    profile_page.run(
        "window.saved = []; HTMLAnchorElement.prototype.click = function () {"
        " window.saved.push([this.download, this.getAttribute('href').slice(0, 5)]); }"
    )
    profile_page.click("#view .save")
    profile_page.wait("window.saved.length > 0")
    assert profile_page.run("window.saved[0]") == ["memory-of-tiles.png", "blob:"]


def test_csv_gives_spreadsheets_no_formula(
    driver: Any, tmp_path: Path, hostile_file: Path, rewrite_profile: Any
) -> None:
    def change(row: Any) -> Any:
        return replace(row, name="=1+1") if isinstance(row, model.Count) else row

    with Profile(rewrite_profile(hostile_file, tmp_path / "p.pop", change)) as profile:
        write_page(profile, tmp_path / "page.html")
    driver.open(tmp_path / "page.html")
    driver.run(
        "document.querySelector(\"table[aria-label=counts]\").closest('.table').querySelector('.copy').id = 'counts'"
    )
    rows = _rows(driver.csv("#counts"))
    assert rows[1][0] == "'=1+1"


def test_what_is_always_live_is_listed_when_asked_for(profile_page: Any, profile_file: Path) -> None:
    profile_page.view("liveness")
    profile_page.run("document.querySelector('details.card').open = true")
    profile_page.wait("document.querySelector('details.card .grid-row') !== null")
    rows = _rows(profile_page.csv("details.card .copy"))
    with Profile(profile_file) as profile:
        ipu = int(profile_page.run("document.querySelector('#view select').value"))
        frame = profile.frame("variables")
        there = (frame.column("ipu") == ipu) & (frame.column("always_live") > 0)
        assert sum(float(row[3]) for row in rows[1:]) == frame.column("bytes")[there].sum()


def test_reports_of_different_programs_are_compared_as_far_as_they_go(
    driver: Any, tmp_path: Path, profile_file: Path, one_ipu_file: Path
) -> None:
    with Profile(profile_file) as before, Profile(one_ipu_file) as after:
        write_page(before, tmp_path / "page.html", after, compare=True)
    for view, said in (
        ("memory", "The two reports differ in IPUs or tiles"),
        ("liveness", "The other report has no IPU 1"),
    ):
        driver.open(tmp_path / "page.html", f"#{view}?ipu=1")
        assert said in driver.text()
        driver.open(tmp_path / "page.html", f"#{view}?ipu=0")
        assert "After: " in driver.text()
    for view in ("summary", "insights", "program", "operations", "pipeline"):
        driver.view(view)
        assert "NaN" not in driver.text()


def test_a_group_opens_its_own_ops_and_no_others(profile_page: Any, profile_file: Path) -> None:
    profile_page.view("operations")
    profile_page.run(
        "{const box = document.querySelector('#view select'); box.value = 5; box.dispatchEvent(new Event('change'))}"
    )
    profile_page.click("#view .grid-row")
    kind = profile_page.text("#view .controls b")
    rows = _rows(profile_page.csv("#view .table:not(.plain) .copy"))
    with Profile(profile_file) as profile:
        wanted = [op for op in profile.ops if op.target == kind]
    assert len(profile.ops) > len(rows) - 1 == len(wanted) > 0
    assert {row[1] for row in rows[1:]} == {kind}
    assert "of=" in profile_page.fragment


def test_frozen_cursors_follow_the_theme(profile_page: Any) -> None:
    count = (
        "(colour => { const canvas = document.querySelector('#view .chart canvas');"
        " const [r, g, b] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));"
        " const copy = document.createElement('canvas').getContext('2d', {willReadFrequently: true});"
        " [copy.canvas.width, copy.canvas.height] = [canvas.width, canvas.height]; copy.drawImage(canvas, 0, 0);"
        " const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);"
        " let found = 0; for (let at = 0; at < data.length; at += 4)"
        " found += data[at] === r && data[at + 1] === g && data[at + 2] === b; return found; })"
    )
    profile_page.run("location.hash = '#liveness?at=3'")
    profile_page.wait("document.querySelector('#view h3')?.textContent.startsWith('Memory of IPU')")
    accent = profile_page.run(
        "getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()"
    )
    assert profile_page.run(f"{count}('{accent}')") > 0
    profile_page.click("#theme")
    assert profile_page.run(f"{count}('{accent}')") == 0


@pytest.mark.parametrize("view", ["memory", "liveness"])
def test_charts_of_a_small_program_are_no_thin_line(profile_page: Any, view: str) -> None:
    profile_page.view(view)
    profile_page.wait("document.querySelector('#view .chart:not(.tilemap) canvas')?.height > 100")
    filled = profile_page.run(
        "(() => { const canvas = document.querySelector('#view .chart:not(.tilemap) canvas');"
        " const copy = document.createElement('canvas').getContext('2d', {willReadFrequently: true});"
        " [copy.canvas.width, copy.canvas.height] = [canvas.width, canvas.height]; copy.drawImage(canvas, 0, 0);"
        " const { data } = copy.getImageData(Math.floor(0.6 * canvas.width), 0, 1, canvas.height);"
        " let found = 0; for (let at = 0; at < data.length; at += 4) { const pixel = data.slice(at, at + 3);"
        " found += Math.max(...pixel) - Math.min(...pixel) > 30; }"  # a colour, no grey
        " return found / canvas.height; })()"
    )
    assert filled > 0.1
