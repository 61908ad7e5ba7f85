"""The pages on a large profile, in a browser without a window: time to the first view, and frames while zooming.

    python -m benchmarks.page_frames [--profile FILE] [--json OUT] [--picture OUT] [--scale 2]

Run from the repository's root; it needs Chromium. Without --profile, the profile of benchmarks.profile_scale is written
to a temporary folder: 64 IPUs, 500,000 execution steps. A server of this process answers the page. Frame times are the
differences between the times that requestAnimationFrame gives while the wheel turns and the pointer drags at 60 Hz.
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
import time
from typing import Any

import numpy as np

from tremula.view.reports import OpenReports, find_reports
from tremula.view.routes import routes
from tremula.view.server import ViewServer

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests"))
from browser import BROWSERS, Browser

FRAMES_PER_SECOND, FIRST_VIEW_S = 30.0, 1.0
_VIEWS = ("summary", "trace")
_WIDTH, _HEIGHT = 1440, 900

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


def measure(profile: pathlib.Path, picture: pathlib.Path | None, scale: float) -> dict[str, float]:
    """All figures."""
    executable = next((place for name in BROWSERS if (place := shutil.which(name))), None)
    if executable is None:
        raise SystemExit("There is no Chromium on this machine.")
    found: dict[str, float] = {}
    route = routes(OpenReports(find_reports([profile])))
    with tempfile.TemporaryDirectory() as folder, ViewServer(route) as server:
        browser = Browser(executable, pathlib.Path(folder))
        try:
            browser.open("about:blank")
            for view in _VIEWS:
                found[f"first_{view}_s"] = first_view(browser, server.address, view)
            # the second time, what the server has read is in memory
            found["again_trace_s"] = first_view(browser, server.address, "trace")
            browser.call(
                "Emulation.setDeviceMetricsOverride",
                width=_WIDTH,
                height=_HEIGHT,
                deviceScaleFactor=scale,
                mobile=False,
            )
            browser.run("document.querySelector('.tl-plot').scrollIntoView({block: 'center'})")
            browser.settle()
            for turn in ("cold", "warm"):
                times = frame_times(browser)
                found[f"{turn}_frames"] = float(len(times))
                found[f"{turn}_median_ms"] = float(np.median(times))
                found[f"{turn}_95th_ms"] = float(np.quantile(times, 0.95))
                found[f"{turn}_longest_ms"] = float(times.max())
                found[f"{turn}_frames_per_s"] = 1e3 / float(times.mean())
            if browser.faults():
                raise SystemExit(f"The page has faults: {browser.faults()[:2]}")
            if picture is not None:
                shot = browser.call("Page.captureScreenshot", format="png")
                picture.write_bytes(base64.b64decode(shot["data"]))
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
            from benchmarks.profile_scale import make

            profile = make(pathlib.Path(folder) / "profile.pop")
        found = measure(profile, options.picture, options.scale)
    print(f"first view, summary    {found['first_summary_s']:8.2f} s")
    print(f"first view, trace      {found['first_trace_s']:8.2f} s; again {found['again_trace_s']:.2f} s")
    for turn in ("cold", "warm"):
        print(
            f"frames, {turn}: {found[f'{turn}_frames_per_s']:8.1f} per s; median {found[f'{turn}_median_ms']:.1f} ms, "
            f"95th percentile {found[f'{turn}_95th_ms']:.1f} ms, longest {found[f'{turn}_longest_ms']:.1f} ms"
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    slow = [turn for turn in ("cold", "warm") if found[f"{turn}_frames_per_s"] < FRAMES_PER_SECOND]
    late = found["first_summary_s"] > FIRST_VIEW_S
    if slow:
        print(f"under {FRAMES_PER_SECOND:.0f} frames per second: {', '.join(slow)}")
    if late:
        print(f"the first view takes more than {FIRST_VIEW_S:.0f} s")
    return 1 if slow or late else 0


if __name__ == "__main__":
    raise SystemExit(main())
