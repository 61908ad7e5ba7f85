"""Executables of PopART sessions and of PopXL programs, loaded by sessions of the same programs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

import popart
import popxl
from fuzz.mutations import change_json, change_zip
from fuzz.target import Target
from popxl import ops


def _session() -> popart.TrainingSession:
    builder = popart.Builder()
    data = builder.addInputTensor("FLOAT", [2, 3])
    weight = builder.addInitializedInputTensor(np.ones((3, 4), np.float32), "weight")
    loss = builder.aiGraphcore.l1loss([builder.aiOnnx.matmul([data, weight])], 0.1)
    return popart.TrainingSession(
        builder.getModelProto(),
        popart.DataFlow(1, {loss: popart.AnchorReturnType("All")}),
        loss,
        popart.SGD({"defaultLearningRate": (0.1, False), "defaultMomentum": (0.9, False)}),
        popart.DeviceManager().createOfflineIPUDevice({}),
    )


def _program() -> popxl.Session:
    ir = popxl.Ir(replication=2)
    ir._pb_ir.getSessionOptions().enableVariablesCaching = True
    with ir.main_graph:
        weight = popxl.variable(
            np.ones((2, 3), np.float32), replica_grouping=ir.replica_grouping(group_size=1)
        )
        popxl.replica_sharded_variable(np.arange(5, dtype=np.int32))
        popxl.variable(np.ones(3, np.float32), popxl.float8_152)
        ops.add_(weight, popxl.constant(1.0))
    return popxl.Session(ir, "ipu_hw")


def make(folder: Path) -> list[Path]:
    """Of both kinds, and a file of variables alone."""
    paths = [folder / name for name in ("session", "variables", "program")]
    session = _session()
    session.compileAndExport(paths[0])
    session.saveVariables(paths[1])
    _program()._pb_session.saveExecutable(paths[2])
    return paths


def mutate(data: bytes, rng: random.Random) -> bytes:
    """The documents changed as data, graphs and tensors as bytes."""
    return change_zip(data, rng, {".json": change_json})


def read(path: Path) -> None:
    """By sessions of both kinds: a file is at most one of them's. What is taken over has to fit the program."""
    readers: list[Any] = [_session(), _program()._pb_session]
    problems: list[Exception] = []
    for each in readers:
        try:
            each.loadExecutable(path)
            each._variables()
        except popart.popart_exception as problem:
            problems.append(problem)
    if len(problems) == len(readers):
        raise problems[0]


def refusals() -> tuple[type[BaseException], ...]:
    """Errors that name the file."""
    return (popart.popart_exception,)


SESSION_EXECUTABLES = Target("session_executables", make, mutate, read, refusals)
