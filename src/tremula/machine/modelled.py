"""Answers that the chip model will give. Until it exists, each says so: one place, one warning per question."""

from __future__ import annotations

from tremula import log


def not_modelled_cycles(question: str) -> int:
    """The cycles of a run, which are not modelled yet: 0, and one warning per `question`."""
    log.warn_once(
        f"not modelled: {question}",
        f"{question}: cycles are not modelled yet, 0 stands for unknown. The host's own times are in "
        "getPerfCounters() and getLatency().",
    )
    return 0
