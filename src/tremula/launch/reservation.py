"""The device that a run reserves on this host, logged as the real launcher does, and the variables about it."""

from __future__ import annotations

import json
import os
from typing import Any

from tremula.launch.check import Plan
from tremula.launch.logger import Logger
from tremula.launch.placement import IPUS_PER_LINK_DOMAIN
from tremula.machine import device_ids
from tremula.machine.occupancy import Occupancy
from tremula.machine.reservation import Reservation, reserve
from tremula.settings.environment import env


class Devices:
    """The device that a run holds until it ends; a context manager."""

    def __init__(self, plan: Plan, logger: Logger) -> None:
        self._plan = plan
        self._logger = logger
        self._reservation: Reservation | None = None
        #: the id of the device on each host, of which each instance has a part; None in offline mode
        self.parent: int | None = None
        self.token = ""  #: lets processes of this host attach inside the reservation
        self.target_options = ""  #: how its IPUs are linked, as JSON; empty without IPUs

    def __enter__(self) -> Devices:
        """Reserve the device. Raises Error if none is free; the message names the processes that hold them."""
        plan, logger, layout = self._plan, self._logger, self._plan.layout
        ipus = layout.ipus_per_host
        if plan.settings.offline_mode:
            logger.info("Offline mode: no IPU is reserved or attached")
            return self
        occupancy = plan.occupancy
        if occupancy is None:
            logger.info("There are no virtual IPUs: the instances use an IPU model, and nothing is reserved")
            self.parent = device_ids.of_size(ipus, ipus)[0].id
            return self
        self._log_partition(occupancy)
        found = occupancy.candidates(ipus)
        logger.debug(f"Found {len(found)} devices with {ipus} IPUs")
        if plan.here is None:
            self.parent = found[0].id
        else:
            self._take(ipus)
        parent = self.parent
        if layout.instances_per_host > 1 and parent is not None:
            each = layout.ipus_of_child
            children = [
                child
                for child in device_ids.of_size(each, occupancy.partition.size)
                if set(child.ipus) <= set(device_ids.device(parent, occupancy.partition.size).ipus)
            ]
            logger.debug(
                f"Found {len(children)} children (expected {layout.instances_per_host}) of device {parent} "
                f"with {each} IPUs each"
            )
        logger.info(f"Preparing parent device {parent}")
        logger.debug(f"Using target options: {self.target_options}")
        return self

    def __exit__(self, *_error: object) -> None:
        """Release the device."""
        if self._reservation is not None:
            self._reservation.release()

    def _take(self, ipus: int) -> None:
        timeout = None if env.get("POPTORCH_WAIT_FOR_IPU") else 0.0
        self._reservation = reserve(
            ipus, partition=self._plan.settings.vipu_partition or None, timeout=timeout
        )
        if self._reservation is not None:
            self.parent = self._reservation.device.id
            self.token = self._reservation.token
            self._logger.debug(f"Attached to device {self.parent}")

    def _log_partition(self, occupancy: Occupancy) -> None:
        partition, logger = occupancy.partition, self._logger
        if not self._plan.settings.vipu_partition and not os.environ.get("IPUOF_VIPU_API_PARTITION_ID"):
            logger.info(f"Using V-IPU partition {partition.name} as it is the only one available")
        logger.info(f"Partition {partition.name} already exists and is in state: PS_ACTIVE")
        if partition.reconfigurable:
            logger.debug(f"The reconfigurable partition {partition.name} is OK")
        own: dict[str, Any] = env.get("POPLAR_TARGET_OPTIONS") or {}
        logger.debug(f"Target options from environment: {_compact(own)}")
        options = {
            "ipuLinkDomainSize": str(min(partition.size, IPUS_PER_LINK_DOMAIN)),
            "ipuLinkConfiguration": "slidingWindow" if partition.size >= IPUS_PER_LINK_DOMAIN else "default",
            "ipuLinkTopology": occupancy.system.hardware.topology,
            "gatewayMode": "true",
            "instanceSize": str(max(1, partition.size // self._plan.layout.num_instances)),
        }
        logger.debug(f"Target options from V-IPU partition: {_compact(options)}")
        self.target_options = _compact({**options, **own})


def _compact(options: dict[str, Any]) -> str:
    return json.dumps(options, separators=(",", ":"))
