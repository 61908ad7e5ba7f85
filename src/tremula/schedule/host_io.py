"""A call from the host: what it costs to start, to feed and to empty the device.

Inputs go from the host into a buffer beside the IPU (on a machine with a gateway: over the network) and from there to
the tiles. The second leg stops the device, unless I/O tiles overlap it with the computation; the first runs ahead by
as many batches as are prefetched. What the framework does around a call is paid once for all its iterations.
"""

from __future__ import annotations

from dataclasses import dataclass

from tremula.errors import Error
from tremula.formatting import counted
from tremula.hardware.system import System
from tremula.plan.cost import Why
from tremula.schedule.constants import FITTED_SCHEDULE, ScheduleConstants

_SOURCE = "rates in the machine's file (Poplar tutorial 6, gc-hosttraffictest); call overhead fitted"
_OVERHEAD_SOURCE = (
    "tutorials that make one call per step, without the device's time and without loading: Keras 2.83 ms, popxl 2.47 "
    "and 2.74 ms; no transfer"
)
#: seconds of a call between which published programs lie: an inference runtime in C++ (PopRT, fitted), and a step of
#: popxl with the loading of its batch
CALL_SECONDS_RANGE = (0.5e-3, 3.3e-3)


@dataclass(frozen=True)
class HostCall:
    """One call, in parts."""

    #: the whole call, from the program's view
    seconds: float
    #: time between the ends of two calls when several are under way; else the same
    period_seconds: float
    #: host work of the whole call
    overhead_seconds: float
    #: filling before the first and emptying after the last iteration of the call
    fill_seconds: float
    #: computation of one iteration, as are all below
    device_seconds: float
    #: transfers between buffer and tiles, and how much of them the device waits for
    stream_seconds: float
    exposed_stream_seconds: float
    #: transfers between host and buffer, and how much of them the device waits for
    link_seconds: float
    exposed_link_seconds: float
    why: Why

    @property
    def overhead_why(self) -> Why:
        """The reason for the overhead alone."""
        return Why(
            plan="what the framework does on the host around each call, whatever the call moves and computes",
            formula="seconds per call / device iterations",
            source=_OVERHEAD_SOURCE,
            figures={
                "seconds per call": self.overhead_seconds,
                "least of published programs": CALL_SECONDS_RANGE[0],
                "most of published programs": CALL_SECONDS_RANGE[1],
            },
        )

    @property
    def bound(self) -> str:
        """What sets the pace: device, host link or call."""
        if self.overhead_seconds + self.fill_seconds > self.seconds / 2:
            return "call"
        return "host link" if self.exposed_link_seconds > self.device_seconds else "device"


def call_time(
    device_seconds_per_iteration: float,
    in_bytes: float,
    out_bytes: float,
    device_iterations: int = 1,
    *,
    system: System,
    replicas: int = 1,
    ipus_per_replica: int = 1,
    prefetch_depth: int = 1,
    overlap: bool = False,
    synthetic: bool = False,
    calls_in_flight: int = 1,
    call_seconds: float | None = None,
    constants: ScheduleConstants = FITTED_SCHEDULE,
) -> HostCall:
    """The time of one call.

    Args:
        device_seconds_per_iteration: computation of one iteration, all replicas at once.
        in_bytes: bytes that each replica reads in an iteration.
        out_bytes: bytes that each replica gives back in an iteration.
        device_iterations: iterations of the device per call.
        system: the links.
        replicas: replicas that are fed at once.
        ipus_per_replica: IPUs of one replica; inputs enter on one of them, outputs leave from one.
        prefetch_depth: batches that the host sends ahead; 0: it waits for the device to ask.
        overlap: whether transfers to the tiles run beside the computation (I/O tiles).
        synthetic: no data is moved.
        calls_in_flight: calls that the program has under way at once; a plain loop has one.
        call_seconds: host work per call; the fitted one if None.
        constants: the fitted ones.
    """
    if device_iterations < 1 or calls_in_flight < 1 or replicas < 1 or ipus_per_replica < 1:
        raise Error(
            "A call takes at least one device iteration, replica, IPU and call under way; got "
            f"{device_iterations}, {replicas}, {ipus_per_replica} and {calls_in_flight}."
        )
    if min(in_bytes, out_bytes, device_seconds_per_iteration, prefetch_depth) < 0:
        raise Error("Bytes, seconds and prefetch depth of a call cannot be negative.")
    if synthetic:
        in_bytes = out_bytes = 0.0
    machine = system.machine
    stream = (in_bytes + out_bytes) / machine.tile_stream_bytes_per_second
    busy = max(device_seconds_per_iteration, stream) if overlap else device_seconds_per_iteration + stream
    feeding = min(replicas, max(1, machine.ipus // ipus_per_replica))
    share = machine.host_link_bytes_per_second / feeding
    rate_in = min(share, machine.host_to_ipu_bytes_per_second or share)
    rate_out = min(share, machine.ipu_to_host_bytes_per_second or share)
    link_in, link_out = in_bytes / rate_in, out_bytes / rate_out
    link = max(link_in, link_out)  # the two directions of the link are independent
    steady = max(busy, link) if prefetch_depth else busy + link_in + link_out
    # the first batch has nothing to hide behind, and neither have the last results
    fill = link_in + link_out if prefetch_depth else 0.0
    overhead = constants.call_seconds if call_seconds is None else call_seconds
    first = busy if prefetch_depth else steady
    seconds = overhead + fill + first + (device_iterations - 1) * steady
    period = max(device_iterations * steady, seconds / calls_in_flight)
    why = Why(
        plan=f"{counted(device_iterations, 'iteration')} per call, {counted(feeding, 'replica')} on a machine's "
        f"host link, {'' if prefetch_depth else 'not '}prefetched, {'' if overlap else 'not '}overlapped",
        formula="call + fill + (iterations - 1) x max(device and transfers to tiles, transfers to the buffer) + device",
        source=_SOURCE,
        figures={
            "call seconds": overhead,
            "fill seconds": fill,
            "device seconds per iteration": device_seconds_per_iteration,
            "transfers to and from tiles, seconds": stream,
            "transfers from host, seconds": link_in,
            "transfers to host, seconds": link_out,
        },
    )
    return HostCall(
        seconds=seconds,
        period_seconds=period,
        overhead_seconds=overhead,
        fill_seconds=fill,
        device_seconds=device_seconds_per_iteration,
        stream_seconds=stream,
        exposed_stream_seconds=busy - device_seconds_per_iteration,
        link_seconds=link if prefetch_depth else link_in + link_out,
        exposed_link_seconds=steady - busy,
        why=why,
    )
