"""A profile that is small enough to be checked by hand: 2 replicas of 2 IPUs with 4 tiles, two ops, one run.

IPU 0 runs `enc.fc` (an exchange, a compute set), IPU 1 runs `head`; both copy between each other at the same time.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TILES, LIMIT = 4, 1000
CATEGORIES = ("weights", "vertex code", "exchange code", "control code", "activations", "gaps")
#: bytes on the tiles of each IPU, by use
MEMORY = {
    0: {
        "weights": [100, 100, 100, 60],
        "vertex code": [40, 30, 30, 20],
        "exchange code": [8, 6, 6, 4],
        "control code": [20, 20, 20, 20],
        "activations": [64, 64, 0, 0],
        "gaps": [10, 10, 10, 10],
    },
    1: {"weights": [50, 0, 0, 0], "vertex code": [10, 10, 10, 10], "activations": [990, 0, 0, 0]},
}


def _rows() -> Iterator[Any]:
    from tremula.profile import model
    from tremula.profile.rows import packed

    def array(*values: int) -> bytes:
        return packed(np.asarray(values, dtype=np.int64))

    yield model.Target("mk2", "Mk2", "pod4", 4, 2, 2, TILES, LIMIT, 1e9)
    for number, name in enumerate(CATEGORIES):
        yield model.Category(number, name, int(name != "activations"))
    for ipu, uses in MEMORY.items():
        total = np.sum(list(uses.values()), axis=0)
        lasting = sum(sum(sizes) for use, sizes in uses.items() if use not in ("activations", "gaps"))
        yield model.IpuMemory(
            ipu, int(total.sum()), lasting, sum(uses["activations"]), int(total.max()), 0,
            int((total > LIMIT).sum()), 1, "enc/fc", "forward",
        )  # fmt: skip
        for use, sizes in uses.items():
            yield model.TileMemory(ipu, CATEGORIES.index(use), sum(sizes), TILES, array(*sizes))
    yield model.ProgramSteps(3, array(0, 1, -1), array(0, 0, 0))
    yield model.Liveness(0, 3, array(128, 128, 0), array(0, 0, 0))
    yield model.Liveness(1, 3, array(0, 990, 0), array(0, 10, 0))
    for number, (name, module) in enumerate((("enc/fc", "enc"), ("head/out", "head"))):
        yield model.Op(
            number, name, "linear", "forward", number, number, module, "model.py", 7 + number, "forward",
            1, 1, 90.0, 10.0, 0.0, 1e6, 0, 0, number,
        )  # fmt: skip
        yield model.Plan(number, 100.0, 0, 0, 0, 0, 0, model.Json("{}"))
        yield model.Superstep(number, "multiply", 1, 90.0, 60.0, 10.0, 0.0, 3, 1, 1e6)
    yield model.VertexType(0, "poplin::Matmul<half>", 160, 75)
    yield model.Run(0, "step", "step", 0.0, 0.2, 200, 8, "modelled")


def _frames() -> Iterator[tuple[str, dict[str, Any]]]:
    from tremula.profile.program_types import ProgramType as T

    leaves = [(T.DoExchange, "exchange"), (T.OnTileExecute, "multiply")]
    tree: list[tuple[int, int, str, str, float, int, int, int, int]] = [
        (-1, T.OnEveryTileSwitch, "switch", "program", 0.0, -1, -1, -1, 0),
        (0, T.Sequence, "upload", "weights", 0.0, -1, -1, -1, 0),
        (0, T.Sequence, "step", "step", 200.0, -1, -1, -1, 0),
    ]
    for op, name in enumerate(("enc/fc", "head/out")):
        node = len(tree)
        tree.append((2, T.Sequence, "op", name, 100.0, op, -1, 2 * op + 1, 12))
        for kind, leaf in leaves:
            compute_set, code = (op, 8) if kind is T.OnTileExecute else (-1, 8 + 24)
            cycles = 90.0 if kind is T.OnTileExecute else 10.0
            tree.append((node, kind, "leaf", f"{name}/{leaf}", cycles, op, compute_set, 2 * op + 1, code))
    copy = len(tree)
    tree.append((2, T.GlobalExchange, "copy", "enc to head", 20.0, -1, -1, -1, 0))
    names = ("parent", "type", "kind", "name", "cycles", "op_id", "compute_set", "context", "code_bytes")
    columns = dict(zip(names, map(list, zip(*tree, strict=True)), strict=True))
    yield "programs", {**columns, "repeats": 1}
    yield "compute_sets", {
        "name": ["enc/fc/multiply", "head/out/multiply"], "op_id": [0, 1], "plan_id": [0, 1], "superstep": 0,
        "vertices": [10, 5], "cycles": 90.0,
    }  # fmt: skip
    yield "vertices", {"plan_id": [0, 1], "superstep": 0, "vertex_type": 0, "count": [10, 5], "tiles": [3, 4]}
    # (run, ipu, type, program, start, cycles, mean, active, in, out)
    steps = [
        (0, T.DoExchange, 4, 0, 10, 0.0, 4, 0, 0), (0, T.OnTileExecute, 5, 10, 90, 60.0, 3, 0, 0),
        (0, T.GlobalExchange, copy, 100, 20, 0.0, 4, 0, 512), (0, T.Sync, -1, 120, 80, 0.0, 0, 0, 0),
        (1, T.Sync, -1, 0, 100, 0.0, 0, 0, 0), (1, T.GlobalExchange, copy, 100, 20, 0.0, 4, 512, 0),
        (1, T.DoExchange, 7, 120, 10, 0.0, 4, 0, 0), (1, T.OnTileExecute, 8, 130, 70, 60.0, 3, 0, 0),
    ]  # fmt: skip
    names = (
        "ipu",
        "type",
        "program",
        "start",
        "cycles",
        "mean_tile_cycles",
        "active_tiles",
        "bytes_in",
        "bytes_out",
    )
    columns = dict(zip(names, map(list, zip(*steps, strict=True)), strict=True))
    sets = [-1, 0, -1, -1, -1, -1, -1, 1]
    ops = [0, 0, -1, -1, -1, -1, 1, 1]
    yield (
        "steps",
        {**columns, "run": 0, "compute_set": sets, "op_id": ops, "micro_batch": 0, "stage": columns["ipu"]},
    )
    rows = [  # name, module, category, ipu, bytes, always, first, last, op, first tile, tiles, tile bytes
        ("enc.weight", "enc", 0, 0, 360, 1, -1, -1, -1, 0, 4, 100),
        ("vertex code", "", 1, 0, 120, 1, -1, -1, -1, 0, 4, -1),
        ("exchange code", "", 2, 0, 24, 1, -1, -1, -1, 0, 4, -1),
        ("control code", "", 3, 0, 80, 1, -1, -1, -1, 0, 4, -1),
        ("fc", "enc", 4, 0, 128, 0, 0, 1, 0, 0, 2, 64), ("head.weight", "head", 0, 1, 50, 1, -1, -1, -1, 0, 1, 50),
        ("vertex code", "", 1, 1, 40, 1, -1, -1, -1, 0, 4, -1), ("out", "head", 4, 1, 990, 0, 1, 1, 1, 0, 1, 990),
    ]  # fmt: skip
    names = (
        "name", "module", "category", "ipu", "bytes", "always_live", "first_step", "last_step", "op_id", "first_tile",
        "tiles", "tile_bytes",
    )  # fmt: skip
    yield "variables", dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    yield "contexts", {
        "parent": [-1, 0, -1, 2], "name": ["enc", "fc", "head", "out"], "layer": "poptorch", "file": "model.py",
        "line": [-1, 7, -1, 8], "function": "forward", "op_id": [-1, 0, -1, 1],
    }  # fmt: skip


@pytest.fixture(scope="session")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small profile. Not to be changed."""
    from tremula.profile import ProfileWriter

    path = tmp_path_factory.mktemp("small") / "training" / "profile.pop"
    with ProfileWriter(path) as writer:
        writer.extend(_rows())
        for name, columns in _frames():
            writer.frame(name).add(columns)
    return path


@pytest.fixture
def small(small_file: Path) -> Iterator[Any]:
    """A report of the small profile."""
    import pva

    with pva.openReport(small_file) as report:
        yield report


@pytest.fixture(scope="session")
def older() -> Any:
    """Writes a profile as an earlier version did; the tests of the file format know how."""
    path = Path(__file__).parent.parent / "profile" / "conftest.py"
    spec = importlib.util.spec_from_file_location("older_profiles", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module._older
