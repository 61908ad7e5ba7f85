"""Progress bars: a bar appears when something takes longer than two seconds.

Bars go to the error stream and are removed at the end. They are for terminals and notebooks; elsewhere there are none.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO

#: called with what is being done and the share of all that is done (0 to 1)
ProgressCallback = Callable[[str, float], None]

#: seconds after which a bar appears, and between two updates
DELAY_S = 2.0
_UPDATE_S = 0.5
#: characters of what is being done
_LONGEST = 40


class BarStream:
    """The error stream, for a bar: one that cannot be written (a file on a full disk) must not end the work."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, if it can be done."""
        with contextlib.suppress(OSError):
            return self._stream.write(text)
        return 0

    def flush(self) -> None:
        """Flush, if it can be done."""
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def bar(title: str, callback: ProgressCallback | None = None) -> Iterator[ProgressCallback]:
    """What to call with progress: `callback` itself, or a bar called `title`."""
    if callback is not None:
        yield callback
        return
    if not _has_viewer():
        yield lambda _what, _share: None
        return
    from tqdm import tqdm

    state: list[tuple[str, float]] = [("", 0.0)]
    over = threading.Event()

    def show() -> None:
        # a step may be long: the bar is drawn at fixed times, not at each call
        if over.wait(DELAY_S):
            return
        with tqdm(
            total=100,
            desc=title,
            leave=False,
            file=BarStream(sys.stderr),
            bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}",
        ) as shown:
            while not over.wait(_UPDATE_S):
                what, share = state[-1]
                shown.set_postfix_str(what[:_LONGEST], refresh=False)
                shown.n = round(100.0 * share)
                shown.refresh()

    def note(what: str, share: float) -> None:
        state[-1] = (what, share)

    drawing = threading.Thread(target=show, name="tremula progress", daemon=True)
    drawing.start()
    try:
        yield note
    finally:
        over.set()
        drawing.join()


def _has_viewer() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
