"""Freed memory stays with the process, unless the user says otherwise."""

import subprocess
import sys

import pytest

_PROGRAM = """
import resource, sys
from tremula.execute.allocation import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def step():
    blocks = [bytearray(8 << 20) for _ in range(4)]
    for block in blocks:
        block[::4096] = bytes(len(block) // 4096)
step()
step()
before = faults()
for _ in range(10):
    step()
print(faults() - before)
"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it is about glibc")


def _faults(how, **environment):
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, how], env=environment, capture_output=True, text=True, check=True
    )
    return int(run.stdout)


def test_a_step_finds_the_memory_of_the_last_one():
    assert 4 * _faults("keep") < _faults("leave")


def test_settings_of_the_user_stay():
    assert 4 * _faults("keep") < _faults("keep", MALLOC_TRIM_THRESHOLD_="65536")
