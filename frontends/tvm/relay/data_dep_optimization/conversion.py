"""Steps that the conversions of parameters share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .....core.errors import OptionError
from ....relay.expr import Function
from ....relay.functor import post_order
from ...ir.module import IRModule
from ...nd import HostArray
from ...transform import Pass

Array = npt.NDArray[Any]


def weights_of(func: Function, weight: Callable[[Any], Any], params: Mapping[str, Any], what: str) -> dict[str, Array]:
    """The arrays of weights by name. weight: the variable of a call, None for other expressions.  OptionError for a
    weight without an array."""
    found: dict[str, Array] = {}
    for each in filter(None, map(weight, post_order(func))):
        if each.name_hint not in params:
            raise OptionError(f"{what}: no array of the weight {each.name_hint!r} (has: {', '.join(params)})")
        given = params[each.name_hint]
        found[each.name_hint] = given.numpy() if hasattr(given, "numpy") else np.asarray(given)
    return found


def convert(func: Function, change: Pass, params: dict[str, Any], new: Mapping[str, Array]) -> tuple[Function, Any]:
    """The function after a pass, and the dictionary of parameters, in which those that the function does not take any
    more are replaced."""
    result = change(IRModule.from_expr(func))["main"]
    own = {each.name_hint for each in func.params} - {each.name_hint for each in result.params}
    for name in own & params.keys():
        del params[name]
    params |= {name: HostArray(array) for name, array in new.items()}
    return result, params
