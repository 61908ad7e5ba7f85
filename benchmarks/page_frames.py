"""The pages on a large profile, in a browser without a window: time to the first view, and frames while zooming.

    python -m benchmarks.page_frames [--profile FILE] [--json OUT] [--picture OUT] [--scale 2]

Run from the repository's root; it needs Chromium. Without --profile, the profile of benchmarks.made_up_profile is
written to a temporary folder: 64 IPUs, 500,000 execution steps; and a host trace of 1.44 million events. A server of
this process answers the pages. Frame times are the differences between the times that requestAnimationFrame gives while
the wheel turns and the pointer drags at 60 Hz; the first pass loads what it needs on the way.
Times depend on the machine; nothing else should run beside it.
"""

from __future__ import annotations

import argparse
import base64
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time
from typing import Any

import numpy as np

from tremula.settings.values import TraceOptions
from tremula.trace import channels, points, writer
from tremula.view.reports import OpenReports, find_reports
from tremula.view.routes import routes
from tremula.view.server import ViewServer

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests"))
from browser import BROWSERS, Browser

FRAMES_PER_SECOND, FIRST_VIEW_S = 30.0, 1.0
_VIEWS = ("summary", "trace")
_TURNS = ("first", "second")
_WIDTH, _HEIGHT = 1440, 900
EVENTS, THREADS = 1_440_000, 8

_RECORD = """
window.frames_seen = [];
(function next(now) {
  window.frames_seen.push(now);
  window.frames_run = requestAnimationFrame(next);
})(performance.now());
"""
#: gestures on the plot, one event before each frame, as a hand makes them
_GESTURES = """
new Promise(done => {
  const plot = document.querySelector('.tl-plot'), box = plot.getBoundingClientRect();
  const at = (x, more) => ({clientX: box.left + x * box.width, clientY: box.top + .5 * box.height,
    bubbles: true, cancelable: true, ...more});
  const wheel = (x, by) => plot.dispatchEvent(new WheelEvent('wheel', at(x, {deltaY: by})));
  const point = (type, x) =>
    plot.dispatchEvent(new PointerEvent(type, at(x, {pointerId: 1, button: 0, pointerType: 'mouse'})));
  const steps = [];
  for (let i = 0; i < 90; i++) steps.push(() => wheel(.37, -60));
  for (let turn = 0; turn < 2; turn++) {
    steps.push(() => point('pointerdown', .9));
    for (let i = 0; i < 45; i++) steps.push(() => point('pointermove', .9 - i * .016));
    steps.push(() => point('pointerup', .9 - 44 * .016));
  }
  for (let i = 0; i < 90; i++) steps.push(() => wheel(.6, 60));
  const next = () => { const step = steps.shift(); if (!step) return done(1); step(); requestAnimationFrame(next); };
  requestAnimationFrame(next);
})
"""


def first_view(browser: Browser, address: str, view: str) -> float:
    """Seconds from asking for the page until the view is complete."""
    began = time.perf_counter()
    browser.open(address, f"#{view}")
    deadline = began + 60.0
    while not browser.run("document.getElementById('view').dataset.ready === 'true'"):
        if time.perf_counter() > deadline:
            raise SystemExit(f"{view} does not come: {browser.faults()}")
        time.sleep(0.01)
    browser.settle()
    return time.perf_counter() - began


def frame_times(browser: Browser) -> np.ndarray[Any, Any]:
    """Milliseconds between frames while the timeline is zoomed in, dragged and zoomed out."""
    browser.run(_RECORD)
    browser.run(_GESTURES)
    times = browser.run("cancelAnimationFrame(window.frames_run); window.frames_seen")
    return np.diff(np.asarray(times, dtype=float))[3:]


def frame_figures(browser: Browser, scale: float, what: str) -> dict[str, float]:
    """Figures of two passes over the timeline that is shown: the first loads what it needs on the way."""
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=_WIDTH,
        height=_HEIGHT,
        deviceScaleFactor=scale,
        mobile=False,
    )
    browser.run("document.querySelector('.tl-plot').scrollIntoView({block: 'center'})")
    browser.settle()
    found: dict[str, float] = {}
    for turn in _TURNS:
        times = frame_times(browser)
        found[f"{what}_{turn}_median_ms"] = float(np.median(times))
        found[f"{what}_{turn}_95th_ms"] = float(np.quantile(times, 0.95))
        found[f"{what}_{turn}_longest_ms"] = float(times.max())
        found[f"{what}_{turn}_frames_per_s"] = 1e3 / float(times.mean())
    if browser.faults():
        raise SystemExit(f"The page has faults: {browser.faults()[:2]}")
    return found


