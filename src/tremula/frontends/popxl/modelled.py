"""The program as the chip model sees it: one replica, every loop once, on tensors without values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tremula import log
from tremula.device.chip_model import ModelledRun
from tremula.frontends.popxl.compiled import Compiler, Frame
from tremula.frontends.popxl.elements import ELEMENTS
from tremula.frontends.popxl.info import Fragment, TensorKind
from tremula.frontends.popxl.machine import Machine
from tremula.frontends.popxl.model import Graph, Ir, Op, Tensor
from tremula.frontends.torch.assembly import capture_program
from tremula.frontends.torch.capture.placement import SingleIpu
from tremula.frontends.torch.rules.program import program_of
from tremula.frontends.torch.settings import CaptureSettings
from tremula.program.op import Placement
from tremula.program.program import Program
from tremula.schedule.deployment import Deployment

#: ops of torch that an op of PopXL comes to, about
_TORCH_OPS = 3


class _ByOp(SingleIpu):
    """Ops are placed as the PopXL op says that they are part of."""

    def __init__(self) -> None:
        super().__init__()
        self._placements: dict[int, Placement] = {}

    def at(self, op: Op) -> None:
        """Ops of `op` follow."""
        ipu = op.settings.ipu or 0
        self._placement = self._placements.setdefault(ipu, Placement(ipu=ipu))


class _State(torch.nn.Module):
    """Variables on the chip and constants, as buffers of a module without values."""

    def __init__(self, ir: Ir) -> None:
        super().__init__()
        self.slots: dict[Tensor, str] = {}
        for graph in ir.reachable():
            for tensor in graph.tensors.values():
                if not _is_state(tensor):
                    continue
                name = f"t{len(self.slots)}"
                self.slots[tensor] = name
                carrier = ELEMENTS[tensor.type.dtype].carrier
                self.register_buffer(name, torch.empty(tensor.type.shape, dtype=carrier, device="meta"))

    def value(self, tensor: Tensor) -> torch.Tensor:
        """The tensor that stands for a variable or constant."""
        found: torch.Tensor = getattr(self, self.slots[tensor])
        return found


def _is_state(tensor: Tensor) -> bool:
    if tensor.kind is TensorKind.CONST:
        return True
    on_chip = tensor.settings is not None and tensor.settings.remote_buffer is None
    return tensor.kind is TensorKind.VARIABLE and on_chip


def modelled_run(ir: Ir) -> ModelledRun:
    """What the chip would do with the program of `ir`; it is described when somebody asks."""
    ipus = 1 + max(
        (op.settings.ipu or 0 for graph in ir.reachable() for op in graph.ops),
        default=0,
    )
    deployment = Deployment(execution="single" if ipus == 1 else "sharded", ipus_per_replica=ipus)
    ops = _TORCH_OPS * _ops(ir.main, {})
    return ModelledRun(lambda: _described(ir, deployment), deployment, replicas=ir.replicas, ops=ops)


def _ops(graph: Graph, known: dict[Graph, int]) -> int:
    """Ops of a graph with those of all that it calls."""
    if graph not in known:
        known[graph] = sum(1 + sum(_ops(called, known) for called in op.called) for op in graph.ops)
    return known[graph]


def _described(ir: Ir, deployment: Deployment) -> Program:
    streams = [tensor for tensor in ir.main.tensors.values() if tensor.kind is TensorKind.STREAM]
    inputs = [
        torch.empty(tensor.type.shape, dtype=ELEMENTS[tensor.type.dtype].carrier, device="meta")
        for tensor in streams
    ]
    _tell_loops(ir)
    state, rule = _State(ir), _ByOp()
    names = [tensor.identifier for tensor in streams]
    captured = capture_program(
        CaptureSettings(training=False, rule=rule, scopes_from_modules=False, warns_of_unknown_ops=False),
        None,
        state,
        _call(ir, state, rule, names),
        inputs,
        names,
        lambda result: result,
        dtype_of=lambda dtype: dtype,
    )
    return program_of(captured.program, deployment.lowering)


def _call(
    ir: Ir, state: _State, rule: _ByOp, names: list[str]
) -> Callable[[list[torch.Tensor]], list[torch.Tensor]]:
    def call(values: list[torch.Tensor]) -> list[torch.Tensor]:
        machine = Machine(ir)
        machine.describing = True
        main, steps = Compiler(machine, state.value, rule.at).fragments(ir.main)
        frame: Frame = main.frame(0)
        for tensor, slot in main.slots.items():
            if tensor.kind is TensorKind.VARIABLE and tensor in state.slots:
                frame[slot] = state.value(tensor)
        machine.give({name: value[None, None] for name, value in zip(names, values, strict=True)})
        for fragment in (Fragment.WEIGHTS_FROM_HOST, Fragment.NORMAL):
            for step in steps[fragment]:
                step([frame])
        return machine.stored()

    return call


def _tell_loops(ir: Ir) -> None:
    counts: list[Any] = [
        op.attributes["trip_count"] for graph in ir.reachable() for op in graph.ops if op.kind == "Loop"
    ]
    notes = []
    if any(count > 1 for count in counts):
        notes.append("each repeat is modelled for one turn")
    if ir.remote_buffers:
        notes.append("transfers of remote buffers are left out")
    if ir.replicas > 1:
        notes.append("transfers between replicas are left out")
    if notes:
        text = "; ".join(notes)
        log.info_once(f"popxl modelled: {text}", f"Modelled figures of this PopXL program: {text}.")
