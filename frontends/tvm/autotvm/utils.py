"""Numbers of tuners as text: `tvm.autotvm.utils`, until v0.7 `tvm.autotvm.util`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....core.errors import OptionError
from ..absent import report_absent
from ..topi.utils import get_const_int, get_const_tuple

__getattr__ = report_absent("tvm.autotvm.utils")

SI_PREFIXES = "yzafpn\xb5m kMGTPEZY"
_ONE = SI_PREFIXES.index(" ")


def format_si_prefix(x: float, si_prefix: str) -> float:
    """A number in units of a prefix: 2e9 is 2.0 for "G". OptionError for another prefix."""
    if len(si_prefix) != 1 or si_prefix not in SI_PREFIXES:
        raise OptionError(f"prefix {si_prefix!r}, expected one of {', '.join(SI_PREFIXES)}")
    return x * 1000.0 ** (_ONE - SI_PREFIXES.index(si_prefix))


def get_rank(values: Sequence[float]) -> np.ndarray[Any, Any]:
    """The rank of each number, 1 for the greatest."""
    ranks = np.empty(len(values), int)
    ranks[np.argsort(-np.asarray(values), kind="stable")] = np.arange(1, len(values) + 1)
    return ranks


__all__ = ["SI_PREFIXES", "format_si_prefix", "get_const_int", "get_const_tuple", "get_rank"]
