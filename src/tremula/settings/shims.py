"""The import packages under which users' programs find Tremula."""

from __future__ import annotations

#: the one that a Python program imports first
MAIN_SHIM = "poptorch"
#: the one for programs of several instances
DISTRIBUTED_SHIM = "popdist"
#: those that Tremula ships
SHIMS = (MAIN_SHIM, DISTRIBUTED_SHIM, "gcipuinfo")
#: import packages of the real stack that programs name
STACK_PACKAGES = (*SHIMS, "popart", "popxl", "poplar", "pva")
