"""Conversion of graphs to a narrower data type where results stay useful: `ToMixedPrecision`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.dtypes import is_float_dtype, max_value, numpy_dtype, parse_dtype
from ....core.errors import OptionError
from ....operators import Operator
from ...relay.expr import Call, Constant, Expr, Function, FunctionCall, If, Let, Tuple, TupleGetItem, Var
from ...relay.expr import call as new_call
from ...relay.functor import ExprMutator
from ...relay.types import TensorType, TupleType
from .types import type_call

Precision = Callable[[Call, str], tuple[int, str, str]]
"""A function from a call and the narrow data type to the category, and the data types of the sums and of the result."""

MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = range(3)
"""The categories of operators: computed in the narrow data type always, if all operands are narrow, or never."""

DEFAULT_ALWAYS_LIST = [
    *(f"nn.conv{rank}d{kind}" for kind in ("", "_transpose") for rank in (1, 2, 3)),
    "nn.dense",
    "nn.batch_matmul",
]
DEFAULT_FOLLOW_LIST = [
    *("nn.pad", "nn.batch_flatten", "concatenate", "zeros", "split", "squeeze", "transpose", "expand_dims", "reshape"),
    *("strided_slice", "take", "where", "tile", "scatter_elements", "scatter_nd", "full", "nn.depth_to_space"),
    *("less", "greater", "less_equal", "greater_equal", "copy", "cast", "add", "subtract", "multiply", "divide"),
    *("nn.bias_add", "nn.batch_norm", "sqrt", "max", "min", "maximum", "minimum", "argmax", "argmin", "nn.relu"),
    *("nn.leaky_relu", "nn.prelu", "nn.dropout", "sigmoid", "tanh", "clip", "image.resize2d", "nn.global_max_pool2d"),
    *(f"nn.{kind}_pool{rank}d" for kind in ("max", "avg", "adaptive_max") for rank in (1, 2, 3)),
]
DEFAULT_NEVER_LIST = [
    *("exp", "power", "nn.softmax", "nn.l2_normalize", "erf", "arange", "nn.global_avg_pool2d", "sum", "mean"),
    *("variance", "nn.layer_norm", *(f"nn.adaptive_avg_pool{rank}d" for rank in (1, 2, 3))),
]
"""The categories of TVM 0.16."""

RULES: dict[str, Precision] = {}
"""The functions that operators have, by name."""


def precision(name: str) -> Callable[[Precision], Precision]:
    """Decorates the function of an operator."""

    def register(function: Precision) -> Precision:
        RULES[name] = function
        return function

    return register


def _constant(category: int) -> Precision:
    return lambda node, dtype: (category, dtype, dtype)


for _category, _names in enumerate((DEFAULT_ALWAYS_LIST, DEFAULT_FOLLOW_LIST, DEFAULT_NEVER_LIST)):
    RULES.update(dict.fromkeys(_names, _constant(_category)))


def convert_precision(func: Function, dtype: str, keeps_results: bool, is_strict: bool) -> Function:
    """A typed graph with products in another data type.

    keeps_results: whether results keep their data types.  is_strict: whether an operator without a rule is an error.
    OptionError for such an operator, and for a data type other than floats.
    """
    if not parse_dtype(dtype).is_float:
        raise OptionError(f"ToMixedPrecision: {dtype!r}, expected floats")
    conversion = _Conversion(dtype, is_strict)
    body = conversion.visit(func.body)
    if keeps_results:
        body = _with_types(conversion, body, func.body.checked_type)
    return Function(func.params, body, type_params=func.type_params, attrs=func.attrs)


def _with_types(conversion: _Conversion, value: Expr, type: Any) -> Expr:
    """A value with the data types of another type."""
    if isinstance(type, TupleType):
        parts = [conversion.field(value, n) for n in range(len(type.fields))]
        return Tuple([_with_types(conversion, part, each) for part, each in zip(parts, type.fields, strict=True)])
    return conversion.cast(value, type.dtype)


def _is_float(type: Any) -> bool:
    return isinstance(type, TensorType) and is_float_dtype(numpy_dtype(type.dtype))


class _Conversion(ExprMutator):
    """Converts expressions; each new expression has its type.

    casts: the conversions so far, by their operand and data type; the operand of a conversion is that of its result.
    """

    def __init__(self, dtype: str, is_strict: bool):
        super().__init__()
        self.dtype = dtype
        self.is_strict = is_strict
        self.casts: dict[tuple[Expr, str], Expr] = {}

    def cast(self, value: Expr, dtype: str) -> Expr:
        """A value with floats of a data type; each field of a tuple."""
        type = value.checked_type
        if isinstance(type, TupleType):
            parts = [self.field(value, n) for n in range(len(type.fields))]
            wanted = [self.cast(part, dtype) for part in parts]
            return value if wanted == parts else Tuple(wanted)
        if not _is_float(type) or type.dtype == dtype:
            return value
        if (value, dtype) not in self.casts:
            result = type_call(new_call("cast", value, dtype=dtype))
            self.casts[value, dtype] = result
            self.casts[result, type.dtype] = value
        return self.casts[value, dtype]

    def field(self, value: Expr, index: int) -> Expr:
        """A field of a tuple."""
        if isinstance(value, Tuple):
            return value.fields[index]
        result = TupleGetItem(value, index)
        result.known_type = value.checked_type.fields[index]
        return result

    # Expressions

    def visit_call(self, call: Call) -> Expr:
        if isinstance(call, FunctionCall):
            return self._visit_function_call(call)
        operands = [self.visit(arg) for arg in call.args]
        category, of_sums, of_result = self._precision(call)
        if category == MIXED_PRECISION_FOLLOW:
            is_narrow = all(isinstance(x, Var | Constant) or self._is_narrow(x.checked_type) for x in operands)
            category = MIXED_PRECISION_ALWAYS if is_narrow else MIXED_PRECISION_NEVER
        is_narrow = category == MIXED_PRECISION_ALWAYS and self._holds_attributes(call)
        wanted = [self.cast(each, self.dtype if is_narrow else "float32") for each in operands]
        attrs = self._attributes(call, of_sums) if is_narrow else call.attrs
        if wanted == list(call.args) and attrs == call.attrs:
            return call
        new = Call(call.op, wanted, attrs)
        new.location = call.location
        type_call(new)
        return self.cast(new, of_result) if is_narrow and of_sums != of_result else new

    def _precision(self, call: Call) -> tuple[int, str, str]:
        name = call.op.name
        if name in RULES:
            return RULES[name](call, self.dtype)
        if self.is_strict:
            raise OptionError(f"ToMixedPrecision: operator {name} has no rule")
        return MIXED_PRECISION_FOLLOW, self.dtype, self.dtype

    def _is_narrow(self, type: Any) -> bool:
        if isinstance(type, TupleType):
            return all(map(self._is_narrow, type.fields))
        return not _is_float(type) or type.dtype == self.dtype

    def _holds_attributes(self, call: Call) -> bool:
        """Whether the narrow data type represents the bounds of `clip`."""
        most = max_value(parse_dtype("float32" if self.dtype == "float64" else self.dtype))
        bounds = [call.attrs.a_min, call.attrs.a_max] if call.op.name == "clip" else []  # pyright: ignore[reportAttributeAccessIssue]
        return all(-most <= each <= most for each in bounds)

    def _attributes(self, call: Call, dtype: str) -> dict[str, Any]:
        """The attributes of a call whose sums, or elements that it creates, have another data type."""
        assert isinstance(call.op, Operator)
        names = {each.name for each in call.op.attributes}
        changed = "out_dtype" if "out_dtype" in names else "dtype" if call.op.name in ("zeros", "ones", "full") else ""
        given = getattr(call.attrs, changed, "int8") if changed else "int8"
        is_float = not given or parse_dtype(given).is_float
        return {**call.attrs, changed: dtype} if changed and is_float else dict(call.attrs)

    def _visit_function_call(self, call: FunctionCall) -> Expr:
        op, operands = self.visit(call.op), [self.visit(arg) for arg in call.args]
        if isinstance(op, Function):
            operands = [self.cast(each, "float32") for each in operands]
        new = FunctionCall(op, operands, call.attrs)
        new.known_type = op.body.checked_type if isinstance(op, Function) else call.known_type
        return new

    def visit_function(self, fn: Function) -> Expr:
        return Function(fn.params, self.visit(fn.body), type_params=fn.type_params, attrs=fn.attrs)

    def visit_let(self, let: Let) -> Expr:
        value = self.visit(let.value)
        if isinstance(value, Function):
            return Let(let.var, value, self.visit(let.body))
        variable = Var(let.var.name_hint, value.checked_type)
        variable.known_type = value.checked_type
        self.memo_map[let.var] = variable
        return self._typed_like(Let(variable, value, body := self.visit(let.body)), body)

    def visit_if(self, if_: If) -> Expr:
        branches = [self.visit(each) for each in (if_.true_branch, if_.false_branch)]
        types = [each.checked_type for each in branches]
        if types[0] != types[1]:
            branches = [self.cast(each, "float32") for each in branches]
        return self._typed_like(If(self.visit(if_.cond), *branches), branches[0])

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        whole = self.visit(op.tuple_value)
        if whole is op.tuple_value:
            return op
        result = TupleGetItem(whole, op.index)
        result.known_type = whole.checked_type.fields[op.index]
        return result

    def _typed_like(self, new: Expr, body: Expr) -> Expr:
        new.known_type = body.checked_type
        return new
