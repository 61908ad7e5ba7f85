"""A user of a timeline in a browser: real pointer and key events, and what the page says afterwards."""

from __future__ import annotations

import json
import time
from typing import Any

_PATIENCE = 20.0
#: the pixels of the plot, from a copy: browsers remark on canvases that are read often
_PIXELS = (
    "(() => { const plot = document.querySelector('.tl-plot'), copy = document.createElement('canvas');"
    " copy.width = plot.width; copy.height = plot.height;"
    " const pen = copy.getContext('2d', {willReadFrequently: true}); pen.drawImage(plot, 0, 0);"
    " return new Uint32Array(pen.getImageData(0, 0, copy.width, copy.height).data.buffer) })()"
)


class Pointer:
    """Moves, clicks, drags and types in the page that a browser shows."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def wait(self, condition: str) -> None:
        """Until an expression in the page is true."""
        deadline = time.monotonic() + _PATIENCE
        while not self.browser.run(condition):
            assert time.monotonic() < deadline, f"{condition} does not become true: {self.browser.faults()}"
            time.sleep(0.02)

    def ready(self) -> None:
        """Until the view is complete and drawn."""
        self.wait(
            "document.getElementById('view')?.dataset.ready === 'true' && !!document.querySelector('.tl-label')"
        )
        self.browser.settle()

    def text(self, selector: str) -> str:
        """The text of an element."""
        found: str = self.browser.run(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''")
        return found

    def click(self, selector: str) -> None:
        """Press a button."""
        self.browser.run(f"document.querySelector({json.dumps(selector)}).click()")
        self.browser.settle()

    def enter(self, selector: str, text: str, key: str = "") -> None:
        """Write into a box; press a key there."""
        self.browser.run(
            f"{{const box = document.querySelector({json.dumps(selector)});"
            f" box.focus(); box.value = {json.dumps(text)}; box.dispatchEvent(new Event('input', {{bubbles: true}}))}}"
        )
        if key:
            self.browser.run(
                f"document.querySelector({json.dumps(selector)}).dispatchEvent("
                f"new KeyboardEvent('keydown', {{key: {json.dumps(key)}, bubbles: true}}))"
            )
        self.browser.settle()

    def key(self, *keys: str) -> None:
        """Press keys outside any box."""
        for key in keys:
            self.browser.run(
                f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}, bubbles: true}}))"
            )
        self.browser.settle()

    def place(self, row: str, share: float) -> tuple[float, float]:
        """In the middle of the first band of a row, at a share of the width."""
        found = self.browser.run(
            "(() => { const plot = document.querySelector('.tl-plot'); plot.scrollIntoView({block: 'center'});"
            f" const label = document.querySelector('.tl-label[data-row={json.dumps(row)}]').getBoundingClientRect();"
            " const box = plot.getBoundingClientRect(); return [box.left, box.width, label.top] })()"
        )
        left, width, top = found
        return left + share * width, top + 10

    def mouse(self, kind: str, at: tuple[float, float], **more: Any) -> None:
        """A pointer event; see the protocol of the browser."""
        self.browser.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], **more)

    def move(self, at: tuple[float, float]) -> None:
        """Point at something."""
        self.mouse("mouseMoved", at)
        self.browser.settle()

    def press(self, at: tuple[float, float]) -> None:
        """Click on the plot."""
        self.mouse("mousePressed", at, button="left", clickCount=1)
        self.mouse("mouseReleased", at, button="left", clickCount=1)
        self.browser.settle()

    def drag(self, start: tuple[float, float], end: tuple[float, float], *, shift: bool = False) -> None:
        """Press, move in steps, let go."""
        modifiers = 8 if shift else 0
        self.mouse("mousePressed", start, button="left", clickCount=1, modifiers=modifiers)
        for part in (0.3, 0.7, 1.0):
            at = (start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1]))
            self.mouse("mouseMoved", at, button="left", modifiers=modifiers)
        self.mouse("mouseReleased", end, button="left", clickCount=1, modifiers=modifiers)
        self.browser.settle()

    def wheel(self, at: tuple[float, float], by: float) -> None:
        """Turn the wheel; less than 0 is away from the user."""
        self.mouse("mouseWheel", at, deltaX=0, deltaY=by)
        self.wait("true")
        self.browser.settle()

    def zoom(self) -> float:
        """Per cent, as the box says."""
        self.browser.settle()
        return float(self.browser.run("document.querySelector('.tl-zoom').value").rstrip("%"))

    def state(self, name: str) -> str:
        """A value in the address of the page, which follows a little later."""
        time.sleep(0.3)
        found: str = self.browser.run(
            f"new URLSearchParams(location.hash.split('?')[1] ?? '').get({json.dumps(name)}) ?? ''"
        )
        return found

    def range(self) -> tuple[float, float]:
        """From when to when the timeline shows, by the address."""
        start, end = (float(word) for word in self.state("t").split(","))
        return start, end

    def colours(self) -> int:
        """How many colours the plot has: an empty one has few."""
        found: int = self.browser.run(f"new Set({_PIXELS}).size")
        return found

    def ground(self) -> int:
        """How bright the left edge of the plot is, 0 to 765."""
        found: int = self.browser.run(
            f"(() => {{ const word = {_PIXELS}[30 * document.querySelector('.tl-plot').width + 3];"
            " return (word & 255) + ((word >> 8) & 255) + ((word >> 16) & 255) })()"
        )
        return found

    def reload(self) -> None:
        """Load the page anew, with the address as it is."""
        self.browser.run("document.body.dataset.old = 'yes'; location.reload()")
        self.wait("!!document.body && !document.body.dataset.old")
        self.ready()
