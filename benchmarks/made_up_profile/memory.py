"""Variables, their bytes on tiles, and what is live when."""

from __future__ import annotations

import numpy as np

from tremula.memory.categories import Category
from tremula.profile import ProfileWriter, model
from tremula.profile.pyramids import liveness_pyramid
from tremula.profile.rows import packed
from tremula.profile.variables import linear, on_tiles

from .scale import TILE_BYTES, TILES, Ints, Scale

#: tensors of an IPU in `variables`, by use and size
_ALWAYS = (
    (Category.WEIGHTS, 1_200, 180_000), (Category.OPTIMIZER_STATE, 2_400, 60_000), (Category.STASHES, 800, 120_000),
    (Category.CONSTANTS, 200, 4_000), (Category.IO_BUFFERS, 4, 400_000),
)  # fmt: skip


_CODE = (Category.VERTEX_CODE, Category.EXCHANGE_CODE, Category.CONTROL_CODE, Category.STACKS)


def add_memory(writer: ProfileWriter, scale: Scale, chance: np.random.Generator) -> None:
    """Write the variables of all IPUs, and the memory that they take."""
    numbers = {category: number for number, category in enumerate(Category)}
    for category, number in numbers.items():
        writer.add(model.Category(number, category.value, int(category.always_live)))
    steps = np.arange(scale.ops)
    ipu_of = np.array([scale.ipu_of(op) for op in range(scale.ops)])
    writer.add(model.ProgramSteps(scale.ops, packed(steps), packed(np.zeros(scale.ops, dtype=np.int64))))
    for ipu in range(scale.ipus):
        mine = np.flatnonzero(ipu_of == ipu)
        tiles = _variables(writer, scale, ipu, mine, numbers, chance)
        live = tiles.pop(Category.ACTIVATIONS)
        peak = int(live.argmax())
        _liveness(writer, scale, ipu, mine, live)
        tiles[Category.ACTIVATIONS] = tiles.pop(Category.TEMPORARIES)
        for category in _CODE:
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
        for category in _CODE:
            writer.frame("variables").add(
                {
                    "name": category.value, "module": "", "category": numbers[category], "ipu": ipu,
                    "bytes": int(tiles[category].sum()), "always_live": 1, "first_step": -1, "last_step": -1,
                    "op_id": -1, "first_tile": 0, "tiles": TILES, "tile_bytes": -1,
                }
            )  # fmt: skip


def _variables(
    writer: ProfileWriter,
    scale: Scale,
    ipu: int,
    mine: Ints,
    numbers: dict[Category, int],
    chance: np.random.Generator,
) -> dict[Category, Ints]:
    """The variables of an IPU; bytes on its tiles by use, activations twice: those of each op, and at the peak."""
    found: dict[Category, Ints] = {}
    for category, count, mean in _ALWAYS:
        sizes = chance.integers(mean // 2, mean * 2, count) // 8 * 8
        tiles, share = linear(sizes, TILES)
        layers = ipu * scale.layers // scale.ipus + np.arange(count) * (scale.layers // scale.ipus) // count
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
            "module": [f"model.layers.{scale.layer_of(n)}" for n in mine.tolist()],
            "category": numbers[Category.ACTIVATIONS], "ipu": ipu, "bytes": sizes, "always_live": 0,
            "first_step": mine, "last_step": last, "op_id": mine, "first_tile": 0, "tiles": tiles, "tile_bytes": share,
        }
    )  # fmt: skip
    live = np.zeros(scale.ops + 1, dtype=np.int64)
    np.add.at(live, mine, sizes)
    np.subtract.at(live, last + 1, sizes)
    found[Category.ACTIVATIONS] = np.cumsum(live)[: scale.ops]
    peak = int(found[Category.ACTIVATIONS].argmax())
    now = (mine <= peak) & (peak <= last)
    none = np.zeros(int(now.sum()), dtype=np.int64)
    found[Category.TEMPORARIES] = on_tiles(none, tiles[now], share[now], sizes[now], TILES)
    return found


def _liveness(writer: ProfileWriter, scale: Scale, ipu: int, mine: Ints, live: Ints) -> None:
    writer.add(model.Liveness(ipu, scale.ops, packed(live), packed(np.zeros(scale.ops, dtype=np.int64))))
    for level in liveness_pyramid(ipu, live):
        writer.frame("liveness_pyramid").add(level)
    for number in mine[:100].tolist():
        writer.add(
            model.Lifetime(
                ipu, f"activation {number}", f"model.layers.{scale.layer_of(number)}", 100, number, number
            )
        )
