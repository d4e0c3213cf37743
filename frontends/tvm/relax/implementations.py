"""Other kernels, with other layouts, in place of those of operators: `AlterOpImpl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ....core.errors import OptionError, UnsupportedError
from ....module import Module
from ..ir.module import IRModule, PrimFunc
from ..te import compute
from ..tir import IntImm, const, if_then_else
from ..tir.index_map import IndexMap
from .calls import call_tir
from .expr import Call, Expr, GlobalVar, Op, Tuple, TupleGetItem
from .expr_functor import PyExprMutator
from .function import Function
from .struct_info import StructInfo, TensorStructInfo

OPERATOR_NAME = "operator_name"
"""The attribute of kernels with the name of an operator."""


@dataclass(frozen=True)
class Implementation:
    """A kernel, and the index map of each of its tensors, None for one in the layout of the program; without maps all
    are."""

    kernel: PrimFunc
    maps: Sequence[IndexMap | None]


def implementations_of(
    kernels: Mapping[str, PrimFunc], maps: Mapping[str, Sequence[Any]], separators: Sequence[Mapping[str, Any]]
) -> dict[str, Implementation]:
    """The implementations of operators by name. maps, separators: as of `AlterOpImpl`, whose errors it raises."""
    for each in separators:
        for name, several in each.items():
            if any(len(positions) for positions in several if positions is not None):
                raise UnsupportedError(f"AlterOpImpl: {name}: axis separators, expected none: memory is flat")
    return {
        name: Implementation(func, [_index_map(name, each) for each in maps.get(name, ())])
        for name, func in kernels.items()
    }


def _index_map(name: str, given: Any) -> IndexMap | None:
    if isinstance(given, list | tuple) and given and isinstance(given[0], IndexMap):
        given, separators = given  # pyright: ignore[reportUnknownVariableType]
    elif given is None or isinstance(given, IndexMap):
        return given
    else:
        given, separators = IndexMap.from_func_with_separators(given)  # pyright: ignore[reportArgumentType]
    if separators:
        raise UnsupportedError(f"AlterOpImpl: {name}: axis separators {separators}, expected none: memory is flat")
    return given  # pyright: ignore[reportUnknownVariableType]


def alter_calls(mod: IRModule, implementations: Mapping[str, Implementation]) -> Module:
    """A module whose calls of kernels with the attribute `operator_name` call implementations."""
    return _Alteration(mod, implementations).module()


class _Alteration(PyExprMutator):
    """Replaces calls of kernels."""

    def __init__(self, mod: IRModule, implementations: Mapping[str, Implementation]):
        super().__init__(mod)
        self.mod, self.implementations = mod, implementations
        self._names: dict[str, GlobalVar] = {}

    def module(self) -> Module:
        """The module with all functions of relax rewritten."""
        for name, func in self.mod.functions.items():
            if isinstance(func, Function):
                self.builder_.update_func(name, self.visit_expr(func))
        return self.builder_.get()

    def visit_call_(self, op: Call) -> Expr:
        call = super().visit_call_(op)
        name = self._operator_of(call)
        if name is None or not isinstance(call, Call):
            return call
        args, outputs = call.args[1].children, call.sinfo_args
        implementation = self.implementations[name]
        maps = list(implementation.maps) or [None] * (len(args) + len(outputs))
        if len(maps) != len(args) + len(outputs):
            raise OptionError(f"AlterOpImpl: {name}: {len(maps)} index maps, expected {len(args) + len(outputs)}")
        of_args, of_outputs = maps[: len(args)], maps[len(args) :]
        operands = [self._to(name, *each) for each in zip(args, of_args, strict=True)]
        infos = [_in_layout(name, *each) for each in zip(outputs, of_outputs, strict=True)]
        kernel = self._name(name, implementation)
        new = call_tir(kernel, Tuple(operands), infos if len(infos) > 1 else infos[0], *call.args[2:])
        if all(each is None for each in of_outputs):
            return new
        result = self.builder_.emit(new)
        if len(outputs) == 1:
            return self._back(result, of_outputs[0], outputs[0])
        fields = [TupleGetItem(result, n) for n in range(len(outputs))]
        return Tuple([self._back(*each) for each in zip(fields, of_outputs, outputs, strict=True)])

    def _operator_of(self, call: Expr) -> str | None:
        """The name of the operator of a call of a kernel that has an implementation, None for another call."""
        if not isinstance(call, Call) or not isinstance(call.op, Op) or call.op.name != "relax.call_tir":
            return None
        callee = call.args[0]
        assert isinstance(callee, GlobalVar)
        kernel = self.mod[callee.name_hint]
        name = kernel.attrs.get(OPERATOR_NAME) if isinstance(kernel, PrimFunc) else None
        return None if name is None or str(name) not in self.implementations else str(name)

    def _name(self, name: str, implementation: Implementation) -> GlobalVar:
        """The name of a new kernel in the module, to which it is added once."""
        if name not in self._names:
            kernel = implementation.kernel.with_attr(OPERATOR_NAME, name)
            self._names[name] = self.builder_.add_func(kernel, f"{name.replace('.', '_')}_replacement")
        return self._names[name]

    def _to(self, name: str, value: Any, index_map: IndexMap | None) -> Any:
        """A tensor in the layout of a kernel."""
        if index_map is None:
            return value
        shape = _extents(name, value.struct_info)
        inverse, is_padding = index_map.non_surjective_inverse(shape)
        extents = _mapped(index_map, shape)

        def transform_layout(data: Any) -> Any:
            def element(*indices: Any) -> Any:
                padding = IndexMap(inverse.initial_indices, [is_padding], None).map_indices(indices)[0]
                return if_then_else(padding, const(0, data.dtype), data(*inverse(*indices)))

            return compute(extents, element, name="layout_transform")

        return self.builder_.emit_te(transform_layout, value, primfunc_name_hint="layout_transform")

    def _back(self, value: Any, index_map: IndexMap | None, old: StructInfo) -> Any:
        """A tensor in the layout of the program."""
        if index_map is None:
            return value

        def restore_layout(data: Any) -> Any:
            return compute(list(old.shape or ()), lambda *indices: data(*index_map(*indices)), name="layout_restore")

        return self.builder_.emit_te(restore_layout, value, primfunc_name_hint="layout_restore")


def _extents(name: str, info: StructInfo) -> list[int]:
    shape = info.shape
    if shape is None or not all(isinstance(extent, int) for extent in shape):
        raise UnsupportedError(f"AlterOpImpl: {name}: a tensor {info}, expected numbers as extents")
    return [int(extent) for extent in shape]


def _in_layout(name: str, info: StructInfo, index_map: IndexMap | None) -> StructInfo:
    """The type of a result in the layout of a kernel."""
    if index_map is None:
        return info
    return TensorStructInfo(_mapped(index_map, _extents(name, info)), info.dtype)


def _mapped(index_map: IndexMap, shape: Sequence[int]) -> list[int]:
    """A shape in another layout."""
    return [int(cast(IntImm, extent).value) for extent in index_map.map_shape(shape)]
