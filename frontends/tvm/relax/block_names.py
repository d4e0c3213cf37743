"""The names that TVM gives the blocks of the kernels of operators, by which schedules of users find them."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import StringAttr

from ....core.identifiers import fresh_name
from ....core.walking import find_ops
from ....dialects import tir
from ....module import Module

_COMPUTED = (
    "abs acos acosh asin asinh atan atanh cast ceil cos cosh erf exp floor log relu round rsqrt sigmoid sign sin sinh "
    "sqrt square tan tanh"
)
_NAMES = {
    "conv1d": "conv1d_ncw",
    "conv2d": "conv2d_nchw",
    "conv3d": "conv3d_ncdhw",
    "T_matmul": "matmul",
    "T_batch_matmul": "matmul",
    "T_einsum": "matmul",
    **{f"T_{name}": "compute" for name in _COMPUTED.split()},
}
_SOFTMAX = {"T_max": "T_softmax_maxelem", "T_sum": "T_softmax_expsum"}
"""The names of TVM, by those of this package; of the kernels of softmax."""


def name_blocks(mod: Module) -> Module:
    """Gives the blocks of the kernels of operators the names of TVM; returns the module."""
    for func in mod.op.body.block.ops:
        if isinstance(func, tir.FuncOp) and func.attr("relay.kernel") is not None:
            _rename(func.sym_name.data, list(find_ops(func, tir.BlockOp)))
    return mod


def _rename(kernel: str, blocks: Iterable[tir.BlockOp]) -> None:
    names = {**_NAMES, **(_SOFTMAX if "softmax" in kernel else {})}
    if "einsum" in kernel:
        del names["T_einsum"]
    used = set[str]()
    for block in blocks:
        block.block_name = StringAttr(fresh_name(names.get(block.block_name.data, block.block_name.data), used))


__all__ = ["name_blocks"]
