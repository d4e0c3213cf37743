"""The module `tvm.relay.backend.te_compiler`: the compiler of kernels, as programs reset it between builds."""

from __future__ import annotations

from ....core.errors import ArgumentError
from ...relay import Function
from ..absent import report_absent
from ..ir.module import PrimFunc
from ..target.target import TargetLike

__getattr__ = report_absent("tvm.relay.backend.te_compiler")


class TECompiler:
    """The compiler of kernels. It keeps no kernel of an earlier build."""

    def clear(self) -> None:
        """Removes kernels of earlier builds, of which there are none."""


def get() -> TECompiler:
    """The compiler of kernels."""
    return TECompiler()


def lower_to_primfunc(relay_func: Function, target: TargetLike | None = None) -> PrimFunc:
    """The kernel that `relay.build` compiles for a function, without a schedule.

    target: ignored, kernels are the same for all targets. ArgumentError for a function of several kernels, and for
    other objects.
    """
    # lazy: tuning of graphs imports the compiler of graphs
    from ..meta_schedule.graphs import kernels_of_graph

    if not isinstance(relay_func, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"lower_to_primfunc of {relay_func!r}, expected a function of a graph")
    kernels = kernels_of_graph(relay_func.without_attr("Primitive"), None)
    if len(kernels) != 1:
        names = ", ".join(kernel.name for kernel in kernels) or "none"
        raise ArgumentError(f"lower_to_primfunc: a function of {len(kernels)} kernels ({names}), expected 1")
    return kernels[0].func


__all__ = ["TECompiler", "get", "lower_to_primfunc"]
