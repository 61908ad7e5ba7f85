"""Which ops the host computes on float16 tensors as they are. All others are computed in float32 and rounded once:
torch has no kernel for them, a slow one (products are up to a hundred times slower), or one that rounds in between
or adds in float16. `tests/frontends/torch/execute/test_half_ops.py` checks both tables against that.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import fx

from tremula.frontends.torch.graphs.program import tensors_of

_ATEN = torch.ops.aten

#: results are values of the operands, or constants: there is nothing to round. In-place forms count as well.
_MOVE_NAMES = """
    view _unsafe_view reshape t transpose permute expand slice select clone alias detach cat stack unsqueeze squeeze
    split split_with_sizes unbind unfold diagonal as_strided index index_select gather embedding flip roll repeat
    constant_pad_nd reflection_pad1d reflection_pad2d replication_pad2d tril triu masked_fill where scatter
    slice_scatter select_scatter pixel_shuffle contiguous lift_fresh_copy empty empty_like empty_strided new_empty
    zeros zeros_like new_zeros ones ones_like new_ones full full_like new_full fill zero arange scalar_tensor
    relu threshold_backward neg abs sign maximum minimum clamp clamp_min clamp_max hardtanh hardtanh_backward floor
    ceil round trunc amax amin max min sort topk nan_to_num max_pool2d_with_indices upsample_nearest2d
    eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_not logical_xor is_same_size
    sym_size sym_stride sym_numel _local_scalar_dense item
"""
#: kernels that compute in float32, vector by vector, and round once
_VECTOR_NAMES = """
    add sub rsub mul div addcmul addcdiv lerp exp log log1p sin cos tanh sigmoid silu erf sqrt rsqrt reciprocal gelu
    leaky_relu elu softplus hardswish gelu_backward tanh_backward silu_backward leaky_relu_backward
    sum mean _softmax native_layer_norm avg_pool2d _adaptive_avg_pool2d nll_loss_forward nll_loss_backward
"""
MOVES = frozenset(_MOVE_NAMES.split())
VECTORS = frozenset(_VECTOR_NAMES.split())

#: size-preserving views; those of a float32 copy cost nothing
WHOLE_VIEWS = frozenset(
    ["view", "_unsafe_view", "reshape", "t", "transpose", "permute", "unsqueeze", "squeeze", "alias"]
)
#: views of a part, or repeated
PART_VIEWS = frozenset(["expand", "slice", "select"])


def name_of(op: torch._ops.OpOverload) -> str:
    """An op's name, without that it writes in place."""
    name = op._schema.name.partition("::")[2]
    return name.rstrip("_") or name


def in_half(node: fx.Node) -> bool:
    """Whether a node gives float16 tensors."""
    return any(tensor.dtype is torch.float16 for tensor in tensors_of(node))


def concerns_half(node: fx.Node) -> bool:
    """Whether a node gives or takes float16 tensors."""
    return in_half(node) or any(in_half(source) for source in node.all_input_nodes)


def is_move(node: fx.Node) -> bool:
    """Whether an op rounds nothing."""
    op: Any = node.target
    name = name_of(op)
    if name in ("index_put", "_index_put_impl"):
        return not (node.args[3] if len(node.args) > 3 else node.kwargs.get("accumulate", False))
    return name in MOVES


def stays_in_half(node: fx.Node) -> bool:
    """Whether torch's kernel for an op on halves is to be used, if results are rounded to nearest."""
    op: Any = node.target
    if name_of(op) not in VECTORS:
        return False
    tensors = [tensor for source in node.all_input_nodes for tensor in tensors_of(source)]
    floats = [tensor for tensor in tensors if tensor.is_floating_point()]
    # torch rounds the numbers that it adds before it adds them
    fit = name_of(op) not in ("add", "sub", "rsub") or constants_fit(node)
    return fit and all(tensor.dtype is torch.float16 for tensor in floats)


def constants_fit(node: fx.Node) -> bool:
    """Whether the numbers among an op's arguments are float16 numbers."""
    numbers = [value for value in (*node.args, *node.kwargs.values()) if isinstance(value, int | float)]
    return all(torch.tensor(float(number)).half().item() == number for number in numbers)


def draws(op: torch._ops.OpOverload) -> bool:
    """Whether an op makes random numbers: it decides on their bits. (Dropout makes them and computes with others.)"""
    return torch.Tag.nondeterministic_seeded in op.tags and op is not _ATEN.native_dropout.default


@functools.cache
def functional_form(op: torch._ops.OpOverload) -> torch._ops.OpOverload | None:
    """What computes the same as an op that writes its first operand, without writing; None if there is no such op."""
    written = [argument.alias_info is not None for argument in op._schema.arguments]
    if written[:1] != [True] or any(written[1:]):
        return None
    packet = getattr(_ATEN, op._schema.name.partition("::")[2].removesuffix("_"), None)
    form = getattr(packet, op._overloadname, None)
    same = form is not None and len(form._schema.arguments) == len(written) and not form._schema.is_mutable
    return form if same else None
