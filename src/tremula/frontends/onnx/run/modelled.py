"""A session's program as the chip model sees it: captured on tensors without data, and described once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tremula.device.chip_model import ModelledRun
from tremula.errors import Error
from tremula.frontends.onnx.module import OnnxModule
from tremula.frontends.onnx.optimize.description import Description
from tremula.frontends.onnx.run.anchors import Turns
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
    program: GraphProgram, turns: Turns, description: Description | None, deployment: Deployment
) -> ModelledRun:
    """What an IPU would do with one step; the program is captured when somebody asks for figures.

    `description` is the optimizer; the figures are refused (Error) for a program on several IPUs, of which the model
    has no such placement.
    """
    spec = None if description is None else description.spec(program.trained)
    # forward, backward and update
    share = 1 if spec is None else 3
    return ModelledRun(
        lambda: program_of(_captured(program, turns, spec), deployment.lowering),
        deployment,
        replicas=turns.replicas,
        ops=share * len(program.model.graph.nodes),
        at_once=False,
    )


def _refuse_several_ipus(program: GraphProgram) -> None:
    numbers = {node.attributes["__ipu_number"] for node in program.model.graph.nodes if _is_placed(node)}
    if len(numbers) > 1:
        raise Error(
            f"the graph is placed on {len(numbers)} IPUs by hand (virtualGraph), which the chip model does not follow "
            "for PopART sessions yet: leave the virtual graphs out to have the figures of one IPU."
        )


def _is_placed(node: Any) -> bool:
    return "__ipu_number" in node.attributes


def _captured(program: GraphProgram, turns: Turns, spec: OptimizerSpec | None) -> TorchProgram:
    _refuse_several_ipus(program)
    loss = program.request.loss
    outputs = [name for name in program.wanted if name != loss]
    module = OnnxModule(
        program.model,
        program.request.settings,
        values=False,
        outputs=[*outputs, *([] if loss is None else [loss])],
    )
    module.train(loss is not None)

    def call(values: list[torch.Tensor]) -> Any:
        found = module(*values)
        if loss is not None:
            found[-1] = identity_loss(found[-1].reshape(()), _REDUCTION_NONE)
        return found

    inputs = [_empty(program, name) for name in module.input_names]
    settings = CaptureSettings(
        training=loss is not None,
        loops=Loops(turns.batches, turns.accumulation, turns.replicas),
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
