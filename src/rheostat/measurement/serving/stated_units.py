"""Energy and power of serving tables whose columns do not say per what they are.

A column ``energy_j`` may be per token or per request, ``power_w`` of one GPU or of all of them: the
answers differ by a factor of hundreds or of eight, so it is asked for, not guessed at.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.serving.derived_times import number
from rheostat.measurement.serving.energy_names import KINDS, energy_unit, plain, stated_unit
from rheostat.measurement.serving.watts_of import watts_are_of

POWER = {"power_w_all": 1.0, "power": 1.0, "power_w": 1.0, "power_kw": 1e3}
"""Names that do not say of how many GPUs, but for the first, with W of one of theirs."""
STATED = {"energy": ("J/token", "mJ/token", "J/request", "J/batch", "J/run", "Wh/Mtoken"),
          "power": ("W/gpu", "W/deployment"),
          "batch": ("requests/replica", "requests/deployment"),
          "time": ("s", "ms", "us")}  # fmt: skip
OTHER = dict(zip(STATED["power"], reversed(STATED["power"]), strict=True))
MANY = {"krequest": 1e3, "Mrequest": 1e6}
AGREES = 0.2
"""Power over throughput that is this near to the energy per token says that it is of all GPUs."""
CONTRADICTS = 5.0
"""Factor between watts and energy times throughput from which one of them is in another unit."""
NAME = "energy_per_token_j"
ODD, SPREADS = 1.5, 10.0
"""A row is odd by at least this factor, and by so many median deviations of the rows' ratios."""
FEWEST = 5
"""Rows that have to agree before one of them is odd."""


def with_energy_per_token(
    frame: pl.DataFrame,
    stated: Mapping[str, str],
    problems: list[str],
    notes: list[Note] | None = None,
) -> pl.DataFrame:
    """The frame with ``energy_per_token_j``, and ``power_w`` of all GPUs, where they can be known.

    Parameters
    ----------
    frame
        Columns by our names, numbers as they stand; energies by any heading of `energy_names`.
    stated
        ``{"energy": "J/request", "power": "W/gpu"}``, what the user says.
    problems, notes
        What has to be stated, or cannot be, and what was told by sizes, is added here.

    Examples
    --------
    >>> runs = pl.DataFrame({"energy_j": [150.0], "output_tokens": [300]})
    >>> with_energy_per_token(runs, {"energy": "J/request"}, [])["energy_per_token_j"].to_list()
    [0.5]
    >>> asked = []
    >>> _ = with_energy_per_token(runs, {}, asked)
    >>> asked[0].partition("? ")[0]
    'energy_j: of a token, request, batch or run'
    >>> theirs = pl.DataFrame({"mJ/token": [350.0]})
    >>> with_energy_per_token(theirs, {}, [])["energy_per_token_j"].to_list()
    [0.35000000000000003]
    """
    frame = _energy(frame, stated.get("energy"), problems)
    frame = _power(frame, stated.get("power"), problems, [] if notes is None else notes)
    frame = _energy_of_power(frame)
    _contradictions(frame, problems)
    return frame


EACH = re.compile(
    r"(gpu_?\d+_(avg_|mean_)?power(_usage|_draw)?(_w(atts)?)?|power(_w)?_gpu_?\d+(_w)?)"
)


def with_watts_of_all(frame: pl.DataFrame) -> pl.DataFrame:
    """The sum of the watts that have a column for each GPU; blank ones are not of the run.

    >>> with_watts_of_all(pl.DataFrame({"gpu0_power_w": [300.0], "gpu1_power_w": [310.0]})).row(0)
    (300.0, 310.0, 610.0)
    """
    own = [c for c in frame.columns if EACH.fullmatch(plain(c))]
    if len(own) < 2:
        return frame
    return frame.with_columns(power_w_all=pl.sum_horizontal(number(c) for c in own))


def refuse_unknown(stated: Mapping[str, str], problems: list[str]) -> None:
    """Add what ``--unit`` says that is none of `STATED`, nor an energy of `energy_names`."""
    for what, unit in stated.items():
        known = stated_unit(unit) is not None if what == "energy" else unit in STATED.get(what, ())
        if not known:
            choices = ", ".join(f"{k}={u}" for k, units in STATED.items() for u in units)
            problems.append(f"--unit: expected one of {choices}, got {what}={unit}")


