"""Class and costs of PyTorch's ATen operations, by the rules that XLA has for its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rheostat.measurement.graphs.aten_layers import LAYER_RULES, reduced, spread
from rheostat.measurement.graphs.hlo.hlo_costs import log2_up
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.hlo.hlo_window import WindowSide
from rheostat.measurement.graphs.op_rows import OpCost, convolved_flops, product_flops

_WORDS = {
    "view": "view _unsafe_view reshape permute transpose t expand slice select squeeze unsqueeze "
    "alias detach as_strided diagonal split split_with_sizes unbind chunk view_as_complex "
    "view_as_real getitem lift_fresh_copy _assert_tensor_metadata sym_size unsafe_split "
    "unsafe_split_with_sizes unsafe_chunk unfold _linalg_check_errors _indices _values coalesce "
    "_sparse_coo_tensor_with_dims_and_tensors "
    "is_coalesced _coalesced _conj _neg_view resolve_conj resolve_neg "
    "_record_function_enter _record_function_enter_new _record_function_exit",
    "data_movement": "clone copy copy_ _to_copy cat stack full full_like empty empty_like zeros "
    "ones zeros_like ones_like arange scalar_tensor constant_pad_nd flip roll repeat tril triu "
    "fill new_zeros new_full new_empty empty_strided contiguous eye lift linspace slice_scatter "
    "select_scatter slice_backward select_backward rand randn reflection_pad2d empty_permuted "
    "new_empty_strided exponential replication_pad2d replication_pad2d_backward "
    "reflection_pad2d_backward upsample_nearest2d upsample_nearest2d_backward reflection_pad1d "
    "reflection_pad1d_backward replication_pad1d replication_pad1d_backward upsample_nearest1d "
    "upsample_nearest1d_backward upsample_nearest3d upsample_nearest3d_backward rand_like "
    "randn_like randint randint_like randperm normal uniform random new_ones zero im2col col2im "
    "rot90 reflection_pad3d reflection_pad3d_backward _upsample_nearest_exact2d "
    "_upsample_nearest_exact2d_backward pixel_shuffle pixel_unshuffle channel_shuffle "
    "native_channel_shuffle diag_embed _stack tril_indices triu_indices",
    "elementwise": "softshrink_backward hardshrink_backward rrelu_with_noise "
    "rrelu_with_noise_backward leaky_relu_backward elu_backward softplus_backward mish_backward "
    "hardtanh_backward hardsigmoid_backward hardswish hardswish_backward log_sigmoid_backward "
    "glu glu_backward _prelu_kernel _prelu_kernel_backward mse_loss mse_loss_backward "
    "smooth_l1_loss smooth_l1_loss_backward huber_loss huber_loss_backward "
    "binary_cross_entropy binary_cross_entropy_backward binary_cross_entropy_with_logits "
    "multilabel_margin_loss_forward multilabel_margin_loss_backward soft_margin_loss "
    "soft_margin_loss_backward multi_margin_loss multi_margin_loss_backward _amp_update_scale_",
    "gather_scatter": "scatter scatter_add index_put "
    "index_add scatter_reduce masked_scatter nonzero embedding_dense_backward index_copy "
    "index_fill put bincount one_hot nll_loss_forward nll_loss_backward nll_loss2d_forward "
    "nll_loss2d_backward _embedding_bag_dense_backward _index_put_impl "
    "_unsafe_index_put",
    "transcendental": "exp exp2 expm1 log log2 log10 log1p tanh sigmoid sqrt rsqrt pow erf erfc "
    "sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh gelu silu softplus mish "
    "logical_sigmoid log_sigmoid_forward native_dropout bernoulli elu gelu_backward",
    "reduction": "sum mean amax amin max min argmax argmin prod any all cumsum cumprod logsumexp "
    "topk sort var var_mean std median norm linalg_vector_norm nansum trace segment_reduce",
}
NAMED = {name: kind for kind, names in _WORDS.items() for name in names.split()}
NORMALIZATION_FLOPS, NORMALIZATION_BACKWARD_FLOPS = 7.0, 11.0
"""Of a value, as XLA counts what JAX lowers: mean, variance, shift, scale; and their gradients."""
Given = Sequence[HloType]


def aten_cost(
    name: str, result: HloType, given: Given, args: Sequence[Any], pointwise: bool
) -> OpCost:
    """Class and costs of one operation.

    Parameters
    ----------
    name : str
        As ``mm``, without namespace and overload.
    result : HloType
        Of what it gives; of several results, the first.
    given : sequence of HloType
        Of the arrays it takes, in order.
    args : sequence
        Its arguments as the graph has them, nodes included.
    pointwise : bool
        Whether PyTorch tags it so.

    Returns
    -------
    OpCost
        NaN FLOPs where there is no rule.
    """
    if name in RULES:
        return RULES[name](result, given, args)
    elements = float(result.elements)
    kind = NAMED.get(name)
    if kind == "view":
        return OpCost("data_movement", bytes=0.0)
    if kind == "transcendental":
        return OpCost(kind, transcendentals=elements)
    if kind == "reduction":
        return OpCost(kind, flops=float(max(given[0].elements - result.elements, 0)))
    if kind not in (None, "elementwise"):
        return OpCost(kind)
    known = pointwise or kind is not None
    return OpCost("elementwise", elements) if known else OpCost("other", math.nan)


def _product(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    return OpCost("matmul", product_flops(result, given[-1].dims[-2]))


def _added_product(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    return OpCost("matmul", product_flops(result, given[-1].dims[-2]) + result.elements)


def _dot(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    return OpCost("matmul", 2.0 * given[0].elements)


def _sides(args: Sequence[Any], kernel: Sequence[int], at: int) -> list[WindowSide]:
    """From stride, padding and dilation, which stand one after the other in the arguments."""
    each = [[*a] * (len(kernel) // len(a)) for a in args[at : at + 3]]
    return [WindowSide(k, s, p, p, 1, d) for k, s, p, d in zip(kernel, *each, strict=True)]


def _convolution(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(input, weight, bias, stride, padding, dilation, transposed, ...)``."""
    kernel = given[1]
    sides = _sides(args, kernel.dims[2:], 3)
    biased = float(result.elements) if len(given) > 2 else 0.0
    count = _transposed if args[6] else convolved_flops
    return OpCost("convolution", count(given[0], kernel, result, sides) + biased,
                  depthwise=args[8] > 1 and kernel.dims[1] == 1)  # fmt: skip


