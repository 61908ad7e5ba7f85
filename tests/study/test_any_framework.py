"""Questions about a program that no framework made, in a process that never imports one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_program_of_no_framework_is_estimated_split_advised_and_scaled(tmp_path: Path) -> None:
    script = Path(__file__).with_name("handmade.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("bow") >= 4
    assert "model.cut('second', 1)" in done.stdout
    assert "options.device_iterations" in done.stdout
    assert "efficiency" in done.stdout
    assert done.stdout.strip().endswith("False")
