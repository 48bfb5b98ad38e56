"""Costs of layers that PyTorch runs in one piece: attention, recurrence, resizing, algebra."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rheostat.measurement.graphs.hlo.hlo_costs import log2_up
from rheostat.measurement.graphs.hlo.hlo_types import HloType
from rheostat.measurement.graphs.op_rows import OpCost

Given = Sequence[HloType]
Rule = Callable[[HloType, Given, Sequence[Any]], OpCost]
SOFTMAX_FLOPS = 4.0
"""Of a score: maximum, shift, sum, division."""
EXPONENTIAL_PRODUCTS = 5.0
"""Of matrices, in the longest series that PyTorch takes; what large values are squared for comes
on top."""


def attention(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """Queries by keys, softmax, and by values."""
    scores, key, value = _scores(*given[:3])
    return OpCost("matmul", scores * (2.0 * (key + value) + SOFTMAX_FLOPS), scores)


def attention_backward(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(gradient, query, key, value, ...)``: scores made again, and four products of gradients."""
    scores, key, value = _scores(*given[1:4])
    return OpCost("matmul", scores * (6.0 * key + 4.0 * value + 2.0 * SOFTMAX_FLOPS), scores)


def _scores(query: HloType, key: HloType, value: HloType) -> tuple[float, int, int]:
    """How many, and what each is summed over, before and after the softmax."""
    scores = query.elements // query.dims[-1] * key.dims[-2]
    return float(scores), query.dims[-1], value.dims[-1]


