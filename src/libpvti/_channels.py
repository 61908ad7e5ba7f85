"""Trace channels: named groups of marks."""

from __future__ import annotations

from tremula.trace import channels
from tremula.trace.channels import Channel as TraceChannel

traceDrivers = channels.drivers
tracePoplar = channels.poplar
traceFramework = channels.framework


def createTraceChannel(name: str) -> TraceChannel:
    """The channel with this name. It is created if it does not exist."""
    if not isinstance(name, str):
        raise TypeError(f"The name of a trace channel must be a str, not {type(name).__name__}")
    return channels.channel(name)


def enableTraceChannel(channel: TraceChannel) -> None:
    """Record marks of this channel from now on, if this process records at all."""
    channels.switch(_checked(channel), True)


def disableTraceChannel(channel: TraceChannel) -> None:
    """Do not record marks of this channel from now on."""
    channels.switch(_checked(channel), False)


def checkTraceChannel(channel: TraceChannel) -> bool:
    """Whether marks of this channel are recorded."""
    return _checked(channel).on


def listTraceChannel() -> list[list[str | bool]]:
    """Name of each channel, and whether its marks are recorded."""
    return [[each.name, each.on] for each in channels.listed()]


def _checked(channel: TraceChannel) -> TraceChannel:
    if not isinstance(channel, TraceChannel):
        raise TypeError(f"Not a trace channel from createTraceChannel: {channel!r}")
    return channel
