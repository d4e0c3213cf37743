"""Programs built by Python: `tvm.relax.BlockBuilder`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import StringAttr

from ....analysis.names import symbols_of
from ....core.errors import ArgumentError
from ....core.identifiers import fresh_name
from ....expressions.expr import PrimExpr, SizeVar
from ....expressions.expr import Var as SizeVariable
from ....expressions.sizes import parse_size, size_text
from ....expressions.tensor import ComputeOp, Tensor, placeholder, topological_order
from ....module import Module
from ....operators.relax.types import (
    PrimType,
    ShapeType,
    known_dtype,
    known_shape,
    names_bound_by,
    names_in,
    number_of,
    tensor,
)
from ....operators.relay import Size
from ...relay.expr import GlobalVar, SymbolVar
from ...te.prim_func import create_prim_func
from ..ir.module import IRModule
from .bindings import Binding, BindingBlock, DataflowBlock, MatchCast, SeqExpr, VarBinding, require_known
from .calls import call_tir
from .expr import DataflowVar, Expr, Tuple, Var, as_expr
from .function import write_function
from .struct_info import StructInfo, struct_info_of, variables_in
from .writing import type_of_expr


class _Scope:
    """An unfinished function: its finished blocks, and the variables that are known at its end."""

    def __init__(self, name: str, params: Sequence[Var]):
        self.name, self.params = name, list(params)
        self.names = {each.name_hint for each in params}
        self.visible = set(self.params)
        self.unchecked: list[tuple[Expr, set[Var]]] = []
        self.blocks: list[BindingBlock] = []
        self.result: Expr | None = None
        self.variables: dict[str, SizeVariable] = {}
        self.know(self.params)

    def know(self, values: Iterable[Expr]) -> None:
        """Adds the variables that the user has made for the sizes of values."""
        for each in values:
            if (info := each.known_struct_info) is not None:
                self.variables.update(info.variables)


class _OpenBlock:
    """An unfinished block. outputs: the variables that are known after it."""

    def __init__(self, is_dataflow: bool):
        self.is_dataflow = is_dataflow
        self.bindings: list[Binding] = []
        self.outputs: list[Var] = []

    def finish(self) -> BindingBlock:
        """The block."""
        return DataflowBlock(self.bindings, self.outputs) if self.is_dataflow else BindingBlock(self.bindings)


def _publish(scope: _Scope, expr: Expr) -> None:
    """Makes the variables of dataflow regions that the result of a function reads outputs of their regions."""
    if isinstance(expr, Var) and expr not in scope.visible:
        for block in scope.blocks:
            if isinstance(block, DataflowBlock) and any(each.var is expr for each in block.bindings):
                block.outputs.append(expr)
                scope.visible.add(expr)
    for child in expr.children:
        _publish(scope, child)


class BlockBuilder:
    """Builds the functions of a module: within `function`, each `emit` binds the value of an expression to a variable.

    Rewrites of functions use blocks without a function: `begin_dataflow_block`, `emit`, `end_block`.
    """

    _entered: list[BlockBuilder] = []

    def __init__(self, mod: Module | None = None):
        """mod: functions to begin with; is not modified."""
        op = IRModule().op if mod is None else mod.op.clone()
        self._mod = IRModule(op, {} if mod is None else dict(mod.constants))
        self._symbols = symbols_of(self._mod.op)
        self._kernels: dict[str, str] = {}
        self._has_updates = False
        self._scope: _Scope | None = None
        self._open: list[_OpenBlock] = []
        self._names: set[str] = set()

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder whose function is built, None without one."""
        return BlockBuilder._entered[-1] if BlockBuilder._entered else None

    def get(self) -> IRModule:
        """A copy of the module. ArgumentError while a function is built, VerifyError for an invalid program; after
        `update_func` the program may be invalid, since calls of new functions may follow."""
        if self._scope is not None:
            raise ArgumentError(f"get: function {self._scope.name} is not finished")
        mod = IRModule(self._mod.op.clone(), dict(self._mod.constants))
        if not self._has_updates:
            mod.verify()
        return mod

    finalize = get

    # Functions and regions

    @contextmanager
    def function(
        self,
        name: str,
        params: Sequence[Var] | Var = (),
        attrs: Mapping[str, Any] | None = None,
        pure: bool = True,
        private: bool = False,
    ) -> Generator[None]:
        """Builds a function, which `emit_func_output` ends. ArgumentError inside of another function, for a name that
        is taken, and for a function without a result."""
        if self._scope is not None or name in self._symbols:
            what = "is taken" if self._scope is None else f"inside of {self._scope.name}"
            raise ArgumentError(f"function {name}: {what}")
        scope = self._scope = _Scope(name, [params] if isinstance(params, Var) else params)
        BlockBuilder._entered.append(self)
        self._open = [_OpenBlock(is_dataflow=False)]
        try:
            yield
        finally:
            self._scope, self._open = None, []
            BlockBuilder._entered.pop()
        if scope.result is None:
            raise ArgumentError(f"function {name}: no result, expected emit_func_output")
        body = SeqExpr([each for each in scope.blocks if each.bindings], scope.result)
        _name_apart(scope.params)
        write_function(
            name, scope.params, body, self._mod.constants, pure=pure, private=private, attrs=attrs, module=self._mod
        )
        self._symbols.add(name)

    @contextmanager
    def dataflow(self) -> Generator[None]:
        """Builds a dataflow region of the function. Its values are known after it if `emit_output` returned them."""
        scope = self._require("dataflow")
        if self._open[-1].is_dataflow:
            raise ArgumentError("dataflow: inside of another dataflow region")
        scope.blocks.append(self.end_block())
        visible = set(scope.visible)
        self.begin_dataflow_block()
        try:
            yield
        finally:
            block = self.end_block()
            self.begin_binding_block()
        assert isinstance(block, DataflowBlock)
        scope.visible = visible | set(block.outputs)
        scope.blocks.append(block)

    def _require(self, what: str) -> _Scope:
        if self._scope is None:
            raise ArgumentError(f"{what}: no function is built, expected `with function(...)` around it")
        if self._scope.result is not None:
            raise ArgumentError(f"{what}: function {self._scope.name} has its result")
        return self._scope

    # Blocks

    def begin_binding_block(self) -> None:
        """Begins a block of bindings, which `end_block` ends."""
        self._open.append(_OpenBlock(is_dataflow=False))

    def begin_dataflow_block(self) -> None:
        """Begins a dataflow block, which `end_block` ends."""
        self._open.append(_OpenBlock(is_dataflow=True))

    def end_block(self) -> BindingBlock:
        """Ends the innermost block; returns it."""
        return self._open.pop().finish()

    def current_block_is_dataflow(self) -> bool:
        """Whether the innermost block is a dataflow block."""
        return self._innermost("current_block_is_dataflow").is_dataflow

    def _innermost(self, what: str) -> _OpenBlock:
        if not self._open:
            raise ArgumentError(f"{what}: no function is built, expected `with function(...)` around it")
        return self._open[-1]

    # Values

    def emit(self, expr: Expr | Sequence[Any], name_hint: str = "") -> Var:
        """Binds an expression to a new variable. Returns the variable. Raises the errors of its operators."""
        block = self._innermost("emit")
        kind = DataflowVar if block.is_dataflow else Var
        return self._bind("emit", as_expr(expr), kind, name_hint)

    def emit_output(self, output: Expr | Sequence[Any], name_hint: str = "") -> Var:
        """Emits a value of a dataflow region that is known after the region: a variable of the region itself, or a new
        one. ArgumentError outside of a region."""
        block = self._innermost("emit_output")
        if not block.is_dataflow:
            raise ArgumentError("emit_output: no dataflow region, expected `with dataflow()` around it")
        is_own = any(each.var is output for each in block.bindings) and not name_hint
        if not (is_own and isinstance(output, Var)):
            output = self._bind("emit_output", as_expr(output), Var, name_hint)
        block.outputs.append(output)
        return output

    def match_cast(self, value: Expr, struct_info: StructInfo, name_hint: str = "") -> Var:
        """Checks at run time that a value has a type, whose new sizes become known. Returns the value of this type."""
        block = self._innermost("match_cast")
        self._check("match_cast", value)
        var = (DataflowVar if block.is_dataflow else Var)(self._name(name_hint), struct_info)
        if self._scope is not None:
            self._scope.know([var])
        return self._add(MatchCast(var, value, struct_info))

    def emit_normalized(self, binding: Binding) -> Var:
        """Adds a binding to the innermost block; a variable that is no `DataflowVar` is known after it. Returns the
        variable."""
        block = self._innermost("emit_normalized")
        if block.is_dataflow and not isinstance(binding.var, DataflowVar):
            block.outputs.append(binding.var)
        return self._add(binding)

    def normalize(self, expr: Expr) -> Expr:
        """The expression, of a known type. Raises the errors of its operators."""
        self.type_of(expr)
        return expr

    def type_of(self, expr: Expr) -> StructInfo:
        """The type of an expression, whose calls may be those of functions of the module."""
        if expr.known_struct_info is None:
            expr._struct_info = struct_info_of(type_of_expr(expr, self._mod.function_ops), expr.device)  # pyright: ignore[reportPrivateUsage]
        return expr.struct_info

    def lookup_binding(self, var: Expr) -> Expr | None:
        """The expression that a binding gives a variable, None for a parameter and for another expression."""
        return var.bound_value if isinstance(var, Var) else None

    def get_unique_name(self, name_prefix: str) -> str:
        """A name that no variable of the builder has."""
        return self._name(name_prefix)

    def _name(self, hint: str) -> str:
        is_dataflow = bool(self._open) and self._open[-1].is_dataflow
        names = self._names if self._scope is None else self._scope.names
        return fresh_name(hint or ("lv" if is_dataflow else "gv"), names, separator="")

    def _check(self, what: str, expr: Expr) -> None:
        if self._scope is not None:
            scope = self._require(what)
            if scope.params or what == "emit_func_output":
                require_known(expr, scope.visible)
            else:
                scope.unchecked.append((expr, set(scope.visible)))

    def _bind(self, what: str, expr: Expr, kind: type[Var], name_hint: str) -> Var:
        self._check(what, expr)
        info = self.type_of(expr)
        return self._add(VarBinding(kind(self._name(name_hint), info), expr))

    def _add(self, binding: Binding) -> Var:
        self._open[-1].bindings.append(binding)
        if self._scope is not None:
            self._scope.visible.add(binding.var)
        return binding.var

    def emit_func_output(self, output: Expr | Sequence[Any], params: Sequence[Var] | Var | None = None) -> GlobalVar:
        """Ends the function, which returns a value. params: the parameters of the function, if `function` has none.
        A value of a dataflow region becomes an output of the region. ArgumentError in a dataflow region."""
        scope = self._require("emit_func_output")
        if self._open[-1].is_dataflow:
            raise ArgumentError("emit_func_output: in a dataflow region, expected it after the region")
        if params is not None:
            scope.params = [params] if isinstance(params, Var) else list(params)
            scope.visible |= set(scope.params)
            scope.know(scope.params)
        for expr, visible in scope.unchecked:
            require_known(expr, visible | set(scope.params))
        scope.blocks.append(self._open[-1].finish())
        result = as_expr(output)
        _publish(scope, result)
        self._check("emit_func_output", result)
        scope.result = result
        return SymbolVar(scope.name)

    def update_func(self, gv: GlobalVar | str, updated_func: Module) -> None:
        """Replaces a function of the module, or adds one."""
        self._mod[gv] = updated_func
        self._has_updates = True
        self._symbols = symbols_of(self._mod.op)

    # Kernels

    def add_func(self, func: Module, func_name: str) -> GlobalVar:
        """Adds a function, by a name derived from `func_name`. ArgumentError for a module of several functions."""
        if len(func.function_ops) != 1:
            raise ArgumentError(f"add_func: a module of {len(func.function_ops)} functions, expected one")
        (op,) = func.function_ops.values()
        name = fresh_name(func_name, self._symbols)
        copy = op.clone()
        copy.properties["sym_name"] = StringAttr(name)
        self._mod.op.body.block.add_op(copy)
        self._mod.constants.update(func.constants)
        return SymbolVar(name)

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Expr:
        """The results of a kernel of tensor expressions, which is added to the module unless it has an equal one.

        func: a function of tensors and other arguments.  args, kwargs: values, whose tensors are passed as tensors, and
        other arguments; `primfunc_name_hint` is the name of the kernel.  ArgumentError for tensors of unknown shape.
        """
        self._innermost("call_te")
        hint = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "kernel")
        operands = _TensorOperands({} if self._scope is None else self._scope.variables)
        results = func(
            *(operands.convert(each) for each in args), **{key: operands.convert(each) for key, each in kwargs.items()}
        )
        outputs: list[Tensor] = [results] if isinstance(results, Tensor) else list(results)
        types = [tensor([_size(extent) for extent in each.shape], str(each.dtype)) for each in outputs]
        given = [value.struct_info.type for value in operands.values]
        bound = {name for type in given for name in names_bound_by(type)}
        named = [*(name for type in (*given, *types) for name in names_in(type)), *operands.used_in(outputs)]
        free = [name for name in dict.fromkeys(named) if name not in bound]
        numbers = [operands.variable(name) for name in free]
        kernel = create_prim_func([*operands.tensors, *outputs, *numbers])
        infos = [struct_info_of(type) for type in types]
        return call_tir(SymbolVar(self._kernel(kernel, hint)), Tuple(operands.values), infos, free)

    def _kernel(self, kernel: Module, hint: str) -> str:
        text = f"{hint}: {kernel}"
        if text not in self._kernels:
            self._kernels[text] = self.add_func(kernel, hint).name_hint
        return self._kernels[text]

    def emit_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
        """Emits the results of a kernel of tensor expressions, as of `call_te`."""
        name_hint = kwargs.pop("name_hint", "")
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)


