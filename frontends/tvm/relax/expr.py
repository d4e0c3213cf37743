"""Expressions of programs as in `tvm.relax`: nodes, compared by identity, which a `Writer` turns into operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TupleType
from xdsl.ir import SSAValue

from ....core.arrays import plain_array
from ....core.dtypes import numpy_dtype
from ....core.errors import ArgumentError
from ....expressions.expr import PrimExpr
from ....operators import relax
from ....operators.relax.types import NARROW_DTYPES, PrimType, known_shape, number_of, prim
from ....operators.relay import Size
from ...relay.expr import GlobalVar
from ...tvmscript.values import Word
from ..family import Family
from ..ir.vdevice import name_of_device
from .newer_names import accept_newer_names
from .struct_info import (
    ShapeStructInfo,
    Sizes,
    StructInfo,
    TensorStructInfo,
    as_struct_info,
    size_exprs,
    size_of,
    struct_info_of,
)
from .writing import Writer, type_of_expr


class Scriptable:
    """The base class of expressions, bindings and blocks, which have a text of their own."""

    def script(self, **options: Any) -> str:
        """The node as TVMScript. options: of TVM's printer, which the text does not depend on."""
        # lazy: most programs print modules
        from .texts import text_of

        return text_of(self)

    def show(self, style: str | None = None, black_format: bool = False, **options: Any) -> None:
        """Prints `script()`. The options are those of TVM's printer, which the text does not depend on."""
        print(self.script())

    def structural_form(self, map_free_vars: bool) -> list[str]:
        """The lines of a text that is equal for structurally equal nodes. map_free_vars: whether variables that the
        node does not bind may correspond to others."""
        # lazy: most programs compare no expressions
        from .comparison import form_of

        return form_of(self, map_free_vars)

    def same_as(self, other: object) -> bool:
        """Whether both are the same node."""
        return self is other


