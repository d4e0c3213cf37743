"""The module `tvm.tir.analysis`: facts about functions and expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, BlockArgument, Operation

from ....analysis.names import block_name, loop_name
from ....analysis.scopes import ancestors, function_around, output_blocks
from ....analysis.threads.axes import BLOCK_AXES, THREAD_AXES, bound_loop_range, outermost_bound_loops, thread_axis_of
from ....analysis.threads.memories import memory_of
from ....core.diagnostics import where
from ....core.dtypes import element_byte_size
from ....core.errors import OptionError, PassError, ScheduleError, StepwellError, UnsupportedError
from ....core.walking import find_ops
from ....dialects.tir import (
    AllocateConstOp,
    AllocateOp,
    AllocBufferOp,
    BlockOp,
    CallExternOp,
    CallIntrinOp,
    ForOp,
    LaunchThreadOp,
    LoadOp,
    StoreOp,
    scope_of,
)
from ....dialects.tir.tree import has_effect
from ....expressions.axes import Range
from ....expressions.expr import BinaryOp, CmpOp, PrimExpr, Select, Var
from ....module import Module
from ....schedule import Schedule
from ....schedule.handles import BlockLike
from ....transforms.pipelines import run_pipeline
from ....transforms.tir.check_bounds import TirCheckBoundsPass
from ....transforms.tir.lower_match_buffers import TirLowerMatchBuffersPass
from ....transforms.tir.resolve_blocks import TirResolveBlocksPass
from ..absent import report_absent
from ..ir.comparison import structural_equal
from ..ir.module import PrimFunc
from ..nodes.expr import BufferLoad
from ..nodes.functor import children_of, post_order_visit
from ..nodes.stmt import Allocate, BufferStore, Declaration, For, IfThenElse, LetStmt, OtherStmt, Stmt
from ..target.target import Target
from ..transform import FunctionalPass, PassInfo, as_module
from .access_regions import detect_buffer_access_lca, get_block_access_region, get_block_read_write_region
from .tensorize_mapping import (
    AutoTensorizeMappingInfo,
    TensorizeInfo,
    get_auto_tensorize_mapping_info,
    get_tensorize_loop_mapping,
    suggest_index_map,
)

__getattr__ = report_absent("tvm.tir.analysis")


def expr_deep_equal(lhs: PrimExpr, rhs: PrimExpr) -> bool:
    """Whether two expressions are equal node by node, with the same variables."""
    return structural_equal(lhs, rhs)


def undefined_vars(node: Stmt | PrimExpr, defs: Sequence[Var] = ()) -> list[Var]:
    """The variables that a statement or an expression uses and does not declare, besides `defs`, in order."""
    used: dict[Var, None] = {}
    declared = set(defs)

    def visit(each: Stmt | PrimExpr) -> None:
        if isinstance(each, Var):
            used[each] = None
        elif isinstance(each, For):
            declared.add(each.loop_var)
        elif isinstance(each, LetStmt):
            declared.add(each.var)

    post_order_visit(node, visit)
    return [variable for variable in used if variable not in declared]


def verify_well_formed(obj: Module, assert_mode: bool = True) -> bool:
    """Whether a module satisfies the constraints of its operations, and blocks with axes use the loops around them for
    the values of their axes alone. assert_mode: raises the error instead of False."""
    try:
        obj.verify()
        for block in find_ops(obj.op, BlockOp):
            _require_own_axes(block)
    except StepwellError:
        if assert_mode:
            raise
        return False
    return True


def _require_own_axes(block: BlockOp) -> None:
    """PassError for a block with axes that uses the variable of a loop around it."""
    for loop in ancestors(block) if block.axes else ():
        if isinstance(loop, ForOp):
            for use in loop.variable.uses:
                if use.operation is not block and block.is_ancestor(use.operation):
                    raise PassError(
                        f"{where(use.operation)}block {block_name(block)}: loop variable {loop_name(loop)} is used "
                        "inside of it, expected an axis"
                    )


def verify_ssa(func: Module) -> bool:
    """Whether every variable of a function is declared once and before its uses. The axes of threads of several
    launches may be one variable."""
    variables = list(_declared_variables(func)) if isinstance(func, PrimFunc) else []
    if len({id(each) for each in variables}) < len(variables):
        return False
    try:
        func.verify()
    except StepwellError:
        return False
    return True


def _declared_variables(func: PrimFunc) -> list[Var]:
    """The parameters, and the variables of loops, lets and allocations."""
    found: list[Var] = list(func.params)

    def visit(node: object) -> None:
        match node:
            case For():
                found.append(node.loop_var)
            case LetStmt():
                found.append(node.var)
            case Allocate():
                found.append(node.buffer_var)
            case _:
                pass

    post_order_visit(func.body, visit)
    return found


def verify_memory(func: Module) -> bool:
    """Whether no statement outside of threads accesses the parameters of a function whose attribute `target` is a GPU.
    Functions of other targets have no such statements."""
    target = func.attrs.get("target") if isinstance(func, PrimFunc) else None
    if not isinstance(target, Target) or "gpu" not in target.keys:
        return True
    return not any(
        isinstance(memory_of(op.buffer), BlockArgument) and not _is_in_threads(op)
        for op in find_ops(func.op, LoadOp, StoreOp)
    )


def _is_in_threads(op: Operation) -> bool:
    return any(thread_axis_of(each) is not None for each in ancestors(op))


def verify_gpu_code(func: Module, constraints: Mapping[str, Any]) -> bool:
    """Whether the kernels of a function are within limits.

    constraints: numbers, or constants, by the names `max_threads_per_block`, `max_thread_x`, `max_thread_y`,
    `max_thread_z`, `max_vthread`, `max_shared_memory_per_block` and `max_local_memory_per_block` in bytes,
    `max_vector_bytes`, `max_kernels`. OptionError for another name, UnsupportedError for memory of unknown size.
    """
    limits = {name: int(getattr(value, "value", value)) for name, value in constraints.items()}
    unknown = [name for name in limits if name not in _LIMITS]
    if unknown:
        raise OptionError(f"verify_gpu_code: constraint {unknown[0]!r}, expected one of {', '.join(_LIMITS)}")
    kernels = list(outermost_bound_loops(func.op, (*BLOCK_AXES, *THREAD_AXES)))
    memory = [op for op in find_ops(func.op, AllocBufferOp, AllocateOp) if not _is_in_threads(op)]
    used = [_use_of_kernel(kernel, memory) for kernel in kernels]
    total = {"max_kernels": len(kernels), "max_vector_bytes": max(_vector_bytes(func.op), default=0)}
    return all(each.get(name, 0) <= limit for each in (total, *used) for name, limit in limits.items())


_LIMITS = (
    "max_threads_per_block", "max_thread_x", "max_thread_y", "max_thread_z", "max_vthread",
    "max_shared_memory_per_block", "max_local_memory_per_block", "max_vector_bytes", "max_kernels",
)  # fmt: skip


def _use_of_kernel(kernel: Operation, around: Sequence[AllocBufferOp | AllocateOp]) -> dict[str, int]:
    """The threads and the bytes of memory of a kernel, by the names of their limits. around: the memory allocated
    outside of kernels, which each kernel may use."""
    memory = [*around, *find_ops(kernel, AllocBufferOp, AllocateOp)]
    extents: dict[str, int] = {}
    for loop in find_ops(kernel, ForOp, LaunchThreadOp):
        axis = thread_axis_of(loop)
        if axis is not None:
            extent = bound_loop_range(loop)[1]
            extents[axis] = max(extents.get(axis, 1), extent if isinstance(extent, int) else 1)
    threads = {axis: extents.get(axis, 1) for axis in THREAD_AXES}
    return {
        "max_threads_per_block": prod(threads.values()),
        **{f"max_thread_{axis[-1]}": extent for axis, extent in threads.items()},
        "max_vthread": prod(extent for axis, extent in extents.items() if axis.startswith(("vthread", "cthread"))),
        "max_shared_memory_per_block": _bytes_of_scope(memory, "shared"),
        "max_local_memory_per_block": _bytes_of_scope(memory, "local"),
    }


def _bytes_of_scope(memory: Sequence[AllocBufferOp | AllocateOp], scope: str) -> int:
    return sum(_allocated_bytes(op) for op in memory if _scope_of(op).partition(".")[0] == scope)


def _scope_of(op: AllocBufferOp | AllocateOp) -> str:
    return op.pointer.type.scope.data if isinstance(op, AllocateOp) else scope_of(op.type)


def _allocated_bytes(op: AllocBufferOp | AllocateOp) -> int:
    """The size of an allocation in bytes. UnsupportedError if it is not known."""
    extents = op.mixed_extents if isinstance(op, AllocateOp) else op.mixed_shape
    element = op.pointer.type.element if isinstance(op, AllocateOp) else op.type.element_type
    known = [extent for extent in extents if isinstance(extent, int)]
    if len(known) != len(extents):
        raise UnsupportedError(f"{where(op)}an allocation whose size is not known")
    return prod(known) * element_byte_size(element)


def _vector_bytes(root: Operation) -> Iterator[int]:
    """The bytes of each value that is a vector."""
    for op in root.walk():
        for result in op.results:
            if isinstance(result.type, VectorType):
                yield prod(result.type.get_shape()) * element_byte_size(result.type.element_type)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]


def calculate_allocated_bytes(func_or_mod: Module) -> dict[str, dict[str, int]]:
    """The bytes that each function allocates, by the scope of the memory. UnsupportedError for an unknown size."""
    result: dict[str, dict[str, int]] = {}
    for name, function in func_or_mod.function_ops.items():
        sizes = result.setdefault(name, {})
        for op in find_ops(function, AllocBufferOp, AllocateOp):
            sizes[_scope_of(op)] = sizes.get(_scope_of(op), 0) + _allocated_bytes(op)
    return result


class EffectError(PassError, AssertionError):
    """A function has effects besides its result."""


def is_pure_function(func: Module) -> bool:
    """Whether a function has no effect besides its result: no store to a parameter, and no call with effects."""
    for op in func.op.walk():
        if isinstance(op, StoreOp) and isinstance(memory_of(op.buffer), BlockArgument):
            return False
        is_pure = isinstance(op, CallExternOp) and op.pure is not None
        if isinstance(op, CallExternOp | CallIntrinOp) and has_effect(op) and not is_pure:
            return False
    return True


def assert_pure_function(func: Module) -> bool:
    """True for a function without effects. EffectError, a PassError and an AssertionError, for another one."""
    if not is_pure_function(func):
        raise EffectError(f"function {', '.join(func.function_ops)} has effects, expected a pure function")
    return True


def calculate_constant_bytes(func: Module, constant_byte_alignment: int = 1) -> int:
    """The bytes of all constant arrays of a function, each rounded up to the alignment."""
    sizes = [
        prod(op.value.get_shape()) * element_byte_size(op.value.get_element_type())
        for op in find_ops(func.op, AllocateConstOp)
    ]
    return sum(-(-size // constant_byte_alignment) * constant_byte_alignment for size in sizes)


def OOBChecker() -> FunctionalPass:
    """A pass that changes nothing. ScheduleError for an access outside of a buffer that every call of a function makes,
    as far as `tir-check-bounds` proves."""

    def check(mod: Any, ctx: Any) -> Module:
        try:
            run_pipeline(mod, [TirResolveBlocksPass(), TirLowerMatchBuffersPass(), TirCheckBoundsPass()])
        except PassError as error:
            raise ScheduleError(re.sub(r"(\S+) is accessed", r"buffer \1 is accessed", str(error), count=1)) from None
        return mod

    return FunctionalPass(check, PassInfo(0, "tir.analysis.OOBChecker"))


def calculate_workspace_bytes(func: Module, workspace_byte_alignment: int = 1) -> int:
    """The most bytes that the memory of a function takes at one time, each allocation rounded up to the alignment.
    Memory lives to the end of the statements around it.

    UnsupportedError for an allocation whose size is not known.
    """
    return max((_peak(block, workspace_byte_alignment) for op in [func.op] for block in _blocks(op)), default=0)


def _peak(block: Block, alignment: int) -> int:
    """The most bytes that statements take at one time."""
    used = most = 0
    for op in block.ops:
        if isinstance(op, AllocBufferOp | AllocateOp):
            used += -(-_allocated_bytes(op) // alignment) * alignment
        most = max(most, used, *(used + _peak(inner, alignment) for inner in _blocks(op)))
    return most


def _blocks(op: Operation) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def estimate_tir_flops(stmt_or_mod: Stmt | Module) -> float:
    """The number of arithmetic operations on values that a statement or the functions of a module store.

    Each of `+ - * / // %`, minimum and maximum counts, comparisons and calls do not; of two branches the one with more
    operations counts. A loop counts its greatest extent, once if that is not known. A function with the attribute
    `estimated_flops` has that number.
    """
    if isinstance(stmt_or_mod, Stmt):
        return _OperationCounter().count(stmt_or_mod)
    functions = [stmt_or_mod] if isinstance(stmt_or_mod, PrimFunc) else dict(as_module(stmt_or_mod).items()).values()
    total = 0.0
    for func in functions:
        if isinstance(func, PrimFunc):
            known = func.attrs.get("estimated_flops")
            total += _OperationCounter().count(func.body) if known is None else known
    return total


class _OperationCounter:
    """Counts operations, as `estimate_tir_flops`."""

    def __init__(self) -> None:
        # lazy: the analyzer reads programs
        from ..arith import Analyzer

        self._analyzer = Analyzer()

    def count(self, node: Any) -> float:
        match node:
            case BufferLoad() | CmpOp():
                return 0
            case BinaryOp():
                return self._sum(node.children) + node.data_type.lanes
            case Select():
                condition, *cases = node.children
                return self.count(condition) + max(map(self.count, cases))
            case PrimExpr():
                return self._sum(node.children)
            case BufferStore():
                return self.count(node.value)
            case For():
                self._analyzer.bind(node.loop_var, Range(node.min, node.extent))
                most = self._analyzer.const_int_bound(node.extent).max_value
                return (1 if most >= _UNKNOWN else most) * self.count(node.body)
            case IfThenElse():
                orelse = 0 if node.else_case is None else self.count(node.else_case)
                return self.count(node.condition) + max(self.count(node.then_case), orelse)
            case OtherStmt():
                return self._sum(node.bodies)
            case Declaration():
                return self.count(node.body)
            case _:
                return self._sum(children_of(node))

    def _sum(self, nodes: Iterable[Any]) -> float:
        return sum(map(self.count, nodes))


_UNKNOWN = 2**31 - 1
"""The least upper bound of an extent that is not known."""


# Of schedules: `tvm.tir.schedule.analysis`


def has_block(sch: Schedule, block_name: str) -> bool:
    """Whether a schedule has a block of a name."""
    return any(block.block_name.data == block_name for block in find_ops(sch.mod.op, BlockOp))


def is_output_block(sch: Schedule, block: BlockLike) -> bool:
    """Whether a block writes a parameter of its function."""
    op = sch.op(sch.get_block(block) if isinstance(block, str) else block)
    function = function_around(op) if isinstance(op, BlockOp) else None
    return function is not None and op in output_blocks(function)


__all__ = [
    "AutoTensorizeMappingInfo",
    "OOBChecker",
    "TensorizeInfo",
    "assert_pure_function",
    "calculate_allocated_bytes",
    "calculate_constant_bytes",
    "calculate_workspace_bytes",
    "detect_buffer_access_lca",
    "estimate_tir_flops",
    "expr_deep_equal",
    "get_auto_tensorize_mapping_info",
    "get_block_access_region",
    "get_block_read_write_region",
    "get_tensorize_loop_mapping",
    "has_block",
    "is_output_block",
    "is_pure_function",
    "suggest_index_map",
    "undefined_vars",
    "verify_gpu_code",
    "verify_memory",
    "verify_ssa",
    "verify_well_formed",
]
