"""The device of one program: chosen when its needs are known, held while attached."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from tremula import log
from tremula.device.settings import Connection, DeviceSettings, DeviceWords
from tremula.errors import Error
from tremula.invariants import present
from tremula.machine import systems
from tremula.machine.attach import Attachment, ipus_needed
from tremula.machine.counters import Meter
from tremula.trace import channels
from tremula.trace.points import Span

#: gives the device that the user holds, if that is one of IPUs
Held = Callable[[], Attachment | None]


class DeviceConnection:
    """Acquires, attaches and detaches a device. The device is released when this object is collected."""

    def __init__(self, settings: DeviceSettings, words: DeviceWords, held: Held | None = None) -> None:
        self._held = held
        self._settings = settings
        self._words = words
        self._attachment: Attachment | None = None
        #: IPUs that the program uses, once they are known
        self.ipus_used = settings.replicas

    @property
    def attached(self) -> bool:
        """Whether the device is held."""
        return self._attachment is not None and self._attachment.attached

    @property
    def meter(self) -> Meter | None:
        """Counts what happens on the device; None where it is not a virtual IPU."""
        return self._attachment.meter if self._attachment is not None else None

    def acquire(self, ipus_per_replica: int) -> None:
        """Choose the device; hold it from now on if the program always holds one."""
        settings, layer = self._settings, log.layer(self._words.device_layer)
        modelled = systems.model_only() if settings.use_model is None else settings.use_model
        hardware = not modelled and not settings.offline
        if modelled and not settings.offline and settings.count_cycles:
            raise Error(self._words.cycles_need_hardware, type=self._words.error_type)
        self.ipus_used = max(1, ipus_per_replica) * settings.replicas
        held = None if self._held is None else self._held()
        if held is not None:
            self._attachment = held
            return
        ipus = ipus_needed(
            self.ipus_used,
            round_up=settings.round_up,
            hardware=hardware,
            stack=self._words.stack,
            round_up_option=self._words.round_up_option,
        )
        if settings.use_model is not None:
            layer.info(
                "From the user configuration: Ipu model: %s", "Enabled" if settings.use_model else "Disabled"
            )
        attachment = Attachment(
            ipus, device_id=settings.device_id, hardware=hardware, own_holder=self._words.own_holder
        )
        weakref.finalize(self, attachment.detach)
        if settings.connection is Connection.ALWAYS:
            with Span(channels.drivers, "attach"):
                attachment.attach()
        if hardware:
            layer.info("Acquired %d IPU(s): running on device Id %d.", ipus, attachment.device.id)
        elif not settings.offline:
            layer.info("Acquired %d IPU(s): running on an IPU model (this machine shows no hardware).", ipus)
        self._attachment = attachment
        if attachment.attached:
            self._log_attached(attachment)

    def attach(self) -> None:
        """Take the device, unless it is held already."""
        attachment = self._attachment
        if attachment is None or self._settings.offline:
            raise Error(self._words.offline, type=self._words.error_type)
        if not attachment.attached:
            with Span(channels.drivers, "attach"):
                attachment.attach()
            self._log_attached(attachment)

    def detach(self) -> None:
        """Release the device if it is held by this object and not by the user."""
        if self._held is not None and self._attachment is self._held():
            return
        if self._attachment is not None:
            with Span(channels.drivers, "detach"):
                self._attachment.detach()

    def about_to_run(self) -> None:
        """Raise the simulated fault of the device if one is due."""
        present(self._attachment, "the device").about_to_run()

    def _log_attached(self, attachment: Attachment) -> None:
        log.layer(self._words.device_layer).debug("Attached to device %d", attachment.device.id)
