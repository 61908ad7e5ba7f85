"""Which rule lowers which op: torch's bare op name (`add` for add and add_) to a function of this package."""

from __future__ import annotations

from collections.abc import Callable

from tremula.frontends.torch.rules import (
    convolutions,
    elementwise,
    lookups,
    losses,
    movement,
    norms,
    pooling,
    products,
    random_draws,
    recurrence,
    reductions,
)
from tremula.frontends.torch.rules.call import Call
from tremula.program.lowered import Lowered

Handler = Callable[[Call], Lowered]

_RULES: list[tuple[Handler, str]] = [
    (movement.view, """
        view _unsafe_view reshape _reshape_alias view_as flatten unflatten t transpose permute movedim swapaxes
        numpy_T mT expand expand_as broadcast_to slice select narrow unsqueeze squeeze split split_with_sizes
        unsafe_split unsafe_split_with_sizes unsafe_chunk chunk tensor_split unbind as_strided diagonal unfold detach
        lift lift_fresh real conj resolve_conj meshgrid atleast_1d atleast_2d atleast_3d
     """),
    (movement.hint, "alias"),
    (movement.allocation, "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize set"),
    (movement.constant, "lift_fresh_copy"),
    (movement.fill, """
        zeros ones full arange zeros_like ones_like full_like new_zeros new_ones new_full fill zero scalar_tensor
        linspace eye tril_indices triu_indices range
     """),
    (movement.clone, "clone contiguous"),
    (movement.cast, "_to_copy to type_as"),
    (movement.copy, "copy"),
    (movement.concatenation, "cat concat stack hstack vstack dstack column_stack"),
    (movement.pad, """
        constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d
        replication_pad3d pad
     """),
    (movement.pad_gradient, """
        reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward
        replication_pad2d_backward replication_pad3d_backward
     """),
    (movement.piecewise, "flip roll repeat tile"),
    (movement.scattered_copy, "pixel_shuffle pixel_unshuffle channel_shuffle im2col rot90 repeat_interleave"),
    (movement.triangle, "tril triu"),
    (movement.slice_gradient, "select_backward slice_backward diagonal_backward"),
    (movement.slice_update, "slice_scatter select_scatter"),
    (movement.overlapping_sum, "col2im unfold_backward"),
    (movement.on_host, "tremula::host_call tremula::print_tensor"),
    (movement.custom, "tremula::custom"),
    (products.product, "mm bmm mv dot vdot addmm baddbmm addmv addbmm matmul linear"),
    (products.attention, """
        _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward
        scaled_dot_product_attention _scaled_dot_product_attention_math
     """),
    (convolutions.convolution, """
        convolution _convolution conv1d conv2d conv3d convolution_overrideable mkldnn_convolution
     """),
    (convolutions.convolution_gradient, "convolution_backward convolution_backward_overrideable"),
    (norms.softmax, """
        _softmax softmax _log_softmax log_softmax _safe_softmax _softmax_backward_data _log_softmax_backward_data
     """),
    (norms.layer_norm, "native_layer_norm native_layer_norm_backward"),
    (norms.group_norm, "native_group_norm native_group_norm_backward"),
    (norms.batch_norm, """
        native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional
        _native_batch_norm_legit_no_training cudnn_batch_norm native_batch_norm_backward batch_norm_backward
        _batch_norm_with_update _batch_norm_no_update
     """),
    (norms.weight_norm, "_weight_norm _weight_norm_interface _weight_norm_interface_backward"),
    (pooling.pool, """
        max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices
        avg_pool1d avg_pool2d avg_pool3d max_pool2d_with_indices_backward max_pool3d_with_indices_backward
        avg_pool2d_backward avg_pool3d_backward max_pool2d_backward
     """),
    (pooling.adaptive_pool, """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d
        _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_max_pool2d adaptive_max_pool3d
        adaptive_max_pool2d_backward adaptive_max_pool3d_backward
     """),
    (pooling.interpolate, """
        upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d
        upsample_trilinear3d upsample_bicubic2d upsample_nearest1d_backward upsample_nearest2d_backward
        upsample_nearest3d_backward upsample_linear1d_backward upsample_bilinear2d_backward
        upsample_trilinear3d_backward upsample_bicubic2d_backward _upsample_nearest_exact1d _upsample_nearest_exact2d
        _upsample_nearest_exact3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_nearest_exact1d_backward
        _upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward
     """),
    (lookups.embedding, "embedding"),
    (lookups.embedding_bag, "_embedding_bag _embedding_bag_forward_only embedding_bag"),
    (lookups.embedding_gradient, "embedding_dense_backward embedding_backward _embedding_bag_dense_backward"),
    (lookups.index_select, "index_select"),
    (lookups.gather, "gather take_along_dim take"),
    (lookups.index, "index _unsafe_index"),
    (lookups.index_put, "index_put _unsafe_index_put _index_put_impl"),
    (lookups.scatter, "scatter scatter_add scatter_reduce one_hot"),
    (lookups.index_update, "index_add index_copy index_fill index_reduce"),
    (lookups.other_scatter, "torch_scatter::scatter_max torch_scatter::scatter_min torch_scatter::scatter_mul"),
    (reductions.reduction, """
        sum nansum mean nanmean prod amax amin max min all any argmax argmin count_nonzero aminmax
     """),
    (reductions.variance, "var std var_mean std_mean"),
    (reductions.vector_norm, "norm linalg_vector_norm frobenius_norm"),
    (reductions.log_sum_exp, "logsumexp"),
    (reductions.scan, "cumsum cumprod logcumsumexp cummax cummin _cummax_helper _cummin_helper"),
    (reductions.sort, "sort argsort topk kthvalue median nanmedian mode"),
    (losses.nll_loss, "nll_loss nll_loss_forward nll_loss2d nll_loss2d_forward nll_loss_nd"),
    (losses.nll_loss_gradient, "nll_loss_backward nll_loss2d_backward"),
    (losses.distances, "_cdist_forward _euclidean_dist cdist pairwise_distance"),
    (losses.trilinear, "_trilinear"),
    (losses.logits_loss, "binary_cross_entropy_with_logits"),
    (lookups.buckets, "bucketize searchsorted"),
    (products.cross, "linalg_cross cross"),
    (recurrence.layer, "mkldnn_rnn_layer mkldnn_rnn_layer_backward"),
    (elementwise.gated, "glu"),
    (elementwise.gated_gradient, "glu_backward"),
]  # fmt: skip

HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(elementwise.PASSES, elementwise.elementwise),
    **{f"_foreach_{name}": elementwise.foreach for name in elementwise.PASSES},
    **dict.fromkeys(losses.NAMES, losses.plain_loss),
    **dict.fromkeys(random_draws.NAMES, random_draws.random),
    **{name: rule for rule, names in _RULES for name in names.split()},
}


def rule_for(name: str) -> Handler:
    """The rule for an op by its bare name; what has none is unknown."""
    return HANDLERS.get(name, Call.unknown)
