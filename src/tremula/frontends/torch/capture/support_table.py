"""Names of ops that PopTorch is known to support, without overload and without the `_` of in-place forms.

The first table lists the aten ops for which its public sources (they call themselves 3.4.0; what 3.3 lacked
is not recorded) register a handler, whatever the overload; those only handled to be refused are left out.
The second lists what torch 2.13 records in their place: parts that a handled op is made of by the time it
is captured, and newer names of the same thing. (`index_copy` is how Tremula records dynamic_update; a
direct call of it passes unnoticed.)
"""

from __future__ import annotations

_HANDLED = """
    __and__ __or__ __xor__ _cdist_forward _convolution _embedding_bag _log_softmax _prelu_kernel
    _reshape_alias _softmax _unsafe_view _weight_norm abs acos acosh adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d add addcdiv addcmul addmm addmv all amax amin any arange argmax argmin argsort asin
    asinh atan atan2 atanh avg_pool1d avg_pool2d avg_pool3d baddbmm batch_norm bernoulli bilinear
    binary_cross_entropy binary_cross_entropy_with_logits bincount bitwise_and bitwise_not bitwise_or
    bitwise_xor bmm broadcast_to bucketize cartesian_prod cat cdist ceil celu chunk clamp clamp_max
    clamp_min clone col2im constant_pad_nd contiguous conv2d convolution convolution_overrideable copy cos
    cosh cosine_embedding_loss cosine_similarity count_nonzero cross cross_entropy_loss ctc_loss cumprod
    cumsum detach div dot dropout einsum elu embedding embedding_bag eq erf erfc exp expand expand_as expm1
    exponential feature_dropout flatten flip floor floor_divide fmod frac frobenius_norm full full_like
    gather ge gelu glu group_norm gru gt hardshrink hardsigmoid hardswish hardtanh hinge_embedding_loss
    im2col index index_fill index_put index_reduce index_select instance_norm isnan kl_div l1_loss
    layer_norm le leaky_relu linalg_cross linalg_vector_norm linear log log10 log1p log2 log_sigmoid
    log_sigmoid_forward log_softmax logical_and logical_not logical_or logsumexp lstm lt margin_ranking_loss
    masked_fill matmul max max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d
    max_pool3d_with_indices maximum mean median meshgrid min minimum mish mkldnn_convolution mm mse_loss mul
    multilabel_soft_margin_loss mv nansum narrow native_batch_norm native_group_norm native_layer_norm ne
    neg new_full new_ones new_zeros nll_loss2d nll_loss2d_forward nll_loss_forward nll_loss_nd norm normal
    numpy_T one_hot ones ones_like pairwise_distance permute pixel_shuffle poisson_nll_loss pow prelu prod
    rand randint randn random randperm reciprocal reflection_pad1d reflection_pad2d relu remainder repeat
    replication_pad1d replication_pad2d replication_pad3d reshape rnn_relu rnn_tanh roll round rrelu
    rrelu_with_noise rsqrt rsub scatter scatter_add scatter_reduce select selu sigmoid sign silu sin sinh
    slice smooth_l1_loss soft_margin_loss softmax softplus softshrink sort split split_with_sizes sqrt
    square squeeze stack std std_mean sub sum t take_along_dim tan tanh tensordot threshold to topk
    transpose triplet_margin_loss triu true_divide trunc type_as unbind unfold uniform unsafe_chunk
    unsqueeze upsample_bicubic2d upsample_bilinear2d upsample_nearest1d upsample_nearest2d
    upsample_nearest3d var var_mean view where zeros zeros_like
"""

_RECORDED_INSTEAD = """
    _adaptive_avg_pool2d _adaptive_avg_pool3d _safe_softmax _scaled_dot_product_flash_attention_for_cpu
    _to_copy _trilinear _weight_norm_interface alias as_strided empty empty_like empty_strided fill
    index_copy mkldnn_rnn_layer new_empty rand_like randn_like unsafe_split xlogy zero
"""

_OF_OTHER_PACKAGES = """
    torch_cluster::grid torch_scatter::scatter_max torch_scatter::scatter_min torch_scatter::scatter_mul
    torch_spline_conv::spline_basis torch_spline_conv::spline_weighting
"""

#: aten ops by bare name, others with their namespace
KNOWN_OPS: frozenset[str] = frozenset(
    [*_HANDLED.split(), *_RECORDED_INSTEAD.split(), *_OF_OTHER_PACKAGES.split()]
)

#: namespaces whose ops are Tremula's own or are brought by the user for this purpose
KNOWN_NAMESPACES: frozenset[str] = frozenset({"tremula", "poptorch", "popart"})
