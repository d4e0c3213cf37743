"""Translation of expressions into functions of the `relay` dialect, inferring missing types."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import count, takewhile
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DictionaryAttr, FileLineColLoc, ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...core.dtypes import numpy_dtype
from ...core.errors import OptionError, UnsupportedError
from ...core.xdsl_compat import set_name_hint
from ...dialects.tir.annotations import annotation_key, annotation_value
from ...dialects.tir.base import string_array
from ...expressions.errors import TeError
from ...module import Module
from ...operators.relax.packed_words import call_pure
from ...operators.relay import (
    CallOp,
    FuncOp,
    IfOp,
    RelayBuilder,
    ReturnOp,
    YieldOp,
    dtype_of_tensor,
    shape_of,
    tensor_type,
)
from ...transforms.pipelines import run_pipeline
from ...transforms.relay.to_relax import ConvertRelayToRelaxPass
from .adt import Constructor, DynamicCall, Match
from .annotation import MARKS
from .blocks import insert_operators, unknown_operands
from .expr import (
    VIRTUAL_DEVICE,
    Call,
    Constant,
    Expr,
    Function,
    FunctionCall,
    GlobalVar,
    If,
    Let,
    Number,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
)
from .host import HostOperator
from .types import FuncType, TensorType, TupleType, Type, is_unknown

Value: TypeAlias = "SSAValue | tuple[Value, ...]"
"""A tensor, or a tuple of values: tuple expressions stay Python tuples until a function or branch returns them."""
Steps: TypeAlias = "Generator[Expr, Value, Value]"
"""A coroutine that emits one expression: yields needed subexpressions, and is sent their values."""


BEYOND = (Constructor, DynamicCall, Function, GlobalVar, Match, RefCreate, RefRead, RefWrite)
"""The classes of expressions that programs have, and graphs have not."""
GROUPING = {"Inline", "Primitive", "Composite", "Compiler", "PartitionedFromPattern", "global_symbol"}
"""The attributes of functions inside of functions that mark groups of operators, and change no result."""


def module_of(functions: Mapping[str, Function]) -> Module:
    """A module of the `relay` dialect with `functions`; constant arrays are kept beside the IR.

    A tuple parameter or result becomes several parameters or results. OptionError for a variable that is not a
    parameter, and for a type that cannot be inferred.
    """
    return _module(functions, is_program=False)


def program_of(functions: Mapping[str, Function]) -> Module:
    """A module of the `relax` dialect with `functions`, which may have calls of operators of the host; else as
    `module_of`."""
    return run_pipeline(_module(functions, is_program=True), [ConvertRelayToRelaxPass()])


def _module(functions: Mapping[str, Function], is_program: bool) -> Module:
    constants: dict[str, npt.NDArray[Any]] = {}
    module = ModuleOp([])
    written: dict[str, _Function] = {}

    def write(name: str) -> _Function:
        if name not in functions:
            raise OptionError(f"function @{name} is called, there is {', '.join(functions)}")
        if name not in written:
            written[name] = writer = _Function(name, functions[name], constants, write, is_program)
            writer.write()
            module.body.block.add_op(writer.func)
        return written[name]

    for name in functions:
        write(name)
    return Module(module, constants)


class _Function:
    """The translation of one function. is_program: whether it may call operators of the host."""

    def __init__(
        self, name: str, function: Function, constants: dict[str, npt.NDArray[Any]], others: Any, is_program: bool
    ):
        self.name = name
        self.function = function
        self.func = FuncOp(name, [])
        self.builder = RelayBuilder(self.func.body.block, constants)
        self.others = others
        self.is_program = is_program
        self.values: ChainMap[Expr, Value] = ChainMap()
        self.params: dict[Var, Value | None] = dict.fromkeys(function.params)
        self.callees: dict[Var, Function] = {}
        self.aliases: dict[Var, Var] = {}  # parameters of inner functions that stand for untyped variables
        self.active: list[Function] = []
        self.is_written = False

    def write(self) -> None:
        for param in self.function.params:
            if param.type_annotation is not None:
                self.params[param] = self._declare(param, param.type_annotation)
        body = self._value(self.function.body)
        unknown = [param.name_hint for param, value in self.params.items() if value is None]
        if unknown:
            raise OptionError(f"function @{self.name}: the types of {', '.join(unknown)} are not said by anything")
        self.result = body
        self.builder.insert(ReturnOp(list(flatten_value(body))))
        names = [name for param in self.function.params for name in _names(param.name_hint, self.params[param])]
        self.func.param_names = string_array(_distinct(names))
        self.func.func_attrs = _attributes(self.function)
        self.is_written = True

    # Parameters

    def _declare(self, param: Var, type: Type) -> Value:
        """Inserts the function arguments of a parameter of type `type`, after those of the preceding parameters."""
        earlier = takewhile(lambda other: other is not param, self.params)
        position = sum(len(list(flatten_value(value))) for each in earlier if (value := self.params[each]) is not None)
        param.known_type = type
        return self._insert(param.name_hint, type, count(position))

    def _insert(self, name: str, type: Type, positions: Iterator[int]) -> Value:
        if isinstance(type, TupleType):
            return tuple(self._insert(name, field, positions) for field in type.fields)
        if not isinstance(type, TensorType):  # types of users are annotations, too
            what = "a function" if type.__class__ is FuncType else f"of type {type}"
            raise UnsupportedError(f"function @{self.name}: parameter {name} is {what}, expected tensors")
        argument = self.func.body.block.insert_arg(tensor_type(type.shape, type.dtype), next(positions))
        set_name_hint(argument, name)
        return argument

    # Expressions

    def _value(self, root: Expr) -> Value:
        """The value of an expression. Iterative, since expressions are nested as deeply as the model."""
        stack: list[tuple[Expr, Steps]] = []
        result: Value | None = None
        wanted: Expr | None = root
        while True:
            if wanted is not None:
                known = self.values.get(wanted)
                if known is None:
                    stack.append((wanted, self._steps(wanted)))
                    result = None
                else:
                    result = known
                wanted = None
            if not stack:
                assert result is not None
                return result
            expr, steps = stack[-1]
            try:
                wanted = next(steps) if result is None else steps.send(result)
                result = None
            except StopIteration as stop:
                stack.pop()
                result = stop.value
                assert result is not None
                self.values[expr] = result
                expr.known_type = type_of_value(result)

    def _steps(self, expr: Expr) -> Steps:
        match expr:
            case Var():
                return self._var(expr)
            case Constant():
                return self._constant(expr)
            case FunctionCall():
                return self._function_call(expr)
            case Call():
                return self._call(expr)
            case Tuple():
                return self._tuple(expr)
            case TupleGetItem():
                return self._item(expr)
            case TupleWrapper():
                return self._tuple_wrapper(expr)
            case Let():
                return self._let(expr)
            case If():
                return self._if(expr)
            case _ if isinstance(expr, BEYOND):
                raise UnsupportedError(f"function @{self.name}: {expr!r} is no operation of a graph")
            case _:
                raise OptionError(f"{expr!r} is no tensor")

    def _named(self, expr: Expr) -> Expr:
        """The variable that a parameter of an inner function stands for; another expression itself."""
        while isinstance(expr, Var) and expr in self.aliases and expr not in self.values:
            expr = self.aliases[expr]
        return expr

    def _var(self, expr: Var) -> Steps:
        if (named := self._named(expr)) is not expr:
            return (yield named)
        value = self.params.get(expr)
        if expr in self.callees:
            raise UnsupportedError(f"function @{self.name}: the value of {expr.name_hint} is a function")
        if value is None:
            what = "its type is not known here" if expr in self.params else "it is no parameter"
            raise OptionError(f"function @{self.name}: variable {expr.name_hint}: {what}")
        return value
        yield

    def _constant(self, expr: Constant) -> Steps:
        return self.builder.constant(expr.array)
        yield

    def _call(self, expr: Call) -> Steps:
        if expr.op.name in MARKS:
            return (yield expr.args[0])
        if isinstance(expr.op, HostOperator):
            return (yield from self._host_call(expr, expr.op))
        values: list[Value | None] = []
        for arg in map(self._named, expr.args):
            is_open = isinstance(arg, Number) or self._is_unknown(arg)
            values.append(None if is_open else (yield arg))
        if None in values:
            self._complete(expr, values)
        operands = [leaf for value in values if value is not None for leaf in flatten_value(value)]
        results = self._operators(expr, operands)
        return results[0] if len(results) == 1 else tuple(results)

    def _host_call(self, expr: Call, op: HostOperator) -> Steps:
        """The results of the packed function of an operator of the host."""
        if not self.is_program:
            raise UnsupportedError(f"function @{self.name}: {expr!r} is no operation of a graph")
        values: list[SSAValue] = []
        for arg in expr.args:
            values += flatten_value((yield arg))
        type = op.result_type([type_of_value(each) for each in values], expr.attrs)
        types = type.fields if isinstance(type, TupleType) else (type,)
        shapes = [(each.dtype, each.shape) for each in types if isinstance(each, TensorType)]
        results = call_pure(self.builder, op.function, [json.dumps(op.all_attributes(expr.attrs)), *values], shapes)
        return tuple(results) if isinstance(type, TupleType) else results[0]

    def _operators(self, expr: Call, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The results of an operator call; errors carry its source location."""
        self.builder.location = expr.location
        try:
            return insert_operators(self.builder, expr.op, operands, expr.attrs)
        except TeError as error:
            who = "" if error.what.startswith(expr.op.name) else f"{expr.op.name}: "
            if any(is_unknown(size) for each in operands for size in shape_of(each)):
                raise UnsupportedError(f"{who}{error.what}, before run time") from None
            raise TeError(f"{who}{error.what}", _line(expr)) from None
        finally:
            self.builder.location = UnknownLoc()

    def _is_unknown(self, arg: Expr) -> bool:
        return isinstance(arg, Var) and arg in self.params and self.params[arg] is None and arg not in self.values

    def _complete(self, expr: Call, values: list[Value | None]) -> None:
        """Gives types to untyped operands: the types that the operator requires of them, given the other operands."""
        for n, arg in enumerate(expr.args):
            if isinstance(arg, Number):
                values[n] = value = self.builder.constant(np.asarray(arg.value, self._dtype_beside(arg, values)))
                arg.known_type = type_of_value(value)
        if None not in values:
            return
        known = {
            name: (shape_of(value), dtype_of_tensor(value))
            for name, value in zip(expr.op.operands, values, strict=False)
            if isinstance(value, SSAValue)
        }
        types = unknown_operands(expr.op, known, expr.attrs)
        for n, (name, arg) in enumerate(zip(expr.op.operands, map(self._named, expr.args), strict=False)):
            if values[n] is None:
                assert isinstance(arg, Var)
                if name not in types:
                    unknown = (
                        f"variable {arg.name_hint} has no type, and {expr.op.name} does not say that of its {name}"
                    )
                    raise TeError(f"function @{self.name}: {unknown}", _line(expr))
                values[n] = self.params[arg] = self._declare(arg, TensorType(*types[name]))

    def _dtype_beside(self, number: Number, values: Sequence[Value | None]) -> np.dtype[Any]:
        beside = next((value for value in values if isinstance(value, SSAValue)), None)
        if beside is not None:
            return numpy_dtype(dtype_of_tensor(beside))
        return np.dtype("float32" if isinstance(number.value, float) else "int32")

    def _tuple(self, expr: Tuple) -> Steps:
        values: list[Value] = []
        for each in expr.fields:
            values.append((yield each))
        return tuple(values)

    def _item(self, expr: TupleGetItem) -> Steps:
        whole = yield expr.tuple_value
        several = whole if isinstance(whole, tuple) else (whole,)
        if not 0 <= expr.index < len(several):
            raise OptionError(f"{expr!r}: value {expr.index} of {len(several)}")
        return several[expr.index]

    def _tuple_wrapper(self, expr: TupleWrapper) -> Steps:
        return (yield expr.tuple_value)

    def _let(self, expr: Let) -> Steps:
        if isinstance(expr.value, Function):
            self.callees[expr.var] = expr.value
            return (yield expr.body)
        value = yield expr.value
        for leaf in flatten_value(value):
            set_name_hint(leaf, expr.var.name_hint)
        self.values[expr.var] = value
        expr.var.known_type = type_of_value(value)
        return (yield expr.body)

    def _if(self, expr: If) -> Steps:
        condition = yield expr.cond
        if not isinstance(condition, SSAValue):
            raise OptionError(f"{expr!r}: a condition of several values")
        branches = [self._branch(each) for each in (expr.true_branch, expr.false_branch)]
        (then, value), (orelse, other) = branches
        types = [[leaf.type for leaf in flatten_value(each)] for each in (value, other)]
        if types[0] != types[1]:
            raise OptionError(f"{expr!r}: branches of types {types[0]} and {types[1]}")
        results = iter(self.builder.insert(IfOp(condition, types[0], then, orelse)).outputs)
        return _like(value, results)

    def _branch(self, expr: Expr) -> tuple[Region, Value]:
        """The region and the value of a branch; expressions computed in the branch are unknown outside."""
        block = Block()
        outside, self.values = self.values, self.values.new_child()
        builder, self.builder = self.builder, RelayBuilder(block, self.builder.constants)
        value = self._value(expr)
        self.builder.insert(YieldOp(list(flatten_value(value))))
        self.values, self.builder = outside, builder
        return Region(block), value

    def _function_call(self, expr: FunctionCall) -> Steps:
        args: list[Value] = []
        untyped: dict[Var, Var] = {}
        callee: Expr = self.callees.get(expr.op, expr.op) if isinstance(expr.op, Var) else expr.op
        for n, arg in enumerate(map(self._named, expr.args)):
            if self._is_unknown(arg) and isinstance(callee, GlobalVar):
                self._take_type(arg, self.others(callee.name_hint), n)
            if self._is_unknown(arg) and isinstance(callee, Function) and n < len(callee.params):
                assert isinstance(arg, Var)
                param = callee.params[n]
                if param.type_annotation is None:  # an operator in the function says the type
                    untyped[param] = arg
                    continue
                self.params[arg] = self._declare(arg, param.type_annotation)
            args.append((yield arg))
        if isinstance(callee, GlobalVar):
            return self._global_call(callee, args)
        if not isinstance(callee, Function):
            raise UnsupportedError(f"{callee!r} is called, expected a function")
        if callee.attrs.keys() - GROUPING:
            names = ", ".join(callee.attrs)
            raise UnsupportedError(f"{expr!r}: a function inside of a function has attributes {names}, expected none")
        if len(expr.args) != len(callee.params):
            raise OptionError(f"{expr!r}: {len(expr.args)} arguments, expected {len(callee.params)}")
        params = [param for param in callee.params if param not in untyped]
        for param, arg in zip(params, args, strict=True):
            param.known_type = type_of_value(arg)
        if callee in self.active:
            raise UnsupportedError(f"function @{self.name}: {expr.op!r} calls itself, which is not supported")
        self.active.append(callee)
        self.aliases |= untyped
        outside, self.values = self.values, self.values.new_child(dict(zip(params, args, strict=True)))
        value = self._value(callee.body)
        self.values = outside
        for param, named in untyped.items():
            param.known_type = named.known_type
        self.active.pop()
        return value

    def _take_type(self, arg: Expr, other: _Function, n: int) -> None:
        """Gives an untyped argument of a function of the module the type of the parameter."""
        assert isinstance(arg, Var)
        if n < len(other.function.params) and (type := other.function.params[n].known_type) is not None:
            self.params[arg] = self._declare(arg, type)

    def _global_call(self, callee: GlobalVar, args: Sequence[Value]) -> Value:
        other = self.others(callee.name_hint)
        if not other.is_written:
            raise UnsupportedError(f"function @{callee.name_hint} calls itself, which is not supported")
        operands = [leaf for arg in args for leaf in flatten_value(arg)]
        expected: Sequence[Attribute] = list(other.func.body.block.arg_types)
        if [value.type for value in operands] != expected:
            got = ", ".join(str(value.type) for value in operands)
            raise OptionError(f"call of @{callee.name_hint} with {got}, expected {', '.join(map(str, expected))}")
        call = self.builder.insert(CallOp(callee.name_hint, operands, other.func.result_types_))
        return _like(other.result, iter(call.outputs))