def _transposed(given: HloType, kernel: HloType, out: HloType, sides: list[WindowSide]) -> float:
    """A transposed convolution is the gradient of one whose result is its input."""
    turned = HloType(out.dtype, (out.dims[0], kernel.dims[0], *out.dims[2:]))
    plain = HloType(kernel.dtype, (given.dims[1], kernel.dims[1], *kernel.dims[2:]))
    return convolved_flops(turned, plain, given, sides)


def _convolution_backward(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(gradient, input, weight, bias sizes, stride, padding, dilation, transposed, ...)``."""
    gradient, image, kernel = given[:3]
    sides = _sides(args, kernel.dims[2:], 4)
    once = _transposed(image, kernel, gradient, sides) if args[7] else convolved_flops(
        image, kernel, gradient, sides)  # fmt: skip
    mask = args[10]
    bias = max(gradient.elements - gradient.dims[1], 0) if mask[2] else 0
    return OpCost("convolution", once * (mask[0] + mask[1]) + bias,
                  depthwise=args[9] > 1 and kernel.dims[1] == 1)  # fmt: skip


def _pooling(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    window = math.prod([*args[1]] * (2 // len(args[1])))
    return OpCost("reduction", float((window - 1) * result.elements))


def _softmax(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """Maximum, shift, exponential, sum, division."""
    elements = float(result.elements)
    return OpCost("normalization", 4 * elements, elements)


def _softmax_backward(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    return OpCost("normalization", 4.0 * result.elements)


def _normalized(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    return OpCost("normalization", NORMALIZATION_FLOPS * given[0].elements)


def _normalized_backward(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    return OpCost("normalization", NORMALIZATION_BACKWARD_FLOPS * given[0].elements)


def _gathered(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """Of a table what it gives is read, as XLA counts it, and not all of the table."""
    places = sum(g.size_b for g in given[1:])
    return OpCost("gather_scatter", bytes=2.0 * result.size_b + places)


def _bag(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(table, places, ...)``: rows that are read and summed."""
    row_b = given[0].size_b / max(given[0].dims[0], 1)
    read, width = given[1].elements, given[0].dims[-1]
    moved = read * row_b + sum(g.size_b for g in given[1:]) + result.size_b
    return OpCost("gather_scatter", flops=float(read * width), bytes=moved)


def _bag_backward(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """Sums what rows of the result are gradients of; the result is all of the table, or sparse."""
    return OpCost("gather_scatter", flops=float(given[1].elements * given[0].dims[-1]))


def _unscaled(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """Gradients of a scaled loss, in their place: looked through and multiplied."""
    arrays = given[:-2]
    return OpCost("elementwise", float(sum(g.elements for g in arrays)),
                  bytes=2.0 * sum(g.size_b for g in arrays))  # fmt: skip


def _distances(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """Of each row of one array to each of another, by one product, as PyTorch has it."""
    return OpCost("matmul", product_flops(result, given[0].dims[-1] + 2), float(result.elements))


def _sorted(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    return OpCost("reduction", float(given[0].elements * log2_up(given[0].elements)))


def _grid(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """A place of two or three coordinates and a 1, times a matrix, for each point of the grid."""
    grid = max([result, *given[:1]], key=lambda t: t.elements)
    return OpCost("matmul", 2.0 * (grid.dims[-1] + 1) * grid.elements)


RULES: dict[str, Callable[[HloType, Given, Sequence[Any]], OpCost]] = {
    "mm": _product, "bmm": _product, "matmul": _product, "addmm": _added_product,
    "baddbmm": _added_product, "_int_mm": _product, "kthvalue": _sorted, "mode": _sorted,
    "_unique2": _sorted,
    "_euclidean_dist": _distances,
    "affine_grid_generator": _grid, "affine_grid_generator_backward": _grid,
    "_amp_foreach_non_finite_check_and_unscale_": _unscaled, "dot": _dot, "vdot": _dot, "mv": _dot,
    "convolution": _convolution,
    "convolution_backward": _convolution_backward, "max_pool2d_with_indices": _pooling,
    "avg_pool2d": _pooling, "_adaptive_avg_pool2d": reduced, "mean": reduced, "sort": _sorted,
    "max_pool2d_with_indices_backward": spread, "avg_pool2d_backward": spread,
    "_adaptive_avg_pool2d_backward": spread, "_softmax": _softmax, "_log_softmax": _softmax,
    "_safe_softmax": _softmax,
    "_softmax_backward_data": _softmax_backward, "_log_softmax_backward_data": _softmax_backward,
    **dict.fromkeys(("embedding", "index", "index_select", "gather", "take", "_unsafe_index"),
                    _gathered),
    "_embedding_bag": _bag, "_embedding_bag_forward_only": _bag,
    "_embedding_bag_backward": _bag_backward, "_embedding_bag_sparse_backward": _bag_backward,
    **dict.fromkeys(("native_layer_norm", "native_group_norm", "native_batch_norm",
                     "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
                     "_native_batch_norm_legit_no_training", "cudnn_batch_norm",
                     "_native_batch_norm_legit_no_stats", "_fused_rms_norm"), _normalized),
    **dict.fromkeys(("native_layer_norm_backward", "native_group_norm_backward",
                     "native_batch_norm_backward", "_fused_rms_norm_backward"),
                    _normalized_backward),
    **LAYER_RULES,
}  # fmt: skip
