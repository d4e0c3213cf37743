"""The module `tvm.te`: tensor expressions, whose functions are `PrimFunc`s."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...expressions.errors import TeError
from ...expressions.extern import ExternOp
from ...expressions.scan import ScanOp
from ...expressions.tensor import ComputeOp, PlaceholderOp, TensorSlice
from ...schedule.rewriting.index_maps import AXIS_SEPARATOR
from ...transforms.pipelines import run_pipeline
from ...transforms.tir.resolve_blocks import TirResolveBlocksPass
from .. import te
from ..te import names
from ..te.gradient import gradient
from ..te.inlining import AutoInlineBroadcast, AutoInlineBroarcast, AutoInlineElemWise, AutoInlineInjective
from ..te.names import *  # noqa: F403
from ..te.stage import Fuse, Split
from .absent import report_absent
from .ir.module import PrimFunc
from .nodes.declarations import Var, decl_buffer, var
from .nodes.functor import accessed_buffers
from .tags import compute, tag_scope
from .tir.comparisons import order_comparisons

__getattr__ = report_absent("tvm.te")

BaseComputeOp = ComputeOp
"""The operations that compute elements, as TVM's users ask for them."""

__all__ = [
    "AXIS_SEPARATOR",
    "AutoInlineBroadcast",
    "AutoInlineBroarcast",
    "AutoInlineElemWise",
    "AutoInlineInjective",
    "BaseComputeOp",
    "ComputeOp",
    "ExternOp",
    "Fuse",
    "PlaceholderOp",
    "ScanOp",
    "Split",
    "TensorSlice",
    "Var",
    "compute",
    "create_prim_func",
    "decl_buffer",
    "extern_primfunc",
    "gradient",
    "tag_scope",
    "var",
]
__all__ += [name for name in names.__all__ if name not in __all__]


def extern_primfunc(input_tensors: Sequence[te.Tensor], primfunc: PrimFunc, **options: Any) -> Any:
    """The tensors that a function computes, as of `te.extern`; one, or a list of several. Its blocks are resolved.

    input_tensors: those that the function reads, in the order of its parameters.  options: those of `te.extern`.
    TeError for other shapes, for a function that writes a buffer that it reads, and for statements that `te.extern`
    has none for.
    """
    lowered = PrimFunc(run_pipeline(primfunc, [TirResolveBlocksPass()]).op)
    read, written = accessed_buffers(lowered.body)
    buffers = [lowered.buffer_map[each] for each in lowered.params if each in lowered.buffer_map]
    results = [buffer for buffer in buffers if buffer in written]
    inputs = [buffer for buffer in buffers if buffer not in written]
    both = [buffer.name for buffer in results if buffer in read]
    if len(inputs) != len(input_tensors) or not results:
        names = ", ".join(buffer.name for buffer in inputs)
        raise TeError(
            f"extern_primfunc: {len(input_tensors)} tensors for the buffers {names} that the function reads alone"
            + (f"; it reads and writes {', '.join(both)}" if both else "")
        )
    shapes = [buffer.shape for buffer in results]
    return te.extern(
        shapes if len(shapes) > 1 else shapes[0],
        input_tensors,
        lambda _ins, _outs: lowered.body,
        in_buffers=inputs,
        out_buffers=results,
        **options,
    )


def create_prim_func(
    ops: te.Tensor | Iterable[te.Tensor | te.Var], index_dtype_override: str | None = None
) -> PrimFunc:
    """A function of the given tensors. ops: its parameters: placeholders, results and variables, in order, or one
    tensor. Comparisons have the order that TVM's simplifier chooses: `1 <= i`, not `i >= 1`."""
    op = te.create_prim_func([ops] if isinstance(ops, te.Tensor) else ops, index_dtype_override).op
    order_comparisons(op)
    return PrimFunc(op)
