"""Transfers that happen at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tremula import log

from ..context import in_sequence, io_tiles


@contextmanager
def merge_exchange() -> Iterator[None]:
    """Merge the transfers inside; the numbers are the same, so here they stay as they are."""
    log.info_once(
        "popxl merge_exchange", "PopXL merge_exchange changes no results: transfers run one by one."
    )
    yield


@contextmanager
def io_tile_exchange(verify_overlap: bool = True) -> Iterator[None]:
    """Put the transfers inside on IO tiles and merge them."""
    with io_tiles(), merge_exchange(), in_sequence(False):
        yield
