"""YAML that people write: plain values only, of limited size and depth, and without references."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tremula.checked_json import BadValue

#: more than a configuration needs
LARGEST_BYTES = 1 << 20
_DEEPEST = 20


def read_yaml(path: Path) -> Any:
    """What a file says.

    Raises:
        BadValue: it cannot be read, or says more than plain values.
    """
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise BadValue(f"it has more than {LARGEST_BYTES:,} bytes")
        return parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise BadValue(problem.strerror or str(problem)) from None
    except UnicodeDecodeError:
        raise BadValue("it is not text in UTF-8") from None


def parse_yaml(text: str) -> Any:
    """What a text says.

    Raises:
        BadValue: it is not YAML, or says more than plain values.
    """
    import yaml

    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise BadValue(
                    f"line {event.start_mark.line + 1} refers to another place (*{event.anchor[:40]})"
                )
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _DEEPEST:
                    raise BadValue(f"line {event.start_mark.line + 1} is nested too deeply")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
        return yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise BadValue(" ".join(str(problem).split())[:500]) from None
    except (ValueError, RecursionError, OverflowError) as problem:
        # a date that is none, a number with too many digits
        if isinstance(problem, BadValue):
            raise
        raise BadValue(f"a value cannot be understood ({str(problem)[:200]})") from None
