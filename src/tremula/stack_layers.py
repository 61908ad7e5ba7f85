"""Names of the layers of the emulated stack, as its log lines and errors show them. Programs search for these names."""

from __future__ import annotations

#: our own layer
OWN = "tremula"
#: the layer that users' programs call; our own log level follows its level
TOP = "poptorch"
#: groups of log layers: each has a level and a destination
LOG_GROUPS = (TOP, "popart", "poplar", "poplibs", OWN)
#: what the two-letter prefixes of layers stand for
SHORT_NAMES = {"PO": "poplar", "PL": "poplibs"}
#: groups whose lines have the bracketed layout
BRACKETED = (TOP, OWN)
#: the log layer that takes devices
DEVICE = f"{TOP}:cpp"

#: types of errors: of the layer that programs call, of its compiled half, and of communication between instances
TOP_ERROR = f"{TOP}_py_error"
COMPILED_ERROR = f"{TOP}_cpp_error"
INSTANCE_ERROR = "popdist_error"
