"""Inference of the types of programs: functions on functions, on data types of users and on references, and functions
with variables of types. The types of graphs are those of their operations (`graph.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import OptionError, StepwellError, UnsupportedError
from .adt import Constructor, DynamicCall, Match, Pattern, PatternConstructor, PatternTuple, PatternVar, expressions_in
from .annotation import MARKS, is_mark
from .expr import (
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
from .graph import module_of
from .host import HostOperator
from .types import (
    Any_,
    FuncType,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    is_unknown,
    substitute,
    type_parts,
)

BOOL = TensorType((), "bool")
SAMPLES = (1, 2)
"""The sizes in place of unknown ones, of which the sizes of results depend if they differ."""


def infer_types(functions: Mapping[str, Function]) -> None:
    """Records the types of the expressions of functions. OptionError for types that do not go together."""
    inference = _Inference(functions)
    for name in functions:
        inference.infer_function(name)
    inference.solve()
    inference.record()


class _Inference:
    def __init__(self, functions: Mapping[str, Function]):
        self.functions = functions
        self.bindings: dict[IncompleteType, Any] = {}
        self.types: dict[Expr, Any] = {}
        self.open: list[Expr] = []
        self.signatures = {name: self.signature(func) for name, func in functions.items()}

    # Unification

    def resolve(self, type: Any) -> Any:
        """A type with the known types in place of variables."""
        while isinstance(type, IncompleteType) and type in self.bindings:
            type = self.bindings[type]
        return substitute(type, _Resolved(self))

    def unify(self, got: Any, expected: Any, where: object) -> None:
        """Makes two types equal. OptionError if they differ."""
        a, b = self.resolve(got), self.resolve(expected)
        if a is b:
            return
        if isinstance(b, IncompleteType):
            a, b = b, a
        if isinstance(a, IncompleteType):
            if a in incomplete_parts(b):
                raise OptionError(f"{where!r}: type {b} contains itself")
            self.bindings[a] = b
            return
        match a, b:
            case TensorType(), TensorType():
                is_same = a.dtype == b.dtype and len(a.shape) == len(b.shape) and all(map(_agree, a.shape, b.shape))
            case FuncType(), FuncType():
                a, b = self.instantiate(a), self.instantiate(b)
                is_same = len(a.arg_types) == len(b.arg_types)
                for x, y in zip([*a.arg_types, a.ret_type], [*b.arg_types, b.ret_type], strict=False):
                    self.unify(x, y, where)
            case (TupleType(), TupleType()) | (RefType(), RefType()) | (TypeCall(), TypeCall()):
                parts = (type_parts(a), type_parts(b))
                is_same = len(parts[0]) == len(parts[1])
                for x, y in zip(*parts, strict=False):
                    self.unify(x, y, where)
            case _:
                is_same = a == b
        if not is_same:
            raise OptionError(f"{where!r}: type {a}, expected {b}")

    def instantiate(self, type: Any) -> Any:
        """A type of a function with unknown types in place of its own variables."""
        if not isinstance(type, FuncType) or not type.type_params:
            return type
        fresh = {each: IncompleteType() for each in type.type_params}
        parts = [substitute(each, fresh) for each in (type.ret_type, *type.arg_types)]
        return FuncType(parts[1:], parts[0])

    # Expressions

    def signature(self, func: Function) -> FuncType:
        """The type of a function by its annotations, with unknown types elsewhere."""
        params = [self.of_variable(each) for each in func.params]
        return FuncType(
            params, IncompleteType() if func.result_annotation is None else func.result_annotation, func.type_params
        )

    def of_variable(self, variable: Var) -> Any:
        """The type of a variable."""
        if variable not in self.types:
            known = variable.type_annotation
            self.types[variable] = IncompleteType() if known is None else known
        return self.types[variable]

    def infer_function(self, name: str) -> None:
        """Infers the types in a function of the module."""
        func = self.functions[name]
        self.types[func] = self.signatures[name]
        self.unify(self.infer(func.body), self.signatures[name].ret_type, func)

    def infer(self, expr: Expr) -> Any:
        """The type of an expression, perhaps unknown so far."""
        if expr not in self.types:
            self.types[expr] = self.type_of(expr)
        return self.types[expr]

    def type_of(self, expr: Expr) -> Any:
        """The type of an expression that has not been visited."""
        match expr:
            case Var():
                return self.of_variable(expr)
            case Constant():
                return TensorType(expr.array.shape, expr.array.dtype.name)
            case GlobalVar():
                if expr.name_hint not in self.signatures:
                    raise OptionError(f"function @{expr.name_hint}, there is {', '.join(self.signatures)}")
                return self.signatures[expr.name_hint]
            case Constructor():
                return expr.checked_type
            case Function():
                self.types[expr] = self.signature(expr)
                self.unify(self.infer(expr.body), self.types[expr].ret_type, expr)
                return self.types[expr]
            case FunctionCall():
                return self.of_call(expr)
            case Call() if is_mark(expr, *MARKS.values()):
                return self.infer(expr.args[0])
            case Call() | DynamicCall() | TupleGetItem():
                for each in expr.children:
                    if not isinstance(each, Number):
                        self.infer(each)
                self.open.append(expr)
                return IncompleteType()
            case Let():
                return self.of_let(expr)
            case If():
                self.unify(self.infer(expr.cond), BOOL, expr)
                result = self.infer(expr.true_branch)
                self.unify(self.infer(expr.false_branch), result, expr)
                return result
            case Match():
                return self.of_match(expr)
            case Tuple():
                return TupleType([self.infer(each) for each in expr.fields])
            case TupleWrapper():
                return self.infer(expr.tuple_value)
            case RefCreate():
                return RefType(self.infer(expr.value))
            case RefRead():
                value = IncompleteType()
                self.unify(self.infer(expr.ref), RefType(value), expr)
                return value
            case RefWrite():
                self.unify(self.infer(expr.ref), RefType(self.infer(expr.value)), expr)
                return TupleType([])
            case _:
                raise UnsupportedError(f"type of {expr!r}")

    def of_call(self, expr: FunctionCall) -> Any:
        """The type of a call of a function."""
        callee = self.instantiate(self.resolve(self.infer(expr.op)))
        args = [self.infer(each) for each in expr.args]
        if isinstance(callee, FuncType) and len(callee.arg_types) != len(args):
            raise OptionError(f"{expr!r}: {len(args)} arguments, expected {len(callee.arg_types)}")
        result = callee.ret_type if isinstance(callee, FuncType) else IncompleteType()
        if isinstance(callee, FuncType):
            for got, expected in zip(args, callee.arg_types, strict=True):
                self.unify(got, expected, expr)
        else:
            self.unify(callee, FuncType(args, result), expr)
        return result

    def of_let(self, expr: Expr) -> Any:
        """The type of bindings. Iterative, since a program may have many."""
        lets: list[Let] = []
        while isinstance(expr, Let):
            lets.append(expr)
            variable = self.of_variable(expr.var)
            if isinstance(expr.value, Function):
                self.types[expr.value] = self.signature(expr.value)
                self.unify(self.types[expr.value], variable, expr)
                self.types[expr.var] = self.types[expr.value]
                self.unify(self.infer(expr.value.body), self.types[expr.value].ret_type, expr.value)
            else:
                self.unify(self.infer(expr.value), variable, expr)
            expr = expr.body
        self.types |= dict.fromkeys(lets, self.infer(expr))
        return self.types[expr]

    def of_match(self, expr: Match) -> Any:
        """The type of a match."""
        data, result = self.infer(expr.data), IncompleteType()
        for clause in expr.clauses:
            self.unify(self.of_pattern(clause.lhs), data, expr)
            self.unify(self.infer(clause.rhs), result, expr)
        return result

    def of_pattern(self, pattern: Pattern) -> Any:
        """The type of the values of a pattern."""
        match pattern:
            case PatternVar():
                return self.of_variable(pattern.var)
            case PatternConstructor():
                made = self.instantiate(pattern.constructor.checked_type)
                if len(pattern.parts) != len(made.arg_types):
                    got = f"{len(pattern.parts)} fields, expected {len(made.arg_types)}"
                    raise OptionError(f"pattern of {pattern.constructor!r}: {got}")
                for part, type in zip(pattern.parts, made.arg_types, strict=True):
                    self.unify(self.of_pattern(part), type, pattern.constructor)
                return made.ret_type
            case PatternTuple():
                return TupleType([self.of_pattern(part) for part in pattern.parts])
            case _:
                return IncompleteType()

    # Operators

    def solve(self) -> None:
        """Determines the types of the calls of operators, once those of their operands are known."""
        is_first, progress = True, True
        while self.open and (progress or is_first):
            is_first = progress
            waiting, self.open = self.open, []
            for expr in waiting:
                type = self.result(expr, is_final=not progress)
                if type is None:
                    self.open.append(expr)
                else:
                    self.unify(type, self.types[expr], expr)
            progress = len(self.open) < len(waiting)

    def result(self, expr: Expr, is_final: bool) -> Any:
        """The type of a call of an operator or of a field, None if those of the operands are unknown. is_final: whether
        the operator determines unknown types of operands."""
        if isinstance(expr, TupleGetItem):
            whole = self.resolve(self.types[_plain(expr.tuple_value)])
            if isinstance(whole, IncompleteType):
                return None
            fields = whole.fields if isinstance(whole, TupleType) else (whole,)
            if not 0 <= expr.index < len(fields):
                raise OptionError(f"{expr!r}: value {expr.index} of {len(fields)}")
            return fields[expr.index]
        operands = [each for each in expr.children if not isinstance(each, Number)]
        if isinstance(expr, Call) and isinstance(expr.op, HostOperator):
            known = [self.resolve(self.types[_plain(each)]) for each in expr.args]
            return None if any(map(incomplete_parts, known)) else expr.op.result_type(known, expr.attrs)
        types = {each: self.resolve(self.types[_plain(each)]) for each in operands}
        unknown = [each for each, type in types.items() if incomplete_parts(type)]
        if unknown and not (is_final and all(isinstance(types[each], IncompleteType) for each in unknown)):
            return None
        return self.sampled(expr, types)

    def sampled(self, expr: Expr, types: Mapping[Expr, Any]) -> Any:
        """The type of a call, with samples in place of unknown sizes; sizes that depend on them are unknown."""
        is_sized = not isinstance(expr, DynamicCall) and not any(_unknown_sizes(each) for each in types.values())
        results: list[Any] = []
        errors: list[StepwellError] = []
        samples = [(size, False) for size in (SAMPLES[:1] if is_sized else SAMPLES)]
        if isinstance(expr, DynamicCall) and sum(bool(expressions_in(expr.arguments[a])) for a in expr.attributes) > 1:
            samples += [(size, True) for size in SAMPLES]
        for size, is_spread in samples:
            try:
                results.append(self.of_operator(expr, types, size, is_spread))
            except StepwellError as error:
                errors.append(error)
        if not results:
            if is_sized:
                raise errors[0]
            return None
        return results[0] if len(results) == 1 and is_sized else _merged(results)

    def of_operator(self, expr: Expr, types: Mapping[Expr, Any], size: int, is_spread: bool = False) -> Any:
        """The type of a call of an operator. size: in place of unknown sizes.  is_spread: whether the n-th attribute is
        n times the size, so that the start of a slice is not its end."""
        params: dict[Expr, Var] = {}

        def parameter(each: Expr) -> Expr:
            if isinstance(each, Number):
                return each
            type = types[each]
            sized = None if isinstance(type, IncompleteType) else _with_sizes(type, size)
            if isinstance(sized, TupleType):
                fields = [Var(f"x{len(params)}_{n}", field) for n, field in enumerate(sized.fields)]
                params.update({field: field for field in fields})
                return Tuple(fields)
            return params.setdefault(each, Var(f"x{len(params)}", sized))

        if isinstance(expr, DynamicCall):
            unknown = [name for name in expr.arguments if name in expr.attributes]
            sizes = {name: size * n if is_spread else size for n, name in enumerate(unknown)}
            arguments = {
                name: _sample(value, types, sizes[name]) if name in expr.attributes else parameter(value)
                for name, value in expr.arguments.items()
            }
            body = as_expr(expr.function(**arguments))
        else:
            assert isinstance(expr, Call)
            args = [parameter(each) for each in expr.args]
            body = expr.with_args(flat_operands(args))
        module_of({"main": Function(list(params.values()), body)})
        for each, variable in params.items():
            if each in types and isinstance(types[each], IncompleteType):
                self.unify(types[each], variable.known_type, expr)
        return body.checked_type

    def record(self) -> None:
        """Records the types that are known completely."""
        for expr, type in self.types.items():
            known = self.resolve(type)
            if not incomplete_parts(known):
                expr.known_type = known


class _Resolved(dict[Any, Any]):
    """The known types of variables, as values of a substitution."""

    def __init__(self, inference: _Inference):
        super().__init__()
        self.inference = inference

    def get(self, key: Any, default: Any = None) -> Any:
        return self.inference.resolve(self.inference.bindings[key]) if key in self.inference.bindings else default


def incomplete_parts(type: Any) -> set[IncompleteType]:
    """The unknown types in a type."""
    if isinstance(type, IncompleteType):
        return {type}
    if isinstance(type, FuncType):
        return {each for part in (*type.arg_types, type.ret_type) for each in incomplete_parts(part)}
    return {each for part in type_parts(type) for each in incomplete_parts(part)}


def _plain(expr: Expr) -> Expr:
    return expr.tuple_value if isinstance(expr, TupleWrapper) else expr


def _agree(a: Any, b: Any) -> bool:
    """Whether two sizes can be equal: numbers must be."""
    return a == b or not (isinstance(a, int) and isinstance(b, int))


def _unknown_sizes(type: Any) -> bool:
    if isinstance(type, TensorType):
        return any(is_unknown(size) for size in type.shape)
    return any(_unknown_sizes(part) for part in type_parts(type))


def _with_sizes(type: Any, size: int) -> Any:
    """A type with a number in place of unknown sizes."""
    if isinstance(type, TensorType):
        return TensorType([size if is_unknown(each) else each for each in type.shape], type.dtype)
    return TupleType([_with_sizes(each, size) for each in type.fields]) if isinstance(type, TupleType) else type


def _sample(argument: Any, types: Mapping[Expr, Any], size: int) -> Any:
    """A number, or a list of as many numbers as an expression has, in place of the expression."""
    if isinstance(argument, Constant):
        return argument.array.tolist()
    if isinstance(argument, Expr):
        type = types[argument]
        if not isinstance(type, TensorType) or len(type.shape) > 1:
            raise UnsupportedError(f"{argument!r} of type {type} as an attribute, expected numbers")
        number = float(size) if "float" in type.dtype else size
        return number if not type.shape else [number] * int(type.concrete_shape[0])
    return [_sample(each, types, size) for each in argument] if expressions_in(argument) else argument


def _merged(results: Sequence[Any]) -> Any:
    """The type that has the sizes in which types agree, and unknown ones elsewhere."""
    first = results[0]
    if isinstance(first, TupleType):
        return TupleType([_merged(fields) for fields in zip(*(each.fields for each in results), strict=True)])
    shapes = [each.shape for each in results]
    if len(results) == 1 or len({len(shape) for shape in shapes}) > 1:
        return TensorType([Any_() for _ in first.shape], first.dtype)
    return TensorType(
        [sizes[0] if all(each == sizes[0] for each in sizes) else Any_() for sizes in zip(*shapes, strict=True)],
        first.dtype,
    )
