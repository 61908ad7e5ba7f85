"""Runs, lanes, execution steps and their pyramid, into a profile."""

from __future__ import annotations

import numpy as np

from tremula.estimate.estimate import Estimate
from tremula.profile.frame_writer import FrameSink
from tremula.profile.model import Run
from tremula.profile.pyramids import LaneSteps, step_pyramid
from tremula.profile.writer import ProfileWriter
from tremula.recording.operations import Operations
from tremula.recording.order import Order
from tremula.recording.programs import Programs
from tremula.recording.runs import RunLayout
from tremula.recording.segments import INTEGERS, Lane, LaneColumns, OpSegments, stream
from tremula.recording.shapes import Shapes
from tremula.recording.upload import Upload

#: steps of all runs that are laid out one by one
MOST_STEPS = 500_000


class StepRecorder:
    """Writes the runs of a program."""

    def __init__(self, writer: ProfileWriter, estimate: Estimate) -> None:
        self._writer = writer
        self._estimate = estimate
        self._runs = 0
        self._lanes = 0
        self._us = 0.0

    def upload(self, uploaded: Upload, programs: Programs) -> None:
        """The run that brings the weights to the device."""
        lanes = {}
        for ipu, size in uploaded.bytes_of_ipu.items():
            lanes[ipu] = Lane()
            lanes[ipu].add(
                stream(uploaded.cycles, programs.transfers["upload"], self._estimate.chip.tiles, size, 0)
            )
        self._write("weights to the device", "upload", uploaded.cycles, lanes, "modelled, not measured")

    def steps(
        self,
        found: Operations,
        shaped: Shapes,
        ordered: Order,
        programs: Programs,
        runs: int,
        most_steps: int,
    ) -> None:
        """`runs` runs of the main program; they are all alike."""
        if runs < 1:
            return
        layout = RunLayout(
            self._estimate, ordered, programs, OpSegments(found, shaped, programs), max(1, most_steps // runs)
        )
        layout.lay_out()
        note = "; ".join(["modelled, not measured", *layout.notes])
        name = "training" if self._estimate.training else "inference"
        for number in range(runs):
            self._write(f"{name} {number + 1}", "step", self._estimate.cycles_per_call, layout.lanes, note)

    def _write(self, name: str, kind: str, cycles: float, lanes: dict[int, Lane], note: str) -> None:
        total, run = round(cycles), self._runs
        steps = 0
        for ipu, lane in sorted(lanes.items()):
            lane.wait_until(cycles)
            if lane.steps:
                write_lane(self._writer, run, ipu, self._lanes, lane.columns(total))
                self._lanes += 1
                steps += lane.steps
        start, self._us = self._us, self._us + cycles / self._estimate.chip.clock_hz * 1e6
        self._writer.add(Run(run, name, kind, start, self._us, total, steps, note))
        self._runs += 1


def write_lane(writer: ProfileWriter, run: int, ipu: int, lane: int, columns: LaneColumns) -> None:
    """The steps of one IPU in a run as lane number `lane`, with their pyramid."""
    frame: FrameSink = writer.frame("steps")
    first = frame.rows
    integers = dict(zip(INTEGERS, columns.integers, strict=True))
    frame.add(
        {
            "run": run,
            "ipu": ipu,
            **integers,
            "start": columns.start,
            "cycles": columns.cycles,
            "mean_tile_cycles": columns.mean_tile_cycles,
            "micro_batch": columns.micro_batch,
        }
    )
    writer.frame("lanes").add(
        {
            "run": run, "ipu": ipu, "first_step": first, "steps": len(columns.cycles),
            "cycles": int(columns.cycles.sum()),
        }
    )  # fmt: skip
    steps = LaneSteps(np.asarray(integers["type"]), columns.start, columns.cycles, columns.mean_tile_cycles)
    for level in step_pyramid(lane, first, steps):
        writer.frame("pyramid").add(level)
