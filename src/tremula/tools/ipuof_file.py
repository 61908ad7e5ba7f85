"""The file that tells programs of a partition: one for each graph compile domain.

They are in the folder of the virtual IPUs and not in ~/.ipuof.conf.d. A real SDK reads that folder on every machine
that shares the home folder, and would try to connect to IPUs that do not exist.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tremula.atomic_files import atomic_open
from tremula.errors import Error
from tremula.machine import inventory
from tremula.machine.occupancy import Occupancy
from tremula.machine.systems import folder_of


def content(occupancy: Occupancy, gcd: int) -> dict[str, Any]:
    """What the file of one domain says; raises Error if the partition has no such domain."""
    partition = occupancy.partition
    if not 0 <= gcd < partition.gcds:
        raise Error(
            f"partition {partition.name} has {partition.gcds} graph compile domain(s), and no number {gcd}."
        )
    size = partition.size // partition.gcds
    records = inventory.records(occupancy)[gcd * size : (gcd + 1) * size]
    return {
        "attributes": {
            "GCD Id": str(gcd),
            "Partition Id": partition.name,
            "Partition Sync Type": partition.sync_type,
            "Reconfigurable": "true" if partition.reconfigurable else "false",
            "Virtual": "true",
        },
        "devices": [
            {
                "DNC Id": order,
                "IPU Id": record.number,
                "IPU-M Id": record.machine,
                "IP": record.host,
                "Routing Id": 0,
            }
            for order, record in enumerate(records)
        ],
        "name": partition.name,
    }


def write(occupancy: Occupancy) -> list[Path]:
    """Write the files of a partition."""
    paths = []
    for gcd in range(occupancy.partition.gcds):
        path = path_of(occupancy, gcd)
        with atomic_open(path) as file:
            json.dump(content(occupancy, gcd), file, indent=2)
            file.write("\n")
        paths.append(path)
    return paths


def remove(occupancy: Occupancy) -> None:
    """Remove them."""
    for gcd in range(occupancy.partition.gcds):
        path_of(occupancy, gcd).unlink(missing_ok=True)


def path_of(occupancy: Occupancy, gcd: int) -> Path:
    """Where the file of a domain is."""
    return folder_of(occupancy.system) / "ipuof.conf.d" / f"{occupancy.partition.name}_gcd{gcd}_ipuof.conf"
