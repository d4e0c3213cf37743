"""Modules and functions: `tvm.ir.module` and `tvm.tir`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block

from ....core.dtypes import dtype_of
from ....core.errors import ArgumentError, OptionError, StepwellError, UnsupportedError
from ....dialects.attributes import MODULE_ATTRS, PARAM_VALUES
from ....dialects.text.functions import print_function
from ....dialects.tir import FuncOp
from ....dialects.tir.annotations import annotation_key
from ....dialects.tir.base import string_array
from ....dialects.tir.tree import treeify
from ....expressions.buffers import Buffer as DeclaredBuffer
from ....expressions.expr import Var
from ....expressions.statements import Statement, flatten_statements
from ....module import Module
from ....operators.relax import FuncOp as ProgramFuncOp
from ....operators.relax.devices import DEVICES, device_names, state_devices, targets_in
from ....operators.relay import ConstantOp, RelayBuilder
from ....operators.relay import FuncOp as GraphFuncOp
from ...relay.analysis import free_vars
from ...relay.expr import Expr, Function, GlobalVar, SymbolVar
from ...relay.functor import NumberMutator
from ...relay.graph import module_of
from ...relay.parsing import parse_program
from ...relay.reading import read_function
from ...relay.text import print_module
from ...relay.types import GlobalTypeVar, TupleType, TypeData
from ..nodes.attributes import attribute_of
from ..nodes.construction import Parameter, construct_function, variables_of
from ..nodes.conversion import nodes_of
from ..nodes.expr import PrimType
from ..nodes.reading import NodeReader
from ..nodes.stmt import Stmt
from ..nodes.writing import write_function
from .attributes import Attributes, ModuleAttributes, write_attribute
from .diagnostics import show_errors
from .specialization import Specialization
from .vdevice import VDevice


class FunctionModule(Module):
    """The base class of functions, which TVM prints with options."""

    def script(self, style: str = "classic", **options: Any) -> str:
        """The TVMScript. options: of TVM's printer, which the text does not depend on. OptionError for an unknown
        style."""
        return super().script(style)

    def show(self, style: str | None = None, black_format: bool = False, **options: Any) -> None:
        """Prints the function: as TVMScript, or as MLIR if it has no form in TVMScript.

        style: of TVMScript, `0.27` or `classic`, the default; those of TVM
        (`light`, `dark`) select colours, which the text lacks. black_format, options: of TVM's printer, which the text
        does not depend on.
        """
        try:
            print(self.script(style if style in ("classic", "0.27") else "classic"))
        except UnsupportedError:
            print(self)


class PrimFunc(FunctionModule):
    """One function on the `tir` landing, with its statements as a tree of nodes. Immutable; `with_body` and `with_attr`
    return a new function.

    It is read from an operation, or built of parameters and a body: `PrimFunc([A, B], body)`.
    """

    span = None
    """The place in a source text, which functions lack: operations have locations."""

    def __init__(
        self,
        params: ModuleOp | FuncOp | Sequence[Parameter],
        body: Stmt | Sequence[Statement] | Mapping[str, np.ndarray[Any, Any]] | None = None,
        ret_type: Any = None,
        buffer_map: Mapping[Any, DeclaredBuffer] | None = None,
        attrs: Mapping[str, Any] | None = None,
        span: None = None,
    ):
        """params: an operation, which may have constants as `body`; or buffers and variables.  body: the statements.
        ret_type: ignored; that of `tir.ret` in the body.  buffer_map: the buffers of parameters that are variables.
        attrs: the attributes. TeError as of `construct_function`.
        """
        constants: Mapping[str, np.ndarray[Any, Any]] | None = None
        self._given: _Given | None = None
        if isinstance(params, ModuleOp | FuncOp):
            assert body is None or isinstance(body, Mapping)
            op, constants = params, body
        else:
            statements = body if isinstance(body, Stmt) else nodes_of(flatten_statements(body))
            variables, buffers = variables_of(params, dict(buffer_map or {}))
            self._given = _Given(variables, statements, buffers)
            op = construct_function(variables, statements, buffers, dict(attrs or {}))
        super().__init__(ModuleOp([op.clone()]) if isinstance(op, FuncOp) else op, constants)
        functions = [func for func in self.op.body.block.ops if isinstance(func, FuncOp)]
        if len(functions) != 1:
            raise OptionError(f"a module of {len(functions)} functions, expected one")
        self._func = functions[0]
        self._reader: NodeReader | None = None
        self._body: Stmt | None = None

    def _get_reader(self) -> NodeReader:
        """The reader of a copy in statement-tree form, cached, like the body, so that nodes keep their identity."""
        if self._reader is None:
            copy = self._func.clone()
            treeify(copy)
            self._reader = NodeReader(copy)
        return self._reader

    @property
    def body(self) -> Stmt:
        """The statements of the function."""
        if self._given is not None:
            return self._given.body
        if self._body is None:
            self._body = self._get_reader().body()
        return self._body

    @property
    def params(self) -> Sequence[Var]:
        """The parameters as variables; those of buffers are handles, whose buffers `buffer_map` has."""
        if self._given is not None:
            return self._given.params
        reader = self._get_reader()
        return [reader.parameter(value) for value in reader.func.body.block.args]

    @property
    def buffer_map(self) -> Mapping[Var, DeclaredBuffer]:
        """The buffer of each variable of `params` that denotes one."""
        if self._given is not None:
            return dict(self._given.buffer_map)
        reader = self._get_reader()
        found = zip(self.params, map(reader.buffer_of_parameter, reader.func.body.block.args), strict=True)
        return {param: buffer for param, buffer in found if buffer is not None}

    @property
    def ret_type(self) -> PrimType | TupleType:
        """The type of the result: that of a number, or a tuple without fields for a function without a result."""
        result = self._func.result_type
        return TupleType(()) if result is None else PrimType(dtype_of(result).name)

    @property
    def struct_info(self) -> Any:
        """The type of the function in programs: tensors for buffers, numbers, and the result. A function is pure if it
        writes no buffer of a parameter and has no other effect."""
        # lazy: types of programs and facts of functions are written in terms of functions
        from ..relax import struct_info as infos
        from ..tir.analysis import is_pure_function

        def info(param: Var) -> Any:
            buffer = self.buffer_map.get(param)
            if buffer is not None:
                return infos.TensorStructInfo(buffer.shape, buffer.dtype)
            return infos.ObjectStructInfo() if param.dtype == "handle" else infos.PrimStructInfo(param.dtype)

        result = self.ret_type
        kind = infos.PrimStructInfo(result.dtype) if isinstance(result, PrimType) else infos.TupleStructInfo([])
        return infos.FuncStructInfo([info(param) for param in self.params], kind, purity=is_pure_function(self))

    @property
    def __name__(self) -> str:
        """The name of the function."""
        return self._func.sym_name.data

    @property
    def attrs(self) -> Attributes:
        """The attributes of the function. One that is not private has its name as `global_symbol`, by default."""
        symbol = {} if self._func.private is not None else {"global_symbol": self._func.sym_name}
        return Attributes({**symbol, **self.own_attrs.data})

    @property
    def own_attrs(self) -> Attributes:
        """The attributes that the function states, without its name as `global_symbol`."""
        return Attributes({} if self._func.func_attrs is None else self._func.func_attrs.data)

    def with_body(self, new_body: Stmt) -> PrimFunc:
        """A copy of the function with another body. TeError for an undeclared variable."""
        if self._given is not None:
            attrs = {"global_symbol": self._func.sym_name.data} | dict(self.own_attrs.data)
            return PrimFunc(self._given.params, new_body, None, self._given.buffer_map, attrs)
        return PrimFunc(ModuleOp([write_function(self._get_reader(), new_body)]), self.constants)

    def with_attr(self, key: str | Mapping[str, object], value: object = None) -> PrimFunc:
        """A copy of the function with an attribute set, or with all attributes of a dictionary."""
        named = {key: value} if isinstance(key, str) else key
        new = {annotation_key(name): attribute_of(each) for name, each in named.items()}
        result = self._with_attrs({**self.own_attrs.data, **new})
        if "global_symbol" in new:
            result._func.private = None
        return result

    def without_attr(self, key: str) -> PrimFunc:
        """A copy of the function without an attribute; a function without `global_symbol` is private."""
        result = self._with_attrs({name: value for name, value in self.own_attrs.data.items() if name != key})
        if key == "global_symbol":
            result._func.private = UnitAttr()
        return result

    def with_attrs(self, attrs: Mapping[str, object]) -> PrimFunc:
        """A copy of the function with all attributes of a dictionary set."""
        return self.with_attr(attrs)

    def specialize(self, param_map: Mapping[Any, Any]) -> PrimFunc:
        """The function with values in place of parameters: `f.specialize({n: 128, a: tvm.tir.decl_buffer((128, 64))})`.

        param_map: the value of a number, which is no parameter of the result; the buffer of a parameter, whose sizes,
        strides and offset replace those that are variables. Without values it is the function itself. OptionError for
        values that do not fit, UnsupportedError for addresses, and for functions without a text.
        """
        if not param_map:
            return self
        # lazy: text is parsed by functions that make functions
        from ..script import from_source

        specialization = Specialization(f"from tvm.script import tir as T\n{self.script()}", self.params)
        for param, value in param_map.items():
            specialization.bind(param, value)
        return PrimFunc(from_source(specialization.text()).op, self.constants)

    def same_as(self, other: object) -> bool:
        """Whether this is the same object as another."""
        return self is other

    def without_own_name(self) -> PrimFunc:
        """The function without the attribute `global_symbol` if it is the name of the function."""
        copy = self._func.clone()
        _drop_name(copy)
        return PrimFunc(ModuleOp([copy]), self.constants)

    def is_of(self, func: FuncOp) -> bool:
        """Whether the function is that of an operation."""
        blocks: dict[Any, Any] = {func.parent: self._func.parent}
        return func.is_structurally_equivalent(self._func, blocks)

    def _with_attrs(self, attrs: Mapping[str, Attribute]) -> PrimFunc:
        copy = self._func.clone()
        copy.func_attrs = DictionaryAttr(dict(attrs))
        return PrimFunc(ModuleOp([copy]), self.constants)

    def __str__(self) -> str:
        return self.script()

    def script(self, style: str = "classic", **options: Any) -> str:
        """The TVMScript. options: of TVM's printer, which the text does not depend on. OptionError for an unknown
        style."""
        return print_function(self._func, style)


@dataclass(frozen=True)
class _Given:
    """The parts of which a function was built."""

    params: tuple[Var, ...]
    body: Stmt
    buffer_map: dict[Var, DeclaredBuffer]


class IRModule(Module):
    """Functions by name. `IRModule({"main": func})` is a module of copies of functions, on buffers or graphs.

    Graphs with parameters without types may be read and drawn; other uses are an error.

    is_lowered: whether the module is a result of `tvm.lower`.  simple_mode: whether the text of the module consists of
    the statements of its functions, without the header and attributes.
    """

    def __init__(
        self,
        functions: Mapping[str, Module | Expr] | Mapping[GlobalVar, Module | Expr] | ModuleOp | None = None,
        constants: Mapping[str, np.ndarray[Any, Any]] | None = None,
        global_infos: Mapping[str, Sequence[VDevice]] | None = None,
    ):
        """global_infos: the devices of the module, `{"vdevice": [VDevice("llvm"), VDevice("cuda")]}`."""
        self.is_lowered = False
        self.simple_mode = False
        self._untyped: dict[str, Function] = {}
        self._refusal: UnsupportedError | None = None
        self.type_definitions: dict[GlobalTypeVar, TypeData] = {}
        self._written: dict[str, tuple[Function, GraphFuncOp, Any]] = {}
        self._programs: dict[str, tuple[ProgramFuncOp, Any]] = {}
        self._functions: dict[str, tuple[FuncOp, PrimFunc]] = {}
        self._source: tuple[IRModule, ModuleOp] | None = None
        if isinstance(functions, ModuleOp):
            super().__init__(functions, constants)
            return
        super().__init__(ModuleOp([]), constants)
        named = {_name(key): _as_function(func) for key, func in (functions or {}).items()}
        self.add_graphs({name: func for name, func in named.items() if isinstance(func, Function)})
        for name, func in named.items():
            if not isinstance(func, Function):
                self.op.body.block.add_op(self._copy_as(name, func))
        for name, infos in (global_infos or {}).items():
            self.update_global_info(name, infos)

    @property
    def global_infos(self) -> dict[str, list[VDevice]]:
        """The devices of the module, `{"vdevice": [...]}`; empty without devices."""
        targets = targets_in(self.op.attributes.get(DEVICES))
        named = [VDevice.of_name(name) for name in device_names(self.op)]
        devices = [replace(device, target=target) for device, target in zip(named, targets, strict=True)]
        return {"vdevice": devices} if devices else {}

    @property
    def attrs(self) -> Attributes:
        """The attributes of the module: those of `I.module_attrs`, and of `with_attr`."""
        stated = self.op.attributes.get(MODULE_ATTRS)
        return ModuleAttributes(stated.data if isinstance(stated, DictionaryAttr) else {}, self.constants)

    def get_attr(self, attr_key: str) -> Any:
        """An attribute of the module, None for one that it does not have."""
        return self.attrs.get(attr_key)

    def with_attr(self, attr_key: str, attr_value: Any) -> IRModule:
        """A copy of the module with an attribute set."""
        return self.with_attrs({attr_key: attr_value})

    def with_attrs(self, attr_map: Mapping[str, Any]) -> IRModule:
        """A copy of the module with attributes set: values of Python, or lists of arrays, which become constants."""
        result = IRModule(self.op.clone(), dict(self.constants))
        new = {key: write_attribute(key, value, result.constants) for key, value in attr_map.items()}
        result.op.attributes[MODULE_ATTRS] = DictionaryAttr({**self.attrs.data, **new})
        return result

    def without_attr(self, attr_key: str) -> IRModule:
        """A copy of the module without an attribute."""
        result = IRModule(self.op.clone(), dict(self.constants))
        result.op.attributes[MODULE_ATTRS] = DictionaryAttr(
            {key: value for key, value in self.attrs.data.items() if key != attr_key}
        )
        return result

    def update_global_info(self, name: str, global_info: Sequence[VDevice]) -> None:
        """Replaces the devices of the module. name: `vdevice`, UnsupportedError for another one.  ArgumentError for
        devices that are not numbered in order within their kinds."""
        if name != "vdevice":
            raise UnsupportedError(f"global info {name!r}, expected 'vdevice'")
        targets, scopes = [str(each.target) for each in global_info], [each.memory_scope for each in global_info]
        devices = ModuleOp([])
        state_devices(devices, targets, scopes)
        given, expected = [each.__tvmscript__.name for each in global_info], device_names(devices)
        if given != expected:
            raise ArgumentError(f"devices {', '.join(given)}, expected {', '.join(expected)}")
        state_devices(self.op, targets, scopes)

    @staticmethod
    def from_graphs(functions: Mapping[str, Function]) -> IRModule:
        """A module of graph functions, by name."""
        result = IRModule()
        with show_errors():
            result.write_graphs(functions)
        return result

    @staticmethod
    def from_expr(expr: Any) -> IRModule:
        """A module whose `main` is a graph function, or a function of an expression with its free variables as
        parameters. A function on buffers has its `global_symbol` as its name, if it has one; a function of relax its
        own, and the module the functions that it calls.
        """
        if isinstance(expr, PrimFunc):
            symbol = expr.attrs.get("global_symbol")
            return IRModule({symbol if isinstance(symbol, str) else "main": expr}, expr.constants)
        if isinstance(expr, Module):
            (func,) = expr.function_ops.values()
            callees: dict[str, Module] = getattr(expr, "callees", {})
            return IRModule({func.sym_name.data: expr, **callees}, expr.constants)
        return IRModule.from_graphs({"main": expr if isinstance(expr, Function) else Function(free_vars(expr), expr)})

    @property
    def op(self) -> ModuleOp:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The operation of the module. OptionError while types of parameters of graphs are unknown, UnsupportedError
        for graphs that have no operations."""
        if self._refusal is not None:
            raise self._refusal
        if self._untyped:
            graphs, self._untyped = self._untyped, {}
            try:
                self.write_graphs(graphs)
            except StepwellError:
                self._untyped = graphs
                raise
            if self._refusal is not None:  # pyright: ignore[reportUnnecessaryComparison]
                raise self._refusal
        return self._op

    @property
    def has_operations(self) -> bool:
        """Whether all graphs have operations. Programs with recursion, functions as values, data types of users, or
        types that are known at run time only have none."""
        try:
            _ = self.op
        except (OptionError, UnsupportedError):
            return False
        return True

    @op.setter
    def op(self, op: ModuleOp) -> None:
        self._op = op

    def __iter__(self) -> Iterator[str]:
        return iter([*self._untyped] if self._untyped else self.function_ops)

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __getitem__(self, name: str | GlobalVar | GlobalTypeVar) -> Any:
        """The function called `name`: a `PrimFunc`, the expression of a graph, or a function of relax; functions on
        buffers and of relax are one object until they change. The data type of a name of one."""
        if isinstance(name, GlobalTypeVar):
            return self.type_definitions[name]
        name = _name(name)
        if name in self._untyped:
            return self._untyped[name]
        func = self.function_ops.get(name)
        if isinstance(func, GraphFuncOp):
            return self._as_written(name, func) or read_function(func, self.constants)
        if isinstance(func, ProgramFuncOp):
            # lazy: functions of programs are modules
            from ..relax.function import Function as ProgramFunction

            known = self._programs.get(name)
            if known is None or known[0] is not func or not known[1].is_of(func, self.constants):
                self._programs[name] = known = (func, ProgramFunction.from_op(func, self.constants, self))
            return known[1]
        if not isinstance(func, FuncOp):
            return super().__getitem__(name)
        made = self._functions.get(name)
        if made is None or made[0] is not func or not made[1].is_of(func):
            self._functions[name] = made = (func, PrimFunc(super().__getitem__(name).op, self.constants))
        return made[1]

    @property
    def functions(self) -> FunctionMap:
        """The functions, those of `mod[name]`, by name."""
        return FunctionMap(self)

    def normal_form(self, name: str) -> Function:
        """A graph in which each value is one node: bindings, tuples and functions inside of functions are resolved."""
        return read_function(self.function_ops[name], self.constants)

    @property
    def is_written(self) -> bool:
        """Whether all graphs are as the user wrote them."""
        return all(
            self._as_written(name, op) is not None
            for name, op in self.function_ops.items()
            if isinstance(op, GraphFuncOp)
        )

    def _keep_written(self, functions: Mapping[str, Function]) -> None:
        """Keeps graphs as the user wrote them, beside their operations."""
        for name, func in functions.items():
            op = self.function_ops[name]
            self._written[name] = (NumberMutator().visit(func), op, op.clone())

    def _as_written(self, name: str, op: GraphFuncOp) -> Function | None:
        """The graph that the user wrote, None if its operation has changed since."""
        if name not in self._written:
            return None
        func, own, copy = self._written[name]
        return func if own is op and op.is_structurally_equivalent(copy) else None

    def verify(self) -> None:
        """Verifies the operations, if the graphs have operations."""
        if self._refusal is None:
            super().verify()

    def remember_source(self, source: IRModule) -> None:
        """Records the program from which the module was lowered."""
        self._source = (source, self.op.clone())

    @property
    def source(self) -> IRModule | None:
        """The program from which `tvm.lower` made the module; None for other modules, and once the module has been
        changed.
        """
        if self._source is None or not self.op.is_structurally_equivalent(self._source[1]):
            return None
        return self._source[0]

    def astext(self, show_meta_data: bool = True, annotate: object = None) -> str:
        """The text: TVMScript of functions on buffers, Relay's text of graphs, else that of the module's dialects.

        show_meta_data: whether the arrays of constants follow. UnsupportedError for `annotate`.
        """
        if annotate is not None:
            raise UnsupportedError("astext: annotate is not supported yet")
        return self._text(show_meta_data) if self._is_graph() else str(self)

    def _is_graph(self) -> bool:
        """Whether all functions are graphs."""
        ops = [] if self._untyped else list(self.op.body.block.ops)
        return bool(self._untyped or ops or self.type_definitions) and all(isinstance(op, GraphFuncOp) for op in ops)

    def _text(self, show_meta_data: bool) -> str:
        return print_module(self._graphs(), show_meta_data, list(self.type_definitions.values()))

    def _graphs(self) -> dict[str, Function]:
        return {name: self[name] for name in self}

    def __str__(self) -> str:
        if self.simple_mode:
            return "\n\n".join(_statements(func.script()) for _, func in self.items())
        if self._is_graph():
            return self._text(show_meta_data=False)
        on_buffers = all(isinstance(op, FuncOp) for op in self.op.body.block.ops)
        return self.script() if on_buffers else str(self.op)

    def script(self, style: str = "classic", show_meta: bool = False, **options: Any) -> str:
        """The text: TVMScript, Relay's text of graphs. show_meta: whether the arrays of constants follow Relay's text.
        options: of TVM's printer, which the text does not depend on.
        OptionError for an unknown style of TVMScript, UnsupportedError for other operations."""
        return self._text(show_meta) if self._is_graph() else super().script(style)

    def show(self, style: str | None = None, black_format: bool = False, **options: Any) -> None:
        """Prints the module. style: of TVMScript, `0.27` or `classic`; those of TVM (`light`, `dark`) select colours,
        which the text lacks. black_format, options: of TVM's printer, which the text does not depend on.
        """
        print(self.script(style) if style in ("classic", "0.27") else str(self))

    def add_program(self, text: str, metadata: Mapping[str, Sequence[Any]] | None = None) -> None:
        """Adds the functions and the data types of a text of Relay. metadata: objects by kind, to which `meta[kind][n]`
        refers.  RelayTextError."""
        functions, types = parse_program(text, self.type_definitions, metadata or {})
        for each in types:
            self.type_definitions[each.header] = each
        self.add_graphs(functions)

    def import_from_std(self, file: str) -> None:
        """Adds the functions and the data types of a file of programs: `prelude.rly`, `nat.rly` or `core.rly`.
        OptionError for another file."""
        folder = files(f"{str(__package__).removesuffix('.ir')}.relay.programs")
        programs = {each.name: each for each in folder.iterdir() if each.name.endswith(".rly")}
        if file not in programs:
            raise OptionError(f"no program {file!r}, there is {', '.join(sorted(programs))}")
        self.add_program(programs[file].read_text(encoding="utf-8"))

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """The name of a data type. OptionError for an unknown name."""
        found = [each for each in self.type_definitions if each.name_hint == name]
        if not found:
            raise OptionError(f"data type {name}, there is {', '.join(map(str, self.type_definitions)) or 'none'}")
        return found[0]

    def get_global_type_vars(self) -> list[GlobalTypeVar]:
        """The names of the data types."""
        return list(self.type_definitions)

    def get_type(self, name: str) -> tuple[Any, ...]:
        """The name of a data type, and its constructors. OptionError for an unknown name."""
        header = self.get_global_type_var(name)
        return (header, *self.type_definitions[header].constructors)

    def get_constructor(self, tag: int) -> Any:
        """The constructor of a tag. OptionError for an unknown tag."""
        for data in self.type_definitions.values():
            for each in data.constructors:
                if each.tag == tag:
                    return each
        raise OptionError(f"no constructor has the tag {tag}")

    def get_global_var(self, name: str) -> GlobalVar:
        """The name of a function. FunctionNotFoundError for an unknown name."""
        self.__getitem__(name)
        return SymbolVar(name)

    def get_global_vars(self) -> list[GlobalVar]:
        """The names of the functions, in order."""
        return [SymbolVar(name) for name in self]

    def update_func(self, var: str | GlobalVar, func: Module | Function) -> None:
        """Replaces a function, or adds one."""
        self[var] = func

    def __setitem__(self, var: str | GlobalVar | GlobalTypeVar, func: Module | Expr | TypeData) -> None:
        if isinstance(var, GlobalTypeVar):
            self.type_definitions[var] = func  # pyright: ignore[reportArgumentType]
            return
        assert not isinstance(func, TypeData)
        name, func = _name(var), _as_function(func)
        if isinstance(func, Function):
            self.add_graphs({name: func})
            return
        assert isinstance(func, Module)
        new = self._copy_as(name, func)
        old = self.function_ops.get(name)
        if old is None:
            self.op.body.block.add_op(new)
            return
        self.op.body.block.insert_op_before(new, old)
        old.detach()
        old.erase()

    def add_graphs(self, functions: Mapping[str, Function]) -> None:
        """Adds graphs, or replaces those of the same names. All graphs are written again, since they call one another
        and share the constants. The errors of `from_graphs`; the module stays, then.
        """
        if not functions:
            return
        if self._untyped or not all(map(_has_types, functions.values())):
            self._untyped |= functions
            if not all(map(_has_types, self._untyped.values())):
                return
            functions, self._untyped, self._refusal = self._untyped, {}, None
        self.write_graphs(functions)

    def write_graphs(self, functions: Mapping[str, Function]) -> None:
        """Adds graphs as operations, or replaces those of the same names. Graphs without operations, such as those with
        types of users, are kept as they are, and every use of operations is their error.
        """
        old = [op for op in self._op.body.block.ops if isinstance(op, GraphFuncOp)]
        graphs = {op.sym_name.data: self[op.sym_name.data] for op in old} | dict(functions)
        try:
            written = module_of(graphs)
        except UnsupportedError as error:
            self._untyped, self._refusal = graphs, error
            return
        for op in old:
            op.detach()
            op.erase()
        self.constants.clear()
        self.constants.update(written.constants)
        for op in list(written.op.body.block.ops):
            op.detach()
            self.op.body.block.add_op(op)
        self._keep_written(graphs)

    def _copy_as(self, name: str, mod: Module) -> FuncOp | ProgramFuncOp:
        """A copy of the only function of a module, under another name; this module gets its constants."""
        functions = [op for op in mod.op.body.block.ops if isinstance(op, FuncOp | ProgramFuncOp)]
        if len(functions) != 1:
            raise OptionError(f"function {name!r}: a module of {len(functions)} functions, expected one")
        copy = functions[0].clone()
        copy.sym_name = StringAttr(name)
        _drop_name(copy)
        builder = RelayBuilder(Block(), self.constants)
        for op in copy.walk():
            if isinstance(op, ConstantOp) and op.array_name is not None:
                array = mod.constants[op.array_name.data]
                op.array_name = StringAttr(builder.name_array(array, op.array_name.data))
        attributes = {} if copy.func_attrs is None else dict(copy.func_attrs.data)
        values = attributes.get(PARAM_VALUES)
        if isinstance(values, ArrayAttr):
            names = [each.data for each in values if isinstance(each, StringAttr)]
            attributes[PARAM_VALUES] = string_array(builder.name_array(mod.constants[each], each) for each in names)
            copy.func_attrs = DictionaryAttr(attributes)
        return copy

    def update(self, other: IRModule) -> None:
        """Adds the functions of another module; functions of the same names are replaced."""
        for name, func in other.items():
            self[name] = func

    def items(self) -> list[tuple[str, Any]]:
        """The functions with their names."""
        return [(name, self[name]) for name in self]

    def functions_items(self) -> list[tuple[GlobalVar, Any]]:
        """The functions with their names as variables, as of TVM's `functions_items`."""
        return list(self.functions.items())


