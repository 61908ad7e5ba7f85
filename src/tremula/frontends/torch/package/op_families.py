"""The operators that a program from a file may call, in families, by the name of their packet.

They are the functional ops that captures of programs contain, forward, backward and update. Each checks its operands
in every form that runs it: shapes on fake tensors when the program is read, indices when it runs. What is not here is
refused, above all ops that skip checks (`_unsafe_index`), that choose memory themselves (`as_strided`, `set_`,
`resize_`), or whose kernels trust offsets and lengths (`_embedding_bag`, `segment_reduce`).
`fuzz/targets/operators.py` runs all of them on operands that do not fit, between guard pages.
"""

from __future__ import annotations

#: one value from each place of the operands
ELEMENTWISE = """
    __and__ __lshift__ __or__ __rshift__ __xor__ abs acos acosh add addcdiv addcmul angle asin asinh atan
    atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil
    celu clamp clamp_max clamp_min clip complex conj_physical copy copysign cos cosh deg2rad digamma div
    divide elu eq erf erfc erfinv exp exp2 expm1 fill float_power floor floor_divide fmax fmin fmod frac ge
    gelu greater greater_equal gt hardshrink hardsigmoid hardswish hardtanh heaviside hypot i0 imag isfinite
    isinf isnan isneginf isposinf ldexp le leaky_relu lerp less less_equal lgamma log log10 log1p log2
    log_sigmoid_forward logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit lt
    masked_fill maximum minimum mish mul multiply nan_to_num ne neg negative nextafter not_equal polar
    positive pow rad2deg real reciprocal relu relu6 remainder round rrelu_with_noise rsqrt rsub selu sgn
    sigmoid sign signbit silu sin sinc sinh softplus softshrink special_entr special_erfcx special_expit
    special_expm1 special_gammaln special_i0e special_i1 special_i1e special_log1p special_log_ndtr
    special_ndtr special_ndtri special_xlog1py special_zeta sqrt square sub subtract tan tanh threshold
    true_divide trunc where xlogy zero _prelu_kernel _to_copy _conj _neg_view _conj_physical
"""
ELEMENTWISE_BACKWARD = """
    _prelu_kernel_backward elu_backward gelu_backward glu_backward hardshrink_backward hardsigmoid_backward
    hardswish_backward hardtanh_backward leaky_relu_backward log_sigmoid_backward logit_backward mish_backward
    rrelu_with_noise_backward sigmoid_backward silu_backward softplus_backward softshrink_backward
    tanh_backward threshold_backward native_dropout_backward
"""
#: several tensors at once
LISTS = """
    _foreach_abs _foreach_add _foreach_addcdiv _foreach_addcmul _foreach_copy _foreach_div _foreach_lerp
    _foreach_mul _foreach_neg _foreach_norm _foreach_pow _foreach_sign _foreach_sqrt _foreach_sub
    _foreach_zero
"""
REDUCTIONS = """
    _log_softmax _log_softmax_backward_data _safe_softmax _softmax _softmax_backward_data all amax amin
    aminmax any argmax argmin count_nonzero cummax cummin cumprod cumsum dist glu kthvalue linalg_vector_norm
    logcumsumexp logsumexp max mean median min mode nanmedian nansum norm prod std std_mean sum var var_mean
    _cummax_helper frobenius_norm
"""
PRODUCTS = """
    _trilinear addbmm addmm addmv addr baddbmm bmm convolution convolution_backward dot einsum linear matmul
    mm mv outer vdot _weight_norm_interface linalg_cross cross _cdist_forward _euclidean_dist
    _addmm_activation
"""
LOSSES = """
    binary_cross_entropy binary_cross_entropy_backward binary_cross_entropy_with_logits huber_loss
    huber_loss_backward kl_div mse_loss mse_loss_backward smooth_l1_loss smooth_l1_loss_backward
    soft_margin_loss soft_margin_loss_backward l1_loss
"""
NORMALISATION = """
    _native_batch_norm_legit _native_batch_norm_legit_functional _native_batch_norm_legit_no_training
    native_batch_norm native_group_norm native_layer_norm native_dropout _fused_rms_norm
"""
POOLING = """
    _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward
    adaptive_avg_pool1d adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool2d_backward
    avg_pool3d avg_pool3d_backward max_pool2d_with_indices max_pool3d_with_indices
"""
PADDING = """
    constant_pad_nd reflection_pad1d reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward
    reflection_pad3d reflection_pad3d_backward replication_pad1d replication_pad1d_backward replication_pad2d
    replication_pad2d_backward replication_pad3d replication_pad3d_backward
"""
INTERPOLATION = """
    _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa
    _upsample_bilinear2d_aa_backward _upsample_nearest_exact1d _upsample_nearest_exact1d_backward
    _upsample_nearest_exact2d _upsample_nearest_exact2d_backward _upsample_nearest_exact3d
    _upsample_nearest_exact3d_backward affine_grid_generator grid_sampler_2d grid_sampler_3d
    upsample_bicubic2d upsample_bicubic2d_backward upsample_bilinear2d upsample_bilinear2d_backward
    upsample_linear1d upsample_linear1d_backward upsample_nearest1d upsample_nearest1d_backward
    upsample_nearest2d upsample_nearest2d_backward upsample_nearest3d upsample_nearest3d_backward
    upsample_trilinear3d upsample_trilinear3d_backward
"""
#: shapes are derived, or checked, by torch itself
LAYOUT = """
    _reshape_copy _unsafe_view alias alias_copy broadcast_to cat channel_shuffle clone col2im concat
    contiguous detach diag_embed diagonal diagonal_backward diagonal_copy diagonal_scatter expand expand_as
    expand_copy flatten flip fliplr flipud im2col lift_fresh lift_fresh_copy movedim narrow permute
    permute_copy pixel_shuffle pixel_unshuffle ravel repeat reshape roll rot90 select select_backward
    select_copy select_scatter slice slice_backward slice_copy slice_scatter split split_with_sizes squeeze
    squeeze_copy stack swapaxes swapdims t t_copy tile trace transpose transpose_copy tril triu unbind unfold
    unfold_backward unfold_copy unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_copy
    view view_as_complex view_as_real view_copy
"""
CREATION = """
    arange empty empty_like eye full full_like linspace logspace new_empty new_full new_ones new_zeros ones
    ones_like scalar_tensor tril_indices triu_indices zeros zeros_like
"""
RANDOM = """
    bernoulli cauchy exponential geometric log_normal multinomial normal normal_functional poisson rand
    rand_like randint randint_like randn randn_like random randperm uniform
"""
ORDER = "argsort bucketize isin msort searchsorted sort topk"
LINEAR_ALGEBRA = """
    _linalg_check_errors _linalg_det _linalg_eigh _linalg_slogdet _linalg_svd cholesky cholesky_inverse cholesky_solve
    linalg_cholesky_ex linalg_eig linalg_inv_ex linalg_lstsq linalg_matrix_exp linalg_qr
    linalg_solve_triangular linalg_svdvals triangular_solve _linalg_solve_ex _linalg_eigvals
"""
#: where to read or write is data; kernels of the host compare every index with the size
INDEXED = """
    embedding embedding_dense_backward gather index index_add index_copy index_fill index_put index_reduce
    index_select masked_scatter masked_scatter_backward masked_select nll_loss_forward nll_loss2d_forward put
    scatter scatter_add scatter_reduce take take_along_dim bincount
"""
#: the kernel trusts sizes, or what its forward op gave: `operand_rules` has the rest of the checks
RULED = """
    _cdist_backward _scaled_dot_product_flash_attention_for_cpu
    _scaled_dot_product_flash_attention_for_cpu_backward _weight_norm_interface_backward
    grid_sampler_2d_backward grid_sampler_3d_backward mkldnn_rnn_layer adaptive_max_pool2d_backward
    adaptive_max_pool3d_backward max_pool2d_with_indices_backward max_pool3d_with_indices_backward
    native_batch_norm_backward native_group_norm_backward native_layer_norm_backward nll_loss_backward
    nll_loss2d_backward
"""
CONVERSIONS = "convert_element_type"
OWN = """
    ctc_beam_search ctc_loss ctc_loss_backward custom custom_gradient farthest_points farthest_points_random
    nearest_points print_tensor
"""
