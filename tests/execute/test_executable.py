"""The protocol of executables, by one that needs numpy alone."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tremula.execute.executable import Executable, OptimizerState
from tremula.execute.outputs import OutputRule, returned_turns
from tremula.frontends.torch.execute.executable import Executable as TorchExecutable
from tremula.program.loops import Loops

LOOPS = Loops(device_iterations=2, gradient_accumulation=3, replicas=2)


def _members(protocol: type) -> dict[str, list[str] | None]:
    found: dict[str, list[str] | None] = dict.fromkeys(protocol.__annotations__)
    for name, member in vars(protocol).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            found[name] = list(inspect.signature(member).parameters)
        elif isinstance(member, property):
            found[name] = None
    return found


def test_executables_have_the_methods_of_the_protocol(numpy_front_end: Any) -> None:
    wanted = _members(Executable)
    assert set(wanted) >= {"run", "read_state", "write_state", "prepare", "random_words", "restore_random"}
    for kind in (TorchExecutable, numpy_front_end.NumpyExecutable):
        for name, parameters in wanted.items():
            if parameters is not None:
                assert list(inspect.signature(getattr(kind, name)).parameters) == parameters, (kind, name)


@pytest.mark.parametrize("mode", ["all", "final"])
def test_a_call_runs_all_turns_and_returns_some(numpy_front_end: Any, mode: str) -> None:
    rule = OutputRule(mode)
    executable = numpy_front_end.NumpyExecutable(LOOPS, rule)
    (out,) = executable.run([np.zeros((LOOPS.factor, 4))])
    assert len(out) == returned_turns(rule, LOOPS)
    assert len(executable.times.started) == len(executable.times.ended) == LOOPS.factor


def test_state_and_random_numbers_can_be_put_back(numpy_front_end: Any) -> None:
    executable = numpy_front_end.NumpyExecutable(LOOPS, OutputRule(), seed=7)
    inputs = [np.ones((LOOPS.factor, 1))]
    executable.run(inputs)
    state = {name: value.copy() for name, value in executable.read_state().items()}
    optimizer, words = executable.read_optimizer(), executable.random_words()
    first = executable.run(inputs)
    executable.write_state(state)
    assert executable.write_optimizer(optimizer) == []
    executable.restore_random(words)
    np.testing.assert_array_equal(first, executable.run(inputs))
    assert executable.write_optimizer(OptimizerState()) == ["step"]


def test_neither_the_protocol_nor_the_device_loads_torch() -> None:
    script = """
import importlib, pkgutil, sys
import tremula.device, tremula.execute
for package in (tremula.device, tremula.execute):
    for each in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(each.name)
assert not {"torch", "tensorflow", "onnx"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
