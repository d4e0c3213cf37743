"""Frequencies of rotary position embeddings: `tvm.relax.frontend.nn.llm.position_embedding`.

A function of frequencies has the parameters `s`, the position; `d`, the dimension; `d_range`, the number of dimensions
that are rotated; `theta`, the base; and `dtype`. Its result is the cosine and the sine of the angle in this data type,
and the values of the variables in them, the outermost last, for `tvm.tir.Let`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from .......core.errors import OptionError
from .......expressions.expr import PrimExpr, Var, as_expr, cast, const
from .......expressions.functions import cos, if_then_else, max, min, power, sin
from .....absent import report_absent

__getattr__ = report_absent("tvm.relax.frontend.nn.llm.position_embedding")

Frequencies: TypeAlias = tuple[PrimExpr, PrimExpr, dict[Var, PrimExpr]]
"""Cosine, sine and the values of variables."""


def _float(value: Any) -> PrimExpr:
    return cast("float32", as_expr(value))


def _power(theta: Any, exponent: Any, d_range: int) -> PrimExpr:
    """The base to the power of a fraction of the dimensions."""
    return power(_float(theta), _float(exponent) / const(float(d_range), "float32"))


def _turned(angle: PrimExpr, dtype: str, name: str = "freq", factor: float = 1.0) -> Frequencies:
    """Cosine and sine of an angle. factor: of both."""
    var = Var(name, "float32")
    waves = [each if factor == 1.0 else each * factor for each in (cos(var), sin(var))]
    return cast(dtype, waves[0]), cast(dtype, waves[1]), {var: angle}


def rope_freq_default(s: Any, d: Any, d_range: int, theta: Any, dtype: str) -> Frequencies:
    """The frequencies of halves: dimensions d and d + d_range / 2 have one."""
    return _turned(_float(s) / _power(theta, as_expr(d) * 2 % d_range, d_range), dtype)


def rope_freq_gptj(s: Any, d: Any, d_range: int, theta: Any, dtype: str) -> Frequencies:
    """The frequencies of pairs: dimensions 2 * n and 2 * n + 1 have one."""
    return _turned(_float(s) / _power(theta, as_expr(d) // 2 * 2 % d_range, d_range), dtype)


def _smoothed(
    s: Any, inverse: PrimExpr, dtype: str, factor: float, low: float, high: float, positions: float
) -> Frequencies:
    """Frequencies that are divided by `factor` where their waves are long, with a transition. inverse: the frequency of
    a dimension.  low, high: the numbers of waves in the original `positions` where the transition begins and ends."""
    var = Var("orig_freq", "float32")
    if low == high:
        wavelength = const(2 * math.pi, "float32") / var
        angle = _float(s) * if_then_else(wavelength > const(positions / low, "float32"), var / factor, var)
    else:
        waves = var * (positions / (2 * math.pi))
        smooth = max(0.0, min(1.0, (waves - low) / (high - low)))
        angle = _float(s) * ((1.0 - smooth) * var / factor + smooth * var)
    cosine, sine, values = _turned(angle, dtype, "smoothed_freq")
    return cosine, sine, {**values, var: inverse}


def rope_freq_llama3(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str, factor: float, low_freq_factor: float,
    high_freq_factor: float, original_max_position_embeddings: float,
) -> Frequencies:  # fmt: skip
    """The frequencies of halves with a transition, those of long waves divided by `factor`."""
    inverse = 1.0 / _power(theta, as_expr(d) * 2 % d_range, d_range)
    sizes = (factor, low_freq_factor, high_freq_factor, original_max_position_embeddings)
    return _smoothed(s, inverse, dtype, *sizes)


def rope_freq_llama4(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str, factor: float, low_freq_factor: float,
    high_freq_factor: float, original_max_position_embeddings: float,
) -> Frequencies:  # fmt: skip
    """The frequencies of pairs with a transition, as `rope_freq_llama3`."""
    inverse = 1.0 / _power(theta, as_expr(d) // 2 * 2, d_range)
    sizes = (factor, low_freq_factor, high_freq_factor, original_max_position_embeddings)
    return _smoothed(s, inverse, dtype, *sizes)


def rope_freq_longrope(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str, max_position_embeddings: int,
    original_max_position_embeddings: int, ext_factors: Any = None,
) -> Frequencies:  # fmt: skip
    """The frequencies of halves for more positions than those of the training. ext_factors: a buffer with a factor for
    each pair of dimensions."""
    original, scale = original_max_position_embeddings, max_position_embeddings / original_max_position_embeddings
    factor = math.sqrt(1 + math.log(scale) / math.log(original)) if scale > 1 else 1.0
    divisor = _power(theta, as_expr(d) * 2 % d_range, d_range)
    if ext_factors is not None:
        divisor = ext_factors[as_expr(d) % (d_range // 2)] * divisor
    return _turned(_float(s) / divisor, dtype, factor=factor)


def rope_freq_yarn(
    s: Any, d: Any, d_range: int, theta: Any, dtype: str, original_max_position_embeddings: int,
    scaling_factor: float, beta_fast: int, beta_slow: int, inv_theta_log_scale: Any = None,
) -> Frequencies:  # fmt: skip
    """The frequencies of halves as of YaRN. beta_fast, beta_slow: the numbers of rotations where the transition begins
    and ends.  inv_theta_log_scale: `1 / (2 * log(theta))`."""
    inverse = 1.0 / _power(theta, as_expr(d) * 2 % d_range, d_range)

    def bound(rotations: int) -> PrimExpr:
        waves = math.log(original_max_position_embeddings / (rotations * 2 * math.pi))
        return _float(d_range * waves) * _float(inv_theta_log_scale)

    low, high = max(bound(beta_fast), 0.0), min(bound(beta_slow), float(d_range - 1))
    high = if_then_else(low.equal(high), high + 0.001, high)
    kept = 1.0 - max(min((_float(d) - low) / (high - low), 1.0), 0.0)
    return _turned(_float(s) * (inverse / scaling_factor * (1.0 - kept) + inverse * kept), dtype)


_SCALED: dict[str, tuple[Callable[..., Frequencies], dict[str, str]]] = {
    "gptj": (rope_freq_gptj, {}),
    **{
        name: (function, {each: each for each in ("factor", "low_freq_factor", "high_freq_factor", "original")})
        for name, function in (("llama3", rope_freq_llama3), ("llama4", rope_freq_llama4))
    },
    "longrope": (rope_freq_longrope, {"max_position_embeddings": "max_position_embeddings", "original": "original"}),
    "yarn": (
        rope_freq_yarn,
        {
            "original": "original",
            "scaling_factor": "factor",
            **{each: each for each in ("beta_fast", "beta_slow", "inv_theta_log_scale")},
        },
    ),
}
"""The function of each `rope_type`, and the key of the configuration of each of its parameters; `original` stands for
`original_max_position_embeddings`."""


def switch_rope_freq_func(rope_scaling: dict[str, Any]) -> Callable[..., Frequencies]:
    """The function of frequencies of a configuration, by its `rope_type`: gptj, llama3, llama4, longrope, yarn; without
    one, `rope_freq_default`. OptionError for another, and for a configuration without the keys of its type."""
    kind = rope_scaling.get("rope_type")
    if kind is None:
        return rope_freq_default
    if kind not in _SCALED:
        raise OptionError(f"rope_type {kind!r}, expected one of {', '.join(_SCALED)}")
    function, keys = _SCALED[kind]
    full = {"original": "original_max_position_embeddings"}
    named = {full.get(name, name): full.get(key, key) for name, key in keys.items()}
    missing = [key for key in named.values() if rope_scaling.get(key) is None]
    if missing:
        raise OptionError(f"rope_type {kind}: no {', '.join(missing)} in {rope_scaling}")
    return partial(function, **{name: rope_scaling[key] for name, key in named.items()}) if named else function


__all__ = [
    "rope_freq_default", "rope_freq_gptj", "rope_freq_llama3", "rope_freq_llama4", "rope_freq_longrope",
    "rope_freq_yarn", "switch_rope_freq_func",
]  # fmt: skip
