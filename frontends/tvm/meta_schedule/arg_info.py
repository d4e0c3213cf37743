"""Descriptions of the parameters of kernels: `tvm.meta_schedule.arg_info`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....core.errors import OptionError, UnsupportedError
from ....expressions.buffers import Buffer
from ....expressions.expr import IntImm, Var
from ....module import Module
from ..absent import report_absent
from ..ir.module import IRModule, PrimFunc

__getattr__ = report_absent("tvm.meta_schedule.arg_info")


@dataclass(frozen=True)
class TensorInfo:
    """A parameter that is an array."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f'TensorInfo("{self.dtype}", {list(self.shape)})'

    @staticmethod
    def from_json(json_obj: Sequence[Any]) -> TensorInfo:
        """The description of a list, as of `as_json`. OptionError for another list."""
        match list(json_obj):
            case ["TENSOR", str(dtype), [*shape]]:
                return TensorInfo(dtype, tuple(int(size) for size in shape))
            case _:
                raise OptionError(f"TensorInfo: {json_obj!r}, expected ['TENSOR', dtype, shape]")

    def as_json(self) -> list[Any]:
        """The description as a list."""
        return ["TENSOR", self.dtype, list(self.shape)]


class ArgInfo:
    """The descriptions of the parameters of a function."""

    @staticmethod
    def from_prim_func(func: PrimFunc) -> list[TensorInfo]:
        """The descriptions of the parameters. UnsupportedError for a parameter of unknown size."""
        return [_of_parameter(param, func.buffer_map.get(param)) for param in func.params]

    @staticmethod
    def from_entry_func(mod: Module, remove_preproc: bool = True) -> list[TensorInfo]:  # noqa: ARG004
        """The descriptions of the parameters of the only kernel of a module. remove_preproc: ignored."""
        return args_info_of(mod)


def _of_parameter(param: Var, buffer: Buffer | None) -> TensorInfo:
    sizes = [] if buffer is None else [size.value for size in buffer.shape if isinstance(size, IntImm)]
    if buffer is None or len(sizes) < len(buffer.shape):
        raise UnsupportedError(f"tuning: parameter {param}, expected buffers of known sizes")
    return TensorInfo(buffer.dtype, tuple(sizes))


def args_info_of(mod: Module) -> list[TensorInfo]:
    """The descriptions of the parameters of the only kernel of a module."""
    functions = [func for _, func in IRModule(mod.op, mod.constants).items() if isinstance(func, PrimFunc)]
    if len(functions) != 1:
        raise UnsupportedError(f"tuning: a module of {len(functions)} kernels, expected one")
    return ArgInfo.from_prim_func(functions[0])


__all__ = ["ArgInfo", "TensorInfo"]
