"""What the page of traces asks, and that the answers agree with the trace."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tremula.errors import Error
from tremula.settings.values import TraceOptions
from tremula.trace import channels, measures, points, writer
from tremula.trace.lanes import lanes
from tremula.trace.names import DATA_WAIT, MODELLED, RUN
from tremula.trace.several import TraceSet
from tremula.view.trace_answers import WHATS, answer

MS = 1_000_000
#: the row of the main thread of the first process
MAIN = 0


def numbers(packed: dict[str, str]) -> np.ndarray[Any, Any]:
    ((kind, text),) = packed.items()
    return np.frombuffer(base64.b64decode(text), f"<{kind}").astype(float)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> TraceSet:
    """Two processes' files. Each: 20 runs of 2 ms with 3 ms for the host between, 1 ms of it for data; the device is
    modelled with 1 ms per run.
    """
    folder = tmp_path_factory.mktemp("traces")
    for number in range(2):
        writer.restart(TraceOptions(directory=str(folder)))
        poplar, data = channels.channel("Poplar"), channels.channel("loader")
        origin = writer.perf_counter_ns()
        row = points.NamedRow(MODELLED)
        for step in range(20):
            begin = origin + step * 5 * MS
            points.whole(poplar, "call", begin, begin + 2 * MS + 10, f'{{"step": {step}}}')
            points.whole(poplar, RUN, begin, begin + 2 * MS)
            points.whole(data, DATA_WAIT, begin + 3 * MS, begin + 4 * MS)
            row.add(channels.channel(MODELLED), "model", begin, begin + MS)
        points.moment(data, f"<b>flag {number}</b>")
        points.moment(data, "other", '{"deep": [1, 2]}')
        line = measures.Series("Loss", "%", "training")
        for step in range(100):
            line.add(float(step % 10), origin + step * MS)
        measures.HeatMap.of("weights", [0, 1, 2], "").add([0.5, 0.5, 1.5])
        writer.close()
    return TraceSet(folder)


def asked(traces: TraceSet, what: str, **params: object) -> dict[str, Any]:
    found = answer(traces, what, {name: str(value) for name, value in params.items()})
    assert json.loads(json.dumps(found, allow_nan=False)) == found, "plain JSON"
    return found


def test_the_overview_lists_what_is_there(traces: TraceSet) -> None:
    found = asked(traces, "trace_overview")
    assert len(found["processes"]) == 2
    assert found["clock"] == "one host"
    assert [row["kind"] for row in found["rows"]] == ["thread", "device"] * 2
    assert [row["events"] for row in found["rows"]] == [60, 20] * 2
    assert [row["depths"] for row in found["rows"]] == [2, 1] * 2
    assert found["counts"] == {
        "events": 160, "instants": 4, "samples": 200, "heatmap_samples": 2, "lost": 0
    }  # fmt: skip
    assert {each["name"]: each["modelled"] for each in found["channels"]}[MODELLED] is True
    assert [graph["graph"] for graph in found["counters"]] == ["Loss", "Loss"]
    assert found["counters"][0]["series"][0]["high"] == 9.0
    assert found["heatmaps"][0]["most"] == 2
    assert all(file["complete"] for file in found["files"])


def test_it_says_whether_the_host_starves_the_device(traces: TraceSet) -> None:
    device = asked(traces, "trace_overview")["device"]
    assert device["modelled"] is True
    assert device["calls"] == 40
    assert device["device_us"] == pytest.approx(38_000), "without the first run of each process"
    assert device["host_us"] == pytest.approx(2 * 19 * 3000)
    assert device["data_wait_us"] == pytest.approx(2 * 19 * 1000)
    assert device["waits_share"] == pytest.approx(0.75)
    assert device["verdict"] == "host"
    assert "Modelled: the IPU would wait 75% of the time for the host, 25% for data" in device["text"]


@pytest.mark.parametrize("pixels", [1, 7, 100, 4096])
def test_rectangles_stand_for_all_spans_of_the_window(traces: TraceSet, pixels: int) -> None:
    found = asked(traces, "trace_events", start=0, end=traces.end_us, pixels=pixels)
    rects = found["rects"]
    assert numbers(rects["events"]).sum() == len(traces.events)
    lengths = traces.events.end_us - traces.events.start_us
    assert numbers(rects["busy"]).sum() == pytest.approx(lengths.sum())
    assert rects["count"] <= 6 * (2 * pixels + 2)
    assert numbers(found["instants"]["events"]).sum() == 4
    labels = {found["labels"][int(at)] for at in numbers(rects["label"])}
    assert {"call", "model"} <= labels if pixels > 1 else labels


def test_too_much_to_draw_is_drawn_coarser_and_nothing_is_left_out(
    traces: TraceSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tremula.view.trace_windows._MOST_BLOCKS", 40)
    found = asked(traces, "trace_events", start=0, end=traces.end_us, pixels=4096)
    assert found["rects"]["count"] <= 40
    assert numbers(found["rects"]["events"]).sum() == len(traces.events)
    assert found["cut"] == 0


def test_rows_and_channels_can_be_chosen(traces: TraceSet) -> None:
    channel = traces.channels.index("loader")
    found = asked(
        traces, "trace_events", start=0, end=traces.end_us, pixels=4096, rows=MAIN, channels=channel
    )
    assert set(numbers(found["rects"]["row"])) == {MAIN}
    assert set(numbers(found["rects"]["channel"])) == {channel}
    assert numbers(found["rects"]["events"]).sum() == 20


def test_counters_keep_the_extremes_of_each_pixel(traces: TraceSet) -> None:
    counter = traces.counters[0][1]
    start, end = counter.time_us[10], counter.time_us[89]
    found = asked(traces, "trace_counters", start=start, end=end, pixels=8, series=0)
    (series,) = found["series"]
    assert numbers(series["samples"]).sum() == 80
    assert (numbers(series["low"]).min(), numbers(series["high"]).max()) == (0.0, 9.0)
    assert np.all(numbers(series["low"]) <= numbers(series["last"]))
    assert found["before"] == {"0": 9.0}
    assert found["after"] == {"0": 0.0}


def test_heat_maps_add_up_per_pixel(traces: TraceSet) -> None:
    found = asked(traces, "trace_heatmap", id=0, start=0, end=traces.end_us, pixels=10)
    assert found["bins"] == 2
    assert numbers(found["counts"]).tolist() == [2, 1]
    assert np.all(numbers(found["width"]) >= 0)


def test_search_finds_labels_channels_and_metadata_in_order_of_time(traces: TraceSet) -> None:
    found = asked(traces, "trace_search", text="FLAG")
    assert found["total"] == 2
    assert found["labels"] == ["<b>flag 0</b>", "<b>flag 1</b>"]
    assert numbers(found["hits"]["depth"]).tolist() == [-1, -1]
    assert asked(traces, "trace_search", text="deep")["total"] == 2
    assert asked(traces, "trace_search", text="loader")["total"] == 44
    many = asked(traces, "trace_search", text="l", first=100)
    starts = numbers(many["hits"]["start"])
    assert np.all(np.diff(starts) >= 0)
    assert asked(traces, "trace_search", text="not there")["hits"]["count"] == 0


def test_details_of_a_span(traces: TraceSet) -> None:
    call = int(np.flatnonzero(traces.events.metadata >= 0)[3])
    found = asked(traces, "trace_event", id=call)
    assert (found["label"], found["metadata"], found["kind"]) == ("call", {"step": 3}, "event")
    (child,) = found["children"]
    assert child["label"] == RUN
    assert found["self"] == pytest.approx(0.01, abs=1e-3)
    inner = asked(traces, "trace_event", id=child["id"])
    assert inner["stack"] == [{"id": call, "label": "call"}]
    assert inner["same_label"]["count"] == 40
    assert asked(traces, "trace_event", id=inner["next"])["previous"] == child["id"]
    flag = asked(traces, "trace_event", id=len(traces.events))
    assert flag["kind"] == "instant"


def test_a_selection_gives_times_per_label(traces: TraceSet) -> None:
    start = float(traces.events.start_us[traces.rows[MAIN].first])
    found = asked(traces, "trace_selection", start=start, end=start + 1000, rows=MAIN)
    assert [(each["label"], each["count"]) for each in found["labels"]] == [("call", 1), (RUN, 1)]
    assert [each["total"] for each in found["labels"]] == pytest.approx([1000, 1000])
    assert [each["self"] for each in found["labels"]] == pytest.approx([0, 1000], abs=1e-6)


def test_a_call_tree_merges_equal_children(traces: TraceSet) -> None:
    call = int(np.flatnonzero(traces.events.metadata >= 0)[0])
    nodes = asked(traces, "trace_call_tree", id=call)["nodes"]
    assert [(node["parent"], node["label"], node["count"]) for node in nodes] == [
        (-1, "call", 1),
        (0, RUN, 1),
    ]


@pytest.mark.parametrize(
    ("what", "params"),
    [
        ("nothing", {}),
        ("trace_events", {}),
        ("trace_events", {"start": "0", "end": "0", "pixels": "5"}),
        ("trace_events", {"start": "0", "end": "nan", "pixels": "5"}),
        ("trace_events", {"start": "0", "end": "1", "pixels": "100000"}),
        ("trace_events", {"start": "0", "end": "1", "pixels": "5", "rows": "1;2"}),
        ("trace_counters", {"start": "0", "end": "1", "pixels": "5", "series": "99"}),
        ("trace_heatmap", {"start": "0", "end": "1", "pixels": "5", "id": "99"}),
        ("trace_search", {}),
        ("trace_event", {"id": "99999"}),
        ("trace_call_tree", {"id": "-1"}),
    ],
)
def test_questions_that_make_no_sense_are_refused(
    traces: TraceSet, what: str, params: dict[str, str]
) -> None:
    with pytest.raises(Error):
        answer(traces, what, params)


def test_every_question_has_an_answer_for_an_empty_trace(tmp_path: Path) -> None:
    writer.restart(TraceOptions(directory=str(tmp_path)))
    writer.current_file()
    writer.close()
    empty = TraceSet(tmp_path)
    window = {"start": 0, "end": 1, "pixels": 10}
    for what in WHATS:
        if what in ("trace_event", "trace_call_tree", "trace_heatmap"):
            with pytest.raises(Error):
                asked(empty, what, id=0, **window)
        else:
            asked(empty, what, text="x", **window)


SPANS = st.lists(st.tuples(st.floats(0, 50), st.floats(0, 3)), max_size=150)


@given(SPANS, st.floats(0, 150), st.floats(1, 150), st.integers(1, 60))
@settings(max_examples=150, deadline=None)
def test_blocks_of_a_window_stand_for_exactly_the_spans_in_it(
    parts: list[tuple[float, float]], first: float, width: float, pixels: int
) -> None:
    start, end, clock = [], [], 0.0
    for gap, length in parts:
        start.append(clock + gap * gap / 50)
        end.append(start[-1] + length)
        clock = end[-1]
    starts, ends = np.array(start), np.array(end)
    zeros = np.zeros(len(starts), np.int64)
    last, pixel = first + width, width / pixels
    inside = (ends >= first) & (starts <= last)
    shown = 0
    for lane in lanes(zeros, zeros, starts, ends, None):
        blocks = lane.window(first, last, pixel)
        for at in range(len(blocks)):
            covered = (starts >= blocks.start[at]) & (ends <= blocks.end[at])
            assert covered.sum() >= blocks.spans[at]
            assert blocks.spans[at] == 1 or blocks.end[at] - blocks.start[at] <= 2 * pixel * (1 + 1e-9)
            assert starts[blocks.event[at]] >= blocks.start[at]
            shown += int(blocks.spans[at])
        assert np.all(blocks.start[1:] >= blocks.end[:-1])
        assert len(blocks) <= 2 * pixels + 3 + (ends - starts > pixel).sum()
    # a block at the edge may hold neighbours that lie outside
    assert inside.sum() <= shown <= inside.sum() + 2 * 16 * 16
