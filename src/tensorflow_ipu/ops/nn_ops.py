"""Neural-network ops."""

from tremula.frontends.tensorflow.ops.activations import (
    gelu,
    hard_sigmoid,
    softmax,
    swish,
)
from tremula.frontends.tensorflow.ops.ctc import (
    ctc_beam_search_decoder,
    ctc_beam_search_decoder_with_log_probs,
    ctc_loss_v2,
    ctc_loss_with_log_probs,
)
from tremula.frontends.tensorflow.ops.outlining import multi_conv
from tremula.frontends.tensorflow.ops.sampling import (
    compute_sampled_logits as _compute_sampled_logits,
)
from tremula.frontends.tensorflow.ops.sampling import (
    nce_loss,
    sampled_softmax_loss,
)

__all__ = [
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_with_log_probs",
    "ctc_loss_v2",
    "ctc_loss_with_log_probs",
    "gelu",
    "hard_sigmoid",
    "multi_conv",
    "nce_loss",
    "sampled_softmax_loss",
    "softmax",
    "swish",
]
