"""DenseNet as TVM builds it: blocks of layers, whose results are concatenated at the end of a block.

In the article, each layer has the results of all layers before it (Huang et al., 2016).
"""

from __future__ import annotations

from typing import Any

from .....core.errors import OptionError
from ....relay import Expr, Function, free_vars, nn, op
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import batch_norm_infer, conv2d, data_of, dense_add_bias

_SIZES = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (69, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
"""By size: the channels of the first convolution and of each layer, and the layers of each block."""
_NARROW = 4
"""The channels between the two convolutions of a layer, divided by those of its result."""


def _norm_conv(data: Expr, norm: str, name: str, channels: int, size: int = 1) -> Expr:
    """A batch normalization, a ReLU and a convolution that keeps the size of images."""
    sizes: Any = {"channels": channels, "kernel_size": (size, size), "padding": (size // 2, size // 2)}
    return conv2d(nn.relu(batch_norm_infer(data, name=norm)), name=name, **sizes)


def _block(data: Expr, index: int, layers: int, channels: int) -> Expr:
    results: list[Expr] = []
    for n in range(layers):
        at = f"{index}_{n}"
        data = _norm_conv(data, f"batch_1_{at}", f"conv2d_1_{at}", _NARROW * channels)
        data = _norm_conv(data, f"batch_2_{at}", f"conv2d_2_{at}", channels, 3)
        results.append(data)
    return op.concatenate(results, axis=1)


def get_net(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> Function:
    """The network. OptionError for a size other than 121, 161, 169 and 201."""
    if densenet_size not in _SIZES:
        raise OptionError(f"densenet of size {densenet_size}, expected one of {', '.join(map(str, _SIZES))}")
    features, growth, blocks = _SIZES[densenet_size]
    sizes: Any = {"channels": features, "kernel_size": (7, 7), "strides": (2, 2), "padding": (3, 3)}
    body = conv2d(data_of(batch_size, image_shape, dtype), name="conv1", **sizes)
    body = nn.relu(batch_norm_infer(body, name="batch1"))
    body = nn.max_pool2d(body, (3, 3), (2, 2), padding=(1, 1))
    for n, layers in enumerate(blocks):
        body = _block(body, n, layers, growth)
        features += layers * growth
        if n + 1 < len(blocks):
            features //= 2
            body = nn.avg_pool2d(_norm_conv(body, f"batch_t_{n}", f"conv_t_{n}", features), (2, 2), (2, 2))
    body = nn.avg_pool2d(nn.relu(batch_norm_infer(body, name="batch2")), (7, 7))
    net = dense_add_bias(nn.batch_flatten(body), units=classes, name="dense")
    return Function(free_vars(net), net)


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(densenet_size, classes, batch_size, image_shape, dtype))