class Expr(Scriptable):
    """An expression."""

    _struct_info: StructInfo | None = None

    @property
    def struct_info(self) -> StructInfo:
        """The type of the value. Raises the errors of operators that do not fit their operands."""
        if self._struct_info is None:
            self._struct_info = struct_info_of(type_of_expr(self), self.device)
        return self._struct_info

    @property
    def device(self) -> str | None:
        """The device of the value as types of operands state it, None for any. ArgumentError for operands of one
        operator on several devices."""
        return None

    @property
    def ty(self) -> StructInfo:
        """The type of the value, by its name since v0.26."""
        return self.struct_info

    @property
    def known_struct_info(self) -> StructInfo | None:
        """The type of the value if it has been computed, as by the builder that has emitted the expression."""
        return self._struct_info

    def emit(self, writer: Writer) -> SSAValue:
        """Inserts the operations of the expression; returns its value."""
        raise NotImplementedError

    @property
    def children(self) -> Sequence[Expr]:
        """The expressions of which this one consists, in the order of computation."""
        return ()

    def __tvmscript_call__(self, word: Word, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """The call of a word of `R` on expressions: of the function `relax.op` of this name."""
        # lazy: operators are calls, which are expressions
        from .calls import op

        return attrgetter(word.path)(op)(*args, **named)

    def __getitem__(self, index: int) -> Expr:
        """A field of a tuple. IndexError for a tuple that is known to have fewer fields."""
        info = self.known_struct_info
        if info is not None and isinstance(info.type, TupleType) and index >= len(info.type.types.data):
            raise IndexError(f"field {index} of a tuple of {len(info.type.types.data)}")
        return TupleGetItem(self, index)

    def __iter__(self) -> Iterator[Expr]:
        """The fields of a tuple. TypeError for a value of another type."""
        type = self.struct_info.type
        if not isinstance(type, TupleType):
            raise TypeError(f"a value of type {type} has no fields")
        return map(self.__getitem__, range(len(type.types.data)))

    def __add__(self, other: Any) -> Expr:
        return self._operate("add", other)

    def __radd__(self, other: Any) -> Expr:
        return self._operate("add", other, reverse=True)

    def __sub__(self, other: Any) -> Expr:
        return self._operate("subtract", other)

    def __rsub__(self, other: Any) -> Expr:
        return self._operate("subtract", other, reverse=True)

    def __mul__(self, other: Any) -> Expr:
        return self._operate("multiply", other)

    def __rmul__(self, other: Any) -> Expr:
        return self._operate("multiply", other, reverse=True)

    def __truediv__(self, other: Any) -> Expr:
        return self._operate("divide", other)

    def __rtruediv__(self, other: Any) -> Expr:
        return self._operate("divide", other, reverse=True)

    def __pow__(self, other: Any) -> Expr:
        return self._operate("power", other)

    def __neg__(self) -> Expr:
        return Call(Op.get("relax.negative"), [self])

    def __lt__(self, other: Any) -> Expr:
        return self._operate("less", other)

    def __gt__(self, other: Any) -> Expr:
        return self._operate("greater", other)

    def __le__(self, other: Any) -> Expr:
        return self._operate("less_equal", other)

    def __ge__(self, other: Any) -> Expr:
        return self._operate("greater_equal", other)

    def astype(self, dtype: str) -> Expr:
        """The elements in another data type."""
        return Call(Op.get("relax.astype"), [self], {"dtype": dtype})

    def _operate(self, word: str, other: Any, reverse: bool = False) -> Expr:
        """A binary operator. A number becomes a constant of the data type of this expression."""
        if isinstance(other, int | float):
            other = const(other, self.struct_info.dtype)
        return Call(Op.get(f"relax.{word}"), [other, self] if reverse else [self, other])


def emit_value(writer: Writer, value: Any) -> SSAValue:
    """The value of an expression, of a list of expressions as a tuple, of a size, of a number or of a text."""
    return as_expr(value).emit(writer)


def as_expr(value: Any) -> Expr:
    """A value as an expression. ArgumentError for a value of another kind."""
    match value:
        case Expr():
            return value
        case list() | tuple():
            return Tuple(value)  # pyright: ignore[reportUnknownArgumentType]
        case PrimExpr() | int() | float():
            return PrimValue(value)
        case str():
            return StringImm(value)
        case _:
            raise ArgumentError(f"a value of type {type(value).__name__}, expected an expression of relax")


# Variables


class Var(Expr):
    """A variable: a parameter, or the name of the value of a binding. bound_value: the expression that a binding gives
    it, None for a parameter."""

    def __init__(
        self, name_hint: str, struct_info: StructInfo | Sequence[Any] | None = None, type: StructInfo | None = None
    ):
        """struct_info: the type, by default that of the binding; in programs of 2022 the shape of a tensor, of which
        `type` has the data type."""
        self.name_hint = name_hint
        self.bound_value: Expr | None = None
        if hasattr(struct_info, "__tvmscript__"):
            struct_info = as_struct_info(struct_info)
        if struct_info is not None and not isinstance(struct_info, StructInfo):
            struct_info = TensorStructInfo(struct_info, "float32" if type is None else type.dtype)
        self._struct_info = struct_info

    @property
    def struct_info(self) -> StructInfo:
        """The type. ArgumentError for a variable without type that no binding has."""
        if self._struct_info is None:
            raise ArgumentError(f"variable {self.name_hint} has no type, expected a binding of it, or a type")
        return self._struct_info

    def take_struct_info(self, struct_info: StructInfo) -> None:
        """Sets the type of a variable that has none."""
        if self._struct_info is None:
            self._struct_info = struct_info

    @property
    def vid(self) -> Var:
        """The identity of the variable: the variable object."""
        return self

    @property
    def type_annotation(self) -> StructInfo:
        """The type, under the name of variables of Relay."""
        return self.struct_info

    def emit(self, writer: Writer) -> SSAValue:
        return writer.value_of(self)

    def __repr__(self) -> str:
        return self.name_hint


class DataflowVar(Var):
    """A variable of a dataflow block, unknown after the block."""


# Values


class Constant(Expr):
    """A constant tensor. data: the array.  name: preferred for the array among the constants of a module."""

    def __init__(self, data: Any, name: str = "const"):
        self.data = plain_array(data)
        self.name = name

    def emit(self, writer: Writer) -> SSAValue:
        return writer.constant(self.data, self.name)

    def __repr__(self) -> str:
        return f"const({self.data.tolist() if self.data.ndim == 0 else list(self.data.shape)}, {self.data.dtype})"


def const(value: Any, dtype: str | StructInfo | None = None) -> Constant:
    """A constant tensor. dtype: the data type, or the type of the tensor; by default that of the value; int32 for int64
    and float32 for float64, as for numbers of Python, unless the value is an array of a device."""
    array = plain_array(value)
    if isinstance(dtype, StructInfo):
        dtype = dtype.dtype
    if dtype is None and (isinstance(value, np.ndarray | np.generic) or not hasattr(value, "dtype")):
        dtype = NARROW_DTYPES.get(array.dtype.name)
    return Constant(np.asarray(array, None if dtype is None else numpy_dtype(dtype)))


class PrimValue(Expr):
    """A number, or a size. value: a number, the text of a size, or an expression of variables."""

    def __init__(self, value: Any):
        self._struct_info = struct_info_of(prim(value if isinstance(value, float) else size_of(value)))

    @property
    def value(self) -> Size | float:
        """The number, or the size as text."""
        type = self.struct_info.type
        number = number_of(type) if isinstance(type, PrimType) else None
        assert number is not None
        return number

    def emit(self, writer: Writer) -> SSAValue:
        return writer.insert(relax.PrimValueOp(self.struct_info.type)).output


class StringImm(Expr):
    """A text, an argument of packed functions."""

    def __init__(self, value: str):
        self.value = value

    def emit(self, writer: Writer) -> SSAValue:
        return writer.insert(relax.StringOp(self.value)).output


class DataTypeImm(StringImm):
    """A data type, an argument of packed functions, which receive its name."""


def prim_value(value: Any, dtype: str | None = None) -> Expr:
    """A number, or a size. value: as of `PrimValue`, or one already.  dtype: ignored, numbers are int64 or float64."""
    return value if isinstance(value, Expr) else PrimValue(value)


class ShapeExpr(Expr, metaclass=Family, members=lambda: (Sizes,)):
    """A shape of sizes; those of types, `x.struct_info.shape`, belong to the class."""

    def __init__(self, values: Sequence[Any]):
        self._struct_info = ShapeStructInfo(values)

    @property
    def sizes(self) -> list[Size]:
        """The sizes as numbers and texts."""
        return list(known_shape(self.struct_info.type) or ())

    @property
    def values(self) -> list[PrimExpr]:
        """The sizes as expressions."""
        return size_exprs(self.sizes, self.struct_info.variables)

    def emit(self, writer: Writer) -> SSAValue:
        return writer.insert(relax.ShapeOp(self.struct_info.type)).output


def get_shape_of(expr: Expr) -> Expr:
    """The shape of a tensor: its sizes if they are known, else a call of `shape_of`."""
    sizes = expr.struct_info.shape
    return Call(Op.get("relax.shape_of"), [expr]) if sizes is None else ShapeExpr(sizes)


class Tuple(Expr):
    """A tuple of values."""

    def __init__(self, fields: Sequence[Any]):
        self.fields = [as_expr(each) for each in fields]

    @property
    def children(self) -> Sequence[Expr]:
        return self.fields

    def emit(self, writer: Writer) -> SSAValue:
        return writer.insert(relax.TupleOp([each.emit(writer) for each in self.fields])).output


class TupleGetItem(Expr):
    """A field of a tuple."""

    def __init__(self, tuple_value: Expr, index: int):
        self.tuple_value = tuple_value
        self.index = index

    @property
    def children(self) -> Sequence[Expr]:
        return [self.tuple_value]

    def emit(self, writer: Writer) -> SSAValue:
        return writer.field(self.tuple_value.emit(writer), self.index)


# Calls


class Op:
    """An operator by its name in TVM, `relax.nn.relu`. Operators of one name are one object."""

    _known: dict[str, Op] = {}

    def __init__(self, name: str):
        self.name = name

    @staticmethod
    def get(op_name: str) -> Op:
        """The operator of a name."""
        return Op._known.setdefault(op_name, Op(op_name))

    def __repr__(self) -> str:
        return f'Op("{self.name}")'


class ExternFunc(Expr):
    """A packed function, by its name."""

    def __init__(self, global_symbol: str):
        self.global_symbol = global_symbol

    @accept_newer_names
    def __call__(self, *args: Any, sinfo_args: StructInfo | Sequence[StructInfo] = ()) -> Call:
        infos = [sinfo_args] if isinstance(sinfo_args, StructInfo) else sinfo_args
        return Call(self, args, sinfo_args=infos)


def extern(name: str) -> ExternFunc:
    """A packed function, by its name."""
    return ExternFunc(name)


class Attrs(Mapping[str, Any]):
    """The attributes of a call: `attrs.axis` and `attrs["axis"]`. explicit: those that are set; the others have the
    values of `defaults`."""

    def __init__(self, explicit: Mapping[str, Any], defaults: Mapping[str, Any] | None = None):
        self.explicit = dict(explicit)
        self._all = {**(defaults or {}), **self.explicit}

    def __getitem__(self, name: str) -> Any:
        return self._all[name]

    def __iter__(self) -> Any:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_all"][name]
        except KeyError:
            raise AttributeError(f"no attribute {name!r} (has: {', '.join(self.__dict__.get('_all', ()))})") from None


class Call(Expr):
    """A call: of an operator, of a function of the module, or of a packed function.

    op: an `Op`, a `GlobalVar`, or an `ExternFunc`.  args: for `relax.call_tir` the kernel and the tuple of its
    tensors, for `relax.call_dps_packed` and `relax.call_pure_packed` the packed function and its arguments, as in TVM.
    sinfo_args: the types of results that do not follow from the arguments.
    """

    @accept_newer_names
    def __init__(
        self,
        op: Op | GlobalVar | ExternFunc,
        args: Sequence[Any],
        attrs: Attrs | Mapping[str, Any] | None = None,
        sinfo_args: Sequence[StructInfo] | None = None,
    ):
        self.op = op
        self.args = [each if isinstance(each, GlobalVar) else as_expr(each) for each in args]
        self.attrs = attrs if isinstance(attrs, Attrs) else Attrs(attrs or {})
        self.sinfo_args = [as_struct_info(each) for each in sinfo_args or ()]

    @property
    def ty_args(self) -> list[StructInfo]:
        """The types of the results by the name since v0.26."""
        return self.sinfo_args

    @property
    def children(self) -> Sequence[Expr]:
        return [each for each in self.args if isinstance(each, Expr)]

    @property
    def device(self) -> str | None:
        if self.sinfo_args or not isinstance(self.op, Op):
            return self.sinfo_args[0].device if len(self.sinfo_args) == 1 else None
        if "dst_vdevice" in self.attrs:
            return name_of_device(self.attrs["dst_vdevice"])
        infos = [each.known_struct_info for each in self.children]
        devices = list(dict.fromkeys(info.device for info in infos if info is not None and info.device is not None))
        if len(devices) > 1:
            raise ArgumentError(f"{self.op.name}: operands on {' and '.join(devices)}, expected them on one device")
        return devices[0] if devices else None

    def emit(self, writer: Writer) -> SSAValue:
        # lazy: calls are expressions, whose operations depend on the kind of the call
        from .calls import emit_call

        return emit_call(writer, self)

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.args))})"


_ELSEWHERE = {
    **dict.fromkeys(
        ("Binding", "BindingBlock", "DataflowBlock", "If", "MatchCast", "SeqExpr", "VarBinding"), "bindings"
    ),
    **dict.fromkeys(
        ("ObjectStructInfo", "PrimStructInfo", "ShapeStructInfo", "StructInfo", "TensorStructInfo", "TupleStructInfo"),
        "struct_info",
    ),
    "Function": "function",
}
"""The names of TVM's `relax.expr` that other modules of this package have."""


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        # lazy: these modules import this one
        return getattr(import_module(f"{__package__}.{_ELSEWHERE[name]}"), name)
    raise AttributeError(f"module 'tvm.relax.expr' of Stepwell has no attribute {name!r}")


__all__ = [
    "Attrs", "Call", "Constant", "DataTypeImm", "DataflowVar", "Expr", "ExternFunc", "GlobalVar", "Op", "PrimValue",
    "ShapeExpr", "StringImm", "Tuple", "TupleGetItem", "Var", "const", "extern", "get_shape_of", "prim_value",
]  # fmt: skip
