"""The comparison of gradients with differences: `check_grad`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .....core.errors import OptionError
from ....relay.expr import Function
from ...testing import enabled_targets
from ..execute import create_executor
from ..transform import gradient
from .passes import run_infer_type

Array = npt.NDArray[Any]


def random_array(type: Any, scale: float = 1, mean: float = 0) -> Array:
    """An array of a type of a tensor, with normally distributed numbers."""
    return np.asarray(mean + scale * np.random.randn(*type.concrete_shape)).astype(type.dtype)


def check_grad(
    func: Function,
    inputs: Sequence[Array] | None = None,
    test_inputs: Sequence[Array] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices: Sequence[tuple[Any, Any]] | None = None,
    executor_kind: str = "debug",
) -> None:
    """Raises AssertionError unless the gradients of a function equal quotients of differences.

    inputs: the arguments, by default normally distributed numbers with the mean `mean` and the deviation `scale`, ten
    times `eps` by default.  test_inputs: the arguments whose gradients are compared, by default all.  eps: the half
    difference of arguments.  target_devices: pairs of a target and a device, by default all that are present.  mode: as
    of `gradient`.  executor_kind: as of `create_executor`. OptionError for no argument to compare.
    """
    forward = run_infer_type(func)
    backward = run_infer_type(gradient(forward, mode=mode))
    deviation = 10 * eps if scale is None else scale
    if inputs is None:
        inputs = [random_array(param.checked_type, deviation, mean) for param in forward.params]
    compared = [n for n, each in enumerate(inputs) if test_inputs is None or any(each is x for x in test_inputs)]
    if not compared:
        raise OptionError("check_grad: test_inputs has none of the inputs")
    for target, device in enabled_targets() if target_devices is None else target_devices:
        both = (create_executor(executor_kind, device=device, target=target).evaluate(f) for f in (backward, forward))
        compute_gradients, compute = both
        _, grads = compute_gradients(*inputs)
        for n in compared:
            wanted = _quotients(compute, inputs, n, eps)
            np.testing.assert_allclose(grads[n].numpy().astype("float64"), wanted, atol=atol, rtol=rtol)


def _quotients(function: Callable[..., Any], inputs: Sequence[Array], n: int, eps: float) -> Array:
    """The quotients of differences of a function by each element of an argument, which is changed and restored."""
    x = inputs[n]
    result = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        value = x[at]
        sides: list[Array] = []
        for moved in (value + eps, value - eps):
            x[at] = moved
            sides.append(function(*inputs).numpy().astype("float64"))
        x[at] = value
        result[at] = np.sum((sides[0] - sides[1]) / (2 * eps))
    return result
