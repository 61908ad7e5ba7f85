"""The grammar of a log: what a line can be, and when it was written.

Lines are bytes, for a log may hold anything; every pattern is anchored and bounded. Times are whole milliseconds, so
that differences are exact: since 1970 where a line has its date, since midnight where it has not.
"""

from __future__ import annotations

import datetime
import re

#: `poprun --tag-output`: job, rank and stream of the line
_TAG = rb"(?:\[\d{1,6},(\d{1,6})\]<std(?:out|err|diag)>:)?"
_STAMP = rb"((?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d):(\d\d)[,.](\d{3})\d{0,6}"
_NUMBER = rb"([0-9][0-9.e+-]{0,19}|nan|inf)"

#: rank, minute, second, millisecond, step, metrics, fetching, step column
TRAIN = re.compile(
    _TAG + _STAMP + rb" - [A-Z]{1,10} - train Step (\d{1,12}) ([^(]{0,400})"
    rb"\((?:[0-9.e+-]{1,20} Img/s / )?" + _NUMBER + rb" IOs / " + _NUMBER + rb" \(Step\)\(s\)\)\r?\Z"
).match
#: rank, minute, second, millisecond, level, message
RECORD = re.compile(_TAG + _STAMP + rb" - ([A-Z]{1,10}) - (.*)\Z", re.DOTALL).match
#: rank, text
TAGGED = re.compile(_TAG + rb"(.*)\Z", re.DOTALL).match
#: step, metrics
TEST = re.compile(rb"test Step (\d{1,12}) ([^(]{0,400})\([0-9.e+-]{1,20} Img/s\)\s*\Z").match
#: what is left out, seconds, images per second
CLOSING = re.compile(
    rb"Total time to batch process (except first iteration|except first two iterations|last 40 iterations): "
    + _NUMBER
    + rb", throughput: "
    + _NUMBER
    + rb"\s*\Z"
).match
TOTAL = re.compile(rb"Total time to batch_process: " + _NUMBER + rb"\s*\Z").match
DIGEST = re.compile(rb"Parameters after step \d{1,12}: sha256 ([0-9a-f]{8,64})\s*\Z").match
RESTORED = re.compile(rb"Restored step (\d{1,12}) from ").match
#: depth, key, value of a configuration: the original's has dots behind the key
SETTING = re.compile(rb"( {0,16})([A-Za-z_]\w{0,60}?)\.{0,80}:(?: (.{0,300}))?\r?\Z").match
#: key, value of a launch argument
ARGUMENT = re.compile(rb"'((?:run|mode|data|network)\.[\w.]{1,60})=([^']{1,300})'").findall
#: minute, second, millisecond, message of poprun's own lines
LAUNCHER = re.compile(_STAMP + rb" \d{1,10} POPRUN \[[A-Z]\] (.*)\Z", re.DOTALL).match
INSTANCES = re.compile(rb"\| instances +\|([ 0-9|.\[\]-]{1,4000})\|\s*\Z").match
EXIT_CODE = re.compile(rb"terminated with exit code (\d{1,4})").search
LOCAL_REPLICAS = re.compile(rb"POPDIST_NUM_LOCAL_REPLICAS=(\d{1,5})").search
#: events of a call, in the line that our program writes when its first call is done
EVENTS_PER_CALL = re.compile(rb"events in a call of this process: (\d{1,9})").search

DAY = 86_400_000
_KEPT_MINUTES = 4096
_EPOCH = datetime.date(1970, 1, 1).toordinal()


class Clock:
    """Reads times; each minute is worked out once.

    Attributes:
        minutes: milliseconds by what a stamp says up to its minute; -1 if that is not a time.
    """

    def __init__(self) -> None:
        self.minutes: dict[bytes, int] = {}

    def minute(self, stamp: bytes) -> int:
        """Milliseconds at the beginning of a minute, or -1 if there is no such minute."""
        known = self.minutes.get(stamp)
        if known is None:
            if len(self.minutes) >= _KEPT_MINUTES:
                self.minutes.clear()
            known = self.minutes[stamp] = _milliseconds(stamp)
        return known

    def time(self, minute: bytes, second: bytes, milli: bytes) -> int | None:
        """The milliseconds of a stamp, or None if it is not a time."""
        begin = self.minute(minute)
        return None if begin < 0 else begin + int(second) * 1000 + int(milli)


def dated(minute: bytes) -> bool:
    """Whether a stamp has its date."""
    return len(minute) > 5


def _milliseconds(stamp: bytes) -> int:
    hour, minute = int(stamp[-5:-3]), int(stamp[-2:])
    if hour > 23 or minute > 59:
        return -1
    days = 0
    if dated(stamp):
        try:
            date = datetime.date(int(stamp[:4]), int(stamp[5:7]), int(stamp[8:10]))
        except ValueError:
            return -1
        days = date.toordinal() - _EPOCH
        if days < 0:
            return -1
    return days * DAY + (hour * 60 + minute) * 60_000


def number(text: bytes) -> float:
    """A figure of a line; not a number if it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def words(text: bytes, most: int = 200) -> str:
    """Text from a log as it may be shown: printable and short."""
    shown = text[: 4 * most].decode("utf-8", "replace").strip()
    shown = "".join(each if each.isprintable() else "?" for each in shown)
    return shown if len(shown) <= most else shown[: most - 1] + "…"
