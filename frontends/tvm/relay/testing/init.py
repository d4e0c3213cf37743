"""Random initialization of the parameters of networks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from .....core.errors import OptionError
from .....operators.relay import dtype_of_tensor, shape_of
from ....relay.expr import Function
from ...ir.module import IRModule
from ...nd import NDArray, array

Initializer = Callable[[str, npt.NDArray[Any]], None]


def xavier(name: str, values: npt.NDArray[Any], random: np.random.Generator) -> None:
    """Fills a parameter by the suffix of its name: gamma and var with ones, beta, bias and mean with zeros, other
    vectors with uniform random numbers from -1 to 1, others with random numbers whose variance preserves the variance
    of a layer's inputs (Glorot and Bengio, 2010).
    """
    if name.endswith(("gamma", "var")):
        values[...] = 1
    elif name.endswith(("beta", "bias", "mean")) or values.ndim < 2:
        values[...] = 0 if name.endswith(("beta", "bias", "mean")) else random.uniform(-1, 1, values.shape)
    else:
        taps = prod(values.shape[2:])
        bound = sqrt(3 / ((values.shape[0] + values.shape[1]) * taps / 2))
        values[...] = random.uniform(-bound, bound, values.shape)


def create_workload(
    net: Function, initializer: Initializer | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, NDArray]]:
    """A function as a module, and random arrays for its parameters except `data`.

    initializer: fills the array of a parameter, given its name; `xavier` by default.  seed: of the generator, and of
    numpy's global one, from which programs then take their inputs.  OptionError for a parameter of unknown shape.
    """
    np.random.seed(seed)
    mod = IRModule.from_expr(net)
    random = np.random.default_rng(seed)
    fill = initializer or (lambda name, values: xavier(name, values, random))
    params: dict[str, NDArray] = {}
    for name, value in mod.function_ops["main"].params:
        if name == "data":
            continue
        shape = shape_of(value)
        if not all(isinstance(size, int) for size in shape):
            raise OptionError(f"parameter {name} of shape {shape}, expected known sizes")
        values = np.zeros([int(size) for size in shape], dtype_of_tensor(value))
        fill(name, values)
        params[name] = array(values)
    return mod, params
