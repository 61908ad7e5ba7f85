"""Layers of this package that the capture gives as one node each: the device's libraries have them as one op."""

from __future__ import annotations

from tremula.frontends.tensorflow.rules.call import Call
from tremula.lowering.norms import norm as norm_of
from tremula.program.lowered import Lowered
from tremula.program.work import Elementwise, Fill, Gather, Random, Recurrent, Scatter

#: the node's type -> the kind of work; an AUGRU is a GRU whose update gate is scaled by attention
_RECURRENT = {"tremula.Lstm": "lstm", "tremula.Gru": "gru", "tremula.Augru": "gru"}


def recurrent(call: Call) -> Lowered:
    """tremula.Lstm, tremula.Gru and tremula.Augru: one layer over a sequence."""
    sizes = {name: int(call.attribute(name, 1)) for name in ("steps", "batch", "inputs", "hidden")}
    dtype = call.given(0).dtype
    works: list[Recurrent | Elementwise] = [
        Recurrent(
            kind=_RECURRENT[call.type],
            **sizes,
            dtype=dtype,
            partials=call.partials(dtype),
            proportion=call.proportion,
            gradient=call.backward,
        )
    ]
    if call.type == "tremula.Augru":
        gates = sizes["steps"] * sizes["batch"] * sizes["hidden"]
        works.append(
            Elementwise(
                "mul", gates, dtype, 2, broadcast_elements=sizes["steps"] * sizes["batch"], in_place=True
            )
        )
    return call.lowered(works)


def embedding(call: Call) -> Lowered:
    """tremula.Embedding: rows of a table; its gradient adds the gradients of rows into a table of zeros."""
    entries, width, lookups = (
        int(call.attribute(name, None) or 1) for name in ("entries", "width", "lookups")
    )
    parts = max(1, int(call.attribute("serialization_factor", 1)))
    # indices that the gradient reads may be among the results
    rows_of = next(
        (value for value in call.node.outputs if value.dtype in ("fp32", "fp16")), call.node.output
    )
    dtype, share = rows_of.dtype, call.proportion
    works: list[Gather | Scatter | Fill] = []
    for _ in range(parts):
        rows = max(1, entries // parts)
        if call.backward:
            works += [
                Fill(rows * width, dtype),
                Scatter(rows, width, lookups, dtype, "add", share),
            ]
        else:
            works.append(Gather(rows, width, lookups, dtype, share))
    return call.lowered(works)


def norm(call: Call) -> Lowered:
    """tremula.Norm: group, layer, instance or batch, by its attributes."""
    source = call.given(0)
    kind = str(call.attribute("kind", "group"))
    channels = int(call.attribute("channels", 0)) or source.extent(-1)
    samples = max(1, source.extent(0))
    statistics = {
        "batch": channels,
        "instance": samples * channels,
        "layer": samples,
    }.get(kind, samples * int(call.attribute("groups", 1)))
    reduced = max(1, source.elements // max(1, statistics))
    training = bool(call.attribute("training", True))
    return call.lowered((
        norm_of(kind, source, reduced, channels, training=training, gradient=call.backward),
    ))  # fmt: skip


def dropout(call: Call) -> Lowered:
    """tremula.Dropout: the mask is made from its seed on the way, in both passes, and never stored."""
    result = call.output
    work = Random("dropout", result.elements, result.dtype)
    return call.lowered((work,), reads=(call.node.inputs[0].name,))


def gelu(call: Call) -> Lowered:
    """tremula.Gelu, forward and gradient."""
    result = call.output
    if call.backward:
        return call.lowered((Elementwise("gelu_gradient", result.elements, result.dtype, operands=2),))
    return call.lowered((Elementwise("gelu", result.elements, result.dtype),))
