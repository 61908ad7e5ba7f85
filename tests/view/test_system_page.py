"""The System Analyser in a real browser: what the host did, and the modelled IPU below it, in one file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tremula.settings.values import TraceOptions
from tremula.trace import channels, measures, points, writer
from tremula.trace.names import DATA_WAIT, MODELLED, RUN
from tremula.trace.several import TraceSet
from tremula.view import system_page, trace_answers
from tremula.view.reports import OpenReports, find_reports
from tremula.view.routes import routes
from tremula.view.server import ViewServer
from tremula.view.system_page import system_data, write_system_page

MS = 1_000_000


def _recorded(folder: Path, seed: int, names: tuple[str, ...]) -> None:
    """Twelve runs with data waits between, nested spans, flags, a counter and a heat map."""
    chance = random.Random(seed)
    writer.restart(TraceOptions(directory=str(folder)))
    poplar, data = channels.channel("Poplar"), channels.channel("loader")
    origin = writer.perf_counter_ns()
    row = points.NamedRow(MODELLED)
    losses = measures.Series("Loss", "%", names[0])
    for step in range(12):
        begin = origin + step * 5 * MS
        points.whole(
            poplar, f"call {step}", begin, begin + 3 * MS, f'{{"step": {step}, "text": "{"<b>x</b>"}"}}'
        )
        points.whole(poplar, RUN, begin, begin + 2 * MS)
        for part, name in enumerate(names):
            points.whole(poplar, name, begin + part * MS // 10, begin + part * MS // 10 + MS // 20)
        points.whole(data, DATA_WAIT, begin + 3 * MS, begin + 4 * MS)
        row.add(channels.channel(MODELLED), "model", begin, begin + MS)
        losses.add(chance.random(), begin)
    points.moment(data, "checkpoint", '{"file": "a.pt"}')
    measures.HeatMap.of("weights", [0, 1, 2, 3], "").add([0.5, 0.5, 1.5])
    writer.close()


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> TraceSet:
    """Two processes."""
    folder = tmp_path_factory.mktemp("traces")
    for seed in range(2):
        _recorded(folder, seed, ("copy in", "Engine::run", "copy out"))
    return TraceSet(folder)


@pytest.fixture(scope="module")
def page(traces: TraceSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its page."""
    path = tmp_path_factory.mktemp("page") / "system.html"
    write_system_page(traces, path)
    return path


@pytest.fixture
def opened(browser: Any, pointer: Any, page: Path) -> Iterator[Any]:
    """A pointer on the open page; afterwards nothing may have gone wrong and nobody been asked."""
    browser.open(page)
    pointer.ready()
    yield pointer
    assert browser.faults() == []
    assert set(browser.requests()) == {page.as_uri()}


def _main(pointer: Any) -> str:
    """The row of the main thread of the first process."""
    found: str = pointer.browser.run(
        "[...document.querySelectorAll('.tl-label')].find(label =>"
        " label.querySelector('.tl-name').firstChild.textContent === 'MainThread').dataset.row"
    )
    return found


def test_it_shows_processes_threads_counters_and_the_modelled_ipu(opened: Any) -> None:
    assert opened.text("#verdict").startswith("Modelled: the IPU would wait")
    names = opened.browser.run(
        "[...document.querySelectorAll('.tl-name')].map(n => n.firstChild.textContent)"
    )
    assert [name for name in names if "MainThread" in name][:2] == ["MainThread: flags", "MainThread"]
    assert "Loss" in names
    assert "weights" in names
    # the modelled device stands below the threads of its process
    assert names.index("IPU, modelled") > names.index("weights")
    assert opened.colours() > 10
    assert "Labels that take the longest" in opened.text("#view")
    assert "call 3" in opened.text("#view")


def test_a_click_gives_the_event_its_metadata_and_its_call_tree(opened: Any) -> None:
    opened.enter(".tl-search", "call 3", "")
    opened.wait("document.querySelector('.tl-found').textContent === '2'")
    opened.enter(".tl-search", "call 3", "Enter")
    assert opened.text(".tl-found") == "1 of 2"
    card = opened.text(".trace-step")
    assert card.startswith("call 3")
    assert "<b>x</b>" in card
    assert "Call tree" in card
    assert "Engine::run" in card
    row = opened.state("pick").split(",")[0]
    opened.key("z")  # to what is picked: it is in the middle now
    opened.press(opened.place("p0", 0.5))
    assert opened.text(".trace-step") == ""
    opened.press(opened.place(row, 0.5))
    assert opened.text(".trace-step").startswith("call 3")


