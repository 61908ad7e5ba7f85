"""The ops of the made-up program."""

from __future__ import annotations

from collections.abc import Iterator

from tremula.profile import model

from .plans import Plans
from .scale import Scale

_KINDS = ("addmm", "add", "native_layer_norm", "gelu", "softmax", "dropout", "bmm", "mul")


def op_rows(scale: Scale, plans: Plans) -> Iterator[model.Op]:
    """The ops of a forward and a backward pass."""
    compute, exchange, sync = (each.sum(axis=1) for each in (plans.compute, plans.exchange, plans.sync))
    for number, plan in enumerate(plans.of_op.tolist()):
        ipu, layer = scale.ipu_of(number), scale.layer_of(number)
        kind = _KINDS[number % len(_KINDS)]
        module = f"model.layers.{layer}.{('attention', 'mlp')[number // 8 % 2]}.block{number // 16 % 8}"
        yield model.Op(
            id=number, name=f"{module.replace('.', '/')}/{kind}_{number}", target=f"aten.{kind}",
            phase="backward" if number >= scale.ops // 2 else "forward", ipu=ipu,
            stage=number * scale.ipus * 2 // scale.ops, module=module, source_file="/home/user/model.py",
            source_line=10 + number % 400, source_function="forward", runs=8, merged=1,
            compute_cycles=8 * float(compute[plan]), exchange_cycles=8 * float(exchange[plan]),
            sync_cycles=8 * float(sync[plan]), flops=8e6 * float(compute[plan]), temporary_bytes=20_000 + plan,
            unknown=0, plan_id=plan,
        )  # fmt: skip
