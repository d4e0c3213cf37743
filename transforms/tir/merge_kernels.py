"""The pass `tir-merge-kernels`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, MemRefType, ModuleOp, SymbolRefAttr, i32
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...analysis.names import symbols_of
from ...analysis.scopes import parameter_buffers
from ...analysis.similar_functions import (
    LEAST_EXTENT,
    Family,
    differing_extents,
    factors_by_owner,
    families,
    have_one_extent,
)
from ...analysis.unscheduled import has_known_shapes, is_graph_kernel
from ...analysis.variants import LEAST_SHARED, variants
from ...core.dtypes import dtype_of
from ...core.identifiers import fresh_name
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir import CallOp, DeclBufferOp, FuncOp, HandleType, MatchBufferOp, Mixed, SymbolOp, TirBuilder
from ...dialects.tir.base import scope_of
from ...dialects.tir.tree import with_expressions
from .extents import set_extents
from .kernel_calls import calling_region
from .kernel_variants import merge_variants

MERGED = ".merged"
"""The end of the name of a function that computes several kernels, after the name of the first of them."""
_remarks = PassRemarks("tir-merge-kernels")


@dataclass(frozen=True)
class TirMergeKernelsPass(ModulePass):
    """Merges kernels of graphs that are equal but for a number or a statement into one function, which is lowered and
    compiled once: convolutions with 1 by 1 windows of a growing number of input channels, for instance, or convolutions
    by Winograd's algorithm with and without a sum after them.

    The number is an extent of dimensions of parameters, of loops that are neither unrolled nor vectorized, of axes, and
    of declared regions. Other extents may be multiples of it, as numbers of channels and of blocks of channels; one of
    these or the number itself is 16 at least. The function `FIRST.merged` has it as its last parameter. Names and
    parameters of public kernels stay: they call the function. Private functions are erased, and their callers call it.
    In kernels with buffers of dynamic shape, the number is an extent of dimensions of all buffers.

    The statement is directly in the kernel, or in loops that contain loops only and are neither unrolled nor
    vectorized. The function `FIRST.merged` has the parameters of all kernels, and last the number of the kernel whose
    statement it executes. All kernels call it.

    least-shared: the least number of operations that kernels which differ in a statement have in common.

    Before
        tir.func @add("A" %A: memref<64x48xf32>) attrs {relay.kernel = true} {
          tir.for serial "i" %i : i32 in [0 +: 64] {
            ...
        tir.func @add_1("A" %A: memref<96x48xf32>) attrs {relay.kernel = true} {
          tir.for serial "i" %i : i32 in [0 +: 96] {
            ...

    After
        tir.func private @add.merged("A" %a: !tir.handle<f32>, "extent" %n: i32) attrs {relay.kernel = true} {
          %A = tir.decl_buffer "A" %a dims [%n] : !tir.handle<f32> -> memref<?x48xf32>
          tir.for serial "i" %i : i32 in [0 +: %n] {
            ...
        tir.func @add("A" %A: memref<64x48xf32>) attrs {relay.kernel = true} {
          ...
          tir.call @add.merged(%pointer, %n) : !tir.handle<f32>, i32
        }
        ...

    Must hold before: nothing.

    Gone after: nothing.
    """

    name = "tir-merge-kernels"

    least_shared: int = LEAST_SHARED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = [func for func in op.body.block.ops if isinstance(func, FuncOp) and _may_be_merged(func)]
        if _remarks.are_collected:
            _report_differences(kernels)
        found = list(families(kernels))
        if found:
            names, calls = symbols_of(op), _calls(op)
            for family in found:
                _merge(family, _merged_name(family.functions[0], names), calls)
        merged = {func for family in found for func in family.functions}
        others = (func for func in kernels if func not in merged and has_known_shapes(func))
        for group in variants(others, self.least_shared):
            name = _merged_name(group[0].function, symbols_of(op))
            for number, each in enumerate(group if merge_variants(group, name) else ()):
                func = each.function
                _remarks.applied(func, lambda f=func, n=number: f"{f.sym_name.data} is {name} with the variant {n}")


def _merged_name(func: FuncOp, taken: set[str]) -> str:
    """The name of the function that computes a kernel and others; adds it to `taken`."""
    return fresh_name(f"{func.sym_name.data}{MERGED}", taken)


def _may_be_merged(func: FuncOp) -> bool:
    """Whether a function is a kernel of a graph with buffers and numbers as parameters."""
    are_known = all(isinstance(value.type, MemRefType | IntegerType) for value in parameter_buffers(func))
    return is_graph_kernel(func) and are_known and func.result_type is None


def _views(func: FuncOp) -> list[Operation]:
    """The operations that view the parameters of a function as buffers, with their symbols and extents."""
    declared = [op for op in func.body.block.ops if isinstance(op, SymbolOp | MatchBufferOp)]
    return [each for op in declared for each in with_expressions(op)]


def _report_differences(kernels: Iterable[FuncOp]) -> None:
    """Reports the kernels that are equal to others but for several extents, or small ones."""
    for first, other, pairs in differing_extents(kernels):
        if not have_one_extent(pairs):
            text = ", ".join(f"{a} and {b}" for a, b in pairs)
            names = first.sym_name.data, other.sym_name.data
            _remarks.missed(
                other,
                lambda n=names, t=text: f"{n[0]} and {n[1]} differ in {t}, expected an extent from {LEAST_EXTENT} on",
            )


def _calls(module: ModuleOp) -> Mapping[str, list[CallOp]]:
    """The calls of each function of a module, by its name."""
    calls: dict[str, list[CallOp]] = {}
    for call in find_ops(module, CallOp):
        calls.setdefault(call.callee.string_value(), []).append(call)
    return calls


def _merge(family: Family, name: str, calls: Mapping[str, list[CallOp]]) -> None:
    """Replaces the computations of a family by calls of one function. calls: those of private kernels, by name."""
    first = family.functions[0]
    block = first.parent
    assert block is not None
    extents = dict(zip(family.functions, family.extents, strict=True))
    callers = {
        func: calling_region(func, name, func.body.block.arg_types, [extent], views=_views(func))
        for func, extent in extents.items()
        if func.private is None
    }
    block.insert_op_before(_function_of_extent(first, name, family), first)
    for func, extent in extents.items():
        _remarks.applied(func, lambda f=func, n=extent: f"{f.sym_name.data} is {name} with the extent {n}")
        if func in callers:
            if func.regions:
                func.detach_region(func.body).erase()
            func.add_region(callers[func])
        else:
            _redirect(calls.get(func.sym_name.data, ()), name, extent)
            func.detach()
            func.erase()


def _redirect(calls: Iterable[CallOp], name: str, extent: int) -> None:
    """Makes calls of a private function call the function of an extent."""
    for call in calls:
        number = TirBuilder(InsertPoint.before(call), call.location).const(extent, "int32")
        call.properties["callee"] = SymbolRefAttr(name)
        call.operands = [*call.args, number]


# The function of an extent


def _function_of_extent(func: FuncOp, name: str, family: Family) -> FuncOp:
    """Moves the body of a function to a private function with a parameter in the places of the extent of a family.

    The parameter is limited to the least and the greatest extent, so that arithmetic on indices is known not to wrap.
    """
    names = [parameter for parameter, _ in func.params]
    body = func.detach_region(func.body)
    block = body.block
    parameter = block.insert_arg(i32, len(block.args))
    names.append(fresh_name("extent", {*names}))
    set_name_hint(parameter, names[-1])
    builder = TirBuilder(InsertPoint.at_start(block), func.location)
    at_most = builder.binary("min", parameter, max(family.extents))
    extents = _Extents(builder, builder.binary("max", at_most, min(family.extents)), set(names))
    for owner, factors in factors_by_owner(family.places).items():
        if isinstance(owner, BlockArgument):
            extents.set_of_parameter(owner, names[owner.index], factors)
        else:
            set_extents(owner, factors, lambda n, type, factors=factors: extents.multiple(factors[n], type))
    types = [value.type for value in block.args]
    made = FuncOp(name, list(zip(names, types, strict=True)), attrs=func.func_attrs, body=body, private=True)
    made.attributes |= func.attributes
    made.location = func.location
    return made


class _Extents:
    """Replaces extents of a function by multiples of a value of type int32.

    builder: inserts at the start of the function.  names: of the parameters.
    """

    def __init__(self, builder: TirBuilder, value: SSAValue, names: set[str]):
        self._builder = builder
        self._names = names
        self._multiples: dict[tuple[int, Attribute], SSAValue] = {(1, i32): self._let(value)}

    def _let(self, value: SSAValue) -> SSAValue:
        return self._builder.let(fresh_name("extent", self._names), value)

    def multiple(self, factor: int, type: Attribute) -> SSAValue:
        """A multiple of the value in a type."""
        if (factor, type) not in self._multiples:
            value = self._builder.cast(self._multiples[1, i32], dtype_of(type))
            self._multiples[factor, type] = self._let(self._builder.mul(value, factor) if factor > 1 else value)
        return self._multiples[factor, type]

    def set_of_parameter(self, argument: BlockArgument, name: str, factors: Mapping[int, int]) -> None:
        """Replaces a buffer by a pointer, which is viewed as a buffer whose dimensions have multiples of the extent.

        factors: by the numbers of dimensions.
        """
        type = argument.type
        assert isinstance(type, MemRefType)
        shape: list[Mixed] = list(type.get_shape())
        for n, factor in factors.items():
            shape[n] = self.multiple(factor, i32)
        pointer = argument.block.insert_arg(HandleType(type.element_type, scope_of(type)), argument.index)
        set_name_hint(pointer, name)
        view = DeclBufferOp(name, pointer, type.element_type, shape, space=type.memory_space)
        argument.replace_all_uses_with(self._builder.insert(view).buffer)
        argument.block.erase_arg(argument)
