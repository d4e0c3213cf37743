"""Programs built by Python: `tvm.relax.BlockBuilder`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ....analysis.names import fresh_name, symbols_of
from ....core.errors import ArgumentError
from ....core.xdsl_compat import set_name_hint
from ....dialects.tir.annotations import annotation_value
from ....expressions.expr import PrimExpr, SizeVar
from ....expressions.expr import Var as SizeVariable
from ....expressions.sizes import parse_size, size_text
from ....expressions.tensor import Tensor, placeholder
from ....module import Module
from ....operators import relax
from ....operators.relax.types import known_dtype, known_shape, names_in, tensor, tuple_type
from ....operators.relay import RelayBuilder, Size
from ...relay.expr import GlobalVar
from ...te.prim_func import create_prim_func
from ..ir.module import IRModule
from .expr import Expr, Var, emit_operand
from .struct_info import StructInfo


class _Scope:
    """An unfinished function, and its unfinished dataflow region or None."""

    def __init__(self, func: relax.FuncOp, builder: RelayBuilder):
        self.func, self.builder = func, builder
        self.names: set[str] = {name for name, _ in func.params}
        self.inner: list[Var] | None = None
        self.outputs: list[Var] = []
        self.is_finished = False


class BlockBuilder:
    """Builds the functions of a module: within `function`, each `emit` inserts the operations of an expression and
    returns its value as a variable."""

    def __init__(self, mod: Module | None = None):
        """mod: functions to begin with; is not modified."""
        op = IRModule().op if mod is None else mod.op.clone()
        self._mod = IRModule(op, {} if mod is None else dict(mod.constants))
        self._symbols = symbols_of(self._mod.op)
        self._kernels: dict[str, str] = {}
        self._scope: _Scope | None = None

    def get(self) -> IRModule:
        """A copy of the module. ArgumentError while a function is built, VerifyError for an invalid program."""
        if self._scope is not None:
            raise ArgumentError(f"get: function {self._scope.func.sym_name.data} is not finished")
        mod = IRModule(self._mod.op.clone(), dict(self._mod.constants))
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
            what = "is taken" if self._scope is None else f"inside of {self._scope.func.sym_name.data}"
            raise ArgumentError(f"function {name}: {what}")
        variables = [params] if isinstance(params, Var) else list(params)
        types = [(each.name_hint, each.struct_info.type) for each in variables]
        attributes = {key: annotation_value(value) for key, value in (attrs or {}).items()}
        func = relax.FuncOp(name, types, relax.ObjectType(), impure=not pure, private=private, attrs=attributes or None)
        for variable, (_, value) in zip(variables, func.params, strict=True):
            variable.value = value
        scope = self._scope = _Scope(func, RelayBuilder(func.body.block, self._mod.constants))
        try:
            yield
        finally:
            self._scope = None
        if not scope.is_finished:
            raise ArgumentError(f"function {name}: no result, expected emit_func_output")
        self._symbols.add(name)
        self._mod.op.body.block.add_op(func)

    @contextmanager
    def dataflow(self) -> Generator[None]:
        """Builds a dataflow region of the function. Its values are known after it if `emit_output` returned them."""
        scope = self._require("dataflow")
        if scope.inner is not None:
            raise ArgumentError("dataflow: inside of another dataflow region")
        around, block = scope.builder, Block()
        scope.builder, scope.inner, scope.outputs = RelayBuilder(block, self._mod.constants), [], []
        try:
            yield
        finally:
            inner, outputs = scope.inner, scope.outputs
            scope.builder, scope.inner = around, None
        values = [value for each in outputs if (value := each.value) is not None]
        block.add_op(relax.OutputOp(values))
        region = around.insert(relax.DataflowOp([value.type for value in values], Region(block)))
        for variable in inner:
            variable.value = None
        for variable, output in zip(outputs, region.outputs, strict=True):
            variable.value = output
            set_name_hint(output, variable.name_hint)

    def _require(self, what: str) -> _Scope:
        if self._scope is None:
            raise ArgumentError(f"{what}: no function is built, expected `with function(...)` around it")
        if self._scope.is_finished:
            raise ArgumentError(f"{what}: function {self._scope.func.sym_name.data} has its result")
        return self._scope

    # Values

    def emit(self, expr: Expr | Sequence[Any], name_hint: str = "") -> Var:
        """Inserts the operations of an expression. Returns its value. Raises the errors of its operators."""
        scope = self._require("emit")
        return self._bind(scope, emit_operand(scope.builder, expr), name_hint)

    def emit_output(self, output: Expr | Sequence[Any], name_hint: str = "") -> Var:
        """Emits a value of a dataflow region that is known after the region. ArgumentError outside of a region."""
        scope = self._require("emit_output")
        if scope.inner is None:
            raise ArgumentError("emit_output: no dataflow region, expected `with dataflow()` around it")
        variable = self._bind(scope, emit_operand(scope.builder, output), name_hint)
        scope.outputs.append(variable)
        return variable

    def match_cast(self, value: Expr, struct_info: StructInfo, name_hint: str = "") -> Var:
        """Checks at run time that a value has a type, whose new sizes become known. Returns the value of this type."""
        scope = self._require("match_cast")
        cast = scope.builder.insert(relax.MatchCastOp(emit_operand(scope.builder, value), struct_info.type))
        return self._bind(scope, cast.output, name_hint)

    def _bind(self, scope: _Scope, value: SSAValue, name_hint: str) -> Var:
        name = fresh_name(name_hint or ("lv" if scope.inner is not None else "gv"), scope.names)
        if isinstance(value.owner, Operation) and value.name_hint is None:
            set_name_hint(value, name)
        variable = Var(name, StructInfo(value.type))
        variable.value = value
        if scope.inner is not None:
            scope.inner.append(variable)
        return variable

    def emit_func_output(self, output: Expr | Sequence[Any]) -> GlobalVar:
        """Ends the function, which returns a value. ArgumentError in a dataflow region."""
        scope = self._require("emit_func_output")
        if scope.inner is not None:
            raise ArgumentError("emit_func_output: in a dataflow region, expected it after the region")
        value = emit_operand(scope.builder, output)
        scope.builder.insert(relax.ReturnOp(value))
        scope.func.result_type = value.type
        scope.is_finished = True
        return GlobalVar(scope.func.sym_name.data)

    # Kernels

    def add_func(self, func: Module, func_name: str) -> GlobalVar:
        """Adds a function, by a name derived from `func_name`. ArgumentError for a module of several functions."""
        if len(func.functions) != 1:
            raise ArgumentError(f"add_func: a module of {len(func.functions)} functions, expected one")
        (op,) = func.functions.values()
        name = fresh_name(func_name, self._symbols)
        copy = op.clone()
        copy.properties["sym_name"] = StringAttr(name)
        self._mod.op.body.block.add_op(copy)
        self._mod.constants.update(func.constants)
        return GlobalVar(name)

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Expr:
        """The results of a kernel of tensor expressions, which is added to the module unless it has an equal one.

        func: a function of tensors and other arguments.  args, kwargs: values, whose tensors are passed as tensors, and
        other arguments; `primfunc_name_hint` is the name of the kernel.  ArgumentError for tensors of unknown shape.
        """
        scope = self._require("call_te")
        hint = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "kernel")
        operands = _TensorOperands(scope.builder)
        results = func(
            *(operands.convert(each) for each in args), **{key: operands.convert(each) for key, each in kwargs.items()}
        )
        outputs: list[Tensor] = [results] if isinstance(results, Tensor) else list(results)
        types = [tensor([_size(extent) for extent in each.shape], str(each.dtype)) for each in outputs]
        bound = {name for value in operands.values for name in names_in(value.type)}
        free = [name for name in dict.fromkeys(n for type in types for n in names_in(type)) if name not in bound]
        numbers = [operands.variable(name) for name in free]
        kernel = create_prim_func([*operands.tensors, *outputs, *numbers])
        name = self._kernel(kernel, hint)
        type = types[0] if isinstance(results, Tensor) else tuple_type(types)
        return Expr(lambda builder: builder.insert(relax.CallTirOp(name, operands.values, type, free)).output)

    def _kernel(self, kernel: Module, hint: str) -> str:
        text = f"{hint}: {kernel}"
        if text not in self._kernels:
            self._kernels[text] = self.add_func(kernel, hint).name_hint
        return self._kernels[text]

    def emit_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
        """Emits the results of a kernel of tensor expressions, as of `call_te`."""
        name_hint = kwargs.pop("name_hint", "")
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)


def _size(extent: Any) -> Size:
    return size_text(extent) if isinstance(extent, PrimExpr) else int(extent)


class _TensorOperands:
    """The tensors among the arguments of a function of tensor expressions. values: their values in the program.
    tensors: placeholders of the same shapes."""

    def __init__(self, builder: RelayBuilder):
        self.builder = builder
        self.values: list[SSAValue] = []
        self.tensors: list[Tensor] = []
        self._sizes: dict[str, SizeVar] = {}

    def variable(self, name: str) -> SizeVariable:
        """The variable of a size."""
        return self._sizes.setdefault(name, SizeVar(name, "int64"))

    def convert(self, argument: Any) -> Any:
        """The argument of the function for an argument of the call."""
        if isinstance(argument, list | tuple):
            return [self.convert(each) for each in argument]  # pyright: ignore[reportUnknownVariableType]
        return self._placeholder(argument.emit(self.builder)) if isinstance(argument, Expr) else argument

    def _placeholder(self, value: SSAValue) -> Tensor:
        sizes, dtype = known_shape(value.type), known_dtype(value.type)
        if sizes is None or dtype is None:
            raise ArgumentError(
                f"call_te: a value of type {value.type}, expected a tensor of known shape and data type"
            )
        shape = [parse_size(size, self.variable) if isinstance(size, str) else size for size in sizes]
        self.values.append(value)
        self.tensors.append(placeholder(shape, dtype, f"p{len(self.tensors)}"))
        return self.tensors[-1]


__all__ = ["BlockBuilder"]
