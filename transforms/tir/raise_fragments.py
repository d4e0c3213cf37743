"""The pass `tir-raise-fragments`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, VectorType, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.index import Analyzer, Lin, export
from ...analysis.names import buffer_name, loop_name
from ...analysis.scopes import ancestors
from ...analysis.threads.axes import THREAD_AXES
from ...analysis.threads.fragments import (
    COLUMNS,
    FILL,
    LEFT,
    LOAD,
    MULTIPLY,
    RIGHT,
    SUMS,
    FragmentType,
    builtin_of,
    fragment_buffer_shape,
    is_fragment_nest,
)
from ...analysis.threads.registers import LDMATRIX, is_load_of_matrices
from ...core.diagnostics import unsupported_op_error
from ...core.dtypes import dtype_of
from ...core.errors import UnsupportedError
from ...core.gpu import WARP_SIZE
from ...dialects.tir import (
    AddressOfOp,
    AttrOp,
    BufferDataOp,
    CallIntrinOp,
    ConstOp,
    ForOp,
    FuncOp,
    LaunchThreadOp,
    LoadOp,
    StoreOp,
    TirBuilder,
    scope_of,
)
from ...dialects.tir.base import memref_type
from ...dialects.tir.copying import copy_expression
from ...dialects.tir.tree import is_expression_op, treeify
from .layouts import Layouts, constant_int

ALIGNMENT = 16
"""In bytes: the distance between the rows of a matrix in memory is a multiple of it (CUDA C++ Programming Guide, "Warp
Matrix Functions")."""


class TirRaiseFragmentsPass(ModulePass):
    """Replaces the loops of matrix operations in kernels by these operations: the inverse of `tir-lower-fragments`.

    The operands follow from the loads and stores in the loops: the number of a fragment, the address of the first
    element of a matrix in memory, and the distance between its rows. Loads of matrices into registers, which all
    threads execute together, become the instruction for them.

    Before
        tir.attr "stepwell.fragments" of "tvm_fill_fragment" is "16x16x16" {
          tir.for serial "i" %i : i32 in [0 +: 16] {
            tir.for serial "j" %j : i32 in [0 +: 16] {
              tir.store %x, %C[%n * 16 + %i, %j] : memref<64x16xf32, "wmma.accumulator">
            }
          }
        }

    After
        tir.call_intrin "tvm_fill_fragment"(%data, %16, %16, %16, %n, %x)

    Must hold before: kernels are launches (`tir-launch-threads`). Raises UnsupportedError for a matrix in
    memory whose rows have no constant distance of a multiple of 16 bytes.

    Gone after: loops of matrix operations in kernels.
    """

    name = "tir-raise-fragments"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            nests = [nest for nest in function.walk() if is_fragment_nest(nest) and _is_in_kernel(nest)]
            for nest in nests:
                _Nest(nest).replace()
            loads = [nest for nest in function.walk() if is_load_of_matrices(nest) and _is_in_kernel(nest)]
            for nest in loads:
                _replace_loads(nest)
            if nests or loads:
                treeify(function)


def _is_in_kernel(op: Operation) -> bool:
    return any(isinstance(outer, LaunchThreadOp) for outer in ancestors(op))


def _replace_loads(nest: AttrOp) -> None:
    """Replaces the loads of matrices of 8 rows of 16 bytes by one instruction, to which each lane gives the address of
    a row: lane `8 * r + i` that of row `i` of matrix `r`. It is the address of the first element of the row, which
    another lane loads."""
    launch = next(op for op in ancestors(nest) if isinstance(op, LaunchThreadOp) and op.thread.data == THREAD_AXES[0])
    (load,), (store,) = ([op for op in nest.walk() if isinstance(op, kind)] for kind in (LoadOp, StoreOp))
    builder = TirBuilder(InsertPoint.before(nest), nest.location)
    thread = builder.cast(launch.variable, "int32")
    lane = builder.binary("floormod", thread, WARP_SIZE)
    words = nest.value_attr
    assert isinstance(words, StringAttr)
    number, _, trans = words.data.removeprefix("x").partition(".")
    row = builder.binary("floormod", lane, 8)
    first = builder.binary("floordiv", row, 2) if trans else builder.mul(row, 4)
    place = {
        "r": builder.binary("floordiv", lane, 8),
        "e": builder.binary("floormod", row, 2) if trans else builder.const(0, i32),
    }
    loops = {loop_name(op): op.variable for op in nest.walk() if isinstance(op, ForOp)}
    there: dict[SSAValue, SSAValue] = {variable: place[name] for name, variable in loops.items()}
    there[launch.variable] = builder.cast(builder.add(builder.sub(thread, lane), first), dtype_of(launch.variable.type))
    here: dict[SSAValue, SSAValue] = {variable: builder.const(0, i32) for variable in loops.values()}
    indices = [copy_expression(index, builder, there, launch) for index in load.indices]
    places = [copy_expression(index, builder, here, launch) for index in store.indices]
    element = memref_type(load.buffer).element_type
    count = int(number) * 32 // dtype_of(element).bits
    if count > 1:
        places[-1] = builder.ramp(places[-1], 1, count)
    pointer = builder.insert(AddressOfOp(load.buffer, indices)).pointer
    type = VectorType(element, [count]) if count > 1 else element
    call = builder.insert(CallIntrinOp(LDMATRIX, [builder.insert(ConstOp(words.data)).result, pointer], type))
    assert call.result is not None
    builder.store(call.result, store.buffer, places)
    nest.detach()
    nest.erase()


class _Nest:
    """The loops of a matrix operation."""

    def __init__(self, op: AttrOp):
        self.op = op
        self.name = builtin_of(op)
        value = op.value_attr
        assert isinstance(value, StringAttr)
        shape, *self.layouts = value.data.split()
        m, n, k = map(int, shape.split("x"))
        self.shape = (m, n, k)
        self.analyzer = Analyzer()
        loops = [loop for loop in op.walk() if isinstance(loop, ForOp)]
        self.variables: list[SSAValue] = [loop.variable for loop in loops]
        self.builder = TirBuilder(InsertPoint.before(op), op.location)
        self._hoist()
        self.loads = [inner for inner in op.walk() if isinstance(inner, LoadOp)]
        self.stores = [inner for inner in op.walk() if isinstance(inner, StoreOp)]

    def _hoist(self) -> None:
        """Moves the expressions that no loop variable is in before the loops."""
        inside: set[SSAValue] = {result for op in self.op.walk() if not isinstance(op, ForOp) for result in op.results}
        inside.update(self.variables)
        for op in [op for op in self.op.walk() if is_expression_op(op)]:
            if inside.isdisjoint(op.operands):
                inside.difference_update(op.results)
                op.detach()
                self.builder.insert(op)

    def replace(self) -> None:
        """Replaces the loops by the matrix operation."""
        numbers = [self.builder.const(n, i32) for n in self.shape]
        if self.name == MULTIPLY:
            sums, result, left, right = self._factors()
            types = [self._type(SUMS, None), self._type(LEFT, self.layouts[0]), self._type(RIGHT, self.layouts[1])]
            pairs = [(result, types[0]), (left, types[1]), (right, types[2]), (sums, types[0])]
            args = [value for access, type in pairs for value in self._fragment(access, type)]
        elif self.name == FILL:
            (store,) = self.stores
            data, number = self._fragment(store, self._type(_scope(store), None))
            args = [data, *numbers, number, store.value]
        else:
            (load,), (store,) = self.loads, self.stores
            here, there = (store, load) if self.name == LOAD else (load, store)
            factors = _scope(here) != SUMS
            data, number = self._fragment(here, self._type(_scope(here), self.layouts[0] if factors else None))
            layout = self.builder.insert(ConstOp(self.layouts[0])).result
            args = [data, *numbers, number, *self._address(there), layout]
        call = self.builder.insert(CallIntrinOp(self.name, args))
        call.attributes.update(self.op.attributes)
        self.op.detach()
        self.op.erase()

    def _factors(self) -> tuple[LoadOp, StoreOp, LoadOp, LoadOp]:
        """The sums before, the results, and the factors."""
        before, _, left, right = self.loads
        return before, self.stores[0], left, right

    def _type(self, scope: str, layout: str | None) -> FragmentType:
        return FragmentType(scope, self.shape, i32, layout)

    def _fragment(self, op: LoadOp | StoreOp, type: FragmentType) -> tuple[SSAValue, SSAValue]:
        """The data of the buffer of a fragment, and the number of the fragment."""
        tile = type.tile
        shape = fragment_buffer_shape(self.op, op.buffer, tile)
        first = self._first(op)
        data = self.builder.insert(BufferDataOp(op.buffer)).pointer
        if len(shape) == 1:
            return data, self._export(self._quotient(op, first[0], tile[0] * tile[1]))
        row = Lin(0)
        for index, extent in zip(first[:-1], shape[:-1], strict=True):
            row = row * extent + index
        beside = shape[-1] // tile[1]
        number = self._quotient(op, row, tile[0]) * beside + self._quotient(op, first[-1], tile[1])
        return data, self._export(number)

    def _first(self, op: LoadOp | StoreOp) -> list[Lin]:
        """The indices of the first element that the loops access."""
        zeros = {variable: Lin(0) for variable in self.variables}
        return [self.analyzer.substitute(self.analyzer.exact(index), zeros) for index in op.indices]

    def _quotient(self, op: LoadOp | StoreOp, lin: Lin, divisor: int) -> Lin:
        """A sum divided by a number. UnsupportedError unless it is provably a multiple of the number."""
        if self.analyzer.constant(self.analyzer.floormod(lin, divisor)) != 0:
            raise self._error(f"{lin} in {buffer_name(op.buffer)}, expected whole tiles: a multiple of {divisor}")
        return self.analyzer.floordiv(lin, divisor)

    def _address(self, op: LoadOp | StoreOp) -> tuple[SSAValue, SSAValue]:
        """The address of the first element of a matrix in memory, and the distance between its rows, or its columns
        if these are contiguous."""
        far, near = [self._distance(op, variable) for variable in self.variables[:: self._direction()]]
        name, unit = buffer_name(op.buffer), dtype_of(memref_type(op.buffer).element_type).bits // 8
        if near != 1:
            raise self._error(f"elements of a row of {name} are {near} elements apart in memory, expected 1")
        if far * unit % ALIGNMENT or far <= 0:
            raise self._error(
                f"rows of {name} are {far * unit} bytes apart in memory, expected a multiple of {ALIGNMENT}"
            )
        indices = [
            export(self.analyzer, lin, self.builder, index.type)
            for lin, index in zip(self._first(op), op.indices, strict=True)
        ]
        return self.builder.insert(AddressOfOp(op.buffer, indices)).pointer, self.builder.const(far, i32)

    def _direction(self) -> int:
        return -1 if self.layouts[0] == COLUMNS else 1

    def _distance(self, op: LoadOp | StoreOp, variable: SSAValue) -> int:
        """The distance in memory between the elements of two iterations of a loop."""
        position = Lin(0)
        for index, stride in zip(op.indices, Layouts(self.builder).strides(op.buffer), strict=True):
            lin, number = self.analyzer.exact(index), constant_int(stride)
            if number is not None:
                position = position + lin * number
            elif variable in lin.leaves():
                raise self._error(f"the rows of {buffer_name(op.buffer)} have no constant distance in memory")
        position = self.analyzer.combine(position)
        step = position.terms.get(variable, 0)
        if variable in (position - Lin.of(variable, step)).leaves():
            raise self._error(f"element {position} of {buffer_name(op.buffer)}, expected rows in order")
        return step

    def _export(self, lin: Lin) -> SSAValue:
        return export(self.analyzer, lin, self.builder, i32)

    def _error(self, message: str) -> UnsupportedError:
        return unsupported_op_error(self.op, f"T.{self.name}: {message}")


def _scope(op: LoadOp | StoreOp) -> str:
    return scope_of(memref_type(op.buffer))
