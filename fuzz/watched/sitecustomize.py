"""Read by Python at its start where this folder is on the path: watches the processes of an event target."""

from __future__ import annotations

import os
from pathlib import Path

from fuzz.watch import Watch

if "FUZZ_FOLDER" in os.environ:
    _folder = Path(os.environ["FUZZ_FOLDER"])
    Watch(_folder, record=_folder / "outside").active = True
