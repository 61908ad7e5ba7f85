"""Telling people how far something is: a bar that appears when it takes longer than two seconds.

Bars go to the error stream and leave nothing behind. They are for terminals and notebooks; elsewhere there are none.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

#: told of progress: what is being done, and how far all of it is (0 to 1)
Tell = Callable[[str, float], None]

#: seconds after which a bar appears, and between two looks at it
PATIENCE_S = 2.0
_LOOK_S = 0.5
#: characters of what is being done
_LONGEST = 40


@contextlib.contextmanager
def bar(title: str, tell: Tell | None = None) -> Iterator[Tell]:
    """Something to tell of progress: `tell` itself, or a bar called `title`."""
    if tell is not None:
        yield tell
        return
    if not _somebody_looks():
        yield lambda _what, _share: None
        return
    from tqdm import tqdm

    state: list[tuple[str, float]] = [("", 0.0)]
    over = threading.Event()

    def show() -> None:
        # a step may be long: the bar is drawn by the clock, not when progress is told
        if over.wait(PATIENCE_S):
            return
        with tqdm(
            total=100,
            desc=title,
            leave=False,
            file=sys.stderr,
            bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}",
        ) as shown:
            while not over.wait(_LOOK_S):
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


def _somebody_looks() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
