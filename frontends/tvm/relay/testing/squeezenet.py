"""SqueezeNet: modules that reduce the channels, then expand them in two parallel paths (Iandola et al., 2016)."""

from __future__ import annotations

from .....core.errors import OptionError
from ....relay import Expr, Function, free_vars, nn, op
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import conv_bias, data_of

_FIRES = {
    "1.0": (96, 7, ((16, 64), (16, 64), (32, 128), None, (32, 128), (48, 192), (48, 192), (64, 256), None, (64, 256))),
    "1.1": (64, 3, ((16, 64), (16, 64), None, (32, 128), (32, 128), None, (48, 192), (48, 192), (64, 256), (64, 256))),
}
"""The channels and kernel size of the first convolution, then the squeeze and expand channels of each module; None for
a pool.
"""


def _conv_relu(data: Expr, name: str, channels: int, size: int, padding: int = 0, stride: int = 1) -> Expr:
    attributes = {"channels": channels, "kernel_size": (size, size), "strides": (stride, stride)}
    return nn.relu(conv_bias(data, name, padding=(padding, padding), **attributes))


def fire(data: Expr, name: str, squeeze: int, expand: int) -> Expr:
    """A fire module: a squeeze convolution, then parallel convolutions of 1 by 1 and 3 by 3 pixels."""
    narrow = _conv_relu(data, f"{name}_squeeze", squeeze, 1)
    sides = [_conv_relu(narrow, f"{name}_expand{size}", expand, size, size // 2) for size in (1, 3)]
    return op.concatenate(sides, axis=1)


def get_net(
    batch_size: int,
    image_shape: tuple[int, ...] = (3, 224, 224),
    num_classes: int = 1000,
    version: str = "1.0",
    dtype: str = "float32",
) -> Function:
    """The network of version 1.0 or 1.1. OptionError for any other version."""
    if version not in _FIRES:
        raise OptionError(f"squeezenet of version {version!r}, expected one of {', '.join(_FIRES)}")
    channels, size, modules = _FIRES[version]
    body = _conv_relu(data_of(batch_size, image_shape, dtype), "conv1", channels, size, stride=2)
    body = nn.max_pool2d(body, (3, 3), (2, 2))
    for n, module in enumerate(modules):
        body = nn.max_pool2d(body, (3, 3), (2, 2)) if module is None else fire(body, f"fire{n}", *module)
    body = _conv_relu(nn.dropout(body, 0.5), "conv_final", num_classes, 1)
    net = nn.softmax(nn.batch_flatten(nn.global_avg_pool2d(body)))
    return Function(free_vars(net), net)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
