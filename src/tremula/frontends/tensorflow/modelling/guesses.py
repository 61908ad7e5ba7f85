"""What the chip model had to guess about a program, told to the user once."""

from __future__ import annotations

from tremula import log
from tremula.formatting import counted
from tremula.frontends.tensorflow.capture.captured import Captured
from tremula.frontends.tensorflow.pipeline.checks import ALL_DEVICES, to_flat_list


def tell(captured: Captured, name: str) -> None:
    """Warn of each guess, once for a program.

    Args:
        captured: the program.
        name: what the user calls it.
    """
    if captured.counts.unknown:
        log.warn_once(
            f"unknown loop count: {name}",
            f"How often a loop of {name} runs is not known before the program runs: 1 is modelled. Give the loop a "
            "constant count to have it modelled.",
        )
    if captured.unknown_sizes:
        first = captured.unknown_sizes[0]
        where = f" at {first.source}" if first.source is not None else ""
        log.warn_once(
            f"unknown sizes: {name}",
            f"The results of {counted(len(captured.unknown_sizes), 'op')} of {name} have sizes that are not known "
            f"before the program runs, the first of them {first.type}{where}: 1 is modelled for each such size.",
        )
    if ALL_DEVICES in to_flat_list(captured.options.get("device_mapping") or []):
        log.warn_once(
            f"stage on all IPUs: {name}",
            f"A pipeline stage of {name} is on all IPUs of a replica: it is modelled on the first of them.",
        )
