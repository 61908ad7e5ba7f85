"""The machine room in figures: starting instances, training together, attaching, looking at devices.

    python -m benchmarks.launch

Run from the repository's root, on a machine that is otherwise idle. One table after the other, each with its targets
beside the figures; each can be had alone: `python -m benchmarks.launch_start`, `launch_step`, `launch_devices`.
"""

from __future__ import annotations

import sys

from benchmarks import launch_devices, launch_start, launch_step

PARTS = (
    ("starting two processes: poprun beside torchrun", launch_start.main),
    ("a training step in two processes: popdist beside DistributedDataParallel", launch_step.main),
    ("devices", launch_devices.main),
)


def main() -> int:
    """Print all tables; 1 if something could not be measured or missed its target."""
    codes = []
    for number, (title, measure) in enumerate(PARTS):
        print(f"{chr(10) * bool(number)}== {title}", flush=True)
        codes.append(measure([]))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
