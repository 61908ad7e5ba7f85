"""Ops that reach outside of the device: streams, remote buffers, code, and printing. The program runs them itself."""

from __future__ import annotations

from tremula.frontends.popxl.info import TensorInfo
from tremula.frontends.popxl.model import Op
from tremula.frontends.popxl.ops.table import Alias, Function, by_the_program, kernel


def _first_input(op: Op) -> dict[int, TensorInfo]:
    return {0: op.inputs[0].type}


kernel("HostLoad", infer=_first_input, effect=True)(by_the_program)
kernel("HostStore", infer=lambda op: {}, effect=True)(by_the_program)
kernel("RemoteLoad", infer=_first_input, effect=True)(by_the_program)
kernel("RemoteLoadInplace", infer=_first_input, modifies=[0], effect=True)(by_the_program)
kernel("RemoteStore", infer=lambda op: {}, effect=True)(by_the_program)
kernel("RemoteCodeLoad", infer=lambda op: {}, effect=True)(by_the_program)


@kernel("PrintTensor", alias=Alias.MAYBE, effect=True)
def _print(op: Op) -> Function:
    from tremula.frontends.torch.ops.print_tensor import print_tensor

    attributes = op.attributes
    layout = (
        attributes["summarise_threshold"],
        attributes["edge_items"],
        attributes["max_line_width"],
        attributes["digits"],
        attributes["float_format"],
        attributes["separator"],
        attributes["open_bracket"],
        attributes["close_bracket"],
    )
    title, shown = attributes["title"], attributes["print_self"]
    if not shown:
        return lambda tensor: tensor
    return lambda tensor: print_tensor(tensor, title, False, *layout)