def _energy(frame: pl.DataFrame, stated: str | None, problems: list[str]) -> pl.DataFrame:
    """Energy per token from the column that says most; the user's word for what it does not."""
    headings = {c: u for c in frame.columns if (u := energy_unit(c)) is not None}
    if NAME in headings or not headings:
        return frame
    own = stated_unit(stated) if stated else None
    order = (*KINDS[1:2], KINDS[2], KINDS[3], KINDS[4], KINDS[0], *KINDS[5:], "")
    name = min(headings, key=lambda c: (order.index(headings[c].per), headings[c].joules is None))
    said = headings[name]
    per = said.per or (own.per if own else "")
    joules = said.joules if said.joules is not None else own.joules if own else None
    if not per:
        problems.append(
            f"{name}: of a token, request, batch or run? state it: "
            "--unit energy=J/token or --unit energy=J/request (or kWh/run)"
        )
        return frame
    inverse = said.inverse or (own is not None and own.inverse and not said.per)
    value = number(name)
    tokens = _tokens(frame, per, problems)
    if tokens is None:
        return frame
    energy = 1 / value if inverse else value / tokens
    if joules is None:
        joules = _agreeing(frame, energy)
    if joules is None:
        problems.append(f"{name}: J, mJ or Wh? state it: --unit energy=J/{per.replace(' ', '-')}")
        return frame
    return frame.with_columns((joules * energy).alias(NAME))


def _tokens(frame: pl.DataFrame, per: str, problems: list[str]) -> pl.Expr | None:
    """Tokens of the answers that an energy is of."""
    plain = {"token": 1.0, "Mtoken": 1e6, "ktoken": 1e3}
    if per in plain:
        return pl.lit(plain[per])
    if per in MANY:
        answer = _tokens(frame, "request", problems)
        return None if answer is None else answer * MANY[per]
    there = set(frame.columns)
    every = {c: number(c) for c in there}
    known: Mapping[str, list[tuple[str, ...]]] = {
        "request": [("output_tokens",)], "batch": [("batch_cap", "output_tokens")],
        "run": [("total_output_tokens",), ("completed", "output_tokens"),
                ("tokens_per_s", "duration_s")],
        "total token": [("output_tokens", "prompt_tokens")],
    }  # fmt: skip
    columns = next((w for w in known[per] if set(w) <= there), None)
    if columns is None:
        words = {"request": "output_tokens, the tokens of an answer",
                 "batch": "batch_cap and output_tokens",
                 "run": "total_output_tokens, or completed and output_tokens, or tokens_per_s and "
                        "duration_s", "total token": "prompt_tokens and output_tokens"}  # fmt: skip
        column = known[per][0][-1]
        problems.append(f"energy per {per} needs {words[per]}: --column {column}=THEIRS or "
                        f"--column {column}==VALUE")  # fmt: skip
        return None
    if per == "total token":
        return every["output_tokens"] / (every["output_tokens"] + every["prompt_tokens"])
    made = every[columns[0]]
    for more in columns[1:]:
        made = made * every[more]
    return made


def _agreeing(frame: pl.DataFrame, energy: pl.Expr) -> float | None:
    """Joules of the unit in which an energy agrees with watts over tokens per second."""
    if not {"power_w", "tokens_per_s"} <= set(frame.columns):
        return None
    ratio = frame.select((number("power_w") / number("tokens_per_s") / energy).median()).item()
    units = (1.0, 1e-3, 3.6e3, 3.6e6)
    near = [u for u in units if ratio and abs(ratio / u - 1.0) <= AGREES]
    return near[0] if near else None


