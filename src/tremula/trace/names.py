"""Names that writers and readers of traces share: channels, labels of our own spans, files."""

from __future__ import annotations

import re
import time

#: channels that are always there
DRIVERS, POPLAR, FRAMEWORK = "Drivers", "Poplar", "Framework"
#: the channel of modelled spans of the device, and the row that shows them
MODELLED = "IPU activity (modelled)"
#: labels of spans from which readers conclude something
RUN = "run"
COMPILE = "compile"
DATA_WAIT = "wait for data"

SUFFIX = ".pvti"

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def file_name(pid: int, now: time.struct_time, *, colons: bool = True) -> str:
    """The name of a trace, such as `Tue_Nov_24_11:59:17_2020_GMT_4532.pvti`; on Windows without colons."""
    zone = re.sub(r"[^A-Za-z0-9+-]", "", now.tm_zone or "")[:8] or "local"
    clock = f"{now.tm_hour:02d}:{now.tm_min:02d}:{now.tm_sec:02d}"
    if not colons:
        clock = clock.replace(":", "-")
    day, month = _DAYS[now.tm_wday], _MONTHS[now.tm_mon - 1]
    return f"{day}_{month}_{now.tm_mday:02d}_{clock}_{now.tm_year}_{zone}_{pid}{SUFFIX}"
