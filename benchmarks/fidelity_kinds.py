"""The kinds of cases: their parameters, metrics and categories. Importing this needs no torch.

Kinds of one op take the fields of the planner's own description of that op (tremula.program.work), so that a new
field is a new parameter. The others are listed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tremula.program import work

from .fidelity_parameters import (
    Parameter,
    extents,
    is_list_of,
    is_number,
    is_whole,
    number,
    table,
    truth,
    whole,
    word,
    words,
    work_parameters,
)

#: what a report groups cases by, and the largest allowed median of the absolute error on rows that were not fitted
CATEGORIES: dict[str, float | None] = {
    "vertex": 0.02,
    "gemm": 0.12,
    "convolution": 0.08,
    "elementwise": 0.12,
    "stencil": 0.08,
    "exchange": 0.10,
    "training": 0.10,
    "scaling": 0.08,
    "inference": 0.15,
    "memory": 0.20,
    "host": None,
    "sparse": None,
    "other": None,
}
#: metrics of which less is better: the rate is the other way round
TIMES = (
    "cycles", "compute_cycles", "exchange_cycles", "sync_cycles", "time", "time_per_update", "time_per_call",
)  # fmt: skip
#: metrics that say nothing about a rate or bytes
UNRATED = ("fits", "max_batch_fit", "power", "energy_per_update")
#: type of data and of partial sums, by the name of a precision
PRECISIONS: dict[str, tuple[str, str]] = {
    "fp32": ("fp32", "fp32"),
    "fp32.32": ("fp32", "fp32"),
    "fp16": ("fp16", "fp32"),
    "fp16.16": ("fp16", "fp16"),
    "fp16.32": ("fp16", "fp32"),
    "fp8": ("fp8", "fp16"),
    "fp8.16": ("fp8", "fp16"),
}
#: what whole models may be written for; the first one has all of them
FRONT_ENDS = ("torch", "tensorflow")


@dataclass(frozen=True)
class Kind:
    """A kind of case. `metrics` maps each metric to the dimensions of the units that it may be given in."""

    name: str
    category: str
    metrics: Mapping[str, tuple[str, ...]]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    #: further parameters belong to something that has its own names (a vertex)
    open_parameters: bool = False
    #: the planner's description, for kinds of one op
    work: type | None = None

    @property
    def whole_model(self) -> bool:
        """Whether its cases are programs that a front end captures."""
        return "model" in self.parameters


def _loop(value: Any) -> bool:
    return (
        isinstance(value, dict) and set(value) == {"read", "handed_on"} and all(map(is_whole, value.values()))
    )


_OP_METRICS: dict[str, tuple[str, ...]] = {
    "cycles": ("cycles",),
    "compute_cycles": ("cycles",),
    "exchange_cycles": ("cycles",),
    "sync_cycles": ("cycles",),
    "time": ("time",),
    "throughput": ("flops", "items"),
    "bandwidth": ("bandwidth",),
    "temporary_bytes": ("bytes",),
    "tile_bytes": ("bytes",),
    "fits": ("truth",),
}
_OP_EXTRAS = {
    "repeats": number(),
    "flops": number(),
    "bytes": number(),
    "resident_bytes": number(),
    "phase": word(),
    "ipus": whole(),
    "loop": Parameter("a table of the whole numbers read and handed_on", _loop),
}


def _op(
    name: str, category: str, description: type, without: tuple[str, ...] = (), **extra: Parameter
) -> Kind:
    parameters = {**_OP_EXTRAS, **work_parameters(description, without), **extra}
    return Kind(name, category, _OP_METRICS, parameters, work=description)


_TRANSFER_METRICS: dict[str, tuple[str, ...]] = {
    "time": ("time",),
    "cycles": ("cycles",),
    "bandwidth": ("bandwidth",),
}


def _triple(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(is_number(each) for each in value)


_MODEL_PARAMETERS: dict[str, Parameter] = {
    "model": word(required=True),
    "arguments": table(),
    "batch": whole(required=True),
    "accumulation": whole(),
    "replicas": whole(),
    "device_iterations": whole(),
    "ipus_per_replica": whole(),
    "stages": words(),
    "schedule": word("grouped", "interleaved", "sequential"),
    "execution": word("single", "pipelined", "sharded", "serial_phased", "parallel_phased"),
    "training": truth(),
    "optimizer": word("sgd", "momentum", "combined_momentum", "adam", "adamw", "lamb", "rmsprop"),
    "state_dtype": word("fp16", "fp32"),
    "accumulator_dtype": word("fp16", "fp32"),
    "recompute": word("none", "all", "checkpoints", "norms"),
    "checkpoints": words(),
    "partials": word("fp16", "fp32"),
    "proportion": Parameter(
        "a number, or a list with one per IPU", lambda v: is_number(v) or is_list_of(is_number)(v)
    ),
    "weights": word("on_chip", "off_chip", "sharded", "off_chip_sharded"),
    "optimizer_state": word("on_chip", "off_chip", "sharded", "off_chip_sharded"),
    "accumulators": word("on_chip", "off_chip", "sharded", "off_chip_sharded"),
    "activations": word("on_chip", "off_chip"),
    "io_tiles": whole(),
    "overlap_io": truth(),
    "prefetch_depth": whole(),
    "synthetic_data": truth(),
    "items_per_sample": number(),
    "calls_in_flight": whole(),
    "call_seconds": number(),
    "sample_seconds": number(),
    "wide_weight_loads": truth(),
    "returned_share": number(),
    "batches": extents(),
}
_MODEL_METRICS: dict[str, tuple[str, ...]] = {
    "throughput": ("items",),
    "time_per_update": ("time",),
    "time_per_call": ("time",),
    "time": ("time",),
    "updates_per_second": ("rate",),
    "calls_per_second": ("rate",),
    "cycles": ("cycles",),
    "tile_bytes_max": ("bytes",),
    "max_batch_fit": ("count",),
    "fits": ("truth",),
    "power": ("power",),
    "energy_per_update": ("energy",),
}

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "vertex",
            "vertex",
            {"cycles": ("cycles",), "time": ("time",)},
            {"name": word(required=True)},
            True,
        ),
        _op("gemm", "gemm", work.MatMul, ("dtype", "partials")),
        Kind(
            "convolution",
            "convolution",
            _OP_METRICS,
            {
                "batch": whole(True),
                "in_channels": whole(True),
                "out_channels": whole(True),
                "field": extents(True),
                "kernel": extents(True),
                "stride": extents(),
                "padding": extents(),
                "dilation": extents(),
                "groups": whole(),
                "pass": word("forward", "input_gradient", "weight_gradient"),
                "proportion": number(),
                "copied_back": truth(),
                **_OP_EXTRAS,
            },
            work=work.Convolution,
        ),
        _op("sparse_gemm", "sparse", work.SparseMatMul, ("dtype", "partials")),
        _op("elementwise", "elementwise", work.Elementwise, ("dtype",)),
        _op("cast", "elementwise", work.Cast, ("dtype",)),
        _op("reduction", "elementwise", work.Reduction, ("dtype",)),
        _op("softmax", "elementwise", work.Softmax, ("dtype",)),
        _op("norm", "elementwise", work.Norm, ("dtype",)),
        _op("pool", "elementwise", work.Pool, ("dtype",)),
        _op("gather", "elementwise", work.Gather, ("dtype",)),
        _op("scatter", "elementwise", work.Scatter, ("dtype",), zeroed=truth()),
        _op("recurrent", "gemm", work.Recurrent, ("dtype", "partials")),
        _op("random", "elementwise", work.Random, ("dtype",)),
        _op("copy", "exchange", work.Copy, ("dtype",)),
        _op("fill", "elementwise", work.Fill, ("dtype",)),
        _op("sort", "elementwise", work.Sort, ("dtype",)),
        _op("scan", "elementwise", work.Scan, ("dtype",)),
        _op("stencil", "stencil", work.Stencil, ("dtype",), flops_per_point=number()),
        Kind(
            "bandwidth",
            "elementwise",
            {"bandwidth": ("bandwidth",)},
            {
                "operation": word("read", "write", "copy", "scale", "add", "triad", required=True),
                "compiled": truth(),
                "bytes_per_worker": number(),
            },
        ),
        Kind(
            "exchange",
            "exchange",
            {"exchange_cycles": ("cycles",), "cycles": ("cycles",), "time": ("time",)},
            {
                "bytes": number(),
                "fragments": whole(),
                "shared_bus": truth(),
                "tiles": extents(),
                "neighbours": Parameter("a list of [offset ..., bytes]", is_list_of(is_list_of(is_whole))),
                "mean": truth(),
                "phases": Parameter("a list of tables", is_list_of(lambda v: isinstance(v, dict))),
                "repeats": number(),
            },
        ),
        Kind(
            "inter_ipu",
            "exchange",
            _TRANSFER_METRICS,
            {
                "transfers": Parameter("a list of [from, to, bytes]", is_list_of(_triple), required=True),
                "pieces": whole(),
                "repeats": number(),
            },
        ),
        Kind(
            "collective",
            "exchange",
            _TRANSFER_METRICS,
            {
                "operation": word("all_reduce", "reduce_scatter", "all_gather", "broadcast", required=True),
                "bytes": number(True),
                "replicas": whole(True),
                "ipus_per_replica": whole(),
                "repeats": number(),
            },
        ),
        Kind(
            "host_transfer",
            "host",
            _TRANSFER_METRICS,
            {
                "in_bytes": number(),
                "out_bytes": number(),
                "leg": word("call", "tiles", "link"),
                "device_iterations": whole(),
                "replicas": whole(),
                "ipus_per_replica": whole(),
                "prefetch_depth": whole(),
                "overlap": truth(),
                "call_seconds": number(),
                "calls_in_flight": whole(),
                "repeats": number(),
            },
        ),
        Kind(
            "matrix_vector",
            "other",
            {"cycles": ("cycles",), "compute_cycles": ("cycles",), "exchange_cycles": ("cycles",)},
            {"rows": whole(True), "columns": whole(True), "segments": whole(), "worst": truth()},
        ),
        Kind("model", "training", _MODEL_METRICS, _MODEL_PARAMETERS),
        Kind("scaling", "scaling", {"ratio": ("ratio",)}, {**_MODEL_PARAMETERS, "base": table()}),
        Kind("memory", "memory", _MODEL_METRICS, _MODEL_PARAMETERS),
    )
}
