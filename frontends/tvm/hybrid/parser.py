"""Translation of hybrid functions to the statements of a `te.extern`."""

from __future__ import annotations

import ast
import inspect
import operator
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from ....core.dtypes import parse_dtype
from ....expressions.axes import thread_axis
from ....expressions.buffers import Buffer
from ....expressions.errors import TeError
from ....expressions.expr import IntImm, PrimExpr, StringImm, as_condition, as_expr, cast
from ....expressions.extern import ExternOp
from ....expressions.functions import all as every
from ....expressions.functions import any as some
from ....expressions.functions import floordiv, if_then_else
from ....expressions.statements import Assertion
from ....expressions.tensor import Tensor, location_of_user, shape_as_extents
from ..tir import functions
from ..tir.ir_builder import BufferVar, IRBuilder
from .elementwise import computed_tensor

_LOOPS = {
    "range": "serial", "serial": "serial", "unroll": "unroll", "vectorize": "vectorize", "parallel": "parallel"
}  # fmt: skip
_DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: functions.power, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_NUMBERS = {"max": max, "min": min, "abs": abs, "round": round}


def parse(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The tensor that a hybrid function computes of tensors and numbers, or a list of several."""
    return _parser_of(function).run(args)


def _parser_of(function: Callable[..., Any]) -> _Parser:
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    file = inspect.getsourcefile(function) or "?"
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    return _Parser(definition, names, lambda node: f"{file}:{first + node.lineno - 1}")


class _Local:
    """A variable that is assigned, in memory of its own."""

    def __init__(self, memory: BufferVar):
        self.memory = memory


class _Parser:
    def __init__(self, definition: ast.FunctionDef, names: Mapping[str, Any], place: Callable[[Any], str]):
        self.definition = definition
        self.names = names
        self.place = place
        self.builder = IRBuilder()
        self.scope: dict[str, Any] = {}
        self.inputs: dict[Tensor, Buffer] = {}
        self.outputs: list[Buffer] = []
        self.returned: list[Any] | None = None
        self.is_inlined = False
        named = (node for node in ast.walk(definition) if isinstance(node, ast.Name))
        self.assignments = Counter(node.id for node in named if isinstance(node.ctx, ast.Store))

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        raise TeError(f"{self.place(node)}: hybrid function {self.definition.name}: {message}")

    def bind(self, args: Sequence[Any]) -> None:
        """Gives the parameters their values."""
        params = self.definition.args.args
        if len(params) != len(args):
            self.fail(self.definition, f"{len(args)} arguments, expected {len(params)}")
        for param, arg in zip(params, args, strict=True):
            self.scope[param.arg] = self._argument(arg)

    def run(self, args: Sequence[Any]) -> Any:
        self.bind(args)
        self.statements(self.definition.body)
        if self.returned is None:
            self.fail(self.definition, "no return of its output tensors")
        for each in self.returned:
            if not isinstance(each, BufferVar) or each.buffer not in self.outputs:
                self.fail(self.definition, "a returned value is no output_tensor")
        buffers = [each.buffer for each in self.returned]
        if sorted(map(id, buffers)) != sorted(map(id, self.outputs)):
            self.fail(self.definition, "expected to return each output_tensor once")
        statements = tuple(self.builder.statements())
        if len(buffers) == 1:
            tensor = computed_tensor(self.definition.name, buffers[0], self.inputs, statements)
            if tensor is not None:
                return tensor
        shapes, kinds = tuple(each.shape for each in buffers), tuple(each.data_type for each in buffers)
        op = ExternOp(
            self.definition.name, shapes[0], kinds, location_of_user(), shapes, tuple(self.inputs),
            (*self.inputs.values(), *buffers), statements,
        )  # fmt: skip
        return op.output(0) if len(buffers) == 1 else [op.output(n) for n in range(len(buffers))]

    def _argument(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._argument(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(value, Tensor):
            return value
        if value not in self.inputs:
            self.inputs[value] = Buffer(value.name, value.shape, value.data_type)
        return BufferVar(self.builder, self.inputs[value])

    # Statements

    def statements(self, body: Sequence[ast.stmt]) -> None:
        for each in body:
            if self.returned is not None:
                self.fail(each, "a statement after the return")
            method = getattr(self, f"_{type(each).__name__}", None)
            if method is None:
                self.fail(each, f"{type(each).__name__}, expected loops, branches and assignments")
            method(each)

    def _Pass(self, node: ast.Pass) -> None:
        pass

    def _Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.fail(node, "an expression without effect")

    def _Return(self, node: ast.Return) -> None:
        if node.value is None:
            self.fail(node, "no return of its output tensors")
        value = self.value(node.value)
        self.returned = list(value) if isinstance(value, tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]

    def _Assert(self, node: ast.Assert) -> None:
        test = self.value(node.test)
        if isinstance(test, PrimExpr) and not isinstance(test, IntImm):
            message = "the assertion does not hold" if node.msg is None else str(self.value(node.msg))
            self.builder.emit(Assertion(as_condition(test), message))
        elif not self._known(node.test, test):
            self.fail(node, "the assertion does not hold")

    def _known(self, node: ast.AST, value: Any) -> Any:
        """The value of a condition that is known here."""
        constant = value.value if isinstance(value, IntImm) else value
        if isinstance(constant, PrimExpr):
            self.fail(node, "a condition that is not known when the function is called")
        return constant

    def _If(self, node: ast.If) -> None:
        test = self.value(node.test)
        if not isinstance(test, PrimExpr) or isinstance(test, IntImm):
            self.statements(node.body if self._known(node.test, test) else node.orelse)
            return
        with self.builder.if_scope(test):
            self._inside(node.body)
        if node.orelse:
            with self.builder.else_scope():
                self._inside(node.orelse)

    def _inside(self, body: Sequence[ast.stmt]) -> None:
        """Statements in a scope, whose new names are unknown after it."""
        before = dict(self.scope)
        self.statements(body)
        if self.returned is not None:
            self.fail(body[-1], "a return within a loop or a branch")
        self.scope = {name: self.scope[name] for name in before}

    def _For(self, node: ast.For) -> None:
        if not isinstance(node.iter, ast.Call) or not isinstance(node.iter.func, ast.Name):
            self.fail(node, "expected a loop over range(...)")
        if not isinstance(node.target, ast.Name) or node.orelse:
            self.fail(node, "expected a loop with one variable and without else")
        kind, args = node.iter.func.id, [self.value(arg) for arg in node.iter.args]
        if kind == "bind" and len(args) == 2:
            self._thread(node, node.target.id, args)
            return
        if kind not in (*_LOOPS, "const_range") or len(args) not in (1, 2):
            self.fail(node, f"expected a loop over {', '.join(_LOOPS)}, const_range of one or two bounds, or bind")
        low, high = (0, args[0]) if len(args) == 1 else args
        if kind == "const_range":
            first, last = (int(self._known(node, bound)) for bound in (low, high))
            for number in range(first, last):
                self.scope[node.target.id] = number
                self._inside(node.body)
            self.scope.pop(node.target.id, None)
            return
        with self.builder.for_range(low, high, node.target.id, kind=_LOOPS[kind]) as variable:
            self._loop(node.target.id, variable, node.body)

    def _loop(self, name: str, variable: PrimExpr, body: Sequence[ast.stmt]) -> None:
        before = dict(self.scope)
        self.scope[name] = variable
        self._inside(body)
        self.scope = before

    def _thread(self, node: ast.For, name: str, args: Sequence[Any]) -> None:
        tag = args[0].value if isinstance(args[0], StringImm) else args[0]
        axis = thread_axis((0, args[1]), tag)
        with self.builder.thread_scope(axis, args[1]):
            self._loop(name, axis.var, node.body)

    def _Assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            self.fail(node, "expected one target")
        self._assign(node, node.targets[0], self.value(node.value))

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.fail(node, "expected a value")
        self._assign(node, node.target, self.value(node.value))

    def _AugAssign(self, node: ast.AugAssign) -> None:
        old = self.value(_as_load(node.target))
        self._assign(node, node.target, self._binary(node.op, old, self.value(node.value)))

    def _assign(self, node: ast.stmt, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Subscript):
            memory, index = self._subscript(target)
            if not isinstance(memory, BufferVar):
                self.fail(node, "expected a store to an element of a tensor")
            memory[index] = self._converted(node, value, memory)
            return
        if not isinstance(target, ast.Name):
            self.fail(node, f"assignment to {type(target).__name__}, expected a name or an element")
        is_constant = isinstance(value, int) and self.assignments[target.id] == 1
        if is_constant or isinstance(value, BufferVar | list | tuple) or not isinstance(value, PrimExpr | int | float):
            self.scope[target.id] = value
            return
        known = self.scope.get(target.id)
        if not isinstance(known, _Local):
            expr = as_expr(value)
            known = _Local(self.builder.allocate(expr.dtype, (1,), target.id, scope="local"))
            self.scope[target.id] = known
        known.memory[0] = self._converted(node, value, known.memory)

    def _converted(self, node: ast.stmt, value: Any, memory: BufferVar) -> PrimExpr:
        """A value in the data type of memory; a float is not rounded to an integer."""
        what = f"for {memory.buffer.name} of {memory.dtype}"
        if isinstance(value, BufferVar | tuple | list):
            self.fail(node, f"a tensor {what}, expected a number")
        expr = as_expr(value, memory.buffer.data_type)
        if expr.data_type.is_float and not memory.buffer.data_type.is_float:
            self.fail(node, f"a value of {expr.dtype} {what}, expected an integer")
        return cast(memory.dtype, expr)

    # Expressions

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node)
            case ast.Tuple() | ast.List():
                return tuple(self.value(each) for each in node.elts)
            case ast.BinOp():
                return self._binary(node.op, self.value(node.left), self.value(node.right))
            case ast.UnaryOp(op=ast.Not()):
                value = self.value(node.operand)
                return functions.bitwise_not(as_condition(value)) if isinstance(value, PrimExpr) else not value
            case ast.UnaryOp():
                return _OPERATORS[type(node.op)](self.value(node.operand))
            case ast.Compare():
                return self._compare(node)
            case ast.BoolOp():
                return self._logical(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Subscript():
                memory, index = self._subscript(node)
                return memory[index]
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case _:
                self.fail(node, f"{type(node).__name__} in an expression")

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.scope:
            value = self.scope[node.id]
            return value.memory[0] if isinstance(value, _Local) else value
        if node.id in self.names and isinstance(self.names[node.id], int | float | str | PrimExpr | tuple | list):
            return self.names[node.id]
        self.fail(node, f"name {node.id!r} is not defined here")

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        both_integers = all(_is_integer(each) for each in (left, right))
        if isinstance(op, ast.Div) and both_integers and any(isinstance(each, PrimExpr) for each in (left, right)):
            return functions.truncdiv(left, right)
        return _OPERATORS[type(op)](left, right)

    def _compare(self, node: ast.Compare) -> Any:
        values = [self.value(each) for each in (node.left, *node.comparators)]
        pairs = zip(node.ops, values, values[1:], strict=False)
        parts = [self._comparison(node, op, left, right) for op, left, right in pairs]
        return _combine(parts, every, all)

    def _comparison(self, node: ast.AST, op: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Eq | ast.NotEq):
            if not any(isinstance(each, PrimExpr) for each in (left, right)):
                return (left == right) == isinstance(op, ast.Eq)
            equal = as_expr(left).equal(right)
            return equal if isinstance(op, ast.Eq) else functions.bitwise_not(equal)
        if type(op) not in _OPERATORS:
            self.fail(node, f"comparison {type(op).__name__}")
        return _OPERATORS[type(op)](left, right)

    def _logical(self, node: ast.BoolOp) -> Any:
        values = [self.value(each) for each in node.values]
        is_and = isinstance(node.op, ast.And)
        return _combine(values, every if is_and else some, all if is_and else any)

    def _choice(self, node: ast.IfExp) -> Any:
        test = self.value(node.test)
        if not isinstance(test, PrimExpr) or isinstance(test, IntImm):
            return self.value(node.body if self._known(node, test) else node.orelse)
        return if_then_else(as_condition(test), self.value(node.body), self.value(node.orelse))

    def _subscript(self, node: ast.Subscript) -> tuple[Any, Any]:
        """The memory, or the list, and the index of an element; `a[i][j]` is `a[i, j]`."""
        index = self.value(node.slice)
        indices = index if isinstance(index, tuple) else (index,)
        if isinstance(node.value, ast.Subscript):
            base, outer = self._subscript(node.value)
            if isinstance(base, BufferVar):
                return base, (*outer, *indices)
            base = base[outer]
        else:
            base = self.value(node.value)
        if isinstance(base, BufferVar):
            return base, indices
        for index in indices[:-1]:
            base = self._items(node, base)[int(self._known(node, index))]
        return self._items(node, base), int(self._known(node, indices[-1]))

    def _items(self, node: ast.AST, value: Any) -> Sequence[Any]:
        if not isinstance(value, list | tuple):
            self.fail(node, "expected an element of a tensor or of a list")
        return value  # pyright: ignore[reportUnknownVariableType]

    def _attribute(self, node: ast.Attribute) -> Any:
        base = self.value(node.value)
        if isinstance(base, BufferVar) and node.attr in ("shape", "dtype"):
            return tuple(base.buffer.shape) if node.attr == "shape" else base.dtype
        self.fail(node, f"attribute {node.attr!r}, expected shape or dtype of a tensor")

    def _call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name):
            self.fail(node, "call of a method")
        name, args = node.func.id, [self.value(arg) for arg in node.args]
        named = {each.arg: self.value(each.value) for each in node.keywords if each.arg is not None}
        if name in ("output_tensor", "allocate"):
            return self._memory(node, name, *args, **named)
        if named:
            self.fail(node, f"{name} with arguments by name")
        if name == "len" and len(args) == 1:
            return args[0].buffer.shape[0] if isinstance(args[0], BufferVar) else len(args[0])
        if name in _DTYPES and len(args) == 1:
            return cast(name, as_expr(args[0]))
        if name == "ceil_div" and len(args) == 2:
            return floordiv(as_expr(args[0]) + (as_expr(args[1]) - 1), args[1])
        if name in _NUMBERS and not any(isinstance(arg, PrimExpr) for arg in args):
            return _NUMBERS[name](*args)
        if name == "likely" or name in functions.__all__:
            return getattr(functions, name)(*args)
        if (function := getattr(self.names.get(name), "hybrid_function", None)) is not None:
            return self._inlined(function, args)
        self.fail(node, f"call of {name!r}, expected a function of tvm.tir or a hybrid one, output_tensor or allocate")

    def _inlined(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """The results of another hybrid function, whose statements become those of this one, and whose output tensors
        are memory of it."""
        callee = _parser_of(function)
        callee.builder, callee.is_inlined = self.builder, True
        callee.bind(args)
        callee.statements(callee.definition.body)
        if callee.returned is None:
            callee.fail(callee.definition, "no return of its output tensors")
        return callee.returned[0] if len(callee.returned) == 1 else tuple(callee.returned)

    def _memory(
        self, node: ast.Call, kind: str, shape: Any, dtype: str = "float32", scope: str = "global"
    ) -> BufferVar:
        extents = shape_as_extents(shape if isinstance(shape, tuple) else (shape,), kind)
        if kind == "allocate" or self.is_inlined:
            return self.builder.allocate(dtype, extents, f"buffer_{node.lineno}", scope=scope)
        buffer = Buffer(f"{self.definition.name}_{len(self.outputs)}", extents, parse_dtype(dtype))
        self.outputs.append(buffer)
        return BufferVar(self.builder, buffer)


def _is_integer(value: Any) -> bool:
    return value.data_type.is_int if isinstance(value, PrimExpr) else isinstance(value, int)


def _combine(values: Sequence[Any], ours: Callable[..., Any], known: Callable[[Sequence[Any]], bool]) -> Any:
    if any(isinstance(each, PrimExpr) for each in values):
        return ours(*(as_condition(each) for each in values))
    return known(values)


def _as_load(target: ast.expr) -> ast.expr:
    """The expression that reads the target of an assignment."""
    return ast.parse(ast.unparse(target), mode="eval").body
