"""Vertices by name, so that a case file or a report can ask for the cycles of one call.

A module adds its vertices with `register("name", function)` when it is imported. Each function takes its sizes,
a chip as `chip` and keyword options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tremula.hardware.chip import Chip
from tremula.plan import (
    cast,
    copy,
    elementwise_vertices,
    loop_vertices,
    random,
    rearrange,
    reduction_vertices,
)
from tremula.plan.vertices import amp, hmac, outer_product, reduce, slic, vmac

#: cycles of one call on a tile, by name
VERTICES: dict[str, Callable[..., Any]] = {}


def register(name: str, cycles: Callable[..., Any]) -> None:
    """Add a vertex; a name stands for one formula only."""
    known = VERTICES.setdefault(name, cycles)
    if known is not cycles:
        raise ValueError(f"the vertex {name!r} is registered already, by {known.__module__}")


def vertex_cycles(name: str, chip: Chip, **parameters: Any) -> float:
    """Cycles of one call of the vertex `name` on a tile of `chip`."""
    if name not in VERTICES:
        raise KeyError(f"no vertex is called {name!r}; there are {', '.join(sorted(VERTICES))}")
    function = VERTICES[name]
    try:
        inspect.signature(function).bind(chip=chip, **parameters)
    except TypeError as error:
        raise TypeError(f"the vertex {name!r}: {error}; it takes {inspect.signature(function)}") from None
    return float(function(chip=chip, **parameters))


register("amp_1x1", amp.one_by_one_cycles)
register("amp_nx1", amp.column_cycles)
register("slic", slic.slic_cycles)
register("hmac", hmac.hmac_cycles)
register("vmac", vmac.vmac_cycles)
register("outer_product", outer_product.outer_product_cycles)
register("reduce", reduce.reduce_cycles)
register("cast_partials", reduce.cast_cycles)
register("dynamic_slice", reduce.slice_cycles)
register("accumulate", reduce.accumulate_cycles)
for _name, _cycles in (elementwise_vertices.ELEMENTWISE_VERTICES | loop_vertices.LOOP_VERTICES).items():
    register(_name, _cycles)
register("cast", cast.cast_cycles)
register("fill", copy.fill_cycles)
register("rearrange", rearrange.rearrange_cycles)
register("random", random.random_cycles)
register("reduce_contiguous", reduction_vertices.contiguous_cycles)
register("reduce_strided", reduction_vertices.strided_cycles)