def one_recurrent(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(input, weights of the input, weights of the state, ...)`` of one layer."""
    return OpCost("matmul", _recurrent_flops(given[0], given[1:3]))


def one_recurrent_backward(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """Gradients of inputs and of weights: two products for each one forward."""
    return OpCost("matmul", 2.0 * _recurrent_flops(given[0], given[1:3]))


def recurrent(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(input, weights of all layers, ...)``; weights are what has two axes."""
    return OpCost("matmul", _recurrent_flops(given[0], given[1:]))


def recurrent_backward(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """As `one_recurrent_backward`, of all layers."""
    return OpCost("matmul", 2.0 * _recurrent_flops(given[0], given[1:]))


def _recurrent_flops(entering: HloType, weights: Given) -> float:
    """Each step of each sequence meets each weight once."""
    steps = entering.elements / entering.dims[-1]
    return 2.0 * steps * sum(w.elements for w in weights if len(w.dims) == 2)


def _resized(taps: int) -> Rule:
    """A weighted sum of so many neighbours for each value; backwards they are spread again."""

    def rule(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
        most = max(given[0].elements, result.elements)
        return OpCost("gather_scatter", 2.0 * taps * most)

    return rule


def _pooled(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    window = math.prod([*args[1]] * (3 // len(args[1])))
    return OpCost("reduction", float((window - 1) * result.elements))


def spread(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """One addition for each element that is put somewhere."""
    return OpCost("gather_scatter", float(given[0].elements))


def reduced(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """One operation for each element that there is less afterwards."""
    return OpCost("reduction", float(max(given[0].elements - result.elements, 0)))


def _scanned(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    return OpCost("reduction", float(given[0].elements))


def _distances(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """Difference, square and sum for each pair and coordinate."""
    return OpCost("matmul", 3.0 * result.elements * given[0].dims[-1])


def _fourier(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """5 n log2 n, of real numbers half."""
    whole = max(given[0], result, key=lambda t: t.elements)
    length = math.prod(whole.dims[d] for d in args[1])
    share = 1.0 if given[0].dtype.startswith("c") and result.dtype.startswith("c") else 0.5
    return OpCost("other", share * 5.0 * whole.elements * math.log2(max(length, 2)))


def _distances_backward(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(gradient, rows, ...)``: difference, its share of the distance, product and sum."""
    return OpCost("matmul", 4.0 * given[0].elements * given[1].dims[-1])


def _cubic(factor: float, kind: str = "other") -> Rule:
    """Of square matrices: so many times n^3 each."""

    def rule(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
        return OpCost(kind, factor * given[0].elements * given[0].dims[-1])

    return rule


def _solved(factor: float) -> Rule:
    """``(matrix, right sides)``, or the other way round: n times as many for each number."""

    def rule(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
        return OpCost("other", factor * result.elements * given[0].dims[-1])

    return rule


def _solved_at_once(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(matrix, right sides)``: factors by Gauss, and two triangles for each right side."""
    side = given[0].dims[-1]
    return OpCost("other", 2.0 / 3.0 * given[0].elements * side + 2.0 * result.elements * side)


def _singular(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """Values and vectors of (m, n): 6 m n^2 + 20 n^3 where n is the shorter."""
    short, long = sorted(given[0].dims[-2:])
    each = 6.0 * long * short**2 + 20.0 * short**3
    return OpCost("other", each * given[0].elements / max(short * long, 1))


def _pseudo_inverse(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """By singular values and vectors, which are multiplied again."""
    whole = _singular(result, given, args)
    return OpCost("other", whole.flops + 2.0 * result.elements * min(given[0].dims[-2:]))


def _least_squares(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(matrix, right sides)``: QR kept as reflections, applied to each right side."""
    short, long = sorted(given[0].dims[-2:])
    each = 2.0 * long * short**2 - 2.0 * short**3 / 3.0 + 4.0 * long * short * given[1].dims[-1]
    return OpCost("other", each * given[0].elements / max(short * long, 1))


def _reflected(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(reflections, scales)``: k of them written out as (m, n)."""
    (m, n), k = given[0].dims[-2:], given[1].dims[-1]
    each = 4.0 * m * n * k - 2.0 * (m + n) * k**2 + 4.0 * k**3 / 3.0
    return OpCost("other", each * given[0].elements / max(m * n, 1))


def _polar(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """Cosine and sine of each angle, times its length."""
    return OpCost("transcendental", 2.0 * result.elements, 2.0 * result.elements)


def _searched(place: int) -> Rule:
    """Each value among sorted ones, by halves; the sorted ones are the array at ``place``."""

    def rule(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
        length = given[place].dims[-1] if given[place].dims else 1
        return OpCost("gather_scatter", float(result.elements * log2_up(max(length, 2))))

    return rule


def _each(kind: str, factor: float) -> Rule:
    """So much for each number that is read."""

    def rule(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
        return OpCost(kind, factor * max(result.elements, given[0].elements))

    return rule


def _thrice(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(a, b, c, axes that each lacks, ...)``: products in all axes, and their sums over some."""
    whole: tuple[int, ...] = ()
    for array, lacks in zip(given[:3], args[3:6], strict=True):
        dims = list(array.dims)
        for axis in sorted(lacks):
            dims.insert(axis, 1)
        whole = tuple(map(max, dims, whole or dims))
    return OpCost("matmul", 3.0 * math.prod(whole))


ALIGNED_FLOPS, ALIGNED_TERMS = 7.0, 4.0
"""Of a score: the logarithm of the sum of three exponentials, shifted by the largest."""


def _aligned(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(log probabilities, labels, ...)``: a score for each step, label and blank."""
    labels = given[1]
    batch = given[0].dims[1] if len(given[0].dims) == 3 else 1
    places = labels.dims[-1] if len(labels.dims) == 2 else labels.elements / batch
    scores = given[0].dims[0] * batch * (2.0 * places + 1.0)
    return OpCost("other", ALIGNED_FLOPS * scores, ALIGNED_TERMS * scores)


def _aligned_backward(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """``(gradient, log probabilities, ..., scores)``: scores from the end, summed by class."""
    scores, classes = given[-1].elements, result.elements
    return OpCost("other", (ALIGNED_FLOPS + 1.0) * scores + 2.0 * classes,
                  ALIGNED_TERMS * scores + classes)  # fmt: skip


def _factored(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    """QR of (m, n) by reflections, Q written out: 4 m n^2 - 4 n^3 / 3 where n is the shorter."""
    short, long = sorted(given[0].dims[-2:])
    each = 4.0 * long * short**2 - 4.0 * short**3 / 3.0
    return OpCost("other", each * given[0].elements / max(short * long, 1))


def _matrix_vector(result: HloType, given: Given, args: Sequence[Any]) -> OpCost:
    return OpCost("matmul", 2.0 * given[1].elements + result.elements)


LAYER_RULES: dict[str, Rule] = {
    **dict.fromkeys(("scaled_dot_product_attention", "_scaled_dot_product_flash_attention",
                     "_scaled_dot_product_flash_attention_for_cpu", "attention",
                     "_scaled_dot_product_efficient_attention",
                     "_scaled_dot_product_cudnn_attention"), attention),
    **dict.fromkeys(("_scaled_dot_product_flash_attention_backward", "attention_backward",
                     "_scaled_dot_product_flash_attention_for_cpu_backward",
                     "_scaled_dot_product_efficient_attention_backward",
                     "_scaled_dot_product_cudnn_attention_backward"), attention_backward),
    "mkldnn_rnn_layer": one_recurrent, "mkldnn_rnn_layer_backward": one_recurrent_backward,
    **dict.fromkeys(("_cudnn_rnn", "lstm", "gru", "rnn_tanh", "rnn_relu"), recurrent),
    "_cudnn_rnn_backward": recurrent_backward,
    **{f"upsample_{kind}{end}": _resized(taps) for end in ("", "_backward") for kind, taps in
       {"linear1d": 2, "bilinear2d": 4, "bicubic2d": 16, "trilinear3d": 8}.items()},
    "grid_sampler_2d": _resized(4), "grid_sampler_2d_backward": _resized(8),
    "grid_sampler_3d": _resized(8), "grid_sampler_3d_backward": _resized(16),
    "max_pool3d_with_indices": _pooled, "avg_pool3d": _pooled, "adaptive_max_pool2d": reduced,
    "_adaptive_avg_pool3d": reduced, "adaptive_max_pool3d": reduced, "cummax": _scanned,
    "cummin": _scanned, "logcumsumexp": _scanned,
    **dict.fromkeys(("max_pool3d_with_indices_backward", "avg_pool3d_backward",
                     "adaptive_max_pool2d_backward", "_adaptive_avg_pool3d_backward",
                     "adaptive_max_pool3d_backward", "max_unpool2d", "max_unpool3d"), spread),
    "_cdist_forward": _distances, "_pdist_forward": _distances,
    "_cdist_backward": _distances_backward, "_pdist_backward": _distances_backward,
    "_fft_c2c": _fourier, "_fft_r2c": _fourier, "_fft_c2r": _fourier,
    "linalg_inv_ex": _cubic(2.0), "linalg_cholesky_ex": _cubic(1.0 / 3.0),
    "linalg_lu_factor_ex": _cubic(2.0 / 3.0), "linalg_qr": _factored, "addmv": _matrix_vector,
    **dict.fromkeys(("_linalg_det", "_linalg_slogdet", "linalg_lu"), _cubic(2.0 / 3.0)),
    "linalg_eig": _cubic(25.0), "_linalg_eigvals": _cubic(10.0),
    "linalg_matrix_exp": _cubic(2.0 * EXPONENTIAL_PRODUCTS, "matmul"),
    "linalg_pinv": _pseudo_inverse, "linalg_lstsq": _least_squares,
    "linalg_householder_product": _reflected, "polar": _polar, "linalg_cross": _each(
        "elementwise", 3.0), "renorm": _each("reduction", 3.0), "histc": _each(
        "gather_scatter", 2.0), "searchsorted": _searched(0), "bucketize": _searched(1),
    "_linalg_eigh": _cubic(9.0), "_linalg_svd": _singular, "_linalg_solve_ex": _solved_at_once,
    "_weight_norm_interface": _each("normalization", 3.0),
    "_weight_norm_interface_backward": _each("normalization", 6.0),
    "_trilinear": _thrice, "_ctc_loss": _aligned, "_ctc_loss_backward": _aligned_backward,
    "linalg_solve_triangular": _solved(1.0), "linalg_lu_solve": _solved(2.0),
}  # fmt: skip
"""Of ATen's names, and of those in `whole_layers`."""
