"""Advice for programs without a Keras model: lines for `config`, and comments that name what to change."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tensorflow.python import ipu

from tremula.frontends.tensorflow.dialect.session_code import SessionCode
from tremula.schedule.deployment import Location

PIPELINE = {"device_mapping": [0, 1], "schedule": "Grouped"}
OFF_CHIP = Location(on_chip=False)


def test_it_is_written_without_tensorflow() -> None:
    code = (
        "import sys; from tremula.frontends.tensorflow.dialect.session_code import SessionCode;"
        "print(SessionCode(training=True).accumulation(4), 'tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("False")


def test_lines_for_the_device_run() -> None:
    config = ipu.config.IPUConfig()
    code = SessionCode(training=True)
    for lines in (
        code.half_partials,
        code.replicas(4),
        code.recomputation("norms"),
        code.overlap(32, accumulation_loop=False, sum_results=False),
        code.memory_proportions({0: 0.3}),
    ):
        exec("\n".join(lines), {"config": config})  # noqa: S102 - the lines must run
    assert config.auto_select_ipus == 4
    assert config.allow_recompute
    assert config.io_tiles.num_io_tiles == 32
    assert config.matmuls.poplar_options == {"partialsType": "half", "availableMemoryProportion": "0.3"}


@pytest.mark.parametrize(
    ("options", "named"),
    [(PIPELINE, "ipu.pipelining_ops.pipeline"), ({"num_mini_batches": 4}, "GradientAccumulationOptimizerV2")],
)
def test_options_of_updates_name_who_takes_them(options: dict[str, object], named: str) -> None:
    code = SessionCode(training=True, options=options)
    for lines in (code.half_accumulators, code.location("optimizer_state", OFF_CHIP), code.accumulation(8)):
        assert lines
        assert all(line.startswith("# ") and named in line for line in lines)


def test_what_a_program_has_no_setting_for_is_not_advised() -> None:
    code = SessionCode(training=True)
    assert code.half_accumulators == ()
    assert code.location("accumulators", OFF_CHIP) == ()
    assert code.location("optimizer_state", OFF_CHIP) == ()
    assert code.checkpoints(["dense"]) == ()
