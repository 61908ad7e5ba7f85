"""Telling people how far something is: a bar that appears when it takes longer than two seconds.

Bars go to the terminal's error stream and leave nothing behind; without a terminal there are none.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

#: told of progress: what is being done, and how far all of it is (0 to 1)
Tell = Callable[[str, float], None]

#: seconds after which a bar appears
PATIENCE_S = 2.0


@contextlib.contextmanager
def bar(title: str) -> Iterator[Tell]:
    """A bar called `title`; what is yielded moves it."""
    from tqdm import tqdm

    shown = tqdm(
        total=100,
        desc=title,
        delay=PATIENCE_S,
        leave=False,
        file=sys.stderr,
        disable=not sys.stderr.isatty(),
        bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}",
    )

    def tell(what: str, share: float) -> None:
        shown.set_postfix_str(what[:60], refresh=False)
        shown.update(max(0.0, 100.0 * share - shown.n))

    try:
        yield tell
    finally:
        shown.close()
