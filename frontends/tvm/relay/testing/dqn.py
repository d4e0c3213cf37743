"""A deep Q-network: the values of actions from images of a game (Mnih et al., 2015)."""

from __future__ import annotations

from .....core.errors import OptionError
from ....relay import Function, free_vars, nn
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import conv_bias, data_of, dense_add_bias

_CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""The channels, kernel size and stride of each convolution."""


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """The network. OptionError for another layout."""
    if layout != "NCHW":
        raise OptionError(f"dqn: images in {layout!r}, expected 'NCHW'")
    body = data_of(batch_size, image_shape, dtype)
    for n, (channels, size, stride) in enumerate(_CONVOLUTIONS, start=1):
        sizes = {"channels": channels, "kernel_size": (size, size), "strides": (stride, stride)}
        body = nn.relu(conv_bias(body, f"conv{n}", **sizes))
    body = nn.relu(dense_add_bias(nn.batch_flatten(body), units=512, name="dense1"))
    net = dense_add_bias(body, units=num_actions, name="dense2")
    return Function(free_vars(net), net)


def get_workload(
    batch_size: int,
    num_actions: int = 18,
    image_shape: tuple[int, ...] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
