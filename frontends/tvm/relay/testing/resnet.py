"""Residual networks with pre-activation: normalization before convolution (He et al., 2016, "Identity Mappings")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .....core.errors import OptionError
from ....relay import Expr, Function, free_vars, nn, op
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import batch_norm_infer, classifier, conv2d, data_of

_EPSILON = 2e-5


@dataclass(frozen=True)
class _Layout:
    """The layouts of images, `data`, and of weights, `kernel`. axis: the channel axis."""

    data: str

    @property
    def kernel(self) -> str:
        return "OIHW" if self.data == "NCHW" else "HWIO"

    @property
    def axis(self) -> int:
        return self.data.index("C")

    def convolution(self, data: Expr, channels: int, size: int, stride: int, name: str) -> Expr:
        """A convolution that preserves the image size except for its stride."""
        return conv2d(
            data,
            name=name,
            channels=channels,
            kernel_size=(size, size),
            strides=(stride, stride),
            padding=(size // 2, size // 2),
            data_layout=self.data,
            kernel_layout=self.kernel,
        )

    def activation(self, data: Expr, name: str) -> Expr:
        """A batch normalization and a ReLU."""
        return nn.relu(batch_norm_infer(data, name=name, epsilon=_EPSILON, axis=self.axis))


def residual_unit(
    data: Expr,
    num_filter: int,
    stride: int,
    dim_match: bool,
    name: str,
    bottle_neck: bool = True,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
) -> Expr:
    """The sum of `data` and its residual: two convolutions, or three with `bottle_neck`.

    num_filter: channels of the result.  dim_match: data has the shape of the result; otherwise a convolution projects
    it. kernel_layout: ignored; follows from data_layout.
    """
    layout = _Layout(data_layout)
    first = layout.activation(data, f"{name}_bn1")
    inner = num_filter // 4 if bottle_neck else num_filter
    sizes = ((inner, 1, stride), (inner, 3, 1), (num_filter, 1, 1)) if bottle_neck else (
        (inner, 3, stride), (num_filter, 3, 1)
    )  # fmt: skip
    result = first
    for n, (channels, size, step) in enumerate(sizes, start=1):
        if n > 1:
            result = layout.activation(result, f"{name}_bn{n}")
        result = layout.convolution(result, channels, size, step, f"{name}_conv{n}")
    shortcut = data if dim_match else layout.convolution(first, num_filter, 1, stride, f"{name}_sc")
    return op.add(result, shortcut)


def resnet(
    units: list[int],
    num_stages: int,
    filter_list: list[int],
    num_classes: int,
    data_shape: tuple[int, ...],
    bottle_neck: bool = True,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """A network of stages of residual units.

    units: the number of units of each stage.  filter_list: the channels before the stages, and of each stage.
    data_shape: the shape of a batch of images.
    """
    form = _Layout(layout)
    data = data_of(data_shape[0], data_shape[1:], dtype)
    body = batch_norm_infer(data, name="bn_data", epsilon=_EPSILON, axis=form.axis, scale=False)
    if data_shape[layout.index("H")] <= 32:
        body = form.convolution(body, filter_list[0], 3, 1, "conv0")
    else:
        body = form.activation(form.convolution(body, filter_list[0], 7, 2, "conv0"), "bn0")
        body = nn.max_pool2d(body, (3, 3), (2, 2), padding=(1, 1), layout=layout)
    for stage in range(num_stages):
        for unit in range(units[stage]):
            stride = 2 if unit == 0 and stage > 0 else 1
            name = f"stage{stage + 1}_unit{unit + 1}"
            body = residual_unit(body, filter_list[stage + 1], stride, unit > 0, name, bottle_neck, layout)
    pooled = nn.global_avg_pool2d(form.activation(body, "bn1"), layout=layout)
    net = classifier(pooled, num_classes, "fc1")
    return Function(free_vars(net), net)


_IMAGENET = {
    18: [2, 2, 2, 2],
    34: [3, 4, 6, 3],
    50: [3, 4, 6, 3],
    101: [3, 4, 23, 3],
    152: [3, 8, 36, 3],
    200: [3, 24, 36, 3],
    269: [3, 30, 48, 8],
}
"""The number of units of each stage, by number of layers (He et al., 2016, table 1; from 200 on their later work)."""


def _units_of(num_layers: int, is_small: bool) -> tuple[list[int], list[int], bool]:
    """The units of each stage, the channels, and whether units have three convolutions. OptionError for an unsupported
    depth.
    """
    if is_small:
        bottle_neck = num_layers >= 164
        per_stage, left = divmod(num_layers - 2, 9 if bottle_neck else 6)
        if left or per_stage < 1:
            raise OptionError(f"resnet of {num_layers} layers for small images, expected 6 n + 2, or 9 n + 2 from 164")
        return [per_stage] * 3, [16, 64, 128, 256] if bottle_neck else [16, 16, 32, 64], bottle_neck
    if num_layers not in _IMAGENET:
        raise OptionError(f"resnet of {num_layers} layers, expected one of {', '.join(map(str, _IMAGENET))}")
    bottle_neck = num_layers >= 50
    return _IMAGENET[num_layers], [64, *((256, 512, 1024, 2048) if bottle_neck else (64, 128, 256, 512))], bottle_neck


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Function:
    """The network with `num_layers` layers; for images of at most 28 pixels the variant for small images.

    OptionError for an unsupported layout or number of layers.
    """
    if layout not in ("NCHW", "NHWC"):
        raise OptionError(f"resnet: layout {layout!r}, expected 'NCHW' or 'NHWC'")
    height = image_shape[layout.index("H") - 1]
    units, channels, bottle_neck = _units_of(num_layers, height <= 28)
    shape = (batch_size, *image_shape)
    return resnet(units, len(units), channels, num_classes, shape, bottle_neck, layout, dtype)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype))
