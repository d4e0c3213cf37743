"""`ModuleLowering`: the state shared by the functions of a module during their lowering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....core.diagnostics import unsupported_op_error, where
from ....core.errors import UnsupportedError
from ....dialects.attributes import (
    CUDA_EXPRESSION,
    DISJOINT_VERSION,
    ELSEWHERE,
    GRAPH_KERNEL,
    HOST_FUNCTION,
    MATRIX_OPERATION,
    NOALIAS,
    NOINLINE,
    ON_DEVICE,
    PACKED,
    PARAMETER_DTYPE,
    PARAMETER_NAME,
    TIR_NOALIAS,
    VARIADIC_FUNCTION,
    is_true,
)
from ....dialects.tir import FuncOp
from . import calls, casts, control, expressions, grids, memory, printing, prologue
from .types import element_dtype_name, lower_type
from .writer import Handlers, UpstreamWriter


class ModuleLowering:
    """The lowering of the `tir` functions of a module; `declarations` are the additional symbols that they need.

    launches: whether to lower for a GPU, with launches of a grid of threads.
    """

    handlers: Handlers = {
        **expressions.HANDLERS,
        **casts.HANDLERS,
        **memory.HANDLERS,
        **control.HANDLERS,
        **printing.HANDLERS,
        **grids.HANDLERS,
        **calls.HANDLERS,
        **prologue.HANDLERS,
    }
    late: Mapping[type[Operation], Callable[..., SSAValue]] = expressions.LATE

    def __init__(self, module: ModuleOp, *, launches: bool = False):
        self.launches = launches
        self.declarations: list[Operation] = []
        self._symbols = {
            name.data for op in module.body.block.ops if isinstance(name := op.properties.get("sym_name"), StringAttr)
        }
        self._external: dict[str, tuple[tuple[Attribute, ...], tuple[Attribute, ...]]] = {}
        self._packed: dict[tuple[object, ...], str] = {}
        self._variadic: dict[tuple[object, ...], str] = {}
        self._expressions: dict[tuple[object, ...], str] = {}
        self._matrix_operations: dict[tuple[object, ...], str] = {}
        self.signatures: dict[str, Sequence[Attribute]] = {}
        for op in module.body.block.ops:
            match op:
                case FuncOp():
                    self.signatures[op.sym_name.data] = parameter_types(op)
                case func.FuncOp() if ELSEWHERE in op.attributes:
                    self.signatures[op.sym_name.data] = op.function_type.inputs.data
                case func.FuncOp() if op.is_declaration and op.attributes.keys().isdisjoint(
                    (PACKED, VARIADIC_FUNCTION)
                ):
                    type = op.function_type
                    self._external[op.sym_name.data] = tuple(type.inputs), tuple(type.outputs)
                case _:
                    pass

    # Symbols of the module

    def fresh_symbol(self, name: str) -> str:
        """A symbol that is unique in the module."""
        result, n = name, 0
        while result in self._symbols:
            n += 1
            result = f"{name}_{n}"
        self._symbols.add(result)
        return result

    def add_global(self, op: memref.GlobalOp) -> None:
        self.declarations.append(op)

    def _declare(
        self,
        name: str,
        inputs: Sequence[Attribute],
        outputs: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = None,
        arg_attrs: ArrayAttr[DictionaryAttr] | None = None,
        res_attrs: ArrayAttr[DictionaryAttr] | None = None,
    ) -> None:
        op = func.FuncOp(name, (inputs, outputs), Region(), visibility="private", arg_attrs=arg_attrs,
                         res_attrs=res_attrs)  # fmt: skip
        op.attributes.update(attributes or {})
        self.declarations.append(op)

    def declare_external(
        self,
        w: UpstreamWriter,
        name: str,
        inputs: Sequence[Attribute],
        outputs: Sequence[Attribute],
        op: Operation | None = None,
    ) -> str:
        """Declares the C function `name`, once; returns its symbol."""
        signature = (tuple(inputs), tuple(outputs))
        if name not in self._external:
            if name in self._symbols:
                raise UnsupportedError(f"{name} is a C function and a function of the module")
            self._symbols.add(name)
            self._external[name] = signature
            self._declare(name, inputs, outputs)
        elif self._external[name] != signature:
            raise unsupported_op_error(op or w.function, f"C function {name} is called with different types")
        return name

    def declare_variadic(self, name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> str:
        """Declares the C function `name` for arguments of these types, once; returns its symbol."""
        key = (name, *inputs, None, *outputs)
        if key not in self._variadic:
            self._variadic[key] = symbol = self.fresh_symbol(name)
            self._declare(symbol, inputs, outputs, {VARIADIC_FUNCTION: StringAttr(name)})
        return self._variadic[key]

    def declare_packed(
        self,
        name: str,
        inputs: Sequence[Attribute],
        dtypes: Sequence[str],
        outputs: Sequence[Attribute],
        results: Sequence[str],
    ) -> str:
        """Declares the registered Python function `name` with these types, once; returns its symbol."""
        key = (name, *inputs, *dtypes, *outputs, *results)
        if key not in self._packed:
            self._packed[key] = symbol = self.fresh_symbol(name)
            self._declare(
                symbol, inputs, outputs, {PACKED: StringAttr(name)}, _attributes(dtypes), _attributes(results)
            )
        return self._packed[key]

    def declare_expression(
        self,
        name: str,
        text: StringAttr,
        inputs: Sequence[Attribute],
        dtypes: Sequence[str],
        outputs: Sequence[Attribute],
    ) -> str:
        """Declares an expression of CUDA C++ as a function of its operands, once; returns its symbol."""
        key = (text, *inputs, *dtypes, *outputs)
        if key not in self._expressions:
            self._expressions[key] = symbol = self.fresh_symbol(name)
            self._declare(symbol, inputs, outputs, {CUDA_EXPRESSION: text}, _attributes(dtypes))
        return self._expressions[key]

    def declare_matrix_operation(
        self, name: str, detail: str | None, inputs: Sequence[Attribute], results: Sequence[Attribute] = ()
    ) -> str:
        """Declares a matrix operation of a warp for these operands, once; returns its symbol. detail: the layout of a
        matrix in memory, or the name of a product."""
        key = (name, detail, *inputs, *results)
        if key not in self._matrix_operations:
            self._matrix_operations[key] = symbol = self.fresh_symbol(name)
            text = StringAttr(" ".join(filter(None, [name, detail])))
            self._declare(symbol, inputs, results, {MATRIX_OPERATION: text})
        return self._matrix_operations[key]

    def call_named(
        self, w: UpstreamWriter, name: str, args: Sequence[SSAValue], types: Sequence[Attribute]
    ) -> list[SSAValue]:
        return list(w.make(func.CallOp, args, types, {"callee": SymbolRefAttr(name)}).results)

    # Functions

    def function(self, op: FuncOp) -> func.FuncOp:
        """The upstream function for `op`."""
        inputs = self.signatures[op.sym_name.data]
        outputs = [] if op.result_type is None else [lower_type(op.result_type)]
        entry = Block(arg_types=inputs)
        w = UpstreamWriter(self, op, entry)
        with w.inside(entry):
            prologue.bind_function_parameters(w)
            result = self._body(w)
            w.location = op.location
            w.end(func.ReturnOp, *([] if result is None else [result]))
        new = func.FuncOp(
            op.sym_name.data,
            (inputs, outputs),
            Region(entry),
            visibility="private" if op.private is not None else None,
            arg_attrs=_parameter_attributes(op),
            res_attrs=None if op.result_type is None else _attributes([element_dtype_name(op.result_type)]),
        )
        if is_true(op.attr(TIR_NOALIAS)):
            new.attributes[NOALIAS] = UnitAttr()
        if is_true(op.attr(GRAPH_KERNEL)):
            new.attributes[NOINLINE] = UnitAttr()
        if is_true(op.attr(HOST_FUNCTION)):
            new.attributes[ON_DEVICE] = UnitAttr()
        new.location = op.location
        return new

    def _body(self, w: UpstreamWriter) -> SSAValue | None:
        """The body of a function, or the version of it for buffers that do not overlap; returns the result."""
        version = w.function.attr(DISJOINT_VERSION)
        statements = list(w.function.body.block.ops)
        if not isinstance(version, StringAttr):
            return control.finish(w, statements)

        def call() -> SSAValue | None:
            types = [] if w.function.result_type is None else [lower_type(w.function.result_type)]
            return next(iter(self.call_named(w, version.data, w.entry.args, types)), None)

        return control.choose(w, prologue.are_disjoint(w), call, lambda: control.finish(w, statements))


def parameter_types(function: FuncOp) -> list[Attribute]:
    """The upstream types of the parameters of a function; a matched handle has the type of its buffer. Raises
    UnsupportedError for a type without an upstream equivalent."""
    buffers = prologue.matched_buffers(function)
    types = [buffers[a].buffer.type if a in buffers else a.type for a in function.body.block.args]
    try:
        return [lower_type(t) for t in types]
    except ValueError as error:
        raise UnsupportedError(f"{where(function)}function {function.sym_name.data}: {error}") from error


def _attributes(dtypes: Sequence[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({PARAMETER_DTYPE: StringAttr(d)}) for d in dtypes])


def _parameter_attributes(function: FuncOp) -> ArrayAttr[DictionaryAttr]:
    buffers = prologue.matched_buffers(function)

    def describe(name: str, arg: SSAValue) -> DictionaryAttr:
        if arg in buffers:  # users know a handle by its buffer
            name, arg = buffers[arg].buffer_name.data, buffers[arg].buffer
        return DictionaryAttr(
            {PARAMETER_NAME: StringAttr(name), PARAMETER_DTYPE: StringAttr(element_dtype_name(arg.type))}
        )

    return ArrayAttr([describe(name, arg) for name, arg in function.params])
