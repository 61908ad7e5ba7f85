"""The tables do not claim too much: what is honoured is read somewhere outside of the tables."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import tremula.frontends.tensorflow as front_end
from tremula.frontends.tensorflow.config.option_table import HONOURED, OPTIONS
from tremula.settings.poplar_flags import FLAGS


@cache
def sources() -> dict[str, str]:
    root = Path(next(iter(front_end.__path__)))
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in root.rglob("*.py")}


def readers(text: str) -> set[str]:
    return {name for name, source in sources().items() if text in source}


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_flags(flag):
    found = readers(f'"{flag.name}"')
    if flag.effect == HONOURED:
        assert found or flag.name in ("use_synthetic_data", "synthetic_data_categories")
    elif flag.effect.startswith("no effect"):
        assert not found, f"--{flag.name} is read: say in the table what it does"


#: how other modules ask for an option that is honoured
ACCESSORS = {
    "auto_select_ipus": "config.auto_select_ipus",
    "select_ipus": "config.select_ipus",
    "device_connection.type": "config.device_connection.type",
    "experimental.enable_prng_stability": "active.prng_stability()",
    "experimental.multi_replica_distribution.process_index": "multi_replica_distribution.process_index",
    "experimental.multi_replica_distribution.process_count": "multi_replica_distribution.process_count",
    "floating_point_behaviour.set_all": "behaviour.set_all",
    "norms.experimental.distributed_batch_norm_replica_group_size": "active.batch_norm_group_size()",
}


@pytest.mark.parametrize(
    "option", [each for each in OPTIONS if each.effect == HONOURED], ids=lambda o: o.name
)
def test_options(option):
    assert readers(ACCESSORS[option.name]) - {"config/option_table.py", "config/checks.py"}