def _power(
    frame: pl.DataFrame, unit: str | None, problems: list[str], notes: list[Note]
) -> pl.DataFrame:
    """Power of all GPUs."""
    for each, count in (("power_w_gpu", "gpus"), ("power_w_node", "nodes")):
        if {each, count} <= set(frame.columns):
            return frame.with_columns(power_w=number(each) * number(count))
    name = next((c for c in POWER if c in frame.columns), None)
    if name is None:
        return frame
    unit = unit or ("W/deployment" if name == "power_w_all" else None)
    power = number(name) * POWER[name]
    gpus = number("gpus") if "gpus" in frame.columns else None
    alone = gpus is not None and frame.select((gpus == 1).all()).item()
    of_all = unit is not None or alone or _of_all(frame, power)
    if not of_all and (unit := watts_are_of(frame, name)):
        said = "all GPUs: one" if unit == "W/deployment" else "one GPU: all"
        notes.append(Note(f"{name} is taken to be of {said} would not draw so much or grow so "
                          f"(else --unit power={OTHER[unit]})"))  # fmt: skip
    if unit == "W/gpu" and gpus is None:
        problems.append("--unit power=W/gpu needs gpus, the number of GPUs")
        return frame
    if unit is None and not of_all:
        problems.append(f"{name}: W of one GPU or of the deployment? state it: --unit power=W/gpu "
                        "or --unit power=W/deployment")  # fmt: skip
        return frame
    if unit == "W/gpu" and gpus is not None:
        power = power * gpus
    return frame.with_columns(power_w=power)


def _energy_of_power(frame: pl.DataFrame) -> pl.DataFrame:
    """Energy per token as watts over tokens per second, where no other is stated."""
    if not {"power_w", "tokens_per_s"} <= set(frame.columns) or NAME in frame.columns:
        return frame
    return frame.with_columns((number("power_w") / number("tokens_per_s")).alias(NAME))


def _contradictions(frame: pl.DataFrame, problems: list[str]) -> None:
    """Energy per token against other columns that say the same, row by row."""
    _against(frame, ("tokens_per_s", "power_w"), " /s", "W",
             "energy per token times tokens per second is not the power", problems)  # fmt: skip
    _against(frame, ("output_tokens", "energy_per_request_j"), "", "J",
             "energy per token times tokens of an answer is not the energy per request",
             problems)  # fmt: skip


def odd_power(frame: pl.DataFrame) -> pl.Series:
    """Whether a row's watts over throughput are far from its energy, where other rows' agree.

    Which of the three is wrong cannot be known.

    >>> speeds = [100.0, 200.0, 300.0, 400.0, 500.0, 600.0]
    >>> runs = pl.DataFrame({"power_w": speeds, "tokens_per_s": speeds, NAME: [1.0] * 5 + [3.7]})
    >>> odd_power(runs).to_list()
    [False, False, False, False, False, True]
    """
    none = pl.repeat(False, len(frame), eager=True)
    if not {NAME, "power_w", "tokens_per_s"} <= set(frame.columns):
        return none
    ratio = (number(NAME) * number("tokens_per_s") / number("power_w")).log()
    logs = frame.select(pl.when(ratio.is_finite()).then(ratio)).to_series()
    if logs.count() < FEWEST:
        return none
    apart = (logs - logs.median()).abs()
    usual = float(apart.median())  # type: ignore[arg-type]
    return (apart > max(math.log(ODD), SPREADS * usual)).fill_null(False)


def _against(
    frame: pl.DataFrame, others: tuple[str, str], per: str, unit: str, words: str,
    problems: list[str],
) -> None:  # fmt: skip
    needed = (NAME, *others)
    if not set(needed) <= set(frame.columns):
        return
    ratio = pl.col(needed[0]) * pl.col(needed[1]) / pl.col(needed[2])
    numbers = frame.select(number(n) for n in needed).with_row_index("_row")
    odd = numbers.with_columns(_ratio=ratio).filter(
        pl.col("_ratio").is_finite() & (pl.col("_ratio").log().abs() > math.log(CONTRADICTS))
    )
    if len(odd):
        row, energy, times, whole, factor = odd.row(0)
        problems.append(
            f"{words} in {len(odd)} rows: row {row + 1} says {energy:g} J x {times:g}{per} = "
            f"{energy * times:g} {unit} and {whole:g} {unit}, a factor of {factor:.3g}: one of the "
            "units is another (--unit, or a scale in --map)"
        )


def _of_all(frame: pl.DataFrame, power: pl.Expr) -> bool:
    """Whether energy per token and throughput say that this is the power of all GPUs."""
    if not {NAME, "tokens_per_s"} <= set(frame.columns):
        return False
    ratio = number(NAME) * number("tokens_per_s") / power
    middle = frame.select(ratio.median()).item()
    return middle is not None and abs(middle - 1.0) <= AGREES
