"""Log lines about a compiled program that users of PopTorch look for, and its listing as PopART's IR.

What each op became and where it was placed: each line goes to the layer, and has the level, of the real one.
"""

from __future__ import annotations

import logging
from typing import Any

import torch

from tremula import log
from tremula.frontends.torch.graphs.names import op_type
from tremula.frontends.torch.graphs.program import record_of, tensors_of
from tremula.frontends.torch.optimize.device_ops import update_ops
from tremula.frontends.torch.session import Session
from tremula.program.op import Placement
from tremula.program.stages import Mode

_TYPE_WORDS = {
    torch.float32: "Float",
    torch.float16: "Half",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
}


def log_program(session: Session) -> None:
    """The program, and the settings that follow from it."""
    cpp = log.layer("poptorch:cpp")
    summary = session.stages()
    pipelined = summary is not None and summary.mode is Mode.PIPELINED and len(summary.ipus_used) > 1
    cpp.debug("enablePipelining set to value %d", int(pipelined))
    if summary is not None and summary.mode is Mode.PHASED:
        cpp.debug("executionPhaseSettings.stages set to value %d", summary.phase_groups)
        cpp.debug("executionPhaseSettings.phases set to value %d", summary.phases)
        # off chip between phases by default
        for what in ("activation", "weight", "optimizer", "accumulator"):
            cpp.debug("location_%s set to value useOnChipStorage(False)", what)
    for name, rule in session.settings.anchors.items():
        word = {"all": "ALL", "final": "FINAL", "sum": "Sum", "every_n": "EVERYN"}[rule.mode]
        period = rule.period if rule.mode == "every_n" else 1
        cpp.debug("Anchoring tensor %s %s/%d", name, word, period)
    mode = summary.mode if summary is not None else Mode.PIPELINED
    program = session.program
    if cpp.isEnabledFor(logging.DEBUG):
        for name, tensor in session.executable.read_state().items():
            word = _TYPE_WORDS.get(tensor.dtype, str(tensor.dtype))
            shape = "".join(f"{extent}, " for extent in tensor.shape)
            strides = ", ".join(str(stride) for stride in tensor.stride())
            trained = int(name in program.interface.gradients)
            cpp.debug(
                " : %s(%sstrides=[%s], requires_grad=%d, device=ipu:0) -> %s",
                word,
                shape,
                strides,
                trained,
                name,
            )
        cpp.debug("Graph lowered to PopART:")
    for node, name in session.names.op_of.items():
        outputs = tensors_of(node)
        if not outputs:
            continue
        shape = ", ".join(str(extent) for extent in outputs[0].shape)
        kind = str(outputs[0].dtype).removeprefix("torch.")
        where = _where(record_of(node).annotation.placement, mode)
        cpp.debug("%s [%s(%s), %s]", name, kind, shape, where)
    log.layer("popart:popart").trace("program taken over from PopTorch")
    log.layer("popart:ir").debug("%d tensors returned per step", len(program.interface.outputs))
    log.layer("popart:ir").info("%d ops in the %s step", len(session.names.op_of), _kind(session))
    log.layer("popart:devicex").trace("program loaded on the host's kernels")
    log.layer("popart:session").trace("session ready")
    log.layer("popart:devicex").info("Graph compiled")
    cpp.debug("Finished Poplar compilation.")


def _kind(session: Session) -> str:
    return "training" if session.settings.training else "inference"


def _where(placement: Placement, mode: Mode) -> str:
    word = {Mode.PIPELINED: "Pipelined", Mode.SHARDED: "Sharded", Mode.PHASED: "Phased"}[mode]
    last = f"phase({placement.phase})" if mode is Mode.PHASED else f"stage({placement.stage})"
    return f"mode({word}), ipu({placement.ipu}), {last}"


def program_as_ir(session: Session) -> dict[str, Any]:
    """The program as a list of ops, in the layout of the layer below's own dump."""
    ops = []
    for node, name in session.names.op_of.items():
        record = record_of(node)
        ops.append(
            {
                "name": name,
                "type": op_type(node),
                "inputs": [
                    {"name": session.names.op_of.get(source, source.name)} for source in node.all_input_nodes
                ],
                "outputs": [{"name": name, "shape": str(list(t.shape))} for t in tensors_of(node)],
                "attributes": {key: str(value) for key, value in record.annotation.attributes.items()},
            }
        )
    multi_convs: dict[Any, dict[str, Any]] = {}
    for node in session.names.op_of:
        settings = record_of(node).annotation.attributes.get("multi_conv")
        if settings is not None:
            group = multi_convs.setdefault(settings["group"], {"name": "MultiConv", "type": "MultiConv"})
            group.setdefault("convolutions", []).append(session.names.op_of[node])
    ops += multi_convs.values()
    if session.spec is not None:
        ops += [{"name": f"{kind}/{name}", "type": kind} for kind, name in update_ops(session.spec)]
    return {"maingraph": ops}
