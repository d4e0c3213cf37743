"""Operations of a warp on matrices in the registers of its lanes (`T.ptx_mma`, `T.ptx_ldmatrix`, `T.mma_fill`,
`T.mma_store`): operands, and the elements in the registers of each lane.

The registers of a lane are elements of memory, from an offset on. Shapes, data types and layouts are those of the PTX
ISA, "Matrix multiply-accumulate operation using mma instruction".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ...core.diagnostics import where
from ...core.dtypes import DType, parse_dtype
from ...core.errors import UnsupportedError
from ...core.gpu import WARP_SIZE
from ...dialects.tir import AttrOp, CallIntrinOp, ConstOp, constant_value

MMA = "ptx_mma"
LDMATRIX = "ptx_ldmatrix"
MMA_FILL = "mma_fill"
MMA_STORE = "mma_store"
_OPERANDS = {MMA: (13, 14), LDMATRIX: (7,), MMA_FILL: (3,), MMA_STORE: (6,)}
"""The numbers of operands of each builtin."""

_DTYPES = {
    "float16": ("f16", "fp16", "float16"), "bfloat16": ("bf16", "bfloat16"), "tfloat32": ("tf32",),
    "float32": ("f32", "fp32", "float32"), "float64": ("f64", "fp64", "float64"), "int4": ("s4", "int4"),
    "uint4": ("u4", "uint4"), "int8": ("s8", "int8"), "uint8": ("u8", "uint8"), "int32": ("s32", "int32"),
}  # fmt: skip
"""The names of data types, the name in PTX first."""
_DTYPE_OF = {name: dtype for dtype, names in _DTYPES.items() for name in names}

Shape = tuple[int, int, int]
_SIXTEEN_BITS = ((16, 8, 8), (16, 8, 16))
_BYTES = ((8, 8, 16), (16, 8, 16), (16, 8, 32))
_NIBBLES = ((8, 8, 32), (16, 8, 32), (16, 8, 64))
_SHAPES: dict[str, dict[str, tuple[Shape, ...]]] = {
    "float16": {"float16": ((8, 8, 4), *_SIXTEEN_BITS), "float32": ((8, 8, 4), *_SIXTEEN_BITS)},
    "bfloat16": {"float32": _SIXTEEN_BITS},
    "tfloat32": {"float32": ((16, 8, 4), (16, 8, 8))},
    "float64": {"float64": ((8, 8, 4),)},
    **{factor: {"int32": _BYTES} for factor in ("int8", "uint8")},
    **{factor: {"int32": _NIBBLES} for factor in ("int4", "uint4")},
}
"""The shapes (m, n, k) of products, by the data types of the left factor and of the sums."""


def is_register_operation(op: Operation) -> TypeGuard[CallIntrinOp]:
    """Whether an op is a builtin on the registers of the lanes of a warp."""
    return isinstance(op, CallIntrinOp) and op.intrinsic.data in _OPERANDS and not is_product_of_values(op)


def is_product_of_values(op: Operation) -> TypeGuard[CallIntrinOp]:
    """Whether an op is a product of matrices whose operands are the values of the registers of each lane."""
    return isinstance(op, CallIntrinOp) and op.intrinsic.data == MMA and op.result is not None


def is_load_of_matrices(op: Operation) -> TypeGuard[AttrOp]:
    """Whether an op has the loads of `T.ptx_ldmatrix` (`tir-lower-fragments`)."""
    return isinstance(op, AttrOp) and op.key.data == LDMATRIX


def values_of(op: CallIntrinOp) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The factors and the sums of a product of values."""
    left, right, sums = op.args[6:9]
    return left, right, sums


def check_operands(op: CallIntrinOp) -> None:
    """Raises UnsupportedError for another number of operands."""
    counts = _OPERANDS[op.intrinsic.data]
    if len(op.args) not in counts:
        raise register_error(op, f"expected {' or '.join(map(str, counts))} operands, got {len(op.args)}")


@dataclass(frozen=True)
class WarpProduct:
    """A product of matrices that a warp adds to sums.

    shape: (m, n, k).  left, right, sums: the data types, `tfloat32` for the factors of type `float32` that are rounded.
    layouts: of the factors, `row` or `col`.
    """

    shape: Shape
    left: str
    right: str
    sums: str
    layouts: tuple[str, str] = ("row", "col")

    @property
    def is_by_quads(self) -> bool:
        """Whether four groups of eight lanes compute a product each, as of compute capability 7.0."""
        return self.shape == (8, 8, 4) and self.left == "float16"

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers of elements of the factors and the sums in the registers of a lane."""
        m, n, k = self.shape
        lanes = 8 if self.is_by_quads else WARP_SIZE
        return m * k // lanes, k * n // lanes, m * n // lanes

    @property
    def dtypes(self) -> tuple[DType, DType, DType]:
        """The data types of the elements of the factors and the sums in memory."""
        left, right, sums = ("float32" if each == "tfloat32" else each for each in (self.left, self.right, self.sums))
        return parse_dtype(left), parse_dtype(right), parse_dtype(sums)

    @property
    def name(self) -> str:
        """The product as part of the name of a function: `m16n8k16_row_col_f32_f16_f16`."""
        m, n, k = self.shape
        words = [_DTYPES[each][0] for each in (self.sums, self.left, self.right)]
        return "_".join((f"m{m}n{n}k{k}", *self.layouts, *words))

    @staticmethod
    def of_name(name: str) -> WarpProduct:
        """The product of a name, the inverse of `name`."""
        shape, left_layout, right_layout, *words = name.split("_")
        m, n, k = map(int, re.findall(r"\d+", shape))
        sums, left, right = (_DTYPE_OF[word] for word in words)
        return WarpProduct((m, n, k), left, right, sums, (left_layout, right_layout))


def product_of(op: CallIntrinOp) -> WarpProduct:
    """The product that `T.ptx_mma` computes. UnsupportedError for a product that PTX does not have, and for registers
    of other data types."""
    texts = [_string(op, n) for n in range(6)]
    numbers = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", texts[0])
    if numbers is None or any(layout not in ("row", "col") for layout in texts[1:3]):
        raise register_error(op, f"the shape is {texts[0]!r} with layouts {texts[1]!r}, {texts[2]!r}")
    shape = (int(numbers[1]), int(numbers[2]), int(numbers[3]))
    left, right, sums = (_DTYPE_OF.get(text, text) for text in texts[3:])
    product = WarpProduct(shape, left, right, sums, (texts[1], texts[2]))
    known = _SHAPES.get(left, {}).get(sums, ())
    mixes = left == right or {left, right} in ({"int8", "uint8"}, {"int4", "uint4"})
    if shape not in known or not mixes or (product.layouts != ("row", "col") and not product.is_by_quads):
        raise register_error(op, f"no product {' '.join(texts)}")
    if not is_product_of_values(op) and constant_value(op.args[12]) not in (0, False):
        raise register_error(op, "sums that saturate are not supported")
    return product


def _string(op: CallIntrinOp, n: int) -> str:
    owner = op.args[n].owner
    if not isinstance(owner, ConstOp) or not isinstance(owner.value, StringAttr):
        raise register_error(op, f"operand {n} is an expression, expected a string")
    return owner.value.data


def register_error(op: CallIntrinOp, message: str) -> UnsupportedError:
    """The error for an operation that no GPU has."""
    return UnsupportedError(f"{where(op)}T.{op.intrinsic.data}: {message}")
