"""Runs library functions on arrays: variables with values, a program, and what it left in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.poplar.devices import host_device
from tremula.frontends.poplar.execute.engine import ProgramEngine
from tremula.frontends.poplar.graph.graph import Graph
from tremula.frontends.poplar.graph.view import View
from tremula.frontends.poplar.libs.poputil import map_tensor_linearly
from tremula.frontends.poplar.program.programs import RunLibrary, Sequence_
from tremula.frontends.poplar.target import of_host
from tremula.frontends.poplar.types import Type, type_of_array
from tremula.program.check_work import check_work

Array = NDArray[Any]


class Bench:
    """A graph on the host with one program."""

    def __init__(self, *, accurate_half: bool = True) -> None:
        self.graph = Graph(replace(of_host(), accurate_half=accurate_half))
        self.prog = Sequence_()

    def tensor(self, values: Array, type: Type | None = None) -> View:
        """A variable that starts with these values."""
        kind = type or type_of_array(values.dtype)
        assert kind is not None
        made = self.graph.add_variable(kind, values.shape)
        map_tensor_linearly(self.graph, made)
        self.graph.set_initial_value(made, values)
        return made

    def run(self, *views: View) -> list[Array]:
        """Run the program once and read tensors. All work has to be such that a planner takes it."""
        for program in self.prog.walk():
            if isinstance(program, RunLibrary):
                assert program.call.works
                for work in program.call.works:
                    check_work(work)
        for number, view in enumerate(views):
            self.graph.create_host_read(f"read{number}", view)
        engine = ProgramEngine(self.graph, [self.prog])
        engine.load(host_device())
        engine.run(0)
        found = []
        for number, view in enumerate(views):
            out = np.zeros(view.elements, view.type.host_dtype)
            engine.read_tensor(f"read{number}", out)
            found.append(out.reshape(view.shape))
        return found


def normal(*shape: int, seed: int = 0) -> Array:
    """Numbers to compute with."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def works_of(prog: Sequence_) -> Sequence[Any]:
    """The work of all calls of a program."""
    return [work for each in prog.walk() if isinstance(each, RunLibrary) for work in each.call.works]