def _name_apart(params: Sequence[Var]) -> None:
    """Renames parameters that have the name of an earlier one."""
    taken: set[str] = set()
    for param in params:
        if param.name_hint in taken:
            param.name_hint = fresh_name(param.name_hint, taken)
        taken.add(param.name_hint)


def _size(extent: Any) -> Size:
    return size_text(extent) if isinstance(extent, PrimExpr) else int(extent)


class _TensorOperands:
    """The tensors among the arguments of a function of tensor expressions. values: their values in the program.
    tensors: placeholders of the same shapes."""

    def __init__(self, variables: dict[str, SizeVariable]):
        """variables: those of sizes by name, to which new ones are added."""
        self.values: list[Expr] = []
        self.tensors: list[Tensor] = []
        self._sizes = variables

    def variable(self, name: str) -> SizeVariable:
        """The variable of a size."""
        return self._sizes.setdefault(name, SizeVar(name, "int64"))

    def convert(self, argument: Any) -> Any:
        """The argument of the function for an argument of the call."""
        if isinstance(argument, list | tuple):
            return [self.convert(each) for each in argument]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(argument, Expr):
            return argument
        self._sizes.update(argument.struct_info.variables)
        type = argument.struct_info.type
        if isinstance(type, ShapeType) and (sizes := known_shape(type)) is not None:
            return [self._number(size) for size in sizes]
        if isinstance(type, PrimType) and (number := number_of(type)) is not None:
            return self._number(number)
        return self._placeholder(argument)

    def used_in(self, outputs: Sequence[Tensor]) -> list[str]:
        """The names of the variables that the computations of tensors use."""
        computes = [op for op in topological_order(outputs) if isinstance(op, ComputeOp)]
        bounds = [axis.dom for op in computes for axis in op.reduce_axis if axis.dom is not None]
        used = variables_in(
            [*(e for op in computes for e in op.body), *(e for dom in bounds for e in (dom.min, dom.extent))]
        )
        return [name for name, var in used.items() if self._sizes.get(name) is var]

    def _number(self, size: Any) -> Any:
        return parse_size(size, self.variable) if isinstance(size, str) else size

    def _placeholder(self, value: Expr) -> Tensor:
        type = value.struct_info.type
        sizes, dtype = known_shape(type), known_dtype(type)
        if sizes is None or dtype is None:
            raise ArgumentError(f"call_te: a value of type {type}, expected a tensor of known shape and data type")
        shape = [self._number(size) for size in sizes]
        self.values.append(value)
        self.tensors.append(placeholder(shape, dtype, f"p{len(self.tensors)}"))
        return self.tensors[-1]


__all__ = ["BlockBuilder"]
