"""The import packages under which users' programs find Tremula."""

from __future__ import annotations

from pathlib import Path

#: the one that a Python program imports first
MAIN_SHIM = "poptorch"
#: the one for programs of several instances
DISTRIBUTED_SHIM = "popdist"
#: those that Tremula ships
SHIMS = (MAIN_SHIM, DISTRIBUTED_SHIM, "gcipuinfo", "libpvti", "popart")
#: the version of the real stack that they stand in for
STACK_VERSION = "3.3.0"
#: import packages of the real stack that programs name
STACK_PACKAGES = (*SHIMS, "popxl", "poplar", "pva")


def is_own_sdk(folder: str) -> bool:
    """Whether the folder that POPLAR_SDK_ENABLED names was made by `tremula cpp enable`."""
    return Path(folder, "lib", "libtremula_user_ops.so").is_file()
