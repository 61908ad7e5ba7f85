"""The argparse parsers of all commands, for shell completion and manual pages.

Workloads and commands of other packages are listed by name and imported on demand.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Mapping

from tremula.errors import Error

#: the function that creates each command's parser: module, function, arguments
_BUILDERS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "tremula": ("tremula.cli.main", "build_parser", ()),
    "poprun": ("tremula.launch.help_text", "build_parser", ()),
    "popc": ("tremula.tools.popc", "build_parser", ()),
    "gc-docker": ("tremula.tools.container", "build_parser", ("docker",)),
    "gc-exchangetest": ("tremula.tools.exchange_test", "build_parser", ()),
    "gc-exchangewritetest": ("tremula.tools.exchange_test", "build_parser_write", ()),
    "gc-flops": ("tremula.tools.flops", "build_parser", ()),
    "gc-gwlinkstraffictest": ("tremula.tools.link_traffic", "build_parser_gateway", ()),
    "gc-hostsynclatencytest": ("tremula.tools.host_sync", "build_parser", ()),
    "gc-hosttraffictest": ("tremula.tools.host_traffic", "build_parser", ()),
    "gc-info": ("tremula.tools.info", "build_parser", ()),
    "gc-inventory": ("tremula.tools.device_list", "build_parser", ()),
    "gc-iputraffictest": ("tremula.tools.link_traffic", "build_parser", ()),
    "gc-links": ("tremula.tools.links", "build_parser", ()),
    "gc-memorytest": ("tremula.tools.memory_test", "build_parser", ()),
    "gc-monitor": ("tremula.tools.monitor", "build_parser", ()),
    "gc-podman": ("tremula.tools.container", "build_parser", ("podman",)),
    "gc-powertest": ("tremula.tools.power_test", "build_parser", ()),
    "gc-reset": ("tremula.tools.reset", "build_parser", ()),
    "vipu": ("tremula.tools.vipu", "build_parser", ()),
    "cosmictagger": ("cosmictagger.config.help", "build_parser", ()),
    "cosmoflow": ("cosmoflow.main", "build_parser", ()),
}
COMMANDS = tuple(_BUILDERS)


def parser(command: str) -> argparse.ArgumentParser:
    """The parser of a command.

    Raises:
        Error: the command does not exist, or its package is not installed.
    """
    if command not in _BUILDERS:
        raise Error(f"Unknown command {command!r}; the commands are {', '.join(COMMANDS)}.")
    module, function, arguments = _BUILDERS[command]
    try:
        build: Callable[..., argparse.ArgumentParser] = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as missing:
        raise Error(f"{command} is not installed: no module named {missing.name}.") from None
    return build(*arguments)
