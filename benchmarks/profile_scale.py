"""A profile of a large system: how long it takes to write and open, and how large it is.

    python -m benchmarks.profile_scale [--json OUT] [--keep FILE]

Run from the repository's root. The profile is made up, with the proportions of a large program: 64 IPUs of 1,472 tiles,
100,000 ops, 500,000 execution steps in two runs. `make(path)` writes it for other benchmarks. Times depend on the
machine; the limits are for two cores. Exits with 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import pathlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.memory.categories import Category
from tremula.profile import Profile, ProfileWriter, model
from tremula.profile.contexts import contexts_of
from tremula.profile.program_types import ProgramType
from tremula.profile.pyramids import LaneSteps, liveness_pyramid, step_pyramid
from tremula.profile.rows import packed
from tremula.profile.variables import linear, on_tiles

IPUS, TILES, TILE_BYTES = 64, 1_472, 638_976
CLOCK_HZ = 1.85e9
OPS, PLANS, SUPERSTEPS = 100_000, 5_000, 3
RUNS, STEPS = 2, 500_000
LAYERS = 512

WRITE_LIMIT_S, SIZE_LIMIT_MB, OPEN_LIMIT_S = 60.0, 200.0, 1.0

Ints = NDArray[np.int64]
_KINDS = ("addmm", "add", "native_layer_norm", "gelu", "softmax", "dropout", "bmm", "mul")


@dataclass(frozen=True)
class _Plans:
    """Cycles of each superstep of each plan."""

    compute: NDArray[np.float64]
    exchange: NDArray[np.float64]
    sync: NDArray[np.float64]
    balance: NDArray[np.float64]
    tiles: Ints


def make(path: str | pathlib.Path) -> pathlib.Path:
    """Write the profile to `path`."""
    chance = np.random.default_rng(22)
    plans = _Plans(
        compute=np.round(chance.gamma(2.0, 3_000.0, (PLANS, SUPERSTEPS))),
        exchange=np.round(chance.gamma(2.0, 600.0, (PLANS, SUPERSTEPS))),
        sync=np.full((PLANS, SUPERSTEPS), 150.0),
        balance=np.round(chance.uniform(0.4, 1.0, (PLANS, SUPERSTEPS)), 3),
        tiles=chance.integers(200, TILES, (PLANS, SUPERSTEPS)),
    )
    plan_of = chance.integers(0, PLANS, OPS)
    with ProfileWriter(path) as writer:
        writer.meta["figures"] = "made up, for measuring viewers"
        writer.meta["parts"] = "graph,execution"
        ops = list(_ops(plans, plan_of))
        writer.extend(_summary(ops))
        writer.extend(ops)
        writer.extend(_plan_rows(plans))
        contexts = contexts_of(ops, "poptorch")
        writer.frame("contexts").add(contexts.columns)
        nodes = _programs(writer, plans, plan_of, ops, contexts.of_op)
        _memory(writer, chance)
        _steps(writer, plans, plan_of, nodes)
    return pathlib.Path(path)


def _ops(plans: _Plans, plan_of: Ints) -> Iterator[model.Op]:
    compute, exchange, sync = (each.sum(axis=1) for each in (plans.compute, plans.exchange, plans.sync))
    for number, plan in enumerate(plan_of.tolist()):
        ipu, layer = _ipu_of(number), number * LAYERS // OPS
        kind = _KINDS[number % len(_KINDS)]
        module = f"model.layers.{layer}.{('attention', 'mlp')[number // 8 % 2]}.block{number // 16 % 8}"
        yield model.Op(
            id=number, name=f"{module.replace('.', '/')}/{kind}_{number}", target=f"aten.{kind}",
            phase="backward" if number >= OPS // 2 else "forward", ipu=ipu, stage=number * IPUS * 2 // OPS,
            module=module, source_file="/home/user/model.py", source_line=10 + number % 400, source_function="forward",
            runs=8, merged=1, compute_cycles=8 * float(compute[plan]), exchange_cycles=8 * float(exchange[plan]),
            sync_cycles=8 * float(sync[plan]), flops=8e6 * float(compute[plan]), temporary_bytes=20_000 + plan,
            unknown=0, plan_id=plan,
        )  # fmt: skip


def _ipu_of(op: int) -> int:
    """The forward pass goes through the IPUs, the backward pass back."""
    place = op * 2 * IPUS // OPS
    return place if place < IPUS else 2 * IPUS - 1 - place


def _summary(ops: list[model.Op]) -> Iterator[model.Row]:
    yield model.Target("mk2-gc200", "Mk2 GC200", "pod64", 64, 1, IPUS, TILES, TILE_BYTES, CLOCK_HZ)
    for section, name, value in (
        ("run", "model", "made up"), ("run", "kind", "training"), ("run", "fits", "likely"),
        ("deployment", "execution", "pipelined"), ("loops", "device_iterations", "1"),
        ("loops", "gradient_accumulation", "8"), ("engine", "autoReport.all", "true"),
    ):  # fmt: skip
        yield model.Option(section, name, value)
    work = sum(op.cycles for op in ops)
    step = work / IPUS * 1.3
    seconds = step / CLOCK_HZ
    for name, value, unit in (
        ("throughput", 8 / seconds, "samples/s"), ("throughput_per_replica", 8 / seconds, "samples/s"),
        ("cycles_per_step", step, "cycles"), ("seconds_per_step", seconds, "s"),
        ("device_cycles_per_step", step * 0.95, "cycles"), ("cycles_per_call", step, "cycles"),
        ("seconds_per_call", seconds, "s"), ("latency_seconds", seconds * 2, "s"),
        ("max_tile_bytes", 0.8 * TILE_BYTES, "bytes"), ("total_bytes", 0.7 * TILE_BYTES * TILES * IPUS, "bytes"),
        ("fit_probability", 0.7, "of 1"), ("work_cycles_per_step", work, "cycles"),
        ("flops_per_step", sum(op.flops for op in ops), "FLOP"), ("tile_balance", 0.6, "of 1"),
        ("samples_per_micro_batch", 1.0, "samples"), ("micro_batches_per_step", 8.0, "micro-batches"),
    ):  # fmt: skip
        yield model.Figure(name, value, unit, 0.8 * value, 1.2 * value, "made up")
    for count_name, count in (
        ("ops", OPS),
        ("ops with work", OPS),
        ("variables", 3 * OPS),
        ("distinct plans", PLANS),
    ):
        yield model.Count(count_name, count)
    for part, share in (
        ("compute", 0.6), ("exchange", 0.2), ("sync", 0.05), ("inter_ipu", 0.05), ("host_call", 0.02),
        ("host_transfer", 0.03), ("streaming", 0.0), ("collectives", 0.0), ("pipeline_idle", 0.05),
    ):  # fmt: skip
        yield model.Part(part, share * step)
    for stage in range(2 * IPUS):
        ipu = stage if stage < IPUS else 2 * IPUS - 1 - stage
        phase = "forward" if stage < IPUS else "backward"
        mine = work / 16 / IPUS
        yield model.Stage(stage, ipu, phase, mine * (stage < IPUS), 0.0, mine * (stage >= IPUS), 4 << 20)
    why = model.Json('{"plan":"made up"}')
    yield model.Transfer("copies between IPUs", "copy", 0.05 * step, 8 << 28, why)
    yield model.Transfer("host transfers", "host", 0.03 * step, 1 << 24, why)


def _plan_rows(plans: _Plans) -> Iterator[model.Row]:
    why = model.Json(
        json.dumps(
            {
                "plan": "AMP (16 in x 16 out, 16 units): 23 field x 8 in x 8 out on 1472 tiles",
                "formula": "made up for a measurement", "source": "none", "figures": {"tiles": 1472.0, "turns": 4.0},
                "alternatives": [{"plan": f"another, number {n}", "cycles": 1e5, "reason": "slower"} for n in range(6)],
            }
        )
    )  # fmt: skip
    total = (plans.compute + plans.exchange + plans.sync).sum(axis=1)
    for number in range(PLANS):
        yield model.Plan(number, float(total[number]), 20_000 + number, 1_200, 400, 900, 300, why)
        for at in range(SUPERSTEPS):
            tiles = int(plans.tiles[number, at])
            compute = float(plans.compute[number, at])
            yield model.Superstep(
                number, ("rearrange", "multiply", "reduce")[at], 1, compute,
                compute * float(plans.balance[number, at]), float(plans.exchange[number, at]),
                float(plans.sync[number, at]), tiles, TILES - tiles, 1e6 * compute,
            )  # fmt: skip
    for number in range(200):
        yield model.VertexType(
            number, f"poplin::ConvPartial1x1Out<half,half,true,false,16,{number}>", 1 << 20, 1 << 18
        )


@dataclass(frozen=True)
class _Nodes:
    """Rows of what steps name: the leaves of op n are leaf[n] and the ones after it."""

    leaf: Ints
    copy: int
    upload: int
    loop: int


_LEAVES = (
    (ProgramType.Sync, "Sync"),
    (ProgramType.DoExchange, "ExchangePre"),
    (ProgramType.OnTileExecute, ""),
)
_NAMES = ("PreArrange", "Convolve", "Reduce")


def _programs(
    writer: ProfileWriter, plans: _Plans, plan_of: Ints, ops: list[model.Op], contexts: list[int]
) -> _Nodes:
    per_op = 1 + len(_LEAVES) * SUPERSTEPS
    head = [
        (-1, ProgramType.OnEveryTileSwitch, "switch", "program"), (0, ProgramType.Sequence, "upload", "weights"),
        (1, ProgramType.StreamCopyBegin, "leaf", "weights/copyFromHost"),
        (1, ProgramType.StreamCopyMid, "leaf", "weights/copyFromHost"),
        (1, ProgramType.StreamCopyEnd, "leaf", "weights/copyFromHost"),
        (0, ProgramType.Sequence, "step", "training step"), (5, ProgramType.Repeat, "repeat", "micro-batches x 8"),
        (5, ProgramType.Sequence, "copy", "copies between IPUs"),
        (7, ProgramType.GlobalExchange, "leaf", "copies between IPUs/InterIpuCopy/GlobalPre"),
    ]  # fmt: skip
    stages = 2 * IPUS
    head += [(6, ProgramType.Sequence, "stage", f"stage {n}") for n in range(stages)]
    step = float(sum(op.cycles for op in ops))
    cycles = [step, 0.0, 0.0, 0.0, 0.0, step, step, 0.0, 0.0] + [step / 8 / stages] * stages
    frame = writer.frame("programs")
    frame.add(
        {
            "parent": [h[0] for h in head], "type": [int(h[1]) for h in head], "kind": [h[2] for h in head],
            "name": [h[3] for h in head], "repeats": [8 if h[2] == "repeat" else 1 for h in head],
            "cycles": cycles, "op_id": -1, "compute_set": -1, "context": -1, "code_bytes": 0,
        }
    )  # fmt: skip
    leaves = np.stack([plans.sync, plans.exchange, plans.compute], axis=2).reshape(PLANS, -1)
    types = np.array([0, *[int(each[0]) for _ in range(SUPERSTEPS) for each in _LEAVES]])
    types[0] = ProgramType.Sequence
    suffixes = ["", *[f"/{name}/{end}".rstrip("/") for name in _NAMES for _, end in _LEAVES]]
    within = np.tile([-1, *[(-1, -1, at)[n] for at in range(SUPERSTEPS) for n in range(3)]], 1)
    first = frame.rows
    for begin in range(0, OPS, 8_192):
        numbers = np.arange(begin, min(OPS, begin + 8_192))
        own = first + numbers * per_op
        parents = np.repeat(own, per_op).reshape(-1, per_op)
        parents[:, 0] = 9 + numbers * stages // OPS
        spent = leaves[plan_of[numbers]]
        sets = np.where(within >= 0, numbers[:, None] * SUPERSTEPS + within, -1)
        frame.add(
            {
                "parent": parents.ravel(), "type": np.tile(types, len(numbers)),
                "kind": ["op", *["leaf"] * (per_op - 1)] * len(numbers),
                "name": [ops[n].name + suffix for n in numbers.tolist() for suffix in suffixes],
                "repeats": 1, "cycles": np.concatenate([spent.sum(axis=1)[:, None], spent], axis=1).ravel(),
                "op_id": np.repeat(numbers, per_op), "compute_set": sets.ravel(),
                "context": np.repeat(np.array(contexts)[numbers], per_op),
                "code_bytes": np.where(np.arange(per_op * len(numbers)) % per_op > 0, 96, 0),
            }
        )  # fmt: skip
        plan = np.repeat(plan_of[numbers], SUPERSTEPS)
        at = np.tile(np.arange(SUPERSTEPS), len(numbers))
        writer.frame("compute_sets").add(
            {
                "name": [f"{ops[n].name}/{name}" for n in numbers.tolist() for name in _NAMES],
                "op_id": np.repeat(numbers, SUPERSTEPS), "plan_id": plan, "superstep": at,
                "vertices": plans.tiles[plan, at], "cycles": plans.compute[plan, at],
            }
        )  # fmt: skip
    plan, at = np.repeat(np.arange(PLANS), SUPERSTEPS), np.tile(np.arange(SUPERSTEPS), PLANS)
    writer.frame("vertices").add(
        {
            "plan_id": plan, "superstep": at, "vertex_type": plan % 200, "count": plans.tiles[plan, at],
            "tiles": plans.tiles[plan, at],
        }
    )  # fmt: skip
    return _Nodes(first + 1 + np.arange(OPS) * per_op, copy=8, upload=2, loop=6)


#: tensors of an IPU in `variables`, by use and size
_ALWAYS = (
    (Category.WEIGHTS, 1_200, 180_000), (Category.OPTIMIZER_STATE, 2_400, 60_000), (Category.STASHES, 800, 120_000),
    (Category.CONSTANTS, 200, 4_000), (Category.IO_BUFFERS, 4, 400_000),
)  # fmt: skip


def _memory(writer: ProfileWriter, chance: np.random.Generator) -> None:
    numbers = {category: number for number, category in enumerate(Category)}
    for category, number in numbers.items():
        writer.add(model.Category(number, category.value, int(category.always_live)))
    steps = np.arange(OPS)
    ipu_of = np.array([_ipu_of(op) for op in range(OPS)])
    writer.add(model.ProgramSteps(OPS, packed(steps), packed(np.zeros(OPS, dtype=np.int64))))
    for ipu in range(IPUS):
        mine = np.flatnonzero(ipu_of == ipu)
        tiles = _variables(writer, ipu, mine, numbers, chance)
        live, temporary, peak = _liveness(writer, ipu, mine, tiles.pop(Category.ACTIVATIONS))
        del temporary
        alive = tiles.pop(Category.TEMPORARIES)
        tiles[Category.ACTIVATIONS] = alive
        for category in (
            Category.VERTEX_CODE,
            Category.EXCHANGE_CODE,
            Category.CONTROL_CODE,
            Category.STACKS,
        ):
            tiles[category] = np.floor(np.linspace(60_000, 40_000, TILES)).astype(np.int64)
        whole = sum(tiles.values(), np.zeros(TILES, dtype=np.int64))
        always = int(whole.sum()) - int(tiles[Category.ACTIVATIONS].sum())
        writer.add(
            model.IpuMemory(
                ipu, int(whole.sum()), always, int(tiles[Category.ACTIVATIONS].sum()), int(whole.max()),
                int(whole.argmax()), int((whole > TILE_BYTES).sum()), peak, f"op {peak}", "forward",
            )
        )  # fmt: skip
        for category, values in tiles.items():
            writer.add(model.TileMemory(ipu, numbers[category], int(values.sum()), TILES, packed(values)))
        for category in (
            Category.VERTEX_CODE,
            Category.EXCHANGE_CODE,
            Category.CONTROL_CODE,
            Category.STACKS,
        ):
            writer.frame("variables").add(
                {
                    "name": category.value, "module": "", "category": numbers[category], "ipu": ipu,
                    "bytes": int(tiles[category].sum()), "always_live": 1, "first_step": -1, "last_step": -1,
                    "op_id": -1, "first_tile": 0, "tiles": TILES, "tile_bytes": -1,
                }
            )  # fmt: skip
        del live


def _variables(
    writer: ProfileWriter, ipu: int, mine: Ints, numbers: dict[Category, int], chance: np.random.Generator
) -> dict[Category, Ints]:
    """The variables of an IPU; bytes on its tiles by use, activations twice: those of each op, and at the peak."""
    found: dict[Category, Ints] = {}
    for category, count, mean in _ALWAYS:
        sizes = chance.integers(mean // 2, mean * 2, count) // 8 * 8
        tiles, share = linear(sizes, TILES)
        layers = ipu * LAYERS // IPUS + np.arange(count) * (LAYERS // IPUS) // count
        writer.frame("variables").add(
            {
                "name": [f"{category.value} {n}" for n in range(count)],
                "module": [f"model.layers.{layer}" for layer in layers.tolist()], "category": numbers[category],
                "ipu": ipu, "bytes": sizes, "always_live": 1, "first_step": -1, "last_step": -1, "op_id": -1,
                "first_tile": 0, "tiles": tiles, "tile_bytes": share,
            }
        )  # fmt: skip
        found[category] = on_tiles(np.zeros(count, dtype=np.int64), tiles, share, sizes, TILES)
    sizes = chance.integers(40_000, 400_000, len(mine)) // 8 * 8
    tiles, share = linear(sizes, TILES)
    last = np.minimum(mine + chance.integers(1, 40, len(mine)), int(mine.max()))
    writer.frame("variables").add(
        {
            "name": [f"activation {n}" for n in mine.tolist()],
            "module": [f"model.layers.{n * LAYERS // OPS}" for n in mine.tolist()],
            "category": numbers[Category.ACTIVATIONS], "ipu": ipu, "bytes": sizes, "always_live": 0,
            "first_step": mine, "last_step": last, "op_id": mine, "first_tile": 0, "tiles": tiles, "tile_bytes": share,
        }
    )  # fmt: skip
    live = np.zeros(OPS + 1, dtype=np.int64)
    np.add.at(live, mine, sizes)
    np.subtract.at(live, last + 1, sizes)
    found[Category.ACTIVATIONS] = np.cumsum(live)[:OPS]
    peak = int(found[Category.ACTIVATIONS].argmax())
    now = (mine <= peak) & (peak <= last)
    none = np.zeros(int(now.sum()), dtype=np.int64)
    found[Category.TEMPORARIES] = on_tiles(none, tiles[now], share[now], sizes[now], TILES)
    return found


def _liveness(writer: ProfileWriter, ipu: int, mine: Ints, live: Ints) -> tuple[Ints, Ints, int]:
    temporary = np.zeros(OPS, dtype=np.int64)
    writer.add(model.Liveness(ipu, OPS, packed(live), packed(temporary)))
    for level in liveness_pyramid(ipu, live):
        writer.frame("liveness_pyramid").add(level)
    for number in mine[:100].tolist():
        writer.add(
            model.Lifetime(
                ipu, f"activation {number}", f"model.layers.{number * LAYERS // OPS}", 100, number, number
            )
        )
    return live, temporary, int(live.argmax())


def _steps(writer: ProfileWriter, plans: _Plans, plan_of: Ints, nodes: _Nodes) -> None:
    """An upload and two runs, each with the same number of steps on every IPU."""
    clock = 1e6 / CLOCK_HZ
    upload = 5_000_000
    lane = 0
    for ipu in range(IPUS):
        types = np.array([ProgramType.StreamCopyBegin, ProgramType.StreamCopyMid, ProgramType.StreamCopyEnd])
        cycles = np.array([0, upload, 0])
        lane = _lane(
            writer, lane, 0, ipu, {"type": types, "cycles": cycles, "program": nodes.upload + np.arange(3)}
        )
    writer.add(
        model.Run(0, "weights to the device", "upload", 0.0, upload * clock, upload, 3 * IPUS, "made up")
    )
    per_lane = STEPS // RUNS // IPUS
    built = [_lane_columns(ipu, per_lane, plans, plan_of, nodes) for ipu in range(IPUS)]
    longest = max(int(columns["cycles"].sum()) for columns in built) + 1_000
    for columns in built:  # all end together
        columns["cycles"][-1] += longest - int(columns["cycles"].sum())
    start = upload * clock
    for run in range(1, RUNS + 1):
        for ipu, columns in enumerate(built):
            lane = _lane(writer, lane, run, ipu, columns)
        writer.add(
            model.Run(
                run,
                f"training {run}",
                "step",
                start,
                start + longest * clock,
                longest,
                per_lane * IPUS,
                "made up",
            )
        )
        start += longest * clock


def _lane_columns(ipu: int, count: int, plans: _Plans, plan_of: Ints, nodes: _Nodes) -> dict[str, Any]:
    """Ops of an IPU in turns, a copy after each turn, a wait at the end."""
    ops = np.flatnonzero(np.array([_ipu_of(op) for op in range(OPS)]) == ipu)
    per_op = len(_LEAVES) * SUPERSTEPS
    room = (count - 1) // per_op
    taken = np.resize(ops, room)
    plan = plan_of[taken]
    cycles = np.stack([plans.sync[plan], plans.exchange[plan], plans.compute[plan]], axis=2).reshape(-1)
    means = np.zeros((room, SUPERSTEPS, 3))
    means[:, :, 2] = plans.compute[plan] * plans.balance[plan]
    active = np.repeat(plans.tiles[plan].reshape(-1), 3)
    within = np.tile(np.arange(per_op), room)
    sets = np.where(within % 3 == 2, np.repeat(taken, per_op) * SUPERSTEPS + within // 3, -1)
    rest = count - room * per_op
    pad = np.full(rest, -1)
    types = np.concatenate([np.tile([int(each[0]) for each in _LEAVES], room * SUPERSTEPS), np.full(rest, 9)])
    types[-1] = ProgramType.Sync
    return {
        "type": types,
        "cycles": np.concatenate([cycles, np.full(rest, 100)]).astype(np.int64),
        "program": np.concatenate([np.repeat(nodes.leaf[taken], per_op) + within, np.full(rest, nodes.copy)]),
        "op_id": np.concatenate([np.repeat(taken, per_op), pad]),
        "compute_set": np.concatenate([sets, pad]),
        "mean_tile_cycles": np.concatenate([means.reshape(-1), np.zeros(rest)]),
        "active_tiles": np.concatenate([active, np.full(rest, TILES)]),
        "micro_batch": np.concatenate([np.repeat(np.arange(room) * 8 // max(1, room), per_op), pad]),
        "stage": np.concatenate([np.repeat(taken * 2 * IPUS // OPS, per_op), pad]),
    }


def _lane(writer: ProfileWriter, lane: int, run: int, ipu: int, columns: dict[str, Any]) -> int:
    frame = writer.frame("steps")
    first, cycles = frame.rows, columns["cycles"]
    starts = np.cumsum(cycles) - cycles
    rest = {
        "op_id": -1, "compute_set": -1, "mean_tile_cycles": np.zeros(len(cycles)), "active_tiles": TILES, "bytes_in": 0,
        "bytes_out": 0, "micro_batch": -1, "stage": -1,
    }  # fmt: skip
    whole = {**rest, **columns, "run": run, "ipu": ipu, "start": starts}
    frame.add(whole)
    writer.frame("lanes").add(
        {"run": run, "ipu": ipu, "first_step": first, "steps": len(cycles), "cycles": int(cycles.sum())}
    )
    for level in step_pyramid(
        lane, first, LaneSteps(columns["type"], starts, cycles, whole["mean_tile_cycles"])
    ):
        writer.frame("pyramid").add(level)
    return lane + 1


def measured(path: pathlib.Path) -> dict[str, float]:
    """Write the profile to `path` and read it in the ways of viewers; seconds and megabytes."""
    found: dict[str, float] = {}
    started = time.perf_counter()
    make(path)
    found["write_s"] = time.perf_counter() - started
    found["file_mb"] = path.stat().st_size / 1e6

    def timed(name: str, read: Any) -> None:
        gc.collect()  # what was read before is not to be freed while the clock runs
        begun = time.perf_counter()
        with Profile(path) as profile:
            read(profile)
        found[name] = time.perf_counter() - begun

    timed("open_s", _first_view)
    timed("ops_s", lambda profile: profile.ops)
    timed(
        "all_steps_s",
        lambda profile: [profile.frame("steps").column(c) for c in profile.frame("steps").columns],
    )
    timed("programs_s", lambda p: [p.frame("programs").column(c) for c in p.frame("programs").columns])
    timed("variables_s", lambda p: [p.frame("variables").column(c) for c in p.frame("variables").columns])
    timed("tile_s", lambda profile: profile.variables_on_tile(31, 700))
    timed(
        "zoom_s",
        lambda profile: [
            profile.frame("steps").window(c, 250_000, 2_000) for c in ("type", "start", "cycles")
        ],
    )
    return found


def _first_view(profile: Profile) -> None:
    """What a viewer needs first: target, figures and one lane of the pyramid."""
    profile.target, profile.figures, profile.ipus  # noqa: B018
    lanes, pyramid = profile.frame("lanes"), profile.frame("pyramid")
    steps = int(lanes.window("steps", IPUS, 1)[0])
    mine = np.flatnonzero(pyramid.column("lane") == IPUS)
    for name in ("start", "end", "compute", "exchange", "sync", "level"):
        pyramid.window(name, int(mine[0]), len(mine))
    if not steps:
        raise ValueError("a lane without steps")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 on a miss."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to a file as well")
    parser.add_argument("--keep", type=pathlib.Path, help="where to leave the profile")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = measured(options.keep or pathlib.Path(folder) / "profile.pop")
    for name, value in found.items():
        print(f"{name:14} {value:9.3f}")
    limits = {"write_s": WRITE_LIMIT_S, "file_mb": SIZE_LIMIT_MB, "open_s": OPEN_LIMIT_S}
    for name, limit in limits.items():
        print(
            f"{name}: {found[name] / limit:.0%} of the limit {limit:g}  {'met' if found[name] < limit else 'MISSED'}"
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(found[name] >= limit for name, limit in limits.items()))


if __name__ == "__main__":
    raise SystemExit(main())
