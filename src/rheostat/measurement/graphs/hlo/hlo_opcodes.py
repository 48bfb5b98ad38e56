"""Every opcode of HLO with the class of its cost; what is not here is no opcode.

Source: xla/hlo/ir/hlo_opcode.h.
"""

from __future__ import annotations

_BY_CLASS = {
    "matmul": "dot ragged-dot scaled-dot cholesky triangular-solve fft",
    "convolution": "convolution",
    "elementwise": "bitcast-convert "
    "abs add and ceil clamp clz compare complex convert divide floor "
    "imag is-finite maximum minimum multiply negate not or popcnt real reduce-precision remainder "
    "round-nearest-afz round-nearest-even select shift-left shift-right-arithmetic "
    "shift-right-logical sign subtract xor count-leading-zeros popcount stochastic-convert map",
    "transcendental": "cbrt cosine erf exponential exponential-minus-one log log-plus-one logistic "
    "power rsqrt sine sqrt tan tanh atan2 acos acosh asin asinh atanh cosh sinh "
    "rng rng-bit-generator rng-get-and-update-state",
    "reduction": "reduce reduce-window select-and-scatter sort topk",
    "normalization": "batch-norm-grad batch-norm-inference batch-norm-training",
    "data_movement": "bitcast broadcast concatenate copy copy-start copy-done "
    "iota pad reshape dynamic-reshape reverse slice transpose tuple get-tuple-element "
    "set-dimension-size get-dimension-size",
    "gather_scatter": "dynamic-slice dynamic-update-slice gather scatter",
    "collective": "all-gather all-gather-start all-gather-done all-reduce all-reduce-start "
    "all-reduce-done all-to-all ragged-all-to-all collective-broadcast collective-permute "
    "collective-permute-start collective-permute-done reduce-scatter send send-done recv recv-done "
    "partition-id replica-id",
    "control": "call while conditional fusion async-start async-update async-done after-all "
    "add-dependency domain optimization-barrier opt-barrier",
    "parameter_constant": "parameter constant",
    "other": "custom-call infeed outfeed",
}
OPCODES = {op: cls for cls, ops in _BY_CLASS.items() for op in ops.split()}
WRAPPED = ("-start", "-update", "-done")
"""Endings of an operation that runs beside others: ``slice-start``, ``custom-call-done``."""


def class_of(opcode: str) -> str | None:
    """Class of an opcode; of an asynchronous form, of what it wraps; None where it is no opcode.

    >>> class_of("dot"), class_of("slice-start"), class_of("dotty")
    ('matmul', 'data_movement', None)
    """
    if opcode in OPCODES:
        return OPCODES[opcode]
    stem = next((opcode.removesuffix(w) for w in WRAPPED if opcode.endswith(w)), "")
    return OPCODES.get(stem)
