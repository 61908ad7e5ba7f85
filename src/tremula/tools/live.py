"""`gc-monitor --live`: shows the activity of the IPUs in a terminal until q or Ctrl-C.

Utilisation, calls and host traffic are measured on this host; cycles, memory on tiles, temperature and power are
modelled. Programs do not slow down, because they always write their counters.
"""

from __future__ import annotations

import contextlib
import select
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tremula.errors import Error
from tremula.formatting import memory_size, plain
from tremula.machine import inventory
from tremula.machine.counters import Usage
from tremula.machine.inventory import IpuRecord
from tremula.machine.occupancy import Occupancy, span_text
from tremula.tools import tool

_SPARKS = " ▁▂▃▄▅▆▇█"
_HISTORY = 20


@dataclass
class _Past:
    """What was seen of one IPU before."""

    shares: deque[float] = field(default_factory=lambda: deque(maxlen=_HISTORY))
    usage: Usage | None = None
    at: float = 0.0
    rates: tuple[float, float, float] = (0.0, 0.0, 0.0)


def watch(interval: float, *, every_partition: bool) -> int:
    """Show until the user has seen enough; raises Error if there are no IPUs, or there is no terminal to draw in."""
    if not sys.stdout.isatty():
        raise Error("--live needs a terminal; use `watch gc-monitor` or `gc-monitor --json` instead.")
    if not inventory.rooms(every_partition=every_partition):
        raise tool.no_ipus()
    console = Console()
    past: dict[tuple[str, int], _Past] = {}
    with _keys() as pressed, Live(console=console, auto_refresh=False, screen=True) as drawn:
        while True:
            rooms = inventory.rooms(every_partition=every_partition)
            drawn.update(Group(*_picture(rooms, past, console.width, console.height)), refresh=True)
            if pressed(interval) in ("q", "Q", "\x1b"):
                return 0


def _picture(
    rooms: list[Occupancy], past: dict[tuple[str, int], _Past], width: int, height: int
) -> Iterator[Table | Text]:
    yield Text(f"gc-monitor  {time.strftime('%H:%M:%S')}  {tool.what_this_is(rooms[0])}", style="bold")
    lines = max(2, height // len(rooms) - 6)
    for occupancy in rooms:
        records = inventory.records(occupancy)
        yield Text(f"partition {occupancy.partition.name}, {occupancy.partition.size} IPU(s)", style="dim")
        shown = records
        if len(records) > lines:  # unused ones are left out
            shown = [each for each in records if each.usage or each.reserver is not None][:lines]
        yield _table(occupancy, shown, past, wide=width >= 120)
        if len(shown) < len(records):
            yield Text(f"and {len(records) - len(shown)} more", style="dim")
        for record in records:
            if record.error != "no errors":
                yield Text(f"IPU {record.id}: {record.error} (simulated)", style="red")
    yield Text("measured: busy, host traffic; modelled: cycles, memory, C, W. q: leave", style="dim")


def _table(
    occupancy: Occupancy, records: list[IpuRecord], past: dict[tuple[str, int], _Past], *, wide: bool
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for title in ("ID", "busy", ""):
        table.add_column(title, justify="left" if title == "busy" else "right", no_wrap=True)
    if wide:
        table.add_column("past", width=_HISTORY, no_wrap=True)
    for title in ("cycles/s", "memory", "from host", *(("to host", "die") if wide else ()), "board"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("program", no_wrap=True, overflow="ellipsis", ratio=1)
    board = None
    for record in records:
        seen = _look(past.setdefault((occupancy.partition.name, record.id), _Past()), record)
        cycles, sent, fetched = seen.rates
        usage = record.usage
        traffic = [_rate(sent) if usage else ""]
        if wide:
            traffic += [_rate(fetched) if usage else "", inventory.degrees(record.sensors.die_celsius)]
        table.add_row(
            str(record.id),
            _bar(seen.shares[-1]),
            f"{100 * seen.shares[-1]:3.0f}%",
            *([_sparkline(seen.shares)] if wide else []),
            _scaled(cycles) if usage else "",
            _memory(usage),
            *traffic,
            inventory.watts(record.sensors.board_watts) if record.board != board else "",
            _program(record),
        )
        board = record.board
    return table


def _bar(share: float) -> Text:
    """How busy an IPU is, ten signs wide."""
    full = round(10 * min(1.0, share))
    return Text.assemble(("█" * full, "green"), ("░" * (10 - full), "dim"))


def _rate(bytes_per_second: float) -> str:
    return f"{memory_size(bytes_per_second)}/s" if bytes_per_second else ""


def _look(seen: _Past, record: IpuRecord) -> _Past:
    """Add what is seen now to the past of an IPU."""
    now, usage, before = time.monotonic(), record.usage, seen.usage
    seen.shares.append(0.0 if usage is None else usage.utilisation())
    passed = now - seen.at
    if usage is None or before is None or before.pid != usage.pid or passed <= 0.0:
        seen.rates = (0.0, 0.0, 0.0)
    else:
        seen.rates = (
            max(0.0, usage.modelled_cycles - before.modelled_cycles) / passed,
            max(0, usage.to_ipu_bytes - before.to_ipu_bytes) / passed,
            max(0, usage.from_ipu_bytes - before.from_ipu_bytes) / passed,
        )
    seen.usage, seen.at = usage, now
    return seen


def _sparkline(shares: deque[float]) -> str:
    steps = len(_SPARKS) - 1
    line = "".join(_SPARKS[round(steps * min(1.0, max(0.0, each)))] for each in shares)
    return line.rjust(_HISTORY)


def _memory(usage: Usage | None) -> str:
    if usage is None or not usage.tile_bytes:
        return ""
    return f"{usage.tile_bytes / max(1, usage.tile_memory_bytes):.0%}"


def _scaled(value: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.2f}{unit}"
    return f"{value:.0f}"


def _program(record: IpuRecord) -> Text:
    usage = record.usage
    if usage is None:
        return Text(
            "" if record.reserver is None else f"kept by poprun, process {record.reserver}", style="dim"
        )
    taken = f" {span_text(time.time() - usage.attached_at)}" if usage.attached_at else ""
    model = f" {usage.model}" if usage.model else ""
    return Text(plain(f"{usage.pid}{taken}{model} {inventory.program(usage)}", lines=False))


@contextlib.contextmanager
def _keys() -> Iterator[_Pressed]:
    """Keys one by one, where the input is a terminal."""
    try:
        import termios
        import tty

        before = termios.tcgetattr(sys.stdin)
    except (ImportError, OSError, ValueError, AttributeError, termios.error):
        yield _Pressed(open_input=False)
        return
    try:
        tty.setcbreak(sys.stdin)
        yield _Pressed(open_input=True)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


@dataclass
class _Pressed:
    open_input: bool

    def __call__(self, seconds: float) -> str:
        """The key that is pressed within that time, or nothing."""
        if not self.open_input:
            time.sleep(seconds)
            return ""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return sys.stdin.read(1) if ready else ""
