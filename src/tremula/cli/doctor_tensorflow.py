"""The checks of `tremula doctor` for TensorFlow. They do not import TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from tremula.cli.finding import Finding
from tremula.frontends.tensorflow import hooks, versions


def check_tensorflow() -> Iterator[Finding]:
    """The installed TensorFlow, whether IPU programs run on it, and what Tremula would change in it."""
    found = versions.installed()
    if not found.tensorflow:
        yield Finding(
            "note", "TensorFlow", f"not installed. Only TensorFlow programs need it. {found.problem}"
        )
        return
    keras = f"tf_keras {found.tf_keras}" if found.tier == 2 else f"Keras {found.keras or 'none'}"
    if found.problem:
        yield Finding("problem", "TensorFlow", found.problem)
        return
    tier = (
        "the release that Tremula is fully tested with"
        if found.tier == 1
        else "a release that Tremula is partly tested with"
    )
    yield Finding("ok", "TensorFlow", f"{found.tensorflow} with {keras}, {tier}")
    yield _finder()
    for hook in hooks.HOOKS:
        yield Finding("note", "TensorFlow hook", f"{hook.target}: {hook.reason} ({hook.module})")


def _finder() -> Finding:
    """Whether a new Python process finds Tremula's modules."""
    script = "import sys; print(any(getattr(f, '__name__', '') == 'IpuFinder' for f in sys.meta_path))"
    title = "tensorflow.python.ipu"
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("problem", title, f"could not be checked: {error}")
    if done.stdout.strip() == "True":
        return Finding("ok", title, "can be imported; TensorFlow stays unchanged until a program imports it")
    return Finding(
        "problem",
        title,
        "cannot be imported: tremula_startup.pth is missing from site-packages, or Python runs with -S or -I. "
        "Reinstall tremula, or start the program with: import tremula_startup",
    )
