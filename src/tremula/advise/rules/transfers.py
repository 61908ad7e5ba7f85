"""Transfers between host and device: returned results, types of inputs, and overlap with computation.

Whether data survive a shorter type is for the user to say: uint8 is advised only for inputs that look like images.
"""

from __future__ import annotations

from collections.abc import Iterable

from tremula.advise.advice import Change, edited
from tremula.advise.rules.precision import is_half
from tremula.estimate.estimate import Estimate
from tremula.study.case import Case, Study

#: share of a step that waiting for transfers must have
_WAITING = 0.02
_IO_TILES = 32
#: an input of so many bytes per micro-batch is worth a shorter type
_LARGE_BYTES = 16384
_IMAGE_CHANNELS = (1, 3, 4)


def output_mode(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Only the last results of a call of training."""
    if not found.training or found.deployment.returned_share is None:
        return
    yield Change(
        rule="output mode",
        title="Return the results of the last micro-batch only",
        why=f"The results of {found.deployment.returned_share:.0%} of all micro-batches go back to the host.",
        code=study.subject.dialect.last_results,
        cost="Losses and results of the other micro-batches are not returned; another output mode gives their sum.",
        apply=edited(deployment={"returned_share": None}),
        sets=frozenset({"output mode"}),
    )


def prefetching(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Inputs sent ahead."""
    if found.deployment.prefetch_depth:
        return
    yield Change(
        rule="prefetching",
        title="Send inputs from the host ahead of time",
        why="Each micro-batch is sent only when the device requests it.",
        code=study.subject.dialect.prefetch(3),
        cost="Buffers use memory of the host.",
        apply=edited(deployment={"prefetch_depth": 3}),
        sets=frozenset({"prefetching"}),
    )


def overlap(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Transfers beside the computation, on I/O tiles."""
    deployment = found.deployment
    exposed = found.time.call.exposed_stream_seconds / found.seconds_per_step
    # the device offers it for programs that are not a pipeline
    if deployment.overlap_io or deployment.execution not in ("single", "sharded") or exposed < _WAITING:
        return
    accumulates = found.training and found.loops.gradient_accumulation > 1
    if found.loops.device_iterations == 1 and not accumulates:
        return
    sums = found.training and deployment.returned_share != 1.0
    returned = None if sums else deployment.returned_share
    yield Change(
        rule="overlapped transfers",
        title="Overlap transfers of inputs with the computation",
        why=f"The device waits for its inputs {exposed:.0%} of the time.",
        code=study.subject.dialect.overlap(_IO_TILES, accumulation_loop=accumulates, sum_results=sums),
        cost=f"{_IO_TILES} tiles of each IPU no longer compute.{' Results are returned as their sum.' * sums}",
        apply=edited(deployment={"io_tiles": _IO_TILES, "overlap_io": True, "returned_share": returned}),
        sets=frozenset({"output mode", "io tiles"}),
    )


def input_dtypes(study: Study, case: Case, found: Estimate) -> Iterable[Change]:
    """Large inputs in a shorter type, cast on the device."""
    if found.breakdown["host_transfer"] <= _WAITING * found.cycles_per_step or case.changes.sent:
        return
    inputs = study.subject.inputs
    large = [
        at for at, tensor in enumerate(inputs) if tensor.is_floating_point and tensor.bytes >= _LARGE_BYTES
    ]
    if large and not is_half(study, case):
        yield _sent(study, large, "float16", "half precision")
    images = [at for at in large if len(inputs[at].shape) == 4 and inputs[at].shape[1] in _IMAGE_CHANNELS]
    if images:
        yield _sent(study, images, "uint8", "single bytes")


def _sent(study: Study, chosen: list[int], dtype: str, what: str) -> Change:
    places = ", ".join(map(str, chosen))
    sent = tuple(dtype if at in chosen else None for at in range(len(study.subject.inputs)))
    scale = " Send pixels as 0 to 255 and scale them in forward." if dtype == "uint8" else ""
    return Change(
        rule=f"inputs as {dtype}",
        title=f"Send input {places} in {what} and cast on the device",
        why="The device waits for the host, and fewer bytes arrive sooner.",
        code=study.subject.dialect.input_dtype(chosen, dtype),
        cost=f"Values are rounded to {dtype}.{scale}",
        apply=edited(changes={"sent": sent}),
        # half inputs are part of half precision already
        sets=frozenset({"input types", *(["precision"] if dtype == "float16" else [])}),
    )
