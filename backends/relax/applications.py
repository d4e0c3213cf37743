"""Words of `R` on operands whose types are known at run time only: compiled for the operands that arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from ...core.dtypes import dtype_of_numpy
from ...core.errors import ArgumentError, StepwellError
from ...core.target import Target
from ...expressions.errors import TeError
from ...module import Module
from ...operators.relax.types import is_tensor, shape
from ...operators.relax.words import ApplyOp, Template
from ...operators.relay import tensor_type
from ..devices.device import Device
from ..graph.executable import TARGETS
from .values import Value


def type_of_value(value: Value, expected: Attribute) -> Attribute:
    """The type of an array of known shape and data type, or of a shape of numbers. expected: the type of the
    operand."""
    if not is_tensor(expected):
        return shape([int(each) for each in value])
    layout = getattr(value, "layout", value)
    return tensor_type([int(each) for each in layout.shape], dtype_of_numpy(layout.dtype).name)


def application(op: ApplyOp, device: Device, place: str) -> Callable[[Sequence[Value]], Value]:
    """The function that computes a word on operands on a device. place: begins the text of errors.

    The function raises ArgumentError for operands that do not fit the operator, and the errors of the compilation.
    """
    template, expected = op.template, [arg.type for arg in op.args]

    def call(operands: Sequence[Value]) -> Value:
        types = tuple(map(type_of_value, operands, expected))
        try:
            function = _compiled(template, types, device)
        except StepwellError as error:
            what = error.what if isinstance(error, TeError) else str(error)
            raise ArgumentError(f"{place}: {what.removeprefix(f'{template.word}: ')}") from None
        return function(operands)

    return call


@lru_cache(1024)
def _compiled(template: Template, types: tuple[Attribute, ...], device: Device) -> Callable[[Sequence[Value]], Any]:
    """The function on operands of some types, on a device."""
    # lazy: the machine executes applications, and these are programs of a machine of their own
    from .build import build_relax
    from .machine import VirtualMachine

    func, constants = template.function(types)
    executable = build_relax(Module(ModuleOp([func]), constants), Target(TARGETS[device.kind]))
    return VirtualMachine(executable, device).functions["main"].run
