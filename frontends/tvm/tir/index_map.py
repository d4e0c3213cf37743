"""Maps of indices to other indices: `tvm.tir.IndexMap`."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir.affine import AffineMap

from ....analysis.index import Analyzer as IndexAnalyzer
from ....analysis.index import Lin, export
from ....analysis.iter_map import why_not_onto
from ....core.errors import OptionError, ScheduleError
from ....dialects.tir import FuncOp, TirBuilder
from ....expressions.axes import Range
from ....expressions.expr import Add, Call, Cast, FloorDiv, FloorMod, IntImm, Mul, PrimExpr, Sub, Var, as_expr, const
from ....expressions.rewrite import Substitution
from ....schedule.handles import ParameterRV
from ....schedule.primitives.layout import new_layout
from ....schedule.rewriting.index_maps import AXIS_SEPARATOR, bound_index_map
from ....schedule.rewriting.layout_inverse import invert_layout
from ..arith import Analyzer
from ..nd import NDArray, array
from ..nodes.reading import NodeReader

_OPERATIONS: Mapping[type[PrimExpr], Callable[[Any, Any], Any]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    FloorDiv: operator.floordiv,
    FloorMod: operator.mod,
}
_BITWISE: Mapping[str, Callable[[Any, Any], Any]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
}


class IndexMap:
    """A map of indices to other indices, as `Schedule.transform_layout` takes it.

    initial_indices: the variables of the old indices.  final_indices: the new indices in terms of them.
    inverse_index_map: the map of the new indices to the old ones, where it was given.
    """

    AXIS_SEPARATOR = AXIS_SEPARATOR
    """The marker between two groups of dimensions among the new indices that a function returns."""

    def __init__(
        self,
        initial_indices: Sequence[Var],
        final_indices: Sequence[Any],
        inverse_index_map: IndexMap | Callable[..., Any] | None,
    ):
        self.initial_indices = list(initial_indices)
        self.final_indices: list[PrimExpr] = [as_expr(index) for index in final_indices]
        if inverse_index_map is not None and not isinstance(inverse_index_map, IndexMap):
            inverse_index_map = IndexMap.from_func(inverse_index_map, len(self.final_indices))
        self.inverse_index_map = inverse_index_map

    @staticmethod
    def from_func(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: IndexMap | Callable[..., Any] | None = None,
        *,
        index_dtype: str = "int64",
    ) -> IndexMap:
        """The map of a function of indices that returns an index, or a list or tuple of them.

        ndim: the number of indices of a function of `*indices`. OptionError without it, and for a function with other
        parameters, or with axis separators.
        """
        mapping, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise OptionError("IndexMap.from_func: axis separators, which from_func_with_separators takes")
        return mapping

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: IndexMap | Callable[..., Any] | None = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[IndexMap, list[int]]:
        """The map of a function, and the positions of the axis separators among its results."""
        variables = [Var(name, index_dtype) for name in _names(mapping_function, ndim)]
        result = _call(mapping_function, variables)
        separators: list[int] = []
        indices: list[Any] = []
        for each in result if isinstance(result, list | tuple) else [result]:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(each, str) and each == AXIS_SEPARATOR:
                separators.append(len(indices))
            else:
                indices.append(each)
        return IndexMap(variables, indices, inverse_index_map), separators

    def __call__(self, *indices: Any) -> tuple[Any, ...]:
        """The new indices of any values with arithmetic. OptionError for another number of them."""
        if len(indices) != len(self.initial_indices):
            raise OptionError(f"IndexMap: {len(indices)} indices, expected {len(self.initial_indices)}")
        known = dict(zip(self.initial_indices, indices, strict=True))
        return tuple(_evaluate(index, known) for index in self.final_indices)

    def map_indices(self, indices: Sequence[Any]) -> list[PrimExpr]:
        """The new indices of old ones, expressions or numbers. OptionError for another number of them."""
        if len(indices) != len(self.initial_indices):
            raise OptionError(f"IndexMap: {len(indices)} indices, expected {len(self.initial_indices)}")
        values = {var: as_expr(index) for var, index in zip(self.initial_indices, indices, strict=True)}
        change = Substitution({var: _as(var.dtype, value) for var, value in values.items()})
        return [Analyzer().simplify(change.expr(index)) for index in self.final_indices]

    def map_shape(self, shape: Sequence[Any]) -> list[PrimExpr]:
        """The shape of a buffer in the new layout. OptionError for a shape of other extents than numbers."""
        analyzer = Analyzer()
        for var, extent in zip(self.initial_indices, _extents(shape), strict=True):
            analyzer.bind(var, Range(const(0, var.dtype), const(extent, var.dtype)))
        bounds = [analyzer.const_int_bound(index) for index in self.final_indices]
        return [const(bound.max_value + 1, self.initial_indices[0].dtype) for bound in bounds]

    def map_ndarray(self, arr_src: Any) -> NDArray:
        """An array in the new layout. arr_src: an array, of numpy too. Places without an old index are 0."""
        source = np.asarray(arr_src.numpy() if isinstance(arr_src, NDArray) else arr_src)
        shape = [int(cast(IntImm, extent).value) for extent in self.map_shape(source.shape)]
        result = np.zeros(shape, source.dtype)
        result[self(*np.indices(source.shape))] = source
        return array(result)

    def inverse(self, shape: Sequence[Any]) -> IndexMap:
        """The map of the new indices to the old ones, for a shape of numbers or ranges from 0. ScheduleError for a map
        that puts two indices in the same place, or has indices of the new shape without an old one.
        """
        if self.inverse_index_map is not None:
            return self.inverse_index_map
        inverse, why_padded = self._invert(shape)
        if why_padded is not None:
            raise ScheduleError(f"the inverse of an index map that is not onto: {why_padded}")
        return inverse

    def non_surjective_inverse(self, shape: Sequence[Any]) -> tuple[IndexMap, PrimExpr]:
        """The map of the new indices to the old ones, and the condition that a new index has no old one."""
        inverse, why_padded = self._invert(shape)
        if why_padded is None:
            return inverse, const(False, "bool")
        again = self.map_indices(inverse.final_indices)
        padded = const(False, "bool")
        for var, index, old, extent in zip(
            inverse.initial_indices, again, inverse.final_indices, _extents(shape), strict=False
        ):
            padded = _either(padded, Analyzer().simplify(_either(var != index, old >= extent)))
        return inverse, padded

    def _invert(self, shape: Sequence[Any]) -> tuple[IndexMap, str | None]:
        """The inverse, and the reason why a new index has no old one; None if each has one."""
        analyzer = IndexAnalyzer()
        dtype = self.initial_indices[0].dtype
        type = IntegerType(int(dtype.removeprefix("int")))
        mapping = bound_index_map(self.affine_map, len(self.initial_indices))
        layout = new_layout(analyzer, mapping, [Lin(extent) for extent in _extents(shape)], [type] * len(shape))
        variables = [Var(f"axis{n}", dtype) for n in range(len(self.final_indices))]
        func = FuncOp("main", [(var.name, type) for var in variables])
        arguments = func.body.block.args
        builder = TirBuilder(func.body.block)
        sums = invert_layout(analyzer, layout, [Lin.of(argument) for argument in arguments])
        values = [export(analyzer, total, builder, type) for total in sums]
        reader = NodeReader(func)
        reader.vars.update(zip(arguments, variables, strict=True))
        inverse = IndexMap(variables, [reader.expr(value) for value in values], self)
        box = [(Lin(), Lin(extent)) for extent in _extents(self.map_shape(shape))]
        return inverse, why_not_onto(analyzer, layout.domain, layout.sums, box, [var.name for var in variables])

    @property
    def affine_map(self) -> AffineMap:
        """The map as an affine map of MLIR. ScheduleError for indices that are not affine."""
        return bound_index_map(self, len(self.initial_indices)).map

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """Whether two maps give equal new indices for all old ones, as far as the analysis finds a proof."""
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        others = other_map.map_indices(self.initial_indices)
        return len(others) == len(self.final_indices) and all(
            Analyzer().can_prove_equal(index, other) for index, other in zip(self.final_indices, others, strict=True)
        )

    def __repr__(self) -> str:
        indices, results = (
            ", ".join(map(str, each)) for each in ((v.name for v in self.initial_indices), self.final_indices)
        )
        return f"index_map(({indices}) -> ({results}))"


def with_sizes(index_map: Any, size: Callable[[str], ParameterRV]) -> Any:
    """The function of an index map as a function of the indices of a schedule.

    The function is called with variables, and the new indices that it returns are evaluated: variables other than the
    indices are sizes of the program, which `size` returns by name. A function with handles of numbers computes on the
    indices of the schedule itself, and other index maps stay as they are.
    """
    if isinstance(index_map, FunctionType):
        if _uses_handles(index_map):
            return index_map
    elif not isinstance(index_map, IndexMap):
        return index_map

    def indices_of(*indices: Any) -> list[Any]:
        results: list[Any]
        if isinstance(index_map, IndexMap):
            variables, results = index_map.initial_indices, index_map.final_indices
        else:
            variables = [Var(name, "int32") for name in _names(index_map, len(indices))]
            results = list(_flat(_call(index_map, variables)))
        if len(indices) != len(variables):
            raise OptionError(f"IndexMap: {len(indices)} indices, expected {len(variables)}")
        known = dict(zip(variables, indices, strict=True))
        return [each if each == AXIS_SEPARATOR else _evaluate(as_expr(each), known, size) for each in results]

    return indices_of


def _uses_handles(function: FunctionType) -> bool:
    """Whether a function refers to handles of numbers, or is the text of a trace, which calls `T` on numbers."""
    names = inspect.getclosurevars(function)
    values = [*names.nonlocals.values(), *names.globals.values()]
    return "T" in function.__code__.co_names or any(isinstance(value, ParameterRV) for value in values)


def _flat(results: Any) -> Iterator[Any]:
    if isinstance(results, list | tuple):
        for each in results:  # pyright: ignore[reportUnknownVariableType]
            yield from _flat(each)
    else:
        yield results


def _names(function: Callable[..., Any], ndim: int | None) -> list[str]:
    """The names of the indices of a function: `*indices` are those between the others."""
    parameters = inspect.signature(function).parameters.values()
    named = [each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            raise OptionError(f"IndexMap: a function with parameter {parameter}, expected indices")
        if parameter.kind is not parameter.VAR_POSITIONAL:
            names.append(parameter.name)
        elif ndim is None:
            raise OptionError(f"IndexMap: a function of *{parameter.name}, expected ndim")
        else:
            names += [f"{parameter.name}_{n}" for n in range(ndim - len(named))]
    if ndim is not None and len(names) != ndim:
        raise OptionError(f"IndexMap: a function of {len(names)} indices, expected {ndim}")
    return names


def _call(function: Callable[..., Any], indices: Sequence[Any]) -> Any:
    """The result of a function of indices, the last of which may be keywords."""
    parameters = inspect.signature(function).parameters.values()
    keywords = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    first = len(indices) - len(keywords)
    return function(*indices[:first], **dict(zip(keywords, indices[first:], strict=True)))


def _evaluate(expr: PrimExpr, known: Mapping[Var, Any], size: Callable[[str], Any] | None = None) -> Any:
    """The value of an expression for values of its variables, where `size` returns the values of other variables by
    name. OptionError for other expressions than index arithmetic."""
    if isinstance(expr, IntImm):
        return expr.value
    if isinstance(expr, Var) and expr in known:
        return known[expr]
    if isinstance(expr, Var) and size is not None:
        return size(expr.name)
    if isinstance(expr, Cast):
        return _evaluate(expr.value, known, size)
    operation = _BITWISE.get(expr.op) if isinstance(expr, Call) else _OPERATIONS.get(type(expr))
    if operation is None:
        raise OptionError(f"IndexMap: {expr}, expected sums, products, quotients, remainders and bits of indices")
    return operation(*(_evaluate(each, known, size) for each in expr.children))


def _as(dtype: str, value: PrimExpr) -> PrimExpr:
    return const(value.value, dtype) if isinstance(value, IntImm) else value


def _extents(shape: Sequence[Any]) -> list[int]:
    """The extents of a shape of numbers or ranges. OptionError for others."""
    extents: list[int] = []
    for each in shape:
        extent = as_expr(each.extent if isinstance(each, Range) else each)
        if not isinstance(extent, IntImm):
            raise OptionError(f"IndexMap: extent {extent}, expected a number")
        extents.append(extent.value)
    return extents


def _either(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if isinstance(a, IntImm):
        return b if not a.value else a
    return a if isinstance(b, IntImm) and not b.value else a | b


__all__ = ["IndexMap"]
