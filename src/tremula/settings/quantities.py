"""Parses and formats sizes and time spans such as `2G`, `512M`, `30d` and `1.5h`."""

from __future__ import annotations

import math
import re

_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SPANS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])", re.IGNORECASE | re.ASCII)


def parse_size(text: str) -> int:
    """Bytes: a number, with K, M, G or T for powers of 1024.

    Raises ValueError for other text; the message gives an example.
    """
    match = _SIZE.fullmatch(text.strip())
    amount = float(match[1]) * _SIZES[match[2].lower()] if match else math.inf
    if not amount < 1 << 63:
        raise ValueError("expected a size such as 500M or 4G")
    return int(amount)


def parse_span(text: str) -> float:
    """Seconds: a number with s, m, h, d or w. Raises ValueError for other text; the message gives an example."""
    match = _SPAN.fullmatch(text.strip())
    if not match or not math.isfinite(amount := float(match[1]) * _SPANS[match[2].lower()]):
        raise ValueError("expected a span of time such as 12h or 30d")
    return amount


def size_text(count: int) -> str:
    """A number of bytes as text, to about three digits."""
    if count < 1024:
        return f"{count} B"
    amount = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 1023.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} TiB"


def span_text(seconds: float) -> str:
    """A time span as text, in its largest unit."""
    for limit, unit, length in ((60, "s", 1), (3600, "min", 60), (172800, "h", 3600)):
        if seconds < limit:
            return f"{max(seconds, 0) / length:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"
