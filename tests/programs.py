"""A small program, for tests that need no capture."""

from __future__ import annotations

from tremula.program.loops import Loops
from tremula.program.op import Op, Phase
from tremula.program.program import Program
from tremula.program.tensor import Role, Tensor
from tremula.program.work import Elementwise, MatMul, Work

_ONCE = Loops()


class _Stack:
    """The ops and tensors of a program of layers, spread over stages in order."""

    def __init__(self, layers: int, stages: int) -> None:
        self.tensors: list[Tensor] = []
        self.ops: list[Op] = []
        self._layers, self._stages = layers, stages

    def ipu(self, layer: int) -> int:
        """Where a layer is."""
        return layer * self._stages // self._layers

    def tensor(self, name: str, elements: int, role: Role = Role.ACTIVATION, ipu: int = 0) -> int:
        """Adds a tensor; gives its number."""
        self.tensors.append(Tensor(name, (elements,), "fp32", role, ipu=ipu, scope=("net", name)))
        return len(self.tensors) - 1

    def op(
        self,
        name: str,
        phase: Phase,
        layer: int,
        work: Work,
        inputs: tuple[int, ...],
        output: int,
        checkpoint: bool = False,
    ) -> int:
        """Adds an op; gives the number of its output."""
        ipu = self.ipu(layer)
        stage = {Phase.FORWARD: ipu, Phase.BACKWARD: 2 * (self._stages - 1) - ipu}.get(phase, 0)
        made = self.tensors[output]
        made.ipu = ipu
        if made.producer < 0 and made.role is Role.ACTIVATION:
            made.producer = len(self.ops)
        scope = ("net", f"layer{layer}")
        self.ops.append(
            Op(name, name, phase, (work,), inputs, (output,), ipu, stage, scope=scope, checkpoint=checkpoint)
        )
        return output


def layered(
    layers: int = 4,
    *,
    stages: int = 1,
    training: bool = True,
    loops: Loops = _ONCE,
    rows: int = 16,
    width: int = 64,
    checkpoints: bool = False,
) -> Program:
    """A stack of linear layers with ReLU, spread over `stages` IPUs."""
    made = _Stack(layers, stages)
    tensor, op = made.tensor, made.op
    relu = Elementwise("relu", rows * width)
    product = MatMul(rows, width, width)
    gradient = MatMul(width, rows, width, role="weight_gradient")
    x = inputs = tensor("x", rows * width, Role.INPUT)
    weights = [tensor(f"w{n}", width * width, Role.PARAMETER, made.ipu(n)) for n in range(layers)]
    kept = [x]
    for n in range(layers):
        y = op(f"mm{n}", Phase.FORWARD, n, product, (x, weights[n]), tensor(f"y{n}", rows * width))
        marked = checkpoints and n % 2 == 1
        x = op(f"relu{n}", Phase.FORWARD, n, relu, (y,), tensor(f"a{n}", rows * width), marked)
        kept.append(x)
    gradients = []
    if training:
        back = x
        for n in reversed(range(layers)):
            back = op(
                f"drelu{n}", Phase.BACKWARD, n, relu, (back, kept[n + 1]), tensor(f"dy{n}", rows * width)
            )
            result = tensor(f"dw{n}", width * width)
            gradients.append(op(f"dw{n}", Phase.BACKWARD, n, gradient, (kept[n], back), result))
            back = op(
                f"dx{n}", Phase.BACKWARD, n, product, (back, weights[n]), tensor(f"dx{n}", rows * width)
            )
        gradients.reverse()
    carried = [tensor(f"acc{n}", width * width, Role.ACCUMULATOR, made.ipu(n)) for n in range(len(gradients))]
    update = Elementwise("scaled_add", width * width, operands=2, in_place=True)
    for n, gradient_of in enumerate(gradients):
        op(f"acc{n}", Phase.ACCUMULATE, n, update, (carried[n], gradient_of), carried[n])
    for n, accumulator in enumerate(carried):
        op(f"sgd{n}", Phase.UPDATE, n, update, (weights[n], accumulator), weights[n])
    return Program(
        made.ops,
        made.tensors,
        training,
        loops,
        inputs=(inputs,),
        outputs=(kept[-1],),
        trained=tuple(weights) if training else (),
        gradients=tuple(gradients),
        carried=tuple(carried),
        samples=rows,
    )
