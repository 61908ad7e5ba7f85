"""The few constants of the schedule that were fitted to published figures, and what each stands for.

Rates of links are hardware and stand in its files; these are what software makes of them. The links' latency stands
there too, although it was chosen with `piece_cycles` and is not published.
docs/accuracy.md says how well the model does on figures that were not used.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScheduleConstants:
    """Fitted constants. 1.0 or 0.0 means: the formulas as they are."""

    #: cycles of a tile for each separate piece that it sends to another IPU; from the steps between one and several
    #: IPUs in a blur on Mk1 (lbm-graphcore) and in the heat equation on Mk2 (simehaa/IPU), whose halos are in pieces
    #: of one grid point. Chosen together with the links' latency, and weakly determined: fitted without one of the
    #: four families of runs, the extra time of that family is off by 18 to 54 %; whether pieces and bytes add up or
    #: overlap is not settled by the figures either
    piece_cycles: float = 220.0
    #: what a call from a Python framework takes on the host beside the device's work: programs of one step per call
    #: against the same with many, or with larger batches. Keras 2.83 ms (3.0 ms a step, 0.166 ms with 937 steps per
    #: call); popxl 2.47 and 2.74 ms (loops over batches of 8 and 80, of which 0.1 ms per sample is loading).
    #: Runtimes in C++ take less: 0.5 ms is what fits PopRT. How it splits over tensors, bytes and callbacks is not
    #: published
    call_seconds: float = 2.7e-3


FITTED_SCHEDULE = ScheduleConstants()
