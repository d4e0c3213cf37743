"""The interpreter of programs: functions with recursion, data types of users, references, functions as values, and
sizes that are known at run time only. Each call of an operator is compiled for the types of its operands.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ....backends.graph import Executable, GraphExecutor, build_graph
from ....backends.runtime.packed import get_global_func
from ....core.errors import ArgumentError, OptionError
from ....operators import Operator
from ...relay.adt import (
    Constructor,
    DynamicCall,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    expressions_in,
)
from ...relay.annotation import MARKS
from ...relay.expr import (
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
    as_expr,
    flat_operands,
)
from ...relay.functor import post_order
from ...relay.graph import module_of
from ...relay.host import HostOperator
from ...relay.types import TensorType, TupleType, is_unknown
from ..containers import ADT, tuple_object
from ..nd import Device, NDArray, array
from ..target.target import target_of
from . import host_functions as host_functions

Value: TypeAlias = "NDArray | ADT | RefValue | Closure | Constructor | Operator"
"""A tensor, a tuple, a value of a data type of users, a reference, or a function."""


class ConstructorValue(ADT):
    """A value of a data type of users. tag: that of its constructor.  fields: its fields."""

    def __init__(self, tag: int, fields: Sequence[Any], constructor: Constructor | None = None):
        super().__init__(tag, fields)
        self.constructor = constructor

    @property
    def fields(self) -> Sequence[Any]:
        return self


class RefValue:
    """A reference to a value."""

    def __init__(self, value: Any):
        self.value = value


class Scope:
    """The values of expressions in one call of a function, and in the calls around its definition."""

    def __init__(self, around: Scope | None = None):
        self.values: dict[Expr, Any] = {}
        self.around = around

    def find(self, expr: Expr) -> Any:
        """The value of an expression, None before it has been evaluated."""
        scope: Scope | None = self
        while scope is not None:
            if expr in scope.values:
                return scope.values[expr]
            scope = scope.around
        return None

    def for_binding(self, variables: Sequence[Var]) -> Scope:
        """The scope in which variables can be bound: a new one if this one has other values of them."""
        return Scope(self) if any(each in self.values for each in variables) else self


@dataclass(eq=False)
class Closure:
    """A function with the scope of its definition. Python calls it with arrays."""

    function: Function
    scope: Scope | None
    interpreter: Interpreter

    def __call__(self, *args: Any) -> Any:
        return self.interpreter.call(self, args)


@dataclass(frozen=True)
class _Tail:
    """An expression whose value is that of the expression under evaluation."""

    expr: Expr
    scope: Scope


Steps: TypeAlias = "Generator[tuple[Expr, Scope], Any, Any]"


class Interpreter:
    """Evaluates expressions with the functions of a module. device: of the tensors, by default that of the target."""

    def __init__(self, functions: Mapping[str, Function], target: Any = "llvm", device: Device | None = None):
        self._functions = functions
        self._target = str(target_of(target).compiled)
        self._device = device
        self._executors: dict[_Kernel, GraphExecutor] = {}

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the module, to be called with arrays. ArgumentError for an unknown name."""
        return self._global(name)

    def _global(self, name: str) -> Closure:
        if name not in self._functions:
            raise ArgumentError(f"function @{name}, there is {', '.join(self._functions)}")
        return Closure(self._functions[name], None, self)

    def call(self, callee: Closure, args: Sequence[Any]) -> Any:
        """The result of a function for arrays, numbers and tuples of them. ArgumentError for another number of
        arguments, and for arrays of other types."""
        params = callee.function.params
        if len(args) != len(params):
            raise ArgumentError(f"{len(args)} arguments, expected {', '.join(map(repr, params)) or 'none'}")
        values = [
            self._argument(each.name_hint, each.type_annotation, arg) for each, arg in zip(params, args, strict=True)
        ]
        scope = Scope(callee.scope)
        scope.values |= dict(zip(params, values, strict=True))
        return self.evaluate(callee.function.body, scope)

    def _argument(self, name: str, type: Any, value: Any) -> Any:
        match value:
            case ADT() | RefValue() | Closure() | Constructor() | Operator():
                return value
            case Constant():
                return self._argument(name, type, value.array)
            case Function():
                return Closure(value, None, self)
            case GlobalVar():
                return self._global(value.name_hint)
            case tuple() | list():
                types = type.fields if isinstance(type, TupleType) else [None] * len(value)  # pyright: ignore[reportUnknownArgumentType]
                return tuple_object(self._argument(name, each, part) for each, part in zip(types, value, strict=True))
            case bool() | int() | float():
                default = {bool: "bool", int: "int32", float: "float32"}[value.__class__]
                dtype = type.dtype if isinstance(type, TensorType) else default
                return self._argument(name, type, np.asarray(value, dtype))
            case _:
                tensor = value if isinstance(value, NDArray) else array(value, self._device)
                if isinstance(type, TensorType):
                    _check_argument(name, type, tensor)
                return tensor

    def evaluate(self, root: Expr, scope: Scope | None = None) -> Any:
        """The value of an expression. Iterative, since loops of programs are recursion; a call in tail position takes
        no memory."""
        scope = scope or Scope()
        stack: list[tuple[Expr, Scope, Steps]] = []
        value = self._leaf(root, scope)
        if value is None:
            stack.append((root, scope, self._steps(root, scope)))
        while stack:
            first, outer, steps = stack[-1]
            try:
                needed = steps.send(value)
            except StopIteration as stop:
                value = stop.value
                if isinstance(value, _Tail):
                    rest, inner = value.expr, value.scope
                    value = self._leaf(rest, inner)
                    if value is None:
                        stack[-1] = (first, outer, self._steps(rest, inner))
                        continue
                stack.pop()
                outer.values[first] = value
                continue
            value = self._leaf(*needed)
            if value is None:
                stack.append((*needed, self._steps(*needed)))
        return value

    def _leaf(self, expr: Any, scope: Scope) -> Any:
        """The value of an expression that is known without evaluation, or None."""
        known = scope.find(expr)
        if known is not None:
            return known
        match expr:
            case Constant() | Number():
                value = expr.array if isinstance(expr, Constant) else np.asarray(expr.value, _dtype_of(expr.value))
                return array(value, self._device)
            case Function():
                return Closure(expr, scope, self)
            case GlobalVar():
                return self._global(expr.name_hint)
            case Constructor() | Operator():
                return expr
            case Var():
                raise OptionError(f"variable {expr.name_hint} has no value")
            case _:
                return None

    # Expressions

    def _steps(self, expr: Expr, scope: Scope) -> Steps:
        match expr:
            case FunctionCall():
                return self._function_call(expr, scope)
            case Call():
                return self._call(expr, scope)
            case DynamicCall():
                return self._dynamic_call(expr, scope)
            case Let():
                return self._let(expr, scope)
            case If():
                return self._if(expr, scope)
            case Match():
                return self._match(expr, scope)
            case Tuple():
                return self._tuple(expr, scope)
            case TupleGetItem():
                return self._item(expr, scope)
            case TupleWrapper():
                return self._tail(expr.tuple_value, scope)
            case RefCreate() | RefRead() | RefWrite():
                return self._reference(expr, scope)
            case _:
                raise OptionError(f"{expr!r} has no value")

    def _tail(self, expr: Expr, scope: Scope) -> Steps:
        return _Tail(expr, scope)
        yield

    def _function_call(self, expr: FunctionCall, scope: Scope) -> Steps:
        callee = yield expr.op, scope
        args: list[Any] = []
        for each in expr.args:
            args.append((yield each, scope))
        return self._applied(callee, args)

    def _applied(self, callee: Any, args: Sequence[Any]) -> Any:
        """The value of a call, or the body of a function with its scope."""
        if isinstance(callee, Constructor):
            return ConstructorValue(callee.tag, args, callee)
        if isinstance(callee, Operator):
            return self._operator(Call(callee, [Var(f"x{n}") for n in range(len(args))]), args)
        if not isinstance(callee, Closure):
            raise OptionError(f"{callee!r} is called, expected a function")
        params = callee.function.params
        if len(args) != len(params):
            raise OptionError(f"{len(args)} arguments of {callee.function!r}, expected {len(params)}")
        scope = Scope(callee.scope)
        scope.values |= dict(zip(params, args, strict=True))
        return _Tail(callee.function.body, scope)

    def _call(self, expr: Call, scope: Scope) -> Steps:
        values: list[Any] = []
        for each in expr.args:
            values.append(None if isinstance(each, Number) else (yield each, scope))
        if isinstance(expr.op, HostOperator):
            return self._on_host(expr.op, expr.attrs, values)
        return values[0] if expr.op.name in MARKS else self._operator(expr, values)

    def _on_host(self, op: HostOperator, attributes: Mapping[str, Any], values: Sequence[Any]) -> Any:
        """The result of an operator of the host."""
        result = get_global_func(op.function)(json.dumps(op.all_attributes(attributes)), *values)
        return tuple_object(result) if isinstance(result, tuple) else result

    def _operator(self, expr: Call, values: Sequence[Any]) -> Any:
        """The result of an operator. values: those of the operands, None for a number, whose type others determine."""
        args: list[Expr] = []
        params: list[Var] = []
        tensors: list[NDArray] = []
        for arg, value in zip(expr.args, values, strict=True):
            args.append(arg if value is None else _parameter(value, params, tensors))
        return self._run(expr.with_args(flat_operands(args)), params, tensors)

    def _dynamic_call(self, expr: DynamicCall, scope: Scope) -> Steps:
        values: dict[Expr, Any] = {}
        for each in expr.children:
            values[each] = yield each, scope
        params: list[Var] = []
        tensors: list[NDArray] = []
        arguments = {
            name: _numbers(value, values) if name in expr.attributes else _parameter(values[value], params, tensors)
            for name, value in expr.arguments.items()
        }
        return self._run(as_expr(expr.function(**arguments)), params, tensors)

    def _run(self, body: Expr, params: Sequence[Var], tensors: Sequence[NDArray]) -> Any:
        """The value of an expression of operators on parameters."""
        function = Function(params, body)
        calls = [(each.op.name, dict(each.attrs)) for each in post_order(body) if isinstance(each, Call)]
        kernel = _Kernel(f"{function.astext()}{calls}", self._target, function)
        if kernel not in self._executors:
            self._executors[kernel] = GraphExecutor(_compiled(kernel), self._device)
        executor = self._executors[kernel]
        for spec, tensor in zip(executor.executable.inputs, tensors, strict=True):
            executor.set_input(spec.name, tensor)
        executor.run()
        results = [array(executor.get_output(n), executor.device) for n in range(executor.num_outputs)]
        is_tuple = isinstance(body, Tuple) or isinstance(body.known_type, TupleType)
        return tuple_object(results) if is_tuple else results[0]

    def _let(self, expr: Let, scope: Scope) -> Steps:
        inner = scope.for_binding([expr.var])
        inner.values[expr.var] = yield expr.value, inner if isinstance(expr.value, Function) else scope
        return _Tail(expr.body, inner)

    def _if(self, expr: If, scope: Scope) -> Steps:
        condition = yield expr.cond, scope
        return _Tail(expr.true_branch if bool(condition.numpy()) else expr.false_branch, scope)

    def _match(self, expr: Match, scope: Scope) -> Steps:
        data = yield expr.data, scope
        for clause in expr.clauses:
            bound: dict[Var, Any] = {}
            if _matches(clause.lhs, data, bound):
                inner = scope.for_binding([*bound])
                inner.values |= bound
                return _Tail(clause.rhs, inner)
        raise ArgumentError(f"{expr!r}: no clause for {data!r}")

    def _tuple(self, expr: Tuple, scope: Scope) -> Steps:
        fields: list[Any] = []
        for each in expr.fields:
            fields.append((yield each, scope))
        return tuple_object(fields)

    def _item(self, expr: TupleGetItem, scope: Scope) -> Steps:
        whole = yield expr.tuple_value, scope
        if not isinstance(whole, ADT):
            whole = tuple_object([whole])
        if not 0 <= expr.index < len(whole):
            raise OptionError(f"{expr!r}: value {expr.index} of {len(whole)}")
        return whole[expr.index]

    def _reference(self, expr: RefCreate | RefRead | RefWrite, scope: Scope) -> Steps:
        if isinstance(expr, RefCreate):
            return RefValue((yield expr.value, scope))
        reference = yield expr.ref, scope
        if not isinstance(reference, RefValue):
            raise OptionError(f"{expr!r}: {reference!r}, expected a reference")
        if isinstance(expr, RefRead):
            return reference.value
        reference.value = yield expr.value, scope
        return tuple_object()


