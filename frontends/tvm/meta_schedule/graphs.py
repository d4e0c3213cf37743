"""The kernels of graphs of Relay."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ....module import Module
from ....operators.relay import CallOp, FuncOp
from ....transforms.pipelines import lower_graph, lower_to_tir
from ...relay import Function
from ..ir.module import PrimFunc
from ..relay.building import bind_graph
from ..transform import PassContext

PRODUCTS = (
    "nn.batch_matmul", "nn.conv1d", "nn.conv1d_transpose", "nn.conv2d", "nn.conv2d_transpose", "nn.conv3d",
    "nn.conv3d_transpose", "nn.dense", "nn.matmul",
)  # fmt: skip
"""The operators with sums of products, by which kernels are selected."""


@dataclass(frozen=True)
class GraphKernel:
    """A kernel of a graph. name: its function's.  func: its loops, without a schedule.  weight: the number of its
    calls."""

    name: str
    func: PrimFunc
    weight: int


def kernels_of_graph(
    mod: Module | Function, params: Mapping[str, Any] | None, operators: Collection[str] | None = None
) -> list[GraphKernel]:
    """The kernels that `relay.build` compiles for a graph, in order of their calls. params: as of `relay.build`.
    operators: the names of operators one of which a kernel computes, by default any. The `opt_level` is the context's.
    Errors as of `relay.build`."""
    graph = lower_graph(bind_graph(mod, params), PassContext.current().opt_level)
    functions = [func for func in graph.op.body.block.ops if isinstance(func, FuncOp)]
    kernels = [func for func in functions if _computes(func, operators) and func.sym_name.data != "main"]
    calls = [op.callee.string_value() for func in functions for op in func.walk() if isinstance(op, CallOp)]
    return [
        GraphKernel(name, PrimFunc(lower_to_tir(Module(ModuleOp([func.clone()]))).op), calls.count(name))
        for func in kernels
        if calls.count(name := func.sym_name.data)
    ]


def _computes(func: FuncOp, operators: Collection[str] | None) -> bool:
    return operators is None or any(op.name.removeprefix("relay.") in operators for op in func.walk())