def make_trace(folder: pathlib.Path) -> pathlib.Path:
    """A host trace of EVENTS events on THREADS threads, three deep."""
    writer.restart(TraceOptions(directory=str(folder)))
    names = [channels.channel(name) for name in ("Poplar", "loader", "application")]

    def work(number: int) -> None:
        points.name_thread(f"worker {number}")
        begin = writer.perf_counter_ns()
        for step in range(EVENTS // THREADS // 3):
            points.whole(names[number % 3], f"step {step % 500}", begin, begin + 9_000)
            points.whole(names[(number + 1) % 3], f"inner {step % 40}", begin + 500, begin + 4_000)
            points.whole(names[(number + 2) % 3], "leaf", begin + 600, begin + 700 + (step % 7) * 100)
            begin += 10_000
            if step % 2_000 == 0:
                time.sleep(0.02)  # let the writer follow

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    return folder


def measure(
    profile: pathlib.Path, trace: pathlib.Path, picture: pathlib.Path | None, scale: float
) -> dict[str, float]:
    """All figures."""
    executable = next((place for name in BROWSERS if (place := shutil.which(name))), None)
    if executable is None:
        raise SystemExit("There is no Chromium on this machine.")
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(executable, pathlib.Path(folder))
        try:
            browser.open("about:blank")
            with ViewServer(routes(OpenReports(find_reports([profile])))) as server:
                for view in _VIEWS:
                    found[f"first_{view}_s"] = first_view(browser, server.address, view)
                found |= frame_figures(browser, scale, "execution")
                if picture is not None:
                    shot = browser.call("Page.captureScreenshot", format="png")
                    picture.write_bytes(base64.b64decode(shot["data"]))
            with ViewServer(routes(OpenReports(find_reports([trace])))) as server:
                found["first_system_s"] = first_view(browser, server.address, "system")
                found |= frame_figures(browser, scale, "system")
        finally:
            browser.close()
    return found


def main() -> int:
    """Print the figures; 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--profile", type=pathlib.Path, metavar="FILE", help="instead of the one that is made up"
    )
    parser.add_argument("--json", type=pathlib.Path, metavar="OUT", help="write the figures")
    parser.add_argument("--picture", type=pathlib.Path, metavar="OUT", help="write a picture of the trace")
    parser.add_argument("--scale", type=float, default=1.0, help="device pixels per pixel of the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        profile = options.profile
        if profile is None:
            from benchmarks.made_up_profile import make

            profile = make(pathlib.Path(folder) / "profile.pop")
        trace = make_trace(pathlib.Path(folder) / "traces")
        found = measure(profile, trace, options.picture, options.scale)
    for view in (*_VIEWS, "system"):
        print(f"first view, {view:10} {found[f'first_{view}_s']:6.2f} s")
    slow = []
    for what in ("execution", "system"):
        for turn in _TURNS:
            median, late, longest, rate = (
                found[f"{what}_{turn}_{name}"]
                for name in ("median_ms", "95th_ms", "longest_ms", "frames_per_s")
            )
            print(
                f"{what:9} {turn} pass: {rate:5.1f} frames per s; median {median:.1f} ms, "
                f"95th percentile {late:.1f} ms, longest {longest:.1f} ms"
            )
            slow += [f"{what}, {turn} pass"] if rate < FRAMES_PER_SECOND else []
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if slow:
        print(f"under {FRAMES_PER_SECOND:.0f} frames per second: {'; '.join(slow)}")
    if found["first_summary_s"] > FIRST_VIEW_S:
        print(f"the first view takes more than {FIRST_VIEW_S:.0f} s")
    return 1 if slow or found["first_summary_s"] > FIRST_VIEW_S else 0


if __name__ == "__main__":
    raise SystemExit(main())