def test_wheel_keys_drag_and_typing_change_the_range(opened: Any) -> None:
    assert opened.zoom() == 100.0
    row = _main(opened)
    at = opened.place(row, 0.25)
    opened.wheel(at, -400)
    assert opened.zoom() > 150
    low, high = opened.range()
    opened.key("d")
    assert opened.range()[0] > low
    opened.key("a", "w")
    assert opened.range()[1] - opened.range()[0] < high - low
    before = opened.range()
    opened.drag(opened.place(row, 0.4), opened.place(row, 0.6))
    assert opened.range()[0] < before[0]
    opened.enter(".tl-zoom", "10 ms - 20 ms", "Enter")
    assert opened.range() == (10_000, 20_000)
    opened.enter(".tl-zoom", "nonsense", "Enter")
    assert opened.range() == (10_000, 20_000)
    assert opened.browser.run("document.querySelector('.tl-zoom').classList.contains('tl-wrong')")
    opened.browser.run("document.activeElement.blur()")
    opened.key("0")
    assert opened.zoom() == 100.0


def test_an_area_gives_the_labels_inside_it(opened: Any) -> None:
    opened.enter(".tl-zoom", "0 ms - 12 ms", "Enter")
    row = _main(opened)
    opened.drag(opened.place(row, 0.0), opened.place(row, 0.4), shift=True)
    assert opened.text("#selected").startswith("Selected: ")
    shown = opened.text("#view")
    assert "call 0" in shown
    assert "call 3" not in shown
    assert row in opened.state("area")
    opened.key("Escape")
    opened.wait("document.getElementById('selected').textContent.startsWith('The whole trace')")


def test_rows_are_pinned_folded_and_kept_in_the_address(opened: Any) -> None:
    browser, row = opened.browser, _main(opened)
    opened.click(f'.tl-label[data-row="{row}"] .tl-pin')
    assert browser.run(f"!!document.querySelector('.tl-labels-pinned [data-row={row}]')")
    assert browser.run("!!document.querySelector('[data-row=c0]')")
    opened.click('.tl-label[data-row="p0"] .tl-fold')
    assert not browser.run("!!document.querySelector('[data-row=c0]')")
    opened.enter(".tl-zoom", "10 ms - 30 ms", "Enter")
    assert opened.state("pins") == row
    assert opened.state("folded") == "p0"
    address = browser.run("location.hash")
    opened.reload()
    assert browser.run("location.hash") == address
    assert browser.run(f"!!document.querySelector('.tl-labels-pinned [data-row={row}]')")
    assert opened.range() == (10_000, 30_000)


def test_the_strip_has_handles(opened: Any) -> None:
    browser = opened.browser
    box = browser.run(
        "(() => { const box = document.querySelector('.tl-strip').getBoundingClientRect();"
        " return [box.x, box.y, box.width] })()"
    )
    x, y, width = box
    opened.drag((x + 2, y + 15), (x + width * 0.5, y + 15))
    assert opened.zoom() == pytest.approx(200, rel=0.03)
    opened.drag((x + width * 0.75, y + 15), (x + width * 0.5, y + 15))
    assert opened.range()[0] == pytest.approx(0.25 * opened.range()[1] / 0.75, rel=0.05)


def test_processes_can_each_begin_at_zero(opened: Any, traces: TraceSet) -> None:
    browser = opened.browser
    choose = (
        "{const box = document.querySelector('select[aria-label=time]'); box.value = %s;"
        " box.dispatchEvent(new Event('change'))}"
    )
    browser.run(choose % 2)
    opened.wait("new URLSearchParams(location.hash.split('?')[1] ?? '').get('time') === 'each'")
    browser.settle()
    browser.settle()
    lengths = [file.end_us for file in traces.files]
    opened.key("w", "0")
    assert opened.range()[1] == pytest.approx(max(lengths), rel=0.01)
    browser.run(choose % 1)
    browser.settle()
    opened.move(opened.place(_main(opened), 0.5))
    assert browser.run("document.getElementById('tip').hidden") in (True, False)


