"""Types of values of programs as in `tvm.relax`: `TensorStructInfo((n, 4), "float32")`."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Self
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import ArrayAttr, NoneAttr, TupleType, UnitAttr
from xdsl.ir import Attribute

from ....backends.devices.device import Device
from ....core.sizes import Extents
from ....expressions.expr import IntImm, PrimExpr, Var
from ....expressions.sizes import parse_size, size_text
from ....operators.relax import CallableType, ObjectType, PrimType, ShapeType
from ....operators.relax.text import type_text
from ....operators.relax.types import is_tensor, known_dtype, known_rank, known_shape, prim, shape, tensor, tuple_type
from ....operators.relay import Size
from ...tvmscript.values import RelaxType, Word
from ..ir.vdevice import VDevice, name_of_device


def size_of(value: Any) -> Size:
    """A size as a number or text. value: an integer, a name, an expression of variables, or a variable of TVMScript
    outside of functions, `n = T.int64()`."""
    if isinstance(value, PrimExpr):
        return size_text(value)
    return value if isinstance(value, str) else _variable_name(value) or int(value)


def variables_in(values: Iterable[Any]) -> dict[str, Var]:
    """The variables in expressions among sizes, by name."""
    found: dict[str, Var] = {}
    left = [each for each in values if isinstance(each, PrimExpr)]
    while left:
        expr = left.pop()
        if isinstance(expr, Var):
            found[expr.name] = expr
        left += expr.children
    return found


_NAMES: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""The names of the variables of TVMScript that sizes have used: `v`, `v_1`, ..."""
_COUNT = count()


def _variable_name(value: Any) -> str | None:
    """The name of the size that a variable of TVMScript denotes; None for any other value."""
    if not getattr(value, "is_size", False):
        return None
    if value not in _NAMES:
        number = next(_COUNT)
        _NAMES[value] = f"v_{number}" if number else "v"
    return _NAMES[value]


_VARIABLES: dict[str, Var] = {}
"""The variables of sizes whose variables no user has made, by name."""


def size_exprs(sizes: Iterable[Size], variables: Mapping[str, Var]) -> list[PrimExpr]:
    """Sizes as expressions. variables: those of the user by name; other names have one variable each."""

    def variable(name: str) -> Var:
        return variables[name] if name in variables else _VARIABLES.setdefault(name, Var(name, "int64"))

    return [IntImm("int64", each) if isinstance(each, int) else parse_size(each, variable) for each in sizes]


class Sizes(Extents[Size]):
    """The sizes of a shape, as numbers and texts. variables: the variables that the user has made, by name.

    It is an instance of `ShapeExpr`: `values` are the sizes as expressions.
    """

    variables: Mapping[str, Var]

    def __new__(cls, sizes: Iterable[Size] = (), variables: Mapping[str, Var] | None = None) -> Self:
        made = super().__new__(cls, sizes)
        made.variables = variables or {}
        return made

    @property
    def sizes(self) -> list[Size]:
        """The sizes as numbers and texts."""
        return list(self)

    @property
    def values(self) -> list[PrimExpr]:
        """The sizes as expressions."""
        return size_exprs(self, self.variables)


class StructInfo:
    """The type of a value: equal for equal types on equal devices. device: the name of the device that is stated for
    the value, `"cuda:0"`; None for any."""

    def __init__(self, type: Attribute, device: str | None = None, variables: Mapping[str, Var] | None = None):
        """variables: the variables of the sizes that the user has made, by name."""
        self.type = type
        self.device = device
        self.variables = dict(variables or {})

    @property
    def vdevice(self) -> VDevice | None:
        """The device that is stated for the value."""
        return None if self.device is None else VDevice.of_name(self.device)

    @property
    def shape(self) -> Sizes | None:
        """The sizes of a tensor or shape, if they are known."""
        sizes = known_shape(self.type)
        return None if sizes is None else Sizes(sizes, self.variables)

    @property
    def __tvmscript__(self) -> RelaxType:
        """The meaning of the type in a TVMScript program."""
        return RelaxType(self.type, self.device)

    @property
    def dtype(self) -> str | None:
        """The data type of a tensor, if it is known."""
        return known_dtype(self.type) if is_tensor(self.type) else None

    @property
    def ndim(self) -> int:
        """The number of dimensions of a tensor or shape, -1 if it is unknown."""
        rank = known_rank(self.type)
        return -1 if rank is None else rank

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructInfo) and (self.type, self.device) == (other.type, other.device)

    def __hash__(self) -> int:
        return hash((self.type, self.device))

    def structural_form(self, map_free_vars: bool) -> list[str]:
        """The lines of a text that is equal for structurally equal types. map_free_vars: whether names of sizes may
        correspond to others."""
        # lazy: forms are those of expressions, which have types
        from .comparison import form_of

        return form_of(self, map_free_vars)

    def same_as(self, other: object) -> bool:
        """Whether both are the same object."""
        return self is other

    def script(self, **options: Any) -> str:
        """The type as TVMScript. options: of TVM's printer, which the text does not depend on."""
        text = type_text(self.type)
        if self.device is None:
            return text
        return f"{text[:-1]}, vdevice={self.device!r})".replace("(, ", "(")

    def show(self, style: str | None = None, black_format: bool = False, **options: Any) -> None:
        """Prints `script()`. The options are those of TVM's printer, which the text does not depend on."""
        print(self.script())

    def __repr__(self) -> str:
        return self.script()


