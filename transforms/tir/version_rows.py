"""The pass `tir-version-rows`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer
from ...analysis.scopes import declarations, loops_around, statements
from ...analysis.unscheduled import unscheduled_functions
from ...core.dtypes import dtype_of
from ...core.identifiers import fresh_name
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...dialects.attributes import SCHEDULE_RULE
from ...dialects.tir import AccessOp, BlockOp, ForOp, FuncOp, IfOp, LoadOp, Mixed, StoreOp, TirBuilder
from ...dialects.tir.copying import copy_expression
from ...dialects.tir.tree import depends_on, with_expressions
from ..upstream.accesses import known_bytes
from .extents import set_extents

_remarks = PassRemarks("tir-version-rows")


@dataclass(frozen=True)
class TirVersionRowsPass(ModulePass):
    """Adds a version for one row to functions with a product of a dynamic number of rows by a matrix.

    A schedule for many rows uses each element of the matrix for several of them, from copies of its columns. One row
    uses each element once, so a schedule that reads the matrix in its order in memory takes a fraction of the time: a
    branch of the function has such a schedule. The steps of a decoder are such products, for the tokens of a prompt and
    then for one token.

    A function of which nobody has scheduled a block gets a version if it has a sum of products whose only dynamic axis
    of results is the axis of rows. One factor is a matrix of static size, which the row does not index and all other
    axes do.

    least-bytes: the least size of the matrix.

    Before
        for i, j, k in T.grid(n, 1024, 256):
            with T.block("C"):
                ...

    After
        if n == 1:
            for i, j, k in T.grid(1, 1024, 256):
                with T.block("C_row"):
                    ...
        else:
            for i, j, k in T.grid(n, 1024, 256):
                with T.block("C"):
                    ...

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "tir-version-rows"

    least_bytes: int = 1 << 18

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = {func: rows for func in find_ops(op, FuncOp) if (rows := _rows_of(func, self.least_bytes)) is not None}
        for func in unscheduled_functions(op) if found else ():
            if func in found:
                _add_version(func, found[func])


def _rows_of(func: FuncOp, least_bytes: int) -> SSAValue | None:
    """The number of rows of a product in a function; None without such a product, or if the number depends on the
    variable of a loop, or if a rule schedules several blocks by name."""
    if not func.regions:
        return None
    blocks = list(find_ops(func, BlockOp))
    if any(block.annotations is not None and SCHEDULE_RULE in block.annotations.data for block in blocks):
        return None
    for block in blocks:
        rows = _rows_of_product(block, least_bytes)
        if rows is not None and not depends_on(rows, [loop.variable for loop in loops_around(block)]):
            return rows
    return None


def _rows_of_product(block: BlockOp, least_bytes: int) -> SSAValue | None:
    """The number of rows of a product by a matrix; None for other blocks."""
    axes = block.axes
    dynamic = [n for n, axis in enumerate(axes) if not isinstance(axis.extent, int)]
    if block.init is None or len(dynamic) != 1 or axes[dynamic[0]].kind != "spatial":
        return None
    rows, variables = axes[dynamic[0]].extent, list(block.variables)
    ops = block.body.block.ops
    stored = {op.buffer for op in ops if isinstance(op, StoreOp)}
    loads = [op for op in ops if isinstance(op, LoadOp) and op.buffer not in stored]
    row = variables[dynamic[0]]
    others = [v for v, axis in zip(variables, axes, strict=True) if v is not row and axis.extent != 1]
    is_of_row = [_has_index_of(load, row) for load in loads]
    matrices = [load for load, of_row in zip(loads, is_of_row, strict=True) if not of_row]
    is_product = len(loads) == 2 and len(matrices) == 1 and all(_has_index_of(matrices[0], axis) for axis in others)
    if not is_product or (known_bytes(matrices[0].buffer) or 0) < least_bytes:
        return None
    assert isinstance(rows, SSAValue)
    return rows


def _has_index_of(load: LoadOp, axis: SSAValue) -> bool:
    return any(depends_on(index, (axis,)) for index in load.indices)


def _add_version(func: FuncOp, rows: SSAValue) -> None:
    """Adds a branch for one row to a function."""
    body = func.body.block
    inside = statements(body)
    moved = [op for each in inside for op in with_expressions(each)]
    are_loops = all(isinstance(op, ForOp | BlockOp) for op in inside)
    if not are_loops or any(moved[0].is_before_in_block(op) for op in declarations(body)):
        _remarks.missed(func, lambda: "no version for one row: it has statements other than loops and blocks")
        return
    builder = TirBuilder(InsertPoint.before(moved[0]), func.location)
    number = copy_expression(rows, builder, {})
    condition = builder.binary("eq", number, builder.const(1, dtype_of(number.type)))
    branch = IfOp(condition, Region(_version(func, moved, number)))
    branch.location = func.location
    builder.insert(branch)
    for op in moved:
        op.detach()
        branch.orelse.block.add_op(op)
    _remarks.applied(func, lambda: "a version for one row")


def _version(func: FuncOp, ops: Sequence[Operation], rows: SSAValue) -> Block:
    """Copies of operations of a function for one row. rows: the number of rows."""
    version, values, analyzer = Block(), dict[SSAValue, SSAValue](), Analyzer()
    for op in ops:
        copy = op.clone(values)
        copy.location = op.location
        version.add_op(copy)

    def is_rows(extent: Mixed) -> bool:
        return isinstance(extent, SSAValue) and extent.type == rows.type and analyzer.same(extent, rows)

    names = {block.block_name.data for block in find_ops(func, BlockOp)}
    for op in version.walk():
        match op:
            case ForOp():
                extents = [op.mixed_bounds[1]]
            case BlockOp():
                op.block_name = StringAttr(fresh_name(f"{op.block_name.data}_row", names))
                extents = [axis.extent for axis in op.axes]
            case AccessOp():
                extents = [extent for _, extent in op.region]
            case _:
                continue
        if numbers := [n for n, extent in enumerate(extents) if is_rows(extent)]:
            set_extents(op, numbers, lambda n, type: 1)
    return version
