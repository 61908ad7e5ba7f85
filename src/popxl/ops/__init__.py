"""Ops of the current graph."""

from . import collectives, elementwise, movement, reductions, var_updates
from .call import CallSiteInfo, call, call_with_info
from .conditional import conditional, conditional_with_info
from .conv import (
    PadType,
    average_pool,
    conv,
    conv_pow2scaled,
    conv_transpose,
    conv_transpose_pow2scaled,
    interpolate,
    max_pool,
    roi_align,
)
from .elementwise import *
from .host import (
    code_copy,
    host_load,
    host_store,
    print_tensor,
    remote_code_load,
    remote_load,
    remote_load_,
    remote_store,
)
from .movement import *
from .negative_log_likelihood import nll_loss, nll_loss_with_softmax_grad
from .random import (
    create_random_seed,
    dropout,
    random_normal,
    random_uniform,
    shaped_dropout,
    split_random_seed,
)
from .reductions import *
from .repeat import repeat, repeat_with_info

__all__ = [
    *elementwise.__all__,
    *movement.__all__,
    *reductions.__all__,
    "CallSiteInfo",
    "PadType",
    "average_pool",
    "call",
    "call_with_info",
    "code_copy",
    "collectives",
    "conditional",
    "conditional_with_info",
    "conv",
    "conv_pow2scaled",
    "conv_transpose",
    "conv_transpose_pow2scaled",
    "create_random_seed",
    "dropout",
    "host_load",
    "host_store",
    "interpolate",
    "max_pool",
    "nll_loss",
    "nll_loss_with_softmax_grad",
    "print_tensor",
    "random_normal",
    "random_uniform",
    "remote_code_load",
    "remote_load",
    "remote_load_",
    "remote_store",
    "repeat",
    "repeat_with_info",
    "roi_align",
    "shaped_dropout",
    "split_random_seed",
    "var_updates",
]
