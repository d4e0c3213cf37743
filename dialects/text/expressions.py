"""Reconstruction of expression trees from SSA values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, MemRefType, StringAttr, VectorType, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...core.comparisons import predicate_of
from ...core.dtypes import DType, dtype_of, int_range, mlir_type, wrap_int
from ...core.errors import UnsupportedError
from ..extensions import scalar_operation
from ..tir import (
    BINARY_NAMES,
    UNARY_NAMES,
    AccessPtrOp,
    AddressOfOp,
    BufferDataOp,
    CallExternOp,
    CallIntrinOp,
    CallLlvmOp,
    CallOp,
    CallPackedOp,
    CastOp,
    CommReducerOp,
    ConstOp,
    IfThenElseOp,
    IntrinsicOp,
    LetOp,
    LoadOp,
    Mixed,
    RampOp,
    ReinterpretOp,
    ShuffleOp,
    StoreOp,
    YieldOp,
    comparison_name,
)
from ..tir.tree import is_expression_op
from .extensions import operation_call
from .folding import ConstantValues, operand_dtype, tvmscript_unsupported_error
from .literals import dtype_literal, number_literal, string_literal, type_text
from .names import Callees, IdentifierScope, source_name
from .placement import values_to_name
from .styles import Style
from .trees import (
    ADD,
    AND,
    ATOM,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    COMPARE,
    MAX_SIZE,
    MULTIPLY,
    NOT,
    OR,
    SHIFT,
    UNARY,
    PrintedExpression,
    call,
    compose_expression,
)

_OPERATORS: dict[str, tuple[str, int]] = {
    "add": ("+", ADD),
    "sub": ("-", ADD),
    "mul": ("*", MULTIPLY),
    "div": ("/", MULTIPLY),
    "floordiv": ("//", MULTIPLY),
    "floormod": ("%", MULTIPLY),
    "and": ("&", BIT_AND),
    "or": ("|", BIT_OR),
    "xor": ("^", BIT_XOR),
    "shl": ("<<", SHIFT),
    "shr": (">>", SHIFT),
}
_LOGIC: dict[str, tuple[str, int]] = {"and": ("and", AND), "or": ("or", OR)}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FUNCTIONS = {
    "truncdiv": "T.Div",
    "truncmod": "T.truncmod",
    "min": "T.min",
    "max": "T.max",
    "pow": "T.pow",
    "atan2": "T.atan2",
    "copysign": "T.copysign",
}
_CONSTRUCTORS = {
    "add": "T.Add",
    "sub": "T.Sub",
    "mul": "T.Mul",
    "div": "T.Div",
    "floordiv": "T.FloorDiv",
    "floormod": "T.FloorMod",
}
_NEUTRAL: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "add": ((0,), (0,)),
    "sub": ((), (0,)),
    "mul": ((0, 1), (0, 1)),
    "div": ((0,), (0, 1)),
    "floordiv": ((0,), (0, 1)),
    "floormod": ((0,), (0, 1)),
}
"""The left and right operands for which TVM folds or rejects the infix operator."""

_FLOAT_COMPARISONS: dict[str, tuple[str, int]] = {
    "ult": ("not {l} >= {r}", NOT),
    "ule": ("not {l} > {r}", NOT),
    "ugt": ("not {l} <= {r}", NOT),
    "uge": ("not {l} < {r}", NOT),
    "one": ("{l} < {r} or {l} > {r}", OR),
    "ueq": ("not ({l} < {r} or {l} > {r})", NOT),
    "ord": ("{l} == {l} and {r} == {r}", AND),
    "uno": ("{l} != {l} or {r} != {r}", OR),
}
"""Float comparisons that TIR lacks, expressed by TIR's comparisons; operands are printed as operands of a
comparison."""

_TYPED_BUILTINS = ("tvm_struct_get",)
"""The builtins whose last argument is the result type."""

_C_FUNCTIONS: dict[type[Operation], str] = {math.CbrtOp: "cbrt", math.ExpM1Op: "expm1", math.RoundOp: "round"}
"""The C functions of ops without a counterpart in TIR, whose T.round rounds half to even."""


Builder = Callable[["ExpressionPrinter", Any], PrintedExpression]
BuilderT = TypeVar("BuilderT", bound=Builder)

_BUILDERS: dict[type[Operation], Builder] = {
    math.FmaOp: lambda e, op: call("T.fma", *(e[v] for v in op.operands)),
    ReinterpretOp: lambda e, op: call("T.reinterpret", dtype_literal(op.result.type), e[op.value]),
    RampOp: lambda e, op: call("T.Ramp", e[op.base], e[op.stride], str(op.lanes)),
    IntrinsicOp: lambda e, op: call(f"T.{op.intrinsic.data}", *(e[v] for v in op.args)),
    BufferDataOp: lambda e, op: PrintedExpression(f"{e[op.buffer].text}.data"),
}


def _builds(op: type[Operation]) -> Callable[[BuilderT], BuilderT]:
    """Registers the builder of the expressions of an op."""

    def register(builder: BuilderT) -> BuilderT:
        _BUILDERS[op] = builder
        return builder

    return register


class ExpressionPrinter:
    """The expressions of the values of a function during printing.

    callees: the functions of the module.  emit: adds a line before the statement that is being printed.
    """

    def __init__(self, style: Style, names: IdentifierScope, callees: Callees, emit: Callable[[str], None]):
        self.style = style
        self.callees = callees
        self.names = names
        self.emit = emit
        self._printed: dict[SSAValue, PrintedExpression] = {}
        self._named: set[SSAValue] = set()
        self._numbers = ConstantValues()

    # Values

    def __getitem__(self, value: SSAValue) -> PrintedExpression:
        """The expression to print at a use of `value`."""
        if value not in self._printed:
            self._resolve(value)
        return self._printed[value]

    def bind(self, value: SSAValue, text: str) -> None:
        """Binds `value` to `text`, a name: later uses of `value` are printed as `text`."""
        self._printed[value] = PrintedExpression(text)
        self._named.add(value)

    def define(self, value: SSAValue, hint: str | None = None) -> str:
        """Binds `value` to a new name. Returns the name."""
        name = self.names.define(hint or source_name(value) or value.name_hint or "t")
        self.bind(value, name)
        return name

    def add(self, op: Operation) -> PrintedExpression:
        """Builds the expression of `op` from the expressions of its operands."""
        (value,) = op.results
        self._printed[value] = expression = self._build(op)
        return expression

    def _resolve(self, value: SSAValue) -> None:
        """Builds the expression of `value` and of its operands, for a value that is printed outside of its function."""
        stack = [value]
        while stack:
            owner, name = stack[-1].owner, source_name(stack[-1])
            if name is not None or isinstance(owner, Block):
                self.bind(stack.pop(), name or "_")
                continue
            inputs = [v for v in owner.operands if v not in self._printed]
            if inputs:
                stack += inputs
            else:
                stack.pop()
                if is_expression_op(owner):
                    self.add(owner)
                else:
                    self.bind(owner.results[0], owner.results[0].name_hint or "_")

    def _build(self, op: Operation) -> PrintedExpression:
        known = self.folded_constant(op.results[0])
        if known is not None:
            return self.constant(known, dtype_of(op.results[0].type))
        if type(op) in _BUILDERS:
            return _BUILDERS[type(op)](self, op)
        if (name := BINARY_NAMES.get(type(op))) is not None:
            return self._binary(op, name)
        if (name := _C_FUNCTIONS.get(type(op))) is not None:
            return self._c_function(name, op.operands[0])
        if (name := UNARY_NAMES.get(type(op))) is not None:
            return self._unary(op, name)
        if scalar_operation(op) is not None:
            return operation_call(op, self.__getitem__)
        raise tvmscript_unsupported_error(op)

    def folded_constant(self, value: SSAValue) -> int | float | None:
        """The constant value of `value`, or None."""
        return self._numbers[value]

    # Parts

    def constant(self, value: int | float, dtype: DType) -> PrintedExpression:
        text = number_literal(value, dtype, self.style)
        return PrintedExpression(text, UNARY if text.startswith("-") else ATOM)

    def mixed_expression(self, value: Mixed, type: Attribute = i32) -> PrintedExpression:
        """The expression of a number of type `type`, or of a value."""
        return self.constant(value, dtype_of(type)) if isinstance(value, int) else self[value]

    def sum(self, low: Mixed, extent: Mixed, type: Attribute = i32) -> PrintedExpression:
        """The expression `low + extent`, folded if both are constant."""
        a = low if isinstance(low, int) else self.folded_constant(low)
        b = extent if isinstance(extent, int) else self.folded_constant(extent)
        if isinstance(a, int) and isinstance(b, int):
            return self.constant(wrap_int(a + b, dtype_of(type)), dtype_of(type))
        if a == 0:
            return self.mixed_expression(extent, type)
        left, right = self.mixed_expression(low, type), self.mixed_expression(extent, type)
        return compose_expression(f"{left.at(ADD)} + {right.at(ADD + 1)}", ADD, (left, right))

    def sequence(self, values: Sequence[Mixed], type: Attribute = i32) -> str:
        """The text of a tuple: `(8, n)`, `(8,)`, `()`."""
        texts = [self.mixed_expression(v, type).text for v in values]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def box(self, buffer: SSAValue, region: Sequence[tuple[Mixed, Mixed]]) -> str:
        """The text of a region, a list of (minimum, extent), of a buffer: `A[i, j:j + 3]`."""
        return f"{self[buffer].text}[{', '.join(self._box_dim(*dim) for dim in region) or '()'}]"

    def _box_dim(self, low: Mixed, extent: Mixed) -> str:
        type = next((v.type for v in (low, extent) if not isinstance(v, int)), i32)
        start = self.mixed_expression(low, type)
        if (extent if isinstance(extent, int) else self.folded_constant(extent)) == 1:
            return start.text
        return f"{start.text}:{self.sum(low, extent, type).text}"

    def element(self, buffer: SSAValue, indices: Sequence[SSAValue], slices: bool = True) -> PrintedExpression:
        """The expression of an element, `A[i, 0:4]`; without slices `A[i, T.Ramp(0, 1, 4)]`."""
        last = len(indices) - 1
        parts = [self._index(index) if slices and n == last else self[index] for n, index in enumerate(indices)]
        return compose_expression(f"{self[buffer].text}[{', '.join(p.text for p in parts) or '()'}]", ATOM, parts)

    def _index(self, index: SSAValue) -> PrintedExpression:
        ramp = index.owner
        if not isinstance(ramp, RampOp) or index in self._named:
            return self[index]
        stride, start = self.folded_constant(ramp.stride), self[ramp.base]
        if not isinstance(stride, int) or stride <= 0 or start.size > MAX_SIZE:
            return self[index]
        stop = self.sum(ramp.base, ramp.lanes * stride, ramp.base.type)
        step = "" if stride == 1 else f":{stride}"
        return compose_expression(f"{start.text}:{stop.text}{step}", ATOM, (start, stop))

    def argument(self, value: SSAValue) -> PrintedExpression:
        """The expression of `value` as an argument of a call: for a buffer, its data pointer."""
        expression = self[value]
        return PrintedExpression(f"{expression.text}.data") if isinstance(value.type, MemRefType) else expression

    # Operators

    def _infix(
        self, operator: str, precedence: int, left: PrintedExpression, right: PrintedExpression
    ) -> PrintedExpression:
        # Comparisons are not associative: unparenthesized operands would form a chained comparison.
        low = precedence + 1 if precedence == COMPARE else precedence
        return compose_expression(f"{left.at(low)} {operator} {right.at(precedence + 1)}", precedence, (left, right))

    def _operands(self, op: Operation) -> tuple[list[PrintedExpression], DType | None]:
        """The operands of `op` and the type that they are cast to, None if no cast is required."""
        dtype = operand_dtype(op)
        operands = [self[v] for v in op.operands]
        return ([_cast(o, dtype) for o in operands] if dtype is not None else operands), dtype

    def _binary(self, op: Operation, name: str) -> PrintedExpression:
        (left, right), converted = self._operands(op)
        expression = self._operator(op, name, left, right)
        return expression if converted is None else _cast(expression, dtype_of(op.results[0].type))

    def _operator(
        self, op: Operation, name: str, left: PrintedExpression, right: PrintedExpression
    ) -> PrintedExpression:
        dtype = dtype_of(op.results[0].type)
        if name == "xor" and (inverted := self._inversion(op, dtype)) is not None:
            return inverted
        if self._is_neutral(name, op):
            return call(_CONSTRUCTORS[name], left, right)
        if dtype.is_bool and dtype.lanes == 1 and name in _LOGIC:
            return self._infix(*_LOGIC[name], left, right)
        if name in _OPERATORS:
            return self._infix(*_OPERATORS[name], left, right)
        return call(_FUNCTIONS[name], left, right)

    def _is_neutral(self, name: str, op: Operation) -> bool:
        if not self.style.spells_neutral or name not in _NEUTRAL:
            return False
        return any(self.folded_constant(v) in numbers for v, numbers in zip(op.operands, _NEUTRAL[name], strict=True))

    def _inversion(self, op: Operation, dtype: DType) -> PrintedExpression | None:
        """The expression `not x` or `~x` of an exclusive or with all ones, or None."""
        ones = -1 if dtype.kind == "int" else int_range(dtype)[1]
        if self.folded_constant(op.operands[1]) != ones:
            return None
        value = self[op.operands[0]]
        if dtype.is_bool and dtype.lanes == 1:
            return compose_expression(f"not {value.at(NOT)}", NOT, (value,))
        return compose_expression(f"~{value.at(UNARY)}", UNARY, (value,))

    @_builds(arith.CmpiOp)
    def _compare_integers(self, op: arith.CmpiOp) -> PrintedExpression:
        (left, right), _ = self._operands(op)
        name = comparison_name(op)
        assert name is not None
        return self._infix(_COMPARISONS[name], COMPARE, left, right)

    @_builds(arith.CmpfOp)
    def _compare_floats(self, op: arith.CmpfOp) -> PrintedExpression:
        left, right = self[op.lhs], self[op.rhs]
        name = comparison_name(op)
        if name is not None:
            return self._infix(_COMPARISONS[name], COMPARE, left, right)
        predicate = predicate_of(op)
        if predicate not in _FLOAT_COMPARISONS:
            raise tvmscript_unsupported_error(op)
        template, precedence = _FLOAT_COMPARISONS[predicate]
        text = template.format(l=left.at(COMPARE + 1), r=right.at(COMPARE + 1))
        return compose_expression(text, precedence, (left, right, left, right))

    def _unary(self, op: Operation, name: str) -> PrintedExpression:
        (value,) = op.operands
        dtype = dtype_of(value.type)
        if name == "neg":
            return self._infix("*", MULTIPLY, self[value], self.constant(-1.0, dtype))
        if name == "clz":
            clz = self._clz(value)
            return clz if dtype.bits == 32 else _cast(clz, dtype)
        return call("T.fabs" if name == "abs" and dtype.is_float else f"T.{name}", self[value])

    def _clz(self, value: SSAValue) -> PrintedExpression:
        """The expression of the number of leading zeros, an int32."""
        if dtype_of(value.type).lanes != 1 and not self.style.has_vector_clz:
            raise UnsupportedError(f"TVMScript of TVM {self.style.name} has no T.clz of vectors")
        return call("T.clz", self[value])

    def _c_function(self, name: str, value: SSAValue) -> PrintedExpression:
        dtype = dtype_of(value.type)
        if dtype.lanes != 1:
            raise tvmscript_unsupported_error(value.owner)
        if dtype.name == "float64":
            return call("T.call_pure_extern", '"float64"', string_literal(name), self[value])
        argument = self[value] if dtype.name == "float32" else _cast(self[value], DType("float", 32))
        result = call("T.call_pure_extern", '"float32"', string_literal(f"{name}f"), argument)
        return result if dtype.name == "float32" else _cast(result, dtype)

    # Ops

    @_builds(arith.ConstantOp)
    def _constant(self, op: arith.ConstantOp) -> PrintedExpression:
        if not isinstance(op.value, DenseIntOrFPElementsAttr) or not isinstance(op.result.type, VectorType):
            raise tvmscript_unsupported_error(op)
        dtype = dtype_of(op.result.type)
        values: list[Any] = list(op.value.get_values())
        numbers = [self.constant(v, dtype.scalar) for v in values]
        if len({n.text for n in numbers}) == 1:
            return call("T.Broadcast", numbers[0], str(dtype.lanes))
        texts = ", ".join(n.text for n in numbers)
        return compose_expression(f"T.Shuffle([{texts}], {list(range(len(numbers)))})", ATOM, numbers)

    @_builds(ConstOp)
    def _const(self, op: ConstOp) -> PrintedExpression:
        if isinstance(op.value, StringAttr):
            return PrintedExpression(string_literal(op.value.data))
        assert isinstance(op.value, IntegerAttr)
        return self.constant(op.value.value.data, dtype_of(op.result.type))

    @_builds(CastOp)
    def _cast_op(self, op: CastOp) -> PrintedExpression:
        source = op.value.owner
        if isinstance(source, math.CountLeadingZerosOp) and op.value not in self._named:
            dtype = dtype_of(op.result.type)
            if dtype.scalar == DType("int", 32):
                return self._clz(source.operands[0])
        return _cast(self[op.value], dtype_of(op.result.type))

    @_builds(arith.SelectOp)
    def _select(self, op: arith.SelectOp) -> PrintedExpression:
        return call("T.Select", self[op.cond], self[op.lhs], self[op.rhs])

    @_builds(IfThenElseOp)
    def _if_then_else(self, op: IfThenElseOp) -> PrintedExpression:
        condition = self[op.condition]
        then, orelse = self.region(op.then.block), self.region(op.orelse.block)
        if op.result.type == mlir_type("bool"):
            if self._numbers.yield_value(op.orelse.block) == 0:
                return self._infix("and", AND, condition, then)
            if self._numbers.yield_value(op.then.block) == 1:
                return self._infix("or", OR, condition, orelse)
        return call("T.if_then_else", condition, then, orelse)

    @_builds(CommReducerOp)
    def _comm_reducer(self, op: CommReducerOp) -> PrintedExpression:
        identity = self[op.identity].text
        with self.names.scope():
            x, y = (self.define(value, name) for value, name in zip(op.combiner.block.args, "xy", strict=True))
            body = self.region(op.combiner.block).text
        return call("T.comm_reducer", f"lambda {x}, {y}: {body}", f"[{identity}]")

    def region(self, block: Block) -> PrintedExpression:
        """The expression that a region yields; values of the region that must be named are bound by `T.Let`."""
        named = values_to_name(block)
        lets: list[tuple[str, PrintedExpression]] = []
        result: PrintedExpression | None = None
        for op in block.ops:
            if isinstance(op, YieldOp):
                result = self[op.value]
            elif isinstance(op, LetOp):
                lets.append((self._declare(op.result), self[op.value]))
            elif is_expression_op(op):
                expression = self.add(op)
                if op.results[0] in named:
                    lets.append((self._declare(op.results[0]), expression))
            else:
                raise UnsupportedError(f"{op.name} inside an expression has no form in TVMScript")
        assert result is not None
        for name, value in reversed(lets):
            text = f"T.Let({result.text}, where={{{name}: {value.text}}})"
            result = compose_expression(text, ATOM, (result, value))
        return result

    def _declare(self, value: SSAValue) -> str:
        name = self.define(value)
        self.emit(f"{name} = {type_text(value.type, self.style)}()")
        return name

    @_builds(vector.BroadcastOp)
    def _broadcast(self, op: vector.BroadcastOp) -> PrintedExpression:
        return call("T.Broadcast", self[op.source], str(dtype_of(op.results[0].type).lanes))

    @_builds(ShuffleOp)
    def _shuffle(self, op: ShuffleOp) -> PrintedExpression:
        vectors = [self[v] for v in op.vectors]
        texts = ", ".join(v.text for v in vectors)
        return compose_expression(f"T.Shuffle([{texts}], {list(op.lane_indices)})", ATOM, vectors)

    @_builds(LoadOp)
    def _load(self, op: LoadOp) -> PrintedExpression:
        element = self.element(op.buffer, op.indices, self.style.has_vector_slices)
        if not self.is_conditional(op) or op.predicate is None:
            return element
        return compose_expression(
            f"{self[op.buffer].text}.vload({self.predicated_arguments(op)})", ATOM, (element, self[op.predicate])
        )

    def is_conditional(self, op: LoadOp | StoreOp) -> bool:
        """Whether a vector access has a predicate other than the constant true, which is not printed."""
        return op.predicate is not None and self.folded_constant(op.predicate) != 1

    def predicated_arguments(self, op: Any, *values: str) -> str:
        """The text of the arguments of `vload` and `vstore`: indices, `values`, predicate."""
        if not self.style.has_predicates:
            raise UnsupportedError(
                f"TVMScript of TVM {self.style.name} has no predicates on vector accesses ({op.name})"
            )
        indices = ", ".join(self[i].text for i in op.indices)
        return ", ".join([f"[{indices}]", *values, f"predicate={self[op.predicate].text}"])

    @_builds(AddressOfOp)
    def _address_of(self, op: AddressOfOp) -> PrintedExpression:
        return call("T.address_of", self.element(op.buffer, op.indices))

    @_builds(AccessPtrOp)
    def _access_ptr(self, op: AccessPtrOp) -> PrintedExpression:
        element = call("T.type_annotation", dtype_literal(op.pointer.type.element))
        return call(
            "T.tvm_access_ptr", element, self[op.data], self[op.offset], self[op.extent], str(op.access.value.data)
        )

    # Calls, as expressions and as statements

    def call_expression(self, op: Operation) -> PrintedExpression:
        """The expression of a call op, with or without a result."""
        return _BUILDERS[type(op)](self, op)

    def _arguments(self, op: CallOp | CallExternOp) -> list[PrintedExpression]:
        return [self.argument(v) for v in op.args]

    @_builds(CallOp)
    def _call(self, op: CallOp) -> PrintedExpression:
        return call(self.callees.path(op.callee.string_value()), *self._arguments(op))

    @_builds(CallExternOp)
    def _call_extern(self, op: CallExternOp) -> PrintedExpression:
        type = op.result.type if op.result is not None else None
        function = "T.call_extern" if op.pure is None else "T.call_pure_extern"
        return call(function, dtype_literal(type), string_literal(op.callee.data), *self._arguments(op))

    @_builds(CallPackedOp)
    def _call_packed(self, op: CallPackedOp) -> PrintedExpression:
        name, arguments = string_literal(op.callee.data), [self[v] for v in op.args]
        if op.result is None or op.result.type == i32:
            return call("T.call_packed", name, *arguments)
        return call(
            "T.call_intrin", dtype_literal(op.result.type), string_literal("tir.tvm_call_packed"), name, *arguments
        )

    @_builds(CallLlvmOp)
    def _call_llvm(self, op: CallLlvmOp) -> PrintedExpression:
        name, arguments = string_literal(op.intrinsic.data), [self[v] for v in op.args]
        return call("T.call_llvm_pure_intrin", dtype_literal(op.result.type), name, *arguments)

    @_builds(CallIntrinOp)
    def _call_intrin(self, op: CallIntrinOp) -> PrintedExpression:
        name, arguments = op.intrinsic.data, [self.argument(v) for v in op.args]
        if name == "undef" and op.result is not None and op.result.type != i32:
            return call("T.undef", f"dtype={dtype_literal(op.result.type)}")
        if op.result is not None and name in _TYPED_BUILTINS:
            return call(f"T.{name}", *arguments, dtype_literal(op.result.type))
        return call(f"T.{name}", *arguments)


def _cast(value: PrintedExpression, dtype: DType) -> PrintedExpression:
    return call("T.Cast", string_literal(dtype.name), value)
