"""Tensor intrinsics of functions on buffers: `tvm.tir.TensorIntrin`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Self

from .....backends.validation.tensor_intrinsics import register_tensor_intrin
from .....core.errors import OptionError
from .....schedule.intrinsics import add_tensor_intrins, tensor_intrin
from ...ir.module import PrimFunc
from .registers import register_intrinsic


@dataclass(frozen=True)
class TensorIntrin:
    """A tensor intrinsic for `Schedule.tensorize`. desc: the computation.  impl: the statements that replace it."""

    desc: PrimFunc
    impl: PrimFunc

    @classmethod
    def register(cls, name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> Self:
        """Registers an intrinsic by its name. desc, impl: functions of the same buffers, in the same order.

        OptionError if the name is taken, unless `override`, for functions of other parameters, and for an
        implementation that computes other results than the description on small random inputs.
        """
        functions = [PrimFunc(func.op) for func in (desc, impl)]
        register_tensor_intrin(name, *functions, override=override)
        return cls(*functions)

    @classmethod
    def get(cls, name: str, allow_missing: bool = False) -> Self | None:
        """The intrinsic registered as `name`. OptionError for an unknown name; None with `allow_missing`."""
        try:
            found = tensor_intrin(name)
        except OptionError:
            if allow_missing:
                return None
            raise
        return cls(PrimFunc(found.description), PrimFunc(found.implementation))


add_tensor_intrins(register_intrinsic)


def __getattr__(name: str) -> str:
    """A name of an intrinsic, which the package itself had until v0.9: `DP4A_INTRIN`."""
    for module in ("arm_cpu", "cuda", "dot_product_common", "rocm", "x86") if name.endswith("_INTRIN") else ():
        found = getattr(import_module(f"{__name__}.{module}"), name, None)
        if found is not None:
            return found
    raise AttributeError(f"module 'tvm.tir.tensor_intrin' of Stepwell has no attribute {name!r}")


__all__ = ["TensorIntrin"]
