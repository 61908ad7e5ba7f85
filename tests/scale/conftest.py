"""Studies made by hand: one as it should be, one in which every text is hostile, one without a single figure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tremula.distributed.host_run import HostRun
from tremula.estimate.figures import Figure
from tremula.scale.data_rate import with_data_rate
from tremula.scale.row import DataRate, Layout, Measured, Row, ScalingStudy
from tremula.scale.sizes import compared
from tremula.step_parts import STEP_PARTS

_DATA = DataRate(900.0, "measured", workers=2, how="64 batches in 2.1 s")


def _figure(value: float, unit: str, low: float = 0.7, high: float = 1.1) -> Figure:
    return Figure(value, value * low, value * high, unit)


def _row(mode: str, target: str, ipus: int) -> Row:
    """A size of a model that needs two IPUs; one is not enough, and three make no pipeline."""
    if ipus == 3:
        layouts = (Layout(3, 1, problem="no such cut"),)
        setting = {"target": target, "ipus": ipus}
        return Row("Tagger", True, setting, mode=mode, layouts=layouts, problem="no such cut")
    stages = 1 if ipus == 1 else 2
    rate = 60.0 * ipus * (0.95 if ipus > 2 else 1.0) * (1.0 if target == "bow" else 0.8)
    batch = 6 * ipus if mode == "weak" else 384
    step = batch / rate
    shares = {part.key: 0.0 for part in STEP_PARTS} | {"compute": 0.6, "exchange": 0.3, "host_call": 0.1}
    tile = 1.1 if ipus == 1 else 0.8
    figures = {
        "throughput": _figure(rate, "samples/s"),
        "step_seconds": _figure(step, "s"),
        "tile_share": _figure(tile, "of a tile"),
        "ipu_bytes": _figure(tile * 900 * 2**20, "bytes"),
    }
    if target == "bow":  # the power of the other is not known
        figures["energy_per_sample"] = _figure(1.5, "J")
    begins = ("network.up on IPU 1",) if stages == 2 else ()
    fits = "no" if ipus == 1 else "yes"
    return Row(
        "Tagger",
        True,
        {
            "target": target,
            "system": f"{target}-pod64",
            "ipus": ipus,
            "replicas": ipus // stages,
            "stages": stages,
            "micro_batch": 1,
            "accumulation": 6 * stages if mode == "weak" else 384 * stages // ipus,
            "device_iterations": 1,
            "precision": "fp16",
        },
        mode=mode,
        global_batch=batch,
        hosts=1 if ipus < 32 else 2,
        fits=fits,
        figures=figures,
        shares=shares,
        layouts=(
            Layout(ipus, 1, 6, "no", rate * 1.1, 1.1, chosen=stages == 1),
            *([Layout(ipus // 2, 2, 12, fits, rate, tile, begins, chosen=True)] if stages == 2 else []),
        ),
        notes=("a note of the model",) if ipus == 2 else (),
    )


def _series() -> Iterator[Row]:
    for mode in ("weak", "strong"):
        for target in ("bow", "mk2"):
            rows = compared([_row(mode, target, ipus) for ipus in (1, 2, 3, 4, 8, 16, 32, 64)])
            yield from (with_data_rate(row, _DATA) for row in rows)


@pytest.fixture(scope="session")
def study() -> ScalingStudy:
    return ScalingStudy(
        name="Tagger",
        training=True,
        parameters=8_525_699,
        command="tremula scale tagger.py --target bow,mk2",
        date="2026-11-16",
        tremula="0.1.0",
        model_version="1",
        question={"ipus": (1, 2, 3, 4, 8, 16, 32, 64), "target": ("bow", "mk2")},
        rows=tuple(_series()),
        assumptions=("All figures of IPUs are modelled, none is measured.", "Hosts are not counted."),
        data=_DATA,
        measured=Measured(
            runs=(
                HostRun(1, 3, 3, 2.1, 0.0, 0.0, 1e-4, True),
                HostRun(2, 3, 6, 2.3, 0.0, 3.1e-7, 1e-4, True),
                HostRun(4, 3, 12, 2.9, 0.5, 0.25, 1e-4, False, note="one lagged"),
            ),
            program="downsample=3",
            threads=1,
            problems=("8 processes: not enough memory",),
        ),
    )


@pytest.fixture(scope="session")
def empty_study(study: ScalingStudy) -> ScalingStudy:
    """No size has figures, and nothing was measured."""
    rows = tuple(
        Row("Tagger", True, {"target": "bow", "ipus": ipus}, mode=mode, problem="out of luck")
        for mode in ("weak", "strong")
        for ipus in (1, 2)
    )
    return replace(study, rows=rows, data=None, measured=None, assumptions=())


@pytest.fixture(scope="session")
def hostile_study(study: ScalingStudy, hostile_texts: tuple[str, ...]) -> ScalingStudy:
    """Every text comes from someone who means harm."""
    number = 0

    def text() -> str:
        nonlocal number
        number += 1
        return hostile_texts[number % len(hostile_texts)]

    def row(each: Row, target: str) -> Row:
        layouts = tuple(
            replace(x, begins=(text(), text()), problem=text() if x.problem else "") for x in each.layouts
        )
        return replace(
            each, setting={**each.setting, "target": target, "system": text(), "precision": text()},
            layouts=layouts, notes=(text(),),
            problem=text() if each.problem else "",
            figures={name: replace(figure, unit=text()) for name, figure in each.figures.items()},
        )  # fmt: skip

    assert study.measured is not None
    assert study.data is not None
    targets = {"bow": hostile_texts[0], "mk2": "_$x^$ " + hostile_texts[4]}
    runs = tuple(replace(run, note=text()) for run in study.measured.runs)
    return replace(
        study,
        name=hostile_texts[2],
        command=text(),
        date=text(),
        tremula=text(),
        model_version=text(),
        rows=tuple(row(each, targets[each.target]) for each in study.rows),
        assumptions=hostile_texts,
        data=replace(study.data, origin=text(), how=text()),
        measured=replace(study.measured, runs=runs, program=text(), problems=(text(),)),
    )
