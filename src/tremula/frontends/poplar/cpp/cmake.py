"""The files by which CMake finds the libraries: `find_package(poplar)`, `find_package(poplibs)` and each library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tremula.settings.shims import STACK_VERSION

#: what is found together with these packages
_GROUPS = {"poplibs": ("poputil", "popops", "poplin", "popnn", "poprand", "popsparse", "popfloat")}


def write(directory: Path, libraries: Sequence[str]) -> None:
    """Write the files for all libraries below `directory`, which is lib/cmake."""
    for name in libraries:
        _package(directory, name, (name,) if name == "poplar" else ("poplar", name))
    for name, members in _GROUPS.items():
        _package(directory, name, ("poplar", *members))


def _package(directory: Path, name: str, targets: Sequence[str]) -> None:
    folder = directory / name
    folder.mkdir(parents=True)
    (folder / f"{name}-config.cmake").write_text(_config(name, targets), encoding="ascii")
    (folder / f"{name}-config-version.cmake").write_text(_version(), encoding="ascii")


def _config(name: str, targets: Sequence[str]) -> str:
    lines = [
        'get_filename_component(_tremula_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)',
    ]
    for target in targets:
        links = "" if target == "poplar" else "\n    INTERFACE_LINK_LIBRARIES poplar"
        lines.append(
            f"if(NOT TARGET {target})\n"
            f"  add_library({target} SHARED IMPORTED)\n"
            f"  set_target_properties({target} PROPERTIES\n"
            f'    IMPORTED_LOCATION "${{_tremula_root}}/lib/lib{target}.so"\n'
            f"    IMPORTED_SONAME lib{target}.so\n"
            f'    INTERFACE_INCLUDE_DIRECTORIES "${{_tremula_root}}/include"'
            f"{links})\n"
            "endif()"
        )
    lines += [f"set({name}_FOUND TRUE)", f'set({name}_INCLUDE_DIRS "${{_tremula_root}}/include")']
    lines += [f"set({name}_LIBRARIES {';'.join(targets)})", "unset(_tremula_root)"]
    return "\n".join(lines) + "\n"


def _version() -> str:
    return (
        f"set(PACKAGE_VERSION {STACK_VERSION})\n"
        "if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n"
        "  set(PACKAGE_VERSION_COMPATIBLE TRUE)\n"
        "endif()\n"
        "if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)\n"
        "  set(PACKAGE_VERSION_EXACT TRUE)\n"
        "endif()\n"
    )