class TensorStructInfo(StructInfo):
    """A tensor of which the shape and the data type are known, or a part of them."""

    def __init__(
        self,
        shape: Any = None,
        dtype: str | None = "float32",
        vdevice: VDevice | Device | str | None = None,
        ndim: int = -1,
    ):
        """shape: integers, names, and expressions of variables, or an expression of a shape, whose type is used.
        vdevice: the device of the tensor, one of the module.
        ndim: the rank of an unknown shape, -1 if unknown. ArgumentError for another value than a device."""
        if isinstance(info := getattr(shape, "struct_info", None), StructInfo):  # the value of a shape
            shape, ndim = info.shape, info.ndim
        sizes = None if shape is None else [size_of(each) for each in shape]
        type = tensor(sizes, dtype or None, None if sizes is not None or ndim < 0 else ndim)
        super().__init__(type, None if vdevice is None else name_of_device(vdevice), variables_in(shape or ()))


def DynTensorType(ndim: int = -1, dtype: str = "float32") -> TensorStructInfo:
    """A tensor of unknown shape, as programs of 2022 call the type."""
    return TensorStructInfo(None, dtype, ndim=ndim)


class ShapeStructInfo(StructInfo):
    """A shape."""

    def __init__(self, values: Sequence[Any] | None = None, ndim: int = -1):
        super().__init__(
            shape(None if values is None else [size_of(each) for each in values], None if ndim < 0 else ndim),
            variables=variables_in(values or ()),
        )


class PrimStructInfo(StructInfo):
    """A number. value: an integer or the size that it is equal to."""

    def __init__(self, dtype: str | None = None, value: Any = None):
        super().__init__(prim(None if value is None else size_of(value), dtype), variables=variables_in([value]))


def struct_info_of(type: Attribute, device: str | None = None) -> StructInfo:
    """The type of a value as an instance of the class for its kind. device: the one that is stated for the value."""
    match type:
        case TupleType():
            kind: builtins.type[StructInfo] = TupleStructInfo
        case ShapeType():
            kind = ShapeStructInfo
        case PrimType():
            kind = PrimStructInfo
        case CallableType():
            kind = FuncStructInfo
        case _:
            kind = TensorStructInfo if is_tensor(type) else ObjectStructInfo
    info = kind.__new__(kind)
    StructInfo.__init__(info, type, device)
    return info


class TupleStructInfo(StructInfo):
    """A tuple of values of some types."""

    def __init__(self, fields: Sequence[Any]):
        """fields: the types, or words of TVMScript that denote types, `R.Object`."""
        variables = {
            name: var for field in fields if isinstance(field, StructInfo) for name, var in field.variables.items()
        }
        super().__init__(tuple_type([_type_of(field) for field in fields]), variables=variables)

    @property
    def fields(self) -> list[StructInfo]:
        """The types of the values."""
        assert isinstance(self.type, TupleType)
        return [struct_info_of(type) for type in self.type.types.data]


def _type_of(field: Any) -> Attribute:
    if isinstance(field, StructInfo):
        return field.type
    word = getattr(field, "__tvmscript__", None)
    if isinstance(word, Word) and word.path in _WORDS:
        return _WORDS[word.path]
    raise TypeError(f"a field of type {field!r}, expected a type of a value")


def as_struct_info(info: Any) -> StructInfo:
    """A type, also for a word of TVMScript that denotes one without arguments, `R.Object`. TypeError for others."""
    return info if isinstance(info, StructInfo) else struct_info_of(_type_of(info))


_WORDS: dict[str, Attribute] = {
    "Callable": CallableType(NoneAttr(), NoneAttr(), NoneAttr()),
    "Object": ObjectType(),
    "Shape": shape(None),
    "Tensor": tensor(None, None),
    "Tuple": tuple_type([]),
}
"""The types that words denote without arguments."""


class FuncStructInfo(StructInfo):
    """A function."""

    def __init__(self, params: Sequence[Any], ret: Any, purity: bool = True):
        """params, ret: the types of the parameters and of the result.  purity: whether calls have no side effects."""
        inputs = ArrayAttr([_type_of(each) for each in params])
        super().__init__(CallableType(inputs, _type_of(ret), NoneAttr() if purity else UnitAttr()))

    @staticmethod
    def opaque(ret: Any = None, purity: bool = True) -> FuncStructInfo:
        """A function of unknown parameters. ret: the type of the result, None if it is unknown."""
        info = FuncStructInfo.__new__(FuncStructInfo)
        result = NoneAttr() if ret is None else _type_of(ret)
        StructInfo.__init__(info, CallableType(NoneAttr(), result, NoneAttr() if purity else UnitAttr()))
        return info


class ObjectStructInfo(StructInfo):
    """Any value."""

    def __init__(self) -> None:
        super().__init__(ObjectType())


def output_type(info: StructInfo | Sequence[StructInfo]) -> Attribute:
    """The type of the results of a call: that of one value, or of a tuple of several."""
    return info.type if isinstance(info, StructInfo) else tuple_type([each.type for each in info])


__all__ = [
    "DynTensorType", "FuncStructInfo", "ObjectStructInfo", "PrimStructInfo", "ShapeStructInfo", "StructInfo",
    "TensorStructInfo", "TupleStructInfo", "struct_info_of",
]  # fmt: skip
