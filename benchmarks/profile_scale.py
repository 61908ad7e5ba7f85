"""A profile of a large system: how long it takes to write and open, and how large it is.

    python -m benchmarks.profile_scale [--json OUT] [--keep FILE]

Run from the repository's root. `benchmarks.made_up_profile` writes the profile: 64 IPUs of 1,472 tiles, 100,000 ops,
500,000 execution steps in two runs. Times depend on the machine; the limits are for two cores. Exits with 1 if a
limit is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import pathlib
import tempfile
import time
from typing import Any

import numpy as np

from tremula.profile import Profile

from .made_up_profile import make

WRITE_LIMIT_S, SIZE_LIMIT_MB, OPEN_LIMIT_S = 60.0, 200.0, 1.0

#: the first one of a training run
_LANE = 64


def measured(path: pathlib.Path) -> dict[str, float]:
    """Write the profile to `path` and read it in the ways of viewers; seconds and megabytes."""
    found: dict[str, float] = {}
    started = time.perf_counter()
    make(path)
    found["write_s"] = time.perf_counter() - started
    found["file_mb"] = path.stat().st_size / 1e6

    def timed(name: str, read: Any) -> None:
        gc.collect()  # what was read before is not to be freed while the clock runs
        begun = time.perf_counter()
        with Profile(path) as profile:
            read(profile)
        found[name] = time.perf_counter() - begun

    timed("open_s", _first_view)
    timed("ops_s", lambda profile: profile.ops)
    timed(
        "all_steps_s",
        lambda profile: [profile.frame("steps").column(c) for c in profile.frame("steps").columns],
    )
    timed("programs_s", lambda p: [p.frame("programs").column(c) for c in p.frame("programs").columns])
    timed("variables_s", lambda p: [p.frame("variables").column(c) for c in p.frame("variables").columns])
    timed("tile_s", lambda profile: profile.variables_on_tile(31, 700))
    timed(
        "zoom_s",
        lambda profile: [
            profile.frame("steps").window(c, 250_000, 2_000) for c in ("type", "start", "cycles")
        ],
    )
    return found


def _first_view(profile: Profile) -> None:
    """What a viewer needs first: target, figures and one lane of the pyramid."""
    profile.target, profile.figures, profile.ipus  # noqa: B018
    lanes, pyramid = profile.frame("lanes"), profile.frame("pyramid")
    steps = int(lanes.window("steps", _LANE, 1)[0])
    mine = np.flatnonzero(pyramid.column("lane") == _LANE)
    for name in ("start", "end", "compute", "exchange", "sync", "level"):
        pyramid.window(name, int(mine[0]), len(mine))
    if not steps:
        raise ValueError("a lane without steps")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 on a miss."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to a file as well")
    parser.add_argument("--keep", type=pathlib.Path, help="where to leave the profile")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = measured(options.keep or pathlib.Path(folder) / "profile.pop")
    for name, value in found.items():
        print(f"{name:14} {value:9.3f}")
    limits = {"write_s": WRITE_LIMIT_S, "file_mb": SIZE_LIMIT_MB, "open_s": OPEN_LIMIT_S}
    for name, limit in limits.items():
        print(
            f"{name}: {found[name] / limit:.0%} of the limit {limit:g}  {'met' if found[name] < limit else 'MISSED'}"
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(found[name] >= limit for name, limit in limits.items()))


if __name__ == "__main__":
    raise SystemExit(main())