@dataclass(frozen=True)
class _Kernel:
    """A call of an operator on parameters of known types, compared by its text."""

    text: str
    target: str
    function: Function = field(compare=False)


@lru_cache(maxsize=1024)
def _compiled(kernel: _Kernel) -> Executable:
    return build_graph(module_of({"main": kernel.function}), target=kernel.target)


def _parameter(value: Any, params: list[Var], tensors: list[NDArray]) -> Expr:
    """The parameters that have a value, a tensor or a tuple, as an expression."""
    if isinstance(value, ADT):
        return Tuple([_parameter(each, params, tensors) for each in value])
    if not isinstance(value, NDArray):
        raise OptionError(f"{value!r} is an operand, expected a tensor")
    params.append(Var(f"x{len(params)}", TensorType(value.shape, str(value.dtype))))
    tensors.append(value)
    return params[-1]


def _numbers(argument: Any, values: Mapping[Expr, Any]) -> Any:
    """The value of an attribute: numbers in place of expressions."""
    if isinstance(argument, Expr):
        return values[argument].numpy().tolist()
    return [_numbers(each, values) for each in argument] if expressions_in(argument) else argument


def _matches(pattern: Pattern, value: Any, bound: dict[Var, Any]) -> bool:
    """Whether a value has a pattern, whose variables are bound."""
    match pattern:
        case PatternVar():
            bound[pattern.var] = value
            return True
        case PatternConstructor():
            if not isinstance(value, ConstructorValue) or value.tag != pattern.constructor.tag:
                return False
        case PatternTuple():
            if not isinstance(value, ADT):
                return False
        case _:
            return True
    return len(pattern.parts) == len(value) and all(
        _matches(part, each, bound) for part, each in zip(pattern.parts, value, strict=True)
    )


def _check_argument(name: str, type: TensorType, tensor: NDArray) -> None:
    shape, dtype = tuple(tensor.shape), str(tensor.dtype)
    known = [isinstance(size, int) and not is_unknown(size) for size in type.shape]
    is_shape = len(shape) == len(known) and all(
        not is_known or got == size for is_known, got, size in zip(known, shape, type.shape, strict=True)
    )
    if not is_shape or dtype != type.dtype:
        raise ArgumentError(f"{name}: {dtype}{list(shape)}, expected {type}")


def _dtype_of(value: float) -> str:
    return "bool" if isinstance(value, bool) else "float32" if isinstance(value, float) else "int32"


__all__ = ["Closure", "ConstructorValue", "Interpreter", "RefValue"]
