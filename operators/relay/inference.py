"""Type inference: the result types of operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...expressions.expr import SizeVar
from ...expressions.sizes import parse_size, size_text
from ...expressions.tensor import Tensor, placeholder
from .. import operator_of
from .types import Size, dtype_of_tensor, shape_of, tensor_type


class SizeScope:
    """A scope of size variables, and conversion of sizes to expressions of these variables.

    renamed: sizes that are variables with other names, `b * s` for instance.
    """

    def __init__(self, renamed: Mapping[str, str] | None = None) -> None:
        self.variables: dict[str, SizeVar] = {}
        self._renamed = renamed or {}

    def __call__(self, size: Size) -> Any:
        """A size as an expression."""
        if isinstance(size, int):
            return size
        return self.variable(self._renamed[size]) if size in self._renamed else parse_size(size, self.variable)

    def variable(self, name: str) -> SizeVar:
        """The variable called `name`, created on first use."""
        return self.variables.setdefault(name, SizeVar(name))

    def placeholder(self, type: Attribute, name: str) -> Tensor:
        """A placeholder of a tensor type."""
        return placeholder([self(size) for size in shape_of(type)], dtype_of_tensor(type), name)


def type_of_tensor(tensor: Tensor) -> TensorType[Attribute]:
    """The type of a tensor. TeError for a size that depends on elements of tensors."""
    return tensor_type([size_text(extent) for extent in tensor.shape], tensor.data_type)


@lru_cache(maxsize=4096)
def result_types(
    name: str, operands: tuple[Attribute, ...], attributes: tuple[tuple[str, Any], ...]
) -> tuple[TensorType[Attribute], ...]:
    """The result types of an operator: the types of the tensors that its formula returns for placeholders.

    operands: tensor types.  attributes: as returned by `normalize_attributes`. The result types depend on these
    arguments only and are cached. TeError for operands and attributes that do not match.
    """
    sizes, operator = SizeScope(), operator_of(name)
    names = operand_names(name, len(operands))
    placeholders = [sizes.placeholder(type, each) for type, each in zip(operands, names, strict=True)]
    return tuple(type_of_tensor(tensor) for tensor in operator.tensors(placeholders, dict(attributes)))


def operand_names(name: str, count: int) -> Sequence[str]:
    """The names of the operands of an operator; the variadic operands are numbered."""
    operator = operator_of(name)
    fixed = operator.operands[:-1] if operator.variadic else operator.operands
    return [*fixed, *(f"{operator.operands[-1]}{n}" for n in range(count - len(fixed)))] if operator.variadic else fixed


def free_sizes(given: Iterable[Attribute], made: Iterable[Attribute] = ()) -> list[str]:
    """The names in the sizes of the tensor types `given` and `made` that are not by themselves a size of a type in
    `given`, in order of appearance."""
    given, sizes = list(given), SizeScope()
    texts = [size for type in (*given, *made) for size in shape_of(type) if isinstance(size, str)]
    for text in texts:
        sizes(text)
    own = {size for type in given for size in shape_of(type)}
    return [name for name in sizes.variables if name not in own]


def names_of_size(size: Size) -> set[str]:
    """The names in a size."""
    scope = SizeScope()
    scope(size)
    return set(scope.variables)
