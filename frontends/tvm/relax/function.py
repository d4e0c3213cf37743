"""Functions of programs as nodes: `tvm.relax.Function`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....core.arrays import plain_array
from ....core.errors import ArgumentError
from ....dialects.attributes import PARAM_VALUES
from ....dialects.tir.annotations import annotation_key
from ....module import Module
from ....operators import relax
from ....operators.relax.devices import PARAM_DEVICES, Devices, device_names
from ...relay.parameters import bind_parameters
from ..ir.attributes import Attributes
from ..ir.module import FunctionModule
from ..nodes.attributes import attribute_of
from .bindings import SeqExpr
from .expr import Constant, Expr, Var
from .newer_names import accept_newer_names
from .reading import Reader
from .struct_info import StructInfo, struct_info_of
from .writing import Writer


class Function(FunctionModule):
    """A function of a program: parameters, and an expression of them. Immutable."""

    @accept_newer_names
    def __init__(
        self,
        params: Sequence[Var],
        body: Expr,
        ret_struct_info: StructInfo | None = None,
        is_pure: bool = True,
        attrs: Mapping[str, Any] | None = None,
    ):
        """ret_struct_info: the type of the result, by default that of the body.  attrs: attributes; `global_symbol` is
        the name of the function, without which it is private. Raises the errors of operators that do not fit their
        operands."""
        constants: dict[str, Any] = {}
        named = dict(attrs or {})
        symbol = named.pop("global_symbol", None)
        func = write_function(
            "main" if symbol is None else str(getattr(symbol, "data", symbol)), params, body, constants,
            pure=is_pure, private=symbol is None, attrs=named,
        )  # fmt: skip
        func.result_type = func.result_type if ret_struct_info is None else ret_struct_info.type
        super().__init__(ModuleOp([func]), constants)

    _module: Module | None = None

    @staticmethod
    def from_op(op: relax.FuncOp, constants: Mapping[str, Any], module: Module | None = None) -> Function:
        """The function of an operation of a module. constants: the arrays of the module.  module: for `callees`."""
        function = Function.__new__(Function)
        function._module = module
        copy = op.clone()
        used = {name: array for name, array in constants.items() if name in _constant_names(copy)}
        Module.__init__(function, ModuleOp([copy]), used)
        return function

    def is_of(self, op: relax.FuncOp, constants: Mapping[str, Any]) -> bool:
        """Whether this is the function of an operation of a module with these arrays."""
        same = all(array is constants.get(name) for name, array in self.constants.items())
        blocks: dict[Any, Any] = {op.parent: self.func.parent}
        return same and op.is_structurally_equivalent(self.func, blocks)

    def of_op(self, op: relax.FuncOp, constants: Mapping[str, Any]) -> Function:
        """Another function of the same module. constants: the arrays of `op`."""
        return Function.from_op(op, constants, self._module)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and str(self.func) == str(other.func) and self._has_arrays_of(other)

    def __hash__(self) -> int:
        return hash(str(self.func))

    def _has_arrays_of(self, other: Function) -> bool:
        return all(array is other.constants.get(name) for name, array in self.constants.items())

    @property
    def func(self) -> relax.FuncOp:
        """The operation of the function."""
        (func,) = self.op.body.block.ops
        assert isinstance(func, relax.FuncOp)
        return func

    @cached_property
    def _signature(self) -> tuple[Reader, list[Var]]:
        reader = Reader(self.constants)
        return reader, reader.params(self.func)

    @cached_property
    def _body(self) -> SeqExpr:
        return self._signature[0].sequence(self.func.body.block)

    @property
    def callees(self) -> dict[str, Module]:
        """The functions of its module that the function calls, by name, and those that they call; without a module,
        none."""
        found: dict[str, Module] = {}
        left = list(_called_names(self.func))
        while left and self._module is not None:
            name = left.pop()
            if name not in found and name in self._module:
                found[name] = self._module[name]
                left += [each for op in found[name].op.walk() for each in _called_names(op)]
        return found

    @property
    def params(self) -> list[Var]:
        """The parameters."""
        return self._signature[1]

    @property
    def body(self) -> SeqExpr:
        """The bindings and the result."""
        return self._body

    @property
    def ret_ty(self) -> StructInfo:
        """The type of the result by the name since v0.26."""
        return self.ret_struct_info

    @property
    def ret_struct_info(self) -> StructInfo:
        """The type of the result."""
        return struct_info_of(self.func.result_type)

    @property
    def is_pure(self) -> bool:
        """Whether a call has no side effects."""
        return self.func.impure is None

    @property
    def attrs(self) -> Attributes:
        """The attributes of the function."""
        symbol = {} if self.func.private is not None else {"global_symbol": StringAttr(self.func.sym_name.data)}
        return Attributes({**symbol, **self._own_attrs})

    def with_attr(self, key: str | Mapping[str, object], value: object = None) -> Function:
        """A copy of the function with an attribute set, or with all attributes of a dictionary."""
        named = {key: value} if isinstance(key, str) else dict(key)
        copy = Function.from_op(self.func, self.constants, self._module)
        symbol = named.pop("global_symbol", None)
        if symbol is not None:
            copy.func.sym_name, copy.func.private = StringAttr(str(symbol)), None
        new = {annotation_key(name): attribute_of(each) for name, each in named.items()}
        copy._set_attrs({**self._own_attrs, **new})
        return copy

    def with_attrs(self, attrs: Mapping[str, object]) -> Function:
        """A copy of the function with all attributes of a dictionary set."""
        return self.with_attr(attrs)

    def without_attr(self, key: str) -> Function:
        """A copy of the function without an attribute."""
        copy = Function.from_op(self.func, self.constants, self._module)
        copy._set_attrs({name: value for name, value in self._own_attrs.items() if name != key})
        return copy

    def bind_symbolic_vars(self, binding_map: Mapping[Any, Any]) -> Function:
        """A copy of the function with numbers in place of names of sizes. binding_map: as of `BindSymbolicVars`, whose
        errors it raises."""
        # lazy: modules are made of functions
        from .sizes import bind_checked

        copy = Function.from_op(self.func, self.constants, self._module)
        bind_checked([copy.func], binding_map)
        return copy

    def bind_params(self, binding_map: Mapping[Any, Any]) -> Function:
        """A copy of the function with constants in place of parameters. binding_map: arrays by parameters or their
        names; raises the errors of `bind_parameters`."""
        arrays = {
            str(getattr(key, "name_hint", key)): value.data if isinstance(value, Constant) else plain_array(value)
            for key, value in binding_map.items()
        }
        bound = bind_parameters(self, arrays, self.func.sym_name.data)
        func = bound.function_ops[self.func.sym_name.data]
        assert isinstance(func, relax.FuncOp)
        return Function.from_op(func, bound.constants, self._module)

    def structural_form(self, map_free_vars: bool) -> list[str]:
        """The lines of a text that is equal for structurally equal functions: private ones have no name."""
        # lazy: nodes of all kinds are compared
        from ..ir.comparison import module_form

        if self.func.private is None:
            return module_form(self)
        copy = self.func.clone()
        copy.properties["sym_name"] = StringAttr("main")
        return module_form(Function.from_op(copy, self.constants))

    def inline_functions(self, function_map: Mapping[Any, Function]) -> Function:
        """A copy of the function with the operations of functions in place of their calls.

        function_map: functions by their names or global variables. ArgumentError for a name that the function does not
        call, for two entries of one name, and for a function that calls itself.
        """
        # lazy: passes on modules read functions
        from .inlining import callees_of, inline_calls

        names = [str(getattr(key, "name_hint", key)) for key in function_map]
        name = self.func.sym_name.data
        functions = dict(zip(names, (each.func for each in function_map.values()), strict=True))
        called = {each for func in (self.func, *functions.values()) for each in callees_of(func)}
        for each in names:
            if names.count(each) > 1:
                raise ArgumentError(f"inline_functions: two functions {each}, expected one for each name")
            if each not in called:
                known = ", ".join(callees_of(self.func)) or "none"
                raise ArgumentError(f"inline_functions: function {each!r}, expected one that {name} calls ({known})")
        copy = self.func.clone()
        inline_calls(copy, functions)
        constants = {key: array for each in (*function_map.values(), self) for key, array in each.constants.items()}
        return Function.from_op(copy, constants, self._module)

    @property
    def _own_attrs(self) -> Mapping[str, Attribute]:
        """The attributes without the name of the function."""
        return {} if self.func.func_attrs is None else self.func.func_attrs.data

    def _set_attrs(self, attrs: Mapping[str, Attribute]) -> None:
        self.func.func_attrs = DictionaryAttr(dict(attrs)) if attrs else None


def _called_names(op: Operation) -> Iterator[str]:
    for each in op.walk():
        callee = each.properties.get("callee")
        if isinstance(callee, SymbolRefAttr):
            yield callee.string_value()


def _constant_names(func: relax.FuncOp) -> set[str]:
    """The names of the arrays of a function: of its constants, and of its parameters with values."""
    names = [op.properties.get("array_name") for op in func.walk()]
    values = None if func.func_attrs is None else func.func_attrs.data.get(PARAM_VALUES)
    found = [*names, *(values if isinstance(values, ArrayAttr) else ())]
    return {name.data for name in found if isinstance(name, StringAttr)}


def write_function(
    name: str,
    params: Sequence[Var],
    body: Expr,
    constants: dict[str, Any],
    *,
    pure: bool = True,
    private: bool = False,
    attrs: Mapping[str, Any] | None = None,
    module: Module | None = None,
) -> relax.FuncOp:
    """The operation of a function. constants: gets the arrays of the function.  module: gets the function; without one,
    types may not state the devices of results. ArgumentError for two parameters of one name, and for a value on another
    device than its type states."""
    types = [(each.name_hint, each.struct_info.type) for each in params]
    if len({each for each, _ in types}) < len(types):
        raise ArgumentError(f"function {name}: parameters {', '.join(each for each, _ in types)}, expected one each")
    attributes = {annotation_key(key): attribute_of(value) for key, value in (attrs or {}).items()}
    if devices := {each.name_hint: StringAttr(device) for each in params if (device := each.struct_info.device)}:
        attributes[PARAM_DEVICES] = DictionaryAttr(dict[str, Attribute](devices))
    func = relax.FuncOp(name, types, relax.ObjectType(), impure=not pure, private=private, attrs=attributes or None)
    block = func.body.block
    functions = None if module is None else module.function_ops
    writer = Writer(block, constants, dict(zip(params, block.args, strict=True)), functions)
    value = body.emit(writer)
    block.add_op(relax.ReturnOp(value))
    func.result_type = value.type
    if module is not None:
        module.op.body.block.add_op(func)
    try:
        _check_devices(func, writer.stated)
    except ArgumentError:
        func.detach()
        raise
    return func


def _check_devices(func: relax.FuncOp, stated: Sequence[tuple[SSAValue, str]]) -> None:
    """Raises ArgumentError for a value on another device than is stated."""
    if not stated:
        return
    names = device_names(func.parent_op())
    try:
        devices = Devices.of_function(func)
    except VerifyException as error:
        raise ArgumentError(f"function {func.sym_name.data}: {error}") from None
    for value, device in stated:
        if device not in names:
            raise ArgumentError(f"device {device!r}, expected one of the module: {', '.join(names) or 'none'}")
        if (actual := devices.of(value)) != device:
            raise ArgumentError(f"a value on {actual}, expected it on {device} (relax.op.to_vdevice)")


__all__ = ["Function"]
