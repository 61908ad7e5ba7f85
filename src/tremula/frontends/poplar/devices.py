"""Devices: models of IPUs, the host, and the virtual IPUs of this machine, which programs attach to."""

from __future__ import annotations

from dataclasses import replace

from tremula.errors import Error
from tremula.frontends.poplar.errors import InvalidMachineModel, PoplarError
from tremula.frontends.poplar.target import TargetFacts, TargetKind, of_chip, of_host
from tremula.machine import device_ids
from tremula.machine.attach import Attachment
from tremula.machine.occupancy import Occupancy, current_occupancy


class Device:
    """One device. A model and the host can always be attached; virtual IPUs only while no other program holds them."""

    def __init__(self, target: TargetFacts, id: int = 0, ipus: tuple[int, ...] = (0,)) -> None:
        self.target = target
        self.id = id
        self.driver_ids = ipus
        self._attachment: Attachment | None = None
        self._attached = False

    def part(self, tiles_per_ipu: int) -> Device:
        """The same device, for programs that use some tiles of each IPU. Both share the hold on it."""
        if not 0 < tiles_per_ipu <= self.target.tiles_per_ipu:
            raise InvalidMachineModel(
                f"{tiles_per_ipu} tiles cannot be chosen from the {self.target.tiles_per_ipu} of an IPU"
            )
        made = Device(replace(self.target, tiles_per_ipu=tiles_per_ipu), self.id, self.driver_ids)
        made._attachment, made._attached = self._attachment, self._attached
        return made

    @property
    def attached(self) -> bool:
        """Whether this process holds it."""
        return self._attached

    @property
    def attachment(self) -> Attachment | None:
        """The hold on virtual IPUs; None for other devices, and while it is not attached."""
        return self._attachment if self._attached else None

    def attach(self) -> bool:
        """Take it; whether that worked."""
        if self._attached:
            return True
        if self.target.kind is TargetKind.IPU:
            try:
                attachment = Attachment(self.target.ipus, device_id=self.id, hardware=True)
                if attachment.device.id != self.id or not _free(self.id):
                    return False
                attachment.attach()
            except Error:
                return False
            self._attachment = attachment
        self._attached = True
        return True

    def detach(self) -> None:
        """Give it back."""
        if self._attachment is not None:
            self._attachment.detach()
            self._attachment = None
        self._attached = False


def _occupancy() -> Occupancy | None:
    try:
        return current_occupancy()
    except Error as problem:
        raise PoplarError(problem.message) from None


def _free(id: int) -> bool:
    """Whether nobody holds the IPUs of a device."""
    found = _occupancy()
    if found is None:
        return False
    device = device_ids.device(id, found.partition.size)
    return all(found.usage(ipu) is None for ipu in device.ipus)


def host_device() -> Device:
    """The host."""
    return Device(of_host())


def model_device(target: TargetFacts) -> Device:
    """A model of IPUs."""
    return Device(replace(target, kind=TargetKind.IPU_MODEL))


def devices(kind: TargetKind | None = None, ipus: int | None = None) -> list[Device]:
    """The devices of this machine: virtual IPUs by the number of IPUs, then the host. Models are made, not found."""
    found: list[Device] = []
    occupancy = _occupancy()
    if occupancy is not None and kind in (None, TargetKind.IPU):
        sizes = [ipus] if ipus is not None else list(device_ids.sizes(occupancy.partition.size))
        chip = occupancy.system.hardware.chip
        for size in sizes:
            facts = of_chip(chip, TargetKind.IPU, size)
            found += [Device(facts, each.id, tuple(each.ipus)) for each in occupancy.candidates(size)]
    if kind is TargetKind.CPU or (kind is None and ipus is None):
        found.append(host_device())
    return found


def device(id: int) -> Device:
    """The device of virtual IPUs with a number."""
    for each in devices(TargetKind.IPU):
        if each.id == id:
            return each
    raise PoplarError(f"there is no device {id}; `gc-info --list-devices` lists them")
