"""Energy and power of serving tables whose columns do not say per what they are.

A column ``energy_j`` may be per token or per request, ``power_w`` of one GPU or of all of them: the
answers differ by a factor of hundreds or of eight, so it is asked for, not guessed at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

ENERGY = {"energy": 1.0, "energy_j": 1.0, "energy_kj": 1e3, "energy_wh": 3.6e3, "energy_kwh": 3.6e6}
POWER = {"power": 1.0, "power_w": 1.0, "power_kw": 1e3}
"""Names that do not say per what, with J or W of one of theirs."""
STATED = {"energy": ("J/token", "J/request"), "power": ("W/gpu", "W/deployment"),
          "batch": ("requests/replica", "requests/deployment")}  # fmt: skip
AGREES = 0.2
"""Power over throughput that is this near to the energy per token says that it is of all GPUs."""
CONTRADICTS = 5.0
"""Factor between watts and energy times throughput from which one of them is in another unit."""


def with_energy_per_token(
    frame: pl.DataFrame, stated: Mapping[str, str], problems: list[str]
) -> pl.DataFrame:
    """The frame with ``energy_per_token_j``, and ``power_w`` of all GPUs, where they can be known.

    Parameters
    ----------
    frame
        Columns by our names, numbers as they stand.
    stated
        ``{"energy": "J/request", "power": "W/gpu"}``, what the user says.
    problems
        What has to be stated, or cannot be, is added here.

    Examples
    --------
    >>> runs = pl.DataFrame({"energy_j": [150.0], "output_tokens": [300]})
    >>> with_energy_per_token(runs, {"energy": "J/request"}, [])["energy_per_token_j"].to_list()
    [0.5]
    >>> asked = []
    >>> _ = with_energy_per_token(runs, {}, asked)
    >>> print(asked[0])
    energy_j: J per token or per request? state it: --unit energy=J/token or --unit energy=J/request
    """
    for what, unit in stated.items():
        if unit not in STATED.get(what, ()):
            choices = ", ".join(f"{k}={u}" for k, units in STATED.items() for u in units)
            problems.append(f"--unit: expected one of {choices}, got {what}={unit}")
    if problems:
        return frame
    frame = _power(_energy(frame, stated.get("energy"), problems), stated.get("power"), problems)
    _contradictions(frame, problems)
    return _batch(frame, stated.get("batch"), problems)


def _energy(frame: pl.DataFrame, unit: str | None, problems: list[str]) -> pl.DataFrame:
    """Energy per token from what is there; a column that says per what goes before one that not."""
    if "energy_per_token_j" in frame.columns:
        return frame
    name = next((c for c in ENERGY if c in frame.columns), None)
    if "energy_per_request_j" in frame.columns:
        energy, unit = _number("energy_per_request_j"), "J/request"
    elif name is None:
        return frame
    elif unit is None:
        problems.append(f"{name}: J per token or per request? state it: --unit energy=J/token or "
                        "--unit energy=J/request")  # fmt: skip
        return frame
    else:
        energy = _number(name) * ENERGY[name]
    if unit == "J/request":
        if "output_tokens" not in frame.columns:
            problems.append("energy per request needs output_tokens, the tokens of an answer")
            return frame
        energy = energy / _number("output_tokens")
    return frame.with_columns(energy_per_token_j=energy)


def _power(frame: pl.DataFrame, unit: str | None, problems: list[str]) -> pl.DataFrame:
    """Power of all GPUs, and energy per token from it where nothing else says."""
    name = next((c for c in POWER if c in frame.columns), None)
    if name is None:
        return frame
    power = _number(name) * POWER[name]
    gpus = _number("gpus") if "gpus" in frame.columns else None
    alone = gpus is not None and frame.select((gpus == 1).all()).item()
    if unit == "W/gpu" and gpus is None:
        problems.append("--unit power=W/gpu needs gpus, the number of GPUs")
        return frame
    if unit is None and not alone and not _of_all(frame, power):
        problems.append(f"{name}: W of one GPU or of the deployment? state it: --unit power=W/gpu "
                        "or --unit power=W/deployment")  # fmt: skip
        return frame
    if unit == "W/gpu" and gpus is not None:
        power = power * gpus
    frame = frame.with_columns(power_w=power)
    if "energy_per_token_j" not in frame.columns and "tokens_per_s" in frame.columns:
        frame = frame.with_columns(energy_per_token_j=_number("power_w") / _number("tokens_per_s"))
    return frame


def _contradictions(frame: pl.DataFrame, problems: list[str]) -> None:
    """Energy times throughput against watts, row by row."""
    needed = ("energy_per_token_j", "tokens_per_s", "power_w")
    if not set(needed) <= set(frame.columns):
        return
    ratio = pl.col(needed[0]) * pl.col(needed[1]) / pl.col(needed[2])
    numbers = frame.select(_number(n) for n in needed).with_row_index("_row")
    odd = numbers.with_columns(_ratio=ratio).filter(
        pl.col("_ratio").is_finite() & (pl.col("_ratio").log().abs() > math.log(CONTRADICTS))
    )
    if len(odd):
        row, energy, speed, watts, factor = odd.row(0)
        problems.append(
            f"energy per token times tokens per second is not the power in {len(odd)} rows: row "
            f"{row} says {energy:g} J x {speed:g} /s = {energy * speed:g} W and {watts:g} W, a "
            f"factor of {factor:.3g}: one of the units is another (--unit, or a scale in --map)"
        )


def _batch(frame: pl.DataFrame, unit: str | None, problems: list[str]) -> pl.DataFrame:
    """The batch cap of all copies, which some engines state for each of them."""
    if not {"dp", "batch_cap"} <= set(frame.columns):
        return frame
    copies = _number("dp").fill_null(1.0)
    if not frame.select((copies > 1).any()).item() or unit == "requests/deployment":
        return frame
    if unit is None:
        problems.append("batch_cap: of each copy (vLLM's max_num_seqs) or of all (dp is above 1)? "
                        "state it: --unit batch=requests/replica or "
                        "--unit batch=requests/deployment")  # fmt: skip
        return frame
    return frame.with_columns(batch_cap=_number("batch_cap") * copies)


def _of_all(frame: pl.DataFrame, power: pl.Expr) -> bool:
    """Whether energy per token and throughput say that this is the power of all GPUs."""
    if not {"energy_per_token_j", "tokens_per_s"} <= set(frame.columns):
        return False
    ratio = _number("energy_per_token_j") * _number("tokens_per_s") / power
    middle = frame.select(ratio.median()).item()
    return middle is not None and abs(middle - 1.0) <= AGREES


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)
