"""gc-hostsynclatencytest: measures the latency of a call from a device to the host.

The latency is measured between two processes of this host, one of which represents the device. The time includes the
given delay between two syncs, in cycles of the modelled clock.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from tremula import log
from tremula.tools import tool
from tremula.tools.device_test import Findings, test_parser, under_test
from tremula.tools.link_peer import HEADER, exchange, peer

NAME = "gc-hostsynclatencytest"
#: options that the result repeats
_SHOWN = ("hsp", "delay_cycles", "num_delays", "iterations", "mark_count")


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    made = test_parser(NAME, "Measure the round trip between a virtual device and the host: two processes.")
    made.add_argument("--hsp", choices=("hsp1", "hsp2", "both"), default="hsp1", help="has no effect here")
    made.add_argument(
        "--sync-mode", choices=("posted", "polling", "hybrid"), default="polling", help="has no effect here"
    )
    made.add_argument(
        "--delay-cycles",
        type=_delay,
        default=5,
        metavar="N",
        help="delay between syncs, up to 20 (default: 5)",
    )
    tool.add_count(made, "--num-delays", 32, "delays")
    tool.add_count(made, "--iterations", 1, "repeats")
    tool.add_count(made, "--mark-count", 4095, "syncs")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool."""
    return tool.run(NAME, build_parser(), _test, arguments)


def _delay(text: str) -> int:
    number = tool.whole_number(text)
    if number > 20:
        raise argparse.ArgumentTypeError("at most 20 cycles")
    return number


def _test(given: argparse.Namespace) -> int:
    if given.hsp != "hsp1":
        log.no_effect(f"--hsp {given.hsp}", "there is no host sync proxy")
    if given.sync_mode != "polling":
        log.no_effect(f"--sync-mode {given.sync_mode}", "two processes of this host wait for each other")
    wrong, seconds = 0, 0.0
    with under_test(given.device_id) as test, peer() as channel:
        exchange(channel, 1, HEADER.size + 1)  # the other process is there
        pause = given.delay_cycles * given.num_delays / test.occupancy.system.hardware.chip.clock_hz
        for _ in range(given.iterations):
            with test.use() as watch:
                wrong += exchange(channel, given.mark_count, HEADER.size + 1)
                time.sleep(pause)
            seconds += watch.seconds
    each = 1e6 * seconds / (given.iterations * given.mark_count)
    findings = Findings(
        {
            "ipu_id": given.device_id,
            "sync_mode": given.sync_mode.capitalize(),
            **{name: getattr(given, name) for name in _SHOWN},
            "split_increments": False,
            "time_to_sync_us": each,
            "result": "fail" if wrong else "pass",
        },
        {"us per sync": each},
    )
    if given.json_output:
        tool.write_json(findings.as_json())
    else:
        print(f"o Using device Id - {given.device_id}")
        print(
            f"o {given.iterations} x {given.mark_count} syncs between two processes of this host (measured)"
        )
        print(f"o Syncs took on average {each:.1f} us")
        print(f"o Result - {'FAIL' if wrong else 'Pass'}")
    return 1 if wrong else 0
