"""Where a node comes from: the modules around it and the user's line, as exporters write them down."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from tremula.program.op import SourceLine

#: torch.export's notes on a node
_SCOPES = "pkg.torch.onnx.name_scopes"
_TRACE = "pkg.torch.onnx.stack_trace"
_LINE = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,9}), in ([^\n]{1,200})')
_LONGEST = 20_000


def scope_of(name: str, properties: Mapping[str, str]) -> tuple[str, ...]:
    """The modules around a node, outermost first.

    The exporter of torch notes them; else they are in front of the slash in a node's name, as the older one of torch
    and builders with name scopes have it.
    """
    noted = properties.get(_SCOPES, "")
    if noted.startswith("[") and len(noted) < _LONGEST:
        try:
            scopes = ast.literal_eval(noted)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            scopes = ()
        # each is the whole path so far, and the last one that of the op itself
        paths = [each for each in scopes[:-1] if isinstance(each, str) and each]
        return _parts(paths[-1]) if paths else ()
    return _parts(name.strip("/").rpartition("/")[0])


def source_of(properties: Mapping[str, str]) -> SourceLine | None:
    """The user's line that a node comes from, if the exporter noted it."""
    found = _LINE.findall(properties.get(_TRACE, "")[-_LONGEST:])
    if not found:
        return None
    file, line, function = found[-1]
    return SourceLine(file, int(line), function)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[/.]", path) if part)
