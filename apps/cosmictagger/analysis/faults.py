"""All that is wrong with a run, the worst first.

Each kind of fault has a module that looks for it; here they are put together and sorted.
"""

from __future__ import annotations

from cosmictagger.analysis import completeness, device, integrity
from cosmictagger.analysis.results import Fault, Result

#: from the worst on
SEVERITIES = ("error", "warning", "note")


def find_faults(result: Result) -> list[Fault]:
    """The faults of a run. Only what its log shows is told; where a log cannot show it, nothing is."""
    found = [
        fault
        for check in (*device.CHECKS, *integrity.CHECKS, *completeness.CHECKS)
        for fault in check(result)
    ]
    return sorted(found, key=lambda fault: SEVERITIES.index(fault.severity))
