"""Packed functions of tests, and calls of functions with their arguments: `tvm.relax.testing.vm`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...absent import report_absent
from ...nd import array
from ...registry import register_func

__getattr__ = report_absent("tvm.relax.testing.vm")


def check_saved_func(vm: Any, func_name: str, *inputs: Any) -> Any:
    """The result of a function of a machine. AssertionError unless the function that is saved with these arguments
    (`save_function`) has the same result."""
    saved = f"{func_name}_saved"
    vm.save_function(func_name, saved, *inputs)
    result = vm[func_name](*inputs)
    np.testing.assert_allclose(vm[saved]().numpy(), result.numpy(), rtol=1e-7, atol=1e-7)
    return result


def _copy_to(out: Any, value: Any) -> None:
    out.copyfrom(value)


for _name, _function in {
    "test.vm.move": lambda src: src,
    "test.vm.add": lambda a, b: array(a.numpy() + b.numpy()),
    "test.vm.mul": lambda a, b: array(a.numpy() * b.numpy()),
    "test.vm.equal_zero": lambda a: array(np.all(a.numpy() == 0)),
    "test.vm.subtract_one": lambda a: array(np.subtract(a.numpy(), 1)),
    "test.vm.identity": lambda a, b: _copy_to(b, a),
    "test.vm.tile": lambda a, b: _copy_to(b, np.tile(a.numpy(), (1, 2))),
    "test.vm.add_scalar": lambda a, b: a + b,
}.items():
    register_func(_name, _function, override=True)

__all__ = ["check_saved_func"]