def _attributes(function: Function) -> DictionaryAttr | None:
    """The attributes of a function in its operation."""
    attrs = {name: value for name, value in function.attrs.items() if name != VIRTUAL_DEVICE}
    if not attrs:
        return None
    return DictionaryAttr({annotation_key(name): annotation_value(value) for name, value in attrs.items()})


def _distinct(names: Sequence[str]) -> list[str]:
    """The names of parameters, where the second `x` is `x_1`."""
    result: list[str] = []
    for name in names:
        numbered = (f"{name}_{n}" for n in count(1))
        result.append(name if name not in result else next(each for each in numbered if each not in [*names, *result]))
    return result


def _line(expr: Call) -> str:
    """`file.py:3`: the source location of an operator call, empty if unknown."""
    match expr.location:
        case FileLineColLoc(filename=file, line=line):
            return f"{file.data}:{line.data}"
        case _:
            return ""


def flatten_value(value: Value) -> Iterable[SSAValue]:
    """The tensors of a value, in order."""
    if isinstance(value, SSAValue):
        yield value
    else:
        for each in value:
            yield from flatten_value(each)


def type_of_value(value: Value) -> Type:
    """The type of a tensor, or of a tuple."""
    if isinstance(value, tuple):
        return TupleType([type_of_value(each) for each in value])
    return TensorType(shape_of(value), dtype_of_tensor(value))


def _like(value: Value, tensors: Iterator[SSAValue]) -> Value:
    """Other tensors in the tuple structure of `value`."""
    return next(tensors) if isinstance(value, SSAValue) else tuple(_like(each, tensors) for each in value)


def _names(name: str, value: Value | None) -> list[str]:
    """The names of the function parameters of one variable."""
    if isinstance(value, tuple):
        return [each for n, field in enumerate(value) for each in _names(f"{name}.{n}", field)]
    return [name]
