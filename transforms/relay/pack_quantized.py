"""The pass `relay-pack-quantized`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ...core.byte_products import GROUP, SUMS, bytes_of_windows
from ...core.remarks import PassRemarks
from ...core.walking import find_ops
from ...module import constants_of
from ...operators.nn import pack_bytes
from ...operators.relay import ConstantOp, OperatorOp, RelayBuilder, constant_array, dtype_of_tensor, shape_of
from ...operators.windows import each_dimension, layout_axes, paddings
from ...operators.winograd import LANES
from .graphs import graphs_of, replace
from .plain_convolutions import has_static_images

_remarks = PassRemarks("relay-pack-quantized")

Array = Any

_PRODUCTS = ("qnn.dense", "qnn.conv2d")
_LAYOUTS = (["NCHW", "OIHW", ""], ["NCHW", "OIHW", "NCHW"])
_MOST_BYTES = 64
"""The bytes of the widest vectors, of which a processor with products of bytes permutes the taps of windows."""
_HALF = 128
"""The difference between bytes with and without a sign that represent the same number."""


@dataclass(frozen=True)
class RelayPackQuantizedPass(ModulePass):
    """Replaces products of quantized integers by products of bytes with packed weights, or by plain products.

    Supported are `qnn.dense`, and `qnn.conv2d` in the layouts NCHW and OIHW without groups or with windows of each
    channel. Their data become uint8 and their weights, without the zero points, int8, in blocks of 16 rows by 4
    columns, or in groups of 4 taps; zero points of data are a number that is added to the sums: the zero point times
    the sum of the weights of a row. The results are the same numbers.

    Other products, and all without `bytes`, become `nn.dense` and `nn.conv2d` of int32 without zero points: those whose
    weights or their zero points are no constants or do not fit int8 without the zero points, those with a zero point
    for each row of data, with data or weights of more than 8 bits, of dynamic sizes other than numbers of rows of data
    and of images, convolutions with padding whose zero point is no constant, and convolutions of groups of several
    channels.

    bytes: whether the processor has an instruction for products of bytes.

    Before
        %2 = relay.qnn.dense(%x, %w, %0, %1, %s, %s) {units = 64} : (tensor<128x32xui8>, tensor<64x32xi8>,
            tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<128x64xi32>

    After
        %2 = relay.nn.contrib_dense_pack_int8(%x, %packed) {units = 64}
            : (tensor<128x32xui8>, tensor<4x8x64xi8>) -> tensor<128x64xi32>
        %3 = relay.add(%2, %correction) : (tensor<128x64xi32>, tensor<64xi32>) -> tensor<128x64xi32>

    Must hold before: constants are folded (`relay-fold-constants`).

    Gone after: `qnn.dense`, `qnn.conv2d`.
    """

    name = "relay-pack-quantized"

    bytes: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in graphs_of(op):
            for inner in list(find_ops(func, OperatorOp)):
                if inner.operator.name in _PRODUCTS:
                    builder = RelayBuilder(InsertPoint.before(inner), constants_of(op), inner.location)
                    self._replace(QuantizedProduct(inner, builder))

    def _replace(self, product: QuantizedProduct) -> None:
        reason = product.lack() if self.bytes else "the processor has no instruction for products of bytes"
        if reason:
            _remarks.missed(product.op, lambda: f"the product is computed with int32: {reason}")
            replace(product.op, [product.plain()])
        else:
            _remarks.applied(product.op, lambda: "the product is computed with bytes, its weights are packed")
            replace(product.op, [product.packed()])


class QuantizedProduct:
    """A product of quantized integers, which is to be replaced."""

    def __init__(self, op: OperatorOp, builder: RelayBuilder):
        self.op, self.builder = op, builder
        self.data, self.weight, self.zero, self.weight_zero = op.args[:4]
        self.is_dense = op.operator.name == "qnn.dense"

    @property
    def units(self) -> int:
        """The number of rows of the weight."""
        units = shape_of(self.weight)[0]
        assert isinstance(units, int)
        return units

    # Products of bytes

    def lack(self) -> str:
        """The reason why the product has no form with bytes, "" if it has one."""
        kinds = dtype_of_tensor(self.data), dtype_of_tensor(self.weight), dtype_of_tensor(self.op.outputs[0])
        if not {*kinds[:2]} <= {"int8", "uint8"} or kinds[2] != "int32":
            return f"data of {kinds[0]}, weights of {kinds[1]} and sums of {kinds[2]}"
        if not (self._has_static_columns if self.is_dense else has_static_images(self.data, self.weight)):
            return "a dynamic size"
        if shape_of(self.zero):
            return "several zero points of data"
        if self._array(self.weight) is None or self._array(self.weight_zero) is None:
            return "weights, or their zero points, are no constants"
        rows = self._rows
        if rows.size and not (-_HALF <= rows.min() and rows.max() < _HALF):
            return "weights without their zero points do not fit int8"
        return "" if self.is_dense else self._lack_of_convolution()

    def _lack_of_convolution(self) -> str:
        layout = [self.op.attribute_value(name) for name in ("data_layout", "kernel_layout", "out_layout")]
        if layout not in _LAYOUTS:
            return f"layouts {', '.join(filter(None, layout))}, expected NCHW, OIHW"
        groups = self.op.attribute_value("groups")
        if groups != 1 and not self._is_depthwise:
            return f"{groups} groups of several channels"
        if self._is_depthwise and bytes_of_windows(max(SUMS), *self._along_rows) > _MOST_BYTES:
            return f"windows that a row of {_MOST_BYTES} bytes does not hold"
        around = paddings(self.op.attribute_value("padding"), 2, "padding")
        if any(map(any, around)) and self._array(self.zero) is None:
            return "padding with a zero point that is no constant"
        return ""

    @property
    def _has_static_columns(self) -> bool:
        """Whether all sizes of a product are static, but for the numbers of rows of data."""
        return all(isinstance(size, int) for size in (shape_of(self.data)[-1], *shape_of(self.weight)))

    @property
    def _is_depthwise(self) -> bool:
        """Whether a convolution has windows of its own for each of several channels."""
        groups = self.op.attribute_value("groups")
        return groups > 1 and shape_of(self.data)[1] == groups and shape_of(self.weight)[1] == 1

    @property
    def _along_rows(self) -> tuple[int, int]:
        """The stride and the dilation of windows along a row."""
        numbers = [each_dimension(self.op.attribute_value(name), 2, name)[-1] for name in ("strides", "dilation")]
        return numbers[0], numbers[1]

    def packed(self) -> SSAValue:
        """The product of bytes, plus the number that the zero point of the data makes."""
        builder, rows = self.builder, self._rows
        data, zero, shift = self.data, self._array(self.zero), 0
        if dtype_of_tensor(data) == "int8":
            shift = _HALF
            wide = builder.operator("add", self._cast(data, "int16"), builder.constant(np.asarray(shift, "int16")))
            data = self._cast(wide, "uint8")
        sums = self._sums(data, 0 if zero is None else int(zero) + shift)
        totals = rows.reshape(len(rows), -1).sum(1).astype("int32").reshape([-1, *[1] * (rows.ndim - 2)])
        if zero is not None:
            offset = (-totals.astype("int64") * (int(zero) + shift)).astype("int32")
            return sums if not offset.any() else builder.operator("add", sums, builder.constant(offset, "zero_offset"))
        shifted = builder.operator("add", self._cast(self.zero, "int32"), builder.constant(np.asarray(shift, "int32")))
        return builder.operator(
            "subtract", sums, builder.operator("multiply", shifted, builder.constant(totals, "weight_sums"))
        )

    def _sums(self, data: SSAValue, pad_value: int) -> SSAValue:
        """The product of bytes. data: those without a sign."""
        bytes = self._rows.astype("int8")
        if not self.is_dense and self._is_depthwise:
            window = bytes.shape[2:]
            taps = np.pad(bytes[:, 0], [(0, 0), (0, 0), (0, -window[1] % GROUP)])
            weight = self.builder.constant(taps, "packed_weight")
            kept = {"channels": self.units, "kernel_size": list(window), "pad_value": pad_value, **self._windows()}
            return self.builder.operator("nn.contrib_depthwise_conv2d_pack_int8", data, weight, **kept)
        weight = self.builder.constant(pack_bytes(bytes, LANES), "packed_weight")
        if self.is_dense:
            return self.builder.operator("nn.contrib_dense_pack_int8", data, weight, units=self.units)
        kept = {"channels": self.units, "pad_value": pad_value, **self._windows()}
        return self.builder.operator("nn.contrib_conv2d_pack_int8", data, weight, **kept)

    def _windows(self) -> dict[str, Any]:
        """The attributes of the windows of a convolution."""
        return {name: self.op.attribute_value(name) for name in ("strides", "padding", "dilation")}

    @cached_property
    def _rows(self) -> Array:
        """The constant weight without its zero points, as int32."""
        weight, zero = self._array(self.weight), self._array(self.weight_zero)
        assert weight is not None
        assert zero is not None
        return weight.astype("int32") - zero.astype("int32").reshape([-1] + [1] * (weight.ndim - 1 if zero.ndim else 0))

    def _array(self, value: SSAValue) -> Array | None:
        """The array of a constant, None for other values."""
        return constant_array(value.owner, self.builder.constants) if isinstance(value.owner, ConstantOp) else None

    def _cast(self, value: SSAValue, dtype: str) -> SSAValue:
        return value if dtype_of_tensor(value) == dtype else self.builder.operator("cast", value, dtype=dtype)

    # Products of int32

    def plain(self) -> SSAValue:
        """The product of integers without their zero points."""
        axes = (len(shape_of(self.data)) - 1, 0) if self.is_dense else self._channels()
        data, weight = self._center(self.data, self.zero, axes[0]), self._center(self.weight, self.weight_zero, axes[1])
        name = self.op.operator.name.replace("qnn.", "nn.")
        return self.builder.operator(name, data, weight, **self.op.attribute_values)

    def _channels(self) -> tuple[int, int]:
        """The axes of the channels of data, and of the output channels of the weight."""
        data = layout_axes(self.op.attribute_value("data_layout"), "NCHW", "qnn.conv2d")
        weight = layout_axes(self.op.attribute_value("kernel_layout"), "OIHW", "qnn.conv2d")
        return data[1], weight[0]

    def _center(self, value: SSAValue, zero: SSAValue, axis: int) -> SSAValue:
        """Integers without their zero point, or their zero points along an axis, as int32."""
        zero = self._cast(zero, "int32")
        if shape_of(zero):
            others = len(shape_of(value)) - axis - 1
            zero = self.builder.operator("expand_dims", zero, axis=1, num_newaxis=others) if others else zero
        return self.builder.operator("subtract", self._cast(value, "int32"), zero)
