"""Programs captured for lowering: a step alone, or a whole training program with its optimizer."""

from __future__ import annotations

import pytest
import torch
from torch.utils import _pytree

import poptorch
from tremula.frontends.torch.capture.context import Capture
from tremula.frontends.torch.capture.step import capture_step
from tremula.frontends.torch.graphs.program import Interface, TorchProgram
from tremula.frontends.torch.rules.lower import lower
from tremula.program.lowered import LoweringSettings


def _tensors(result):
    return [item for item in _pytree.tree_leaves(result) if isinstance(item, torch.Tensor)]


@pytest.fixture(scope="session")
def step_of():
    """`step_of(module, *inputs)`: the program of one step; training if the module names a loss."""

    def capture(module, *inputs, training=True):
        found = capture_step(
            module,
            lambda given: module(*given),
            list(inputs),
            capture=Capture(training),
            flatten=_tensors,
        )
        return TorchProgram(training=training, step=found.graph, interface=Interface((), (), (), ()))

    return capture


@pytest.fixture(scope="session")
def lowered_step(step_of):
    """The ops of one step, lowered."""

    def run(module, *inputs, training=True, settings=None):
        return lower(step_of(module, *inputs, training=training), settings or LoweringSettings())

    return run


@pytest.fixture(scope="session")
def training_program():
    """`training_program(module, optimizer, *inputs)`: a whole training program."""

    def compile_it(module, optimizer, *inputs, options=None):
        model = poptorch.trainingModel(module, options or poptorch.Options(), optimizer(module.parameters()))
        model.compile(*inputs)
        program = model._session.program
        model.destroy()
        return program

    return compile_it