def _drop_name(func: FuncOp | ProgramFuncOp) -> None:
    """Removes the attribute `global_symbol` of a function if it is the name of the function."""
    stated = {} if func.func_attrs is None else dict(func.func_attrs.data)
    if stated.get("global_symbol") == func.sym_name:
        del stated["global_symbol"]
        func.func_attrs = DictionaryAttr(stated) if stated else None


class FunctionValues(ValuesView[Any]):
    """The functions of a module, which are an iterator as well: `next(mod.functions.values())`."""

    def __init__(self, functions: FunctionMap):
        super().__init__(functions)
        self._rest = iter([*functions])
        self._functions = functions

    def __next__(self) -> Any:
        return self._functions[next(self._rest)]


class FunctionMap(Mapping[GlobalVar, Any]):
    """The functions of a module by `GlobalVar`; a lookup may give the name, too."""

    def __init__(self, mod: IRModule):
        self._mod = mod

    def __getitem__(self, name: str | GlobalVar) -> Any:
        return self._mod[name]

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self._mod.get_global_vars())

    def __len__(self) -> int:
        return len(list(self._mod))

    def values(self) -> FunctionValues:
        return FunctionValues(self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str | GlobalVar) and _name(name) in self._mod

    def __repr__(self) -> str:
        return repr(dict(self))


def _as_function(func: Any) -> Any:
    """A function of the free variables of an expression; functions are themselves."""
    return Function(free_vars(func), func) if isinstance(func, Expr) and not isinstance(func, Function) else func


def _has_types(func: Function) -> bool:
    return all(each.type_annotation is not None for each in func.params)


def _name(key: str | GlobalVar) -> str:
    return key if isinstance(key, str) else key.name_hint


def _statements(script: str) -> str:
    """The text of a function without the header and the attributes."""
    lines = script.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("@T."))
    return "\n".join(line for line in lines[first:] if not line.lstrip().startswith("T.func_attr("))
