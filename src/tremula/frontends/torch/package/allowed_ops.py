"""Which operators a program from a file may call.

Pure tensor computations of torch's dispatcher and of this project, found by their schema's name. Operators
that read or write files, print, take raw storage or skip the checks on how a tensor is laid out are not
among them, nor is anything that only exists in torch's scripting language (`aten::save`, for one).
"""

from __future__ import annotations

import functools
import operator
import re
from typing import Any

import torch

from tremula.frontends.torch.package.container import BadData

GETITEM = "getitem"

#: ops of ours that stand for Python code of one process and mean nothing in another
BOUND_TO_PROCESS = frozenset({"tremula::host_call"})

_NAME = re.compile(r"(aten|prims|tremula|poptorch)::([A-Za-z_]\w*)\.([A-Za-z_]\w*)", re.ASCII)
_REFUSED = re.compile(
    r"from_file|save|_print|_test_.*|set_?|record_stream|_make_dep_token|_sink_tokens|_make_token|"
    r".*_unsafe|_?(sparse|nested|quantize|fbgemm|coalesce).*|_resize_output_?|_copy_from.*|_reshape_alias.*|"
    r"_cuda.*|cudnn.*|_cudnn.*|miopen.*|_unsafe_set.*|_dim_arange|_local_scalar_dense|item",
    re.ASCII,
)
#: operators with a text among their arguments are looked at one by one
_WITH_TEXT = re.compile(
    r"_assert_\w+|_functional_assert_\w+|_convolution_mode|_linalg_\w+|linalg_\w+|conv[123]d|div_?|divide_?|einsum|"
    r"fft_\w+|gelu_?|gelu_backward|index_reduce_?|meshgrid|nanquantile|quantile|pad|pad_sequence|scatter_?|"
    r"scatter_reduce_?|searchsorted|segment_reduce|_segment_reduce_backward|stft",
    re.ASCII,
)
_PLAIN_TYPE = re.compile(
    r"(Optional\[|List\[)*(Tensor|int|float|bool|number|complex|str|Device|Generator|Layout|MemoryFormat)\]*"
)


def name_of(target: Any) -> str | None:
    """The name under which an operator is stored, or None if it cannot be."""
    if target is operator.getitem:
        return GETITEM
    if not isinstance(target, torch._ops.OpOverload):
        return None
    name = f"{target._schema.name}.{target._overloadname}"
    return name if refusal(name) is None else None


def operator_of(name: str) -> Any:
    """The operator of that name; raises BadData if there is none, or a program from a file may not call it."""
    if name == GETITEM:
        return operator.getitem
    reason = refusal(name)
    if reason is not None:
        raise BadData(f"its program calls {name[:100]!r}, {reason}")
    namespace, packet, overload = _NAME.fullmatch(name).groups()  # type: ignore[union-attr]
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload)


@functools.lru_cache(maxsize=4096)
def refusal(name: str) -> str | None:
    """Why a program may not call this operator, or None if it may."""
    match = _NAME.fullmatch(name)
    if match is None:
        return "which is not an operator of torch or Tremula"
    namespace, packet, overload = match.groups()
    suffix = "" if overload == "default" else f".{overload}"
    if not _in_dispatcher(f"{namespace}::{packet}{suffix}"):
        return "which does not exist here (it may belong to another version of torch)"
    if f"{namespace}::{packet}" in BOUND_TO_PROCESS:
        return "which calls Python code of the process that compiled it"
    if _REFUSED.fullmatch(packet):
        return "which a program from a file may not call"
    schema = torch._C._get_schema(f"{namespace}::{packet}", suffix[1:])
    kinds = [str(argument.type) for argument in schema.arguments]
    if not all(_PLAIN_TYPE.fullmatch(kind) for kind in kinds):
        return "which takes more than tensors and numbers"
    own = namespace in ("tremula", "poptorch")
    if any("str" in kind for kind in kinds) and not own and not _WITH_TEXT.fullmatch(packet):
        return "which a program from a file may not call"
    return None


def _in_dispatcher(name: str) -> bool:
    """Whether the operator is torch's or a library's proper, not one of the scripting language."""
    return name in _dispatcher_names() or name in _dispatcher_names(fresh=True)


_known: frozenset[str] = frozenset()


def _dispatcher_names(fresh: bool = False) -> frozenset[str]:
    global _known
    if fresh or not _known:
        _known = frozenset(torch._C._dispatch_get_all_op_names())
    return _known
