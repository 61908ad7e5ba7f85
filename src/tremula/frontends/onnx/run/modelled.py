"""A session's program as the chip model sees it: captured on tensors without data, and described once."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from tremula.device.chip_model import ModelledRun
from tremula.frontends.onnx.module import OnnxModule, recorded
from tremula.frontends.onnx.optimize.description import Description
from tremula.frontends.onnx.placing import NodePlaces, Placed
from tremula.frontends.onnx.run.anchors import ALL, EVERY_N, Turns
from tremula.frontends.onnx.run.device_types import device_type
from tremula.frontends.onnx.run.program import GraphProgram
from tremula.frontends.torch.assembly import capture_program
from tremula.frontends.torch.factory import tensors_in
from tremula.frontends.torch.graphs.program import TorchProgram
from tremula.frontends.torch.ops.vendor_schemas import identity_loss
from tremula.frontends.torch.optimize.spec import OptimizerSpec
from tremula.frontends.torch.rules.program import program_of
from tremula.frontends.torch.settings import CaptureSettings
from tremula.program.loops import Loops
from tremula.schedule.deployment import Deployment

_REDUCTION_NONE = 2


def modelled_run(
    program: GraphProgram,
    turns: Turns,
    description: Description | None,
    deployment: Deployment,
    placed: Placed | None = None,
    replicas: int | None = None,
) -> ModelledRun:
    """What an IPU would do with one step; the program is captured when somebody asks for figures.

    `description` is the optimizer; `replicas` are those of all instances; `placed` says where nodes run, and may refuse
    (Error) when figures are asked for.
    """
    spec = None if description is None else description.spec(program.trained)
    deployment = replace(deployment, returned_share=_returned_share(program, turns))
    # forward, backward and update
    share = 1 if spec is None else 3
    return ModelledRun(
        lambda: program_of(_captured(program, turns, spec, placed or Placed()), deployment.lowering),
        deployment,
        replicas=replicas or turns.replicas,
        ops=share * len(program.model.graph.nodes),
        at_once=False,
    )


def _returned_share(program: GraphProgram, turns: Turns) -> float | None:
    """Share of the micro-batches whose results go back to the host: of each anchor, by its rule and size."""
    once = 1.0 / (turns.batches * turns.accumulation)
    sizes = {
        name: math.prod(program.types[name].shape) * program.types[name].dtype.itemsize
        for name in program.wanted
    }
    returned = 0.0
    for name, rule in program.request.anchors.items():
        share = {ALL: 1.0, EVERY_N: 1.0 / rule.period}.get(rule.mode, once)
        returned += share * sizes.get(name, 0)
    whole = sum(sizes.values())
    return returned / whole if whole else None


def _captured(
    program: GraphProgram, turns: Turns, spec: OptimizerSpec | None, placed: Placed
) -> TorchProgram:
    placed.check()
    loss = program.request.loss
    outputs = [name for name in program.wanted if name != loss]
    module = OnnxModule(
        program.model,
        program.request.settings,
        values=False,
        outputs=[*outputs, *([] if loss is None else [loss])],
        places=placed.places,
    )
    module.train(loss is not None)
    # the backward pass begins where the loss is made
    maker = next((node for node in program.model.graph.nodes if loss in node.outputs), None)

    def call(values: list[torch.Tensor]) -> Any:
        found = module(*values)
        if loss is not None:
            with contextlib.nullcontext() if maker is None else recorded(maker, placed.places):
                found[-1] = identity_loss(found[-1].reshape(()), _REDUCTION_NONE)
        return found

    inputs = [_empty(program, name) for name in module.input_names]
    settings = CaptureSettings(
        training=loss is not None,
        loops=Loops(turns.batches, turns.accumulation, turns.replicas),
        rule=NodePlaces(),
        broadcast_buffers=False,
    )
    return capture_program(
        settings, spec, module, call, inputs, _names(len(inputs)), tensors_in, dtype_of=device_type
    ).program


def _empty(program: GraphProgram, name: str) -> torch.Tensor:
    kind = program.types[name]
    return torch.empty(kind.shape, dtype=kind.dtype, device="meta")


def _names(count: int) -> Sequence[str]:
    return ["input" if not i else f"input/{i}" for i in range(count)]
