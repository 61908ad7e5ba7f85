"""What `tremula doctor` says of TensorFlow. TensorFlow is not imported for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from tremula.cli.finding import Finding
from tremula.frontends.tensorflow import hooks, versions


def check_tensorflow() -> Iterator[Finding]:
    """Which TensorFlow there is, whether IPU programs run on it, and what would be changed about it."""
    found = versions.installed()
    if not found.tensorflow:
        yield Finding(
            "note", "TensorFlow", f"not installed, and needed by TensorFlow programs only. {found.problem}"
        )
        return
    keras = f"tf_keras {found.tf_keras}" if found.tier == 2 else f"Keras {found.keras or 'none'}"
    if found.problem:
        yield Finding("problem", "TensorFlow", found.problem)
        return
    tier = (
        "the release that all is tested with"
        if found.tier == 1
        else "of the second tier, where less is tested"
    )
    yield Finding("ok", "TensorFlow", f"{found.tensorflow} with {keras}, {tier}")
    yield _finder()
    for hook in hooks.HOOKS:
        yield Finding("note", "TensorFlow hook", f"{hook.target}: {hook.reason} ({hook.module})")


def _finder() -> Finding:
    """Whether a new Python process finds our modules."""
    script = "import sys; print(any(getattr(f, '__name__', '') == 'IpuFinder' for f in sys.meta_path))"
    title = "tensorflow.python.ipu"
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("problem", title, f"could not be tried: {error}")
    if done.stdout.strip() == "True":
        return Finding("ok", title, "is found; nothing of TensorFlow is changed until a program imports it")
    return Finding(
        "problem",
        title,
        "is not found: site-packages lacks tremula_startup.pth, or Python runs with -S or -I. Reinstall tremula, or "
        "begin the program with: import tremula_startup",
    )
