"""Facts about programs: `tvm.relax.analysis`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.errors import StepwellError
from ....core.walking import find_ops
from ....dialects.attributes import UNSHARED_WORKSPACE
from ....module import Module
from ....operators.relax import AllocTensorOp, FuncOp, MatchCastOp
from ....operators.relax.types import names_bound_by, names_in
from ....operators.relay import CallOp as GraphCallOp
from ....operators.relay import FuncOp as GraphFuncOp
from ....transforms.pipelines import lower_graph, run_pipeline
from ....transforms.relay.eliminate_dead_code import RelayEliminateDeadCodePass
from ....transforms.relay.placement import planned_bytes, workspace_of
from ..absent import report_absent
from .bindings import Binding, DataflowBlock, MatchCast, SeqExpr, VarBinding, bound_values
from .call_analysis import computable_at_compile_time, contains_impure_call, detect_recursion
from .expr import Expr, GlobalVar, Var
from .expr_functor import PyExprVisitor
from .function import Function

__getattr__ = report_absent("tvm.relax.analysis")


def post_order_visit(expr: Any, fvisit: Callable[[Any], object]) -> None:
    """Calls a function on each expression, after those that it consists of."""

    class Visit(PyExprVisitor):
        def visit_expr(self, expr: Any) -> None:
            super().visit_expr(expr)
            fvisit(expr)

    Visit().visit_expr(expr)


def _all_of(expr: Any, kind: type) -> list[Any]:
    found: dict[Any, None] = {}
    post_order_visit(expr, lambda each: found.update({each: None}) if isinstance(each, kind) else None)
    return list(found)


def bound_vars(expr: Function | SeqExpr) -> list[Var]:
    """The parameters, and the variables of bindings."""
    names: dict[Var, None] = {}

    class Definitions(PyExprVisitor):
        def visit_var_def_(self, var: Var) -> None:
            names[var] = None

    Definitions().visit_expr(expr)
    return list(names)


def all_vars(expr: Any) -> list[Var]:
    """All used and bound variables."""
    bound = bound_vars(expr) if isinstance(expr, Function | SeqExpr) else []
    return list(dict.fromkeys([*bound, *_all_of(expr, Var)]))


def free_vars(expr: Any) -> list[Var]:
    """The used variables without a binding."""
    bound = set(bound_vars(expr)) if isinstance(expr, Function | SeqExpr) else set[Var]()
    return [each for each in _all_of(expr, Var) if each not in bound]


def all_global_vars(expr: Any) -> list[GlobalVar]:
    """The names of functions that are called."""
    return list({each.name_hint: each for each in _all_of(expr, GlobalVar)}.values())


called_global_vars = all_global_vars


def remove_all_unused(func: Function | DataflowBlock) -> Any:
    """A function without the operations whose results nothing uses; a block without such bindings. Results of dataflow
    regions stay."""
    if isinstance(func, DataflowBlock):
        return _used_bindings(func)
    copy = func.op.clone()
    (op,) = copy.body.block.ops
    assert isinstance(op, FuncOp)
    private, op.private = op.private, None  # a private function without calls would be dead too
    mod = run_pipeline(Module(copy, func.constants), [RelayEliminateDeadCodePass()])
    (op,) = mod.function_ops.values()
    assert isinstance(op, FuncOp)
    op.private = private
    return func.of_op(op, mod.constants)


def _used_bindings(block: DataflowBlock) -> DataflowBlock:
    used = set(block.outputs)
    kept: list[Binding] = []
    for binding in reversed(block.bindings):
        assert isinstance(binding, VarBinding | MatchCast)
        if binding.var in used:
            used.update(_all_of(binding.value, Var))
            kept.insert(0, binding)
    return DataflowBlock(kept, block.outputs)


def get_var2val(func: Function) -> dict[Var, Expr]:
    """The expressions that the variables of a function denote."""
    return bound_values(func.body.blocks)


def name_to_binding(func: Function) -> dict[str, list[Any]]:
    """The bindings by the name of their variable."""
    named: dict[str, list[Any]] = {}
    for block in func.body.blocks:
        for binding in block.bindings:
            named.setdefault(binding.var.name_hint, []).append(binding)
    return named


def udchain(block: Any) -> dict[Var, list[Var]]:
    """The variables whose values use the variable of each binding of a block."""
    uses: dict[Var, list[Var]] = {each.var: [] for each in block.bindings}
    for binding in block.bindings:
        for var in _all_of(binding.value, Var):
            uses.setdefault(var, []).append(binding.var)
    return uses


def estimate_memory_usage(mod: Module) -> str:
    """The memory of tensors between the kernels of each function, at known sizes, as a text: without sharing, and as
    `relax.build` plans it."""
    lowered = lower_graph(mod).function_ops
    lines: list[str] = []
    for name, func in lowered.items():
        if not isinstance(func, FuncOp):
            continue
        alone = shared = sum(map(_allocated_bytes, find_ops(func, AllocTensorOp)))
        for call in find_ops(func, GraphCallOp):
            graph = lowered[call.callee.string_value()]
            if isinstance(graph, GraphFuncOp):
                shared += workspace_of(graph)
                alone += workspace_of(graph, UNSHARED_WORKSPACE)
        lines.append(f"- Function {name}:")
        lines.append(f" * Without memory planning, tensors of known size have {alone / 2**30:.4} GB.")
        lines.append(f" * With memory planning, they have {shared / 2**30:.4} GB.")
        if alone:
            lines.append(f" * Memory planning reduces their size to {shared / alone:.1%}.")
    return "\n".join(["Memory usage estimation:", *lines])


def _allocated_bytes(op: AllocTensorOp) -> int:
    """The bytes of an allocated tensor, 0 for one of unknown size."""
    return planned_bytes(op.results[0], {}) or 0


def defined_symbolic_vars(func: Function) -> list[str]:
    """The names of sizes that the types of parameters and of `match_cast` define."""
    values = [*func.func.body.block.args, *(op.output for op in find_ops(func.func, MatchCastOp))]
    return list(dict.fromkeys(name for value in values for name in names_bound_by(value.type)))


def free_symbolic_vars(func: Function) -> list[str]:
    """The names of sizes in the types of a function that no parameter and no `match_cast` defines."""
    values = [*func.func.body.block.args, *(result for op in func.func.walk() for result in op.results)]
    defined = defined_symbolic_vars(func)
    types = [*(value.type for value in values), func.func.result_type]
    return list(dict.fromkeys(name for type in types for name in names_in(type) if name not in defined))


def well_formed(obj: Module, check_struct_info: bool = True) -> bool:
    """Whether all operations of a module satisfy their constraints. check_struct_info: ignored, types are checked."""
    try:
        obj.verify()
    except StepwellError:
        return False
    return True


__all__ = [
    "all_global_vars", "all_vars", "bound_vars", "called_global_vars", "computable_at_compile_time",
    "contains_impure_call", "defined_symbolic_vars", "detect_recursion", "estimate_memory_usage", "free_symbolic_vars",
    "free_vars", "get_var2val", "name_to_binding", "post_order_visit", "udchain", "well_formed",
]  # fmt: skip