def test_it_is_drawn_in_both_themes_and_on_a_narrow_screen(opened: Any) -> None:
    browser = opened.browser
    light = opened.ground()
    opened.click("#theme")
    browser.settle()
    assert opened.ground() < light
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True
    )
    browser.settle()
    browser.settle()
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.run("document.querySelector('.tl-plot').clientWidth") > 200
    browser.call("Emulation.clearDeviceMetricsOverride")


def test_a_server_gives_what_the_range_needs(browser: Any, pointer: Any, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    writer.restart(TraceOptions(directory=str(folder)))
    poplar, origin = channels.channel("Poplar"), writer.perf_counter_ns()
    for number in range(9_000):
        begin = origin + number * MS // 100
        points.whole(poplar, f"tick {number}", begin, begin + MS // 200)
    points.moment(poplar, "end")
    writer.close()
    with ViewServer(routes(OpenReports(find_reports([folder])))) as server:
        browser.open(server.address)
        pointer.ready()
        row = _main(pointer)
        # from far away, neighbours are one block
        pointer.enter(".tl-zoom", "0 ms - 80 ms", "Enter")
        pointer.move(pointer.place(row, 0.5))
        pointer.wait("document.getElementById('tip').textContent.includes('events, the longest tick')")
        pointer.enter(".tl-search", "tick 4500", "Enter")
        pointer.wait("document.querySelector('.trace-step').textContent.startsWith('tick 4500')")
        pointer.key("z")
        pointer.move(pointer.place(row, 0.5))
        pointer.wait("document.querySelector('#tip').textContent.startsWith('tick 4500')")
        pointer.enter(".tl-search", "tick 8999", "Enter")
        pointer.wait("document.querySelector('.trace-step').textContent.startsWith('tick 8999')")
        assert pointer.range()[0] > 80_000
        pointer.drag(pointer.place(row, 0.1), pointer.place(row, 0.9), shift=True)
        pointer.wait("document.getElementById('selected').textContent.startsWith('Selected')")
        assert "tick 8999" in pointer.text("#view")
        assert browser.faults() == []
        assert all(url.startswith(f"http://127.0.0.1:{server.port}/") for url in browser.requests())


def test_hostile_labels_are_text(
    browser: Any, pointer: Any, hostile_texts: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "traces"
    _recorded(folder, 1, hostile_texts)
    page = tmp_path / "system.html"
    write_system_page(TraceSet(folder), page)
    browser.open(page)
    pointer.ready()
    pointer.enter(".tl-search", "<script>")
    pointer.wait("!['', 'searching'].includes(document.querySelector('.tl-found').textContent)")
    pointer.enter(".tl-search", "<script>", "Enter")
    pointer.move(pointer.place(pointer.state("pick").split(",")[0], 0.5))
    assert "<script>" in pointer.text(".trace-step h3")
    assert "<script>alert(1)</script>" in pointer.text("#view")
    assert browser.run("document.querySelectorAll('main script, main img, main iframe').length") == 0
    assert browser.faults() == []
    assert browser.requests() == [page.as_uri()]


def test_a_large_trace_is_cut_and_says_so(
    browser: Any, pointer: Any, traces: TraceSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_page, "MOST_EVENTS", 140)
    data = system_data(traces)
    held = data["answers"]["0/trace_events"]["rects"]["count"]
    assert held <= 140 < len(traces.events)
    assert data["answers"]["0/trace_overview"]["left_out"] > 0
    page = tmp_path / "system.html"
    write_system_page(traces, page)
    browser.open(page)
    pointer.ready()
    assert "tremula view --serve" in pointer.text("#view")
    # the labels of the whole trace are counted before events are put into blocks
    window = {"start": "0", "end": repr(traces.end_us)}
    exact = trace_answers.answer(traces, "trace_selection", window)["labels"]
    shown = browser.run(
        "[...document.querySelectorAll('.grid-row')].map(row => [0, 2].map(at => row.children[at].textContent))"
    )
    assert len(shown) > 5
    assert {(label, int(count)) for label, count in shown} <= {(row["label"], row["count"]) for row in exact}
    assert "Approximate" not in pointer.text("#view")
    row = _main(pointer)
    pointer.drag(pointer.place(row, 0.1), pointer.place(row, 0.6), shift=True)
    pointer.wait("document.getElementById('selected').textContent.startsWith('Selected')")
    assert "Approximate" in pointer.text("#view")
    assert browser.faults() == []
