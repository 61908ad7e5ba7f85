"""The text of `poprun --help` and `poprun --version`, from the table of options and the installed packages."""

from __future__ import annotations

import argparse
import json
import platform
import textwrap

from tremula import __version__
from tremula.launch.options import CONFIGURATION, FLAG, GENERIC, OPTIONS, OUTPUT, SWITCH, Option
from tremula.settings.shims import DISTRIBUTED_SHIM

_LEFT = 36
_WIDTH = 110


def help_text() -> str:
    """The whole help."""
    lines = [
        "poprun [options] program [arguments]",
        "",
        "Starts a program as several instances that share its replicas, on one host or several. If one instance fails,",
        "all are stopped. Options come before the program and can be abbreviated. Flags take yes or no.",
    ]
    for group in (GENERIC, CONFIGURATION, OUTPUT):
        lines += ["", f"{group}:"]
        for option in OPTIONS:
            if option.group == group:
                lines += _rows(option)
    lines += ["", "Options marked * have no effect on virtual IPUs; poprun warns if they are given."]
    return "\n".join(lines)


def build_parser() -> argparse.ArgumentParser:
    """The options as an argparse parser, for shell completion and the manual page. poprun itself does not use it."""
    made = argparse.ArgumentParser(
        prog="poprun",
        add_help=False,
        description="Start a program as several instances that share its replicas, on one host or several.",
    )
    groups = {name: made.add_argument_group(name) for name in (GENERIC, CONFIGURATION, OUTPUT)}
    for option in OPTIONS:
        names = [f"--{option.name}", *([option.short] if option.short else [])]
        # "-vv" and "--vv" are one option
        names = [name for name in names if name not in made._option_string_actions]
        note = f" (no effect here: {option.no_effect})" if option.no_effect else ""
        text = f"{option.help}{note}".replace("%", "%%")
        if option.kind in (FLAG, SWITCH):
            groups[option.group].add_argument(*names, action="store_true", help=text)
        else:
            groups[option.group].add_argument(*names, metavar=option.value.upper() or "VALUE", help=text)
    made.add_argument("program", nargs=argparse.REMAINDER, help="the program and its arguments")
    return made


def default_text(option: Option) -> str:
    """The default as users would write it, or empty if there is none."""
    if option.default is None or option.default == "" or option.kind == SWITCH:
        return ""
    if option.kind == FLAG:
        return "yes" if option.default else "no"
    return str(option.default)


def version_text(form: str) -> str:
    """The version as `text`, or with the versions of its dependencies as `full-text` or `full-json`."""
    if form in ("", "text"):
        return f"poprun (Tremula) {__version__}"
    import importlib.metadata  # slow to load, and rarely needed

    versions = {"poprun": __version__, DISTRIBUTED_SHIM: __version__, "python": platform.python_version()}
    for package in ("torch", "numpy"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    if form == "full-json":
        return json.dumps(versions, indent=1)
    return "\n".join(f"{name}: {version}" for name, version in versions.items())


def _rows(option: Option) -> list[str]:
    names = f"{option.short}, --{option.name}" if option.short else f"--{option.name}"
    if option.kind == FLAG:
        names += " [yes|no]"
    elif option.value:
        names += f" {option.value}"
    default = default_text(option)
    text = f"{'* ' if option.no_effect else ''}{option.help}{f' ({default})' if default else ''}"
    wrapped = textwrap.wrap(text, _WIDTH - _LEFT)
    first = f"  {names}".ljust(_LEFT)
    if len(first) > _LEFT:
        return [first, *(" " * _LEFT + line for line in wrapped)]
    return [first + wrapped[0], *(" " * _LEFT + line for line in wrapped[1:])]
