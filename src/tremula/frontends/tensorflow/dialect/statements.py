"""Python statements that changes of Keras programs are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Lines = tuple[str, ...]

#: calls are broken from this length on
_WIDE = 100
_CAST = "[tf.cast(x, tf.{dtype}) if {which} else x for i, x in enumerate(tf.nest.flatten(inputs))]"

#: calls of layers with their paths, those inside nested models too
LAYER_CALLS = (
    "def layer_calls(assignments, path=''):",
    "    for call in assignments:",
    "        yield path + call.layer.name, call",
    "        if call.is_nested_model:",
    "            yield from layer_calls(call.pipeline_stage_assignments, path + call.layer.name + '/')",
)


def call(function: str, arguments: Sequence[str]) -> Lines:
    """A call, on one line if it is short."""
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _WIDE:
        return (line,)
    return (f"{function}(", *(f"    {each}," for each in arguments[:-1]), f"    {arguments[-1]})")


def merged(attribute: str, options: Mapping[str, str]) -> Lines:
    """Arguments of a call: the options that `attribute` holds, and others."""
    if not options:
        return (f"**{attribute}",)
    *first, last = (f'"{name}": {value}' for name, value in options.items())
    return (f"**{{**{attribute}", *first, f"{last}}}")


def library_options(name: str, value: str) -> Lines:
    """An option for convolutions and matrix products of the whole device."""
    return tuple(
        f'config.{each}.poplar_options = {{**config.{each}.poplar_options, "{name}": "{value}"}}'
        for each in ("convolutions", "matmuls")
    )


def cast_inputs(dtype: str, which: str) -> Lines:
    """Inputs `x` (number `i`) for which the expression `which` holds are cast on the host."""
    return (
        "def shorter(inputs):",
        f"    cast = {_CAST.format(dtype=dtype, which=which)}",
        "    return tf.nest.pack_sequence_as(inputs, cast)",
        "dataset = dataset.map(lambda inputs, *rest: (shorter(inputs), *rest))  # better where it is made",
    )


def micro_batches_of_schedule(schedule: str, wanted: int, stages: int, training: bool) -> int:
    """The fewest micro-batches, at least `wanted`, that a schedule takes.

    Grouped stages take multiples of those of both directions, interleaved ones of the forward stages.
    """
    if stages <= 1 or schedule == "sequential":
        return wanted
    group = 2 * stages if training and schedule == "grouped" else stages
    return -(-wanted // group) * group
