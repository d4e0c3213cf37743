"""The generator of DCGAN: images from random vectors by transposed convolutions (Radford et al., 2015)."""

from __future__ import annotations

from .....core.errors import OptionError
from ....relay import Expr, Function, free_vars, nn, op, var
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import batch_norm_infer, conv2d_transpose, dense_add_bias


def _upsample(data: Expr, name: str, channels: int) -> Expr:
    """A transposed convolution that doubles the height and width of an image."""
    sizes = {"kernel_size": (4, 4), "strides": (2, 2), "padding": (1, 1)}
    return conv2d_transpose(data, None, name=name, channels=channels, **sizes)


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: tuple[int, ...] = (3, 64, 64),
    ngf: int = 128,
    code: str | None = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """The network: `data` is (batch, random_len), the result images of 64 by 64 pixels with values from -1 to 1.

    ngf: channels of the next-to-last layer.  code: ignored.  OptionError for another image shape or layout.
    """
    if layout != "NCHW" or len(oshape) != 3 or oshape[1:] != (64, 64):
        raise OptionError(f"dcgan: images {oshape} in {layout!r}, expected (channels, 64, 64) in 'NCHW'")
    data = var("data", shape=(batch_size, random_len), dtype=dtype)
    body = op.reshape(dense_add_bias(data, units=4 * 4 * ngf * 8, name="dense"), (batch_size, ngf * 8, 4, 4))
    body = nn.relu(batch_norm_infer(body, name="bn1"))
    for n, times in enumerate((4, 2, 1), start=2):
        body = nn.relu(batch_norm_infer(_upsample(body, f"g{n}", ngf * times), name=f"bn{n}"))
    net = op.tanh(_upsample(body, "g5", oshape[0]))
    return Function(free_vars(net), net)


def get_workload(
    batch_size: int,
    oshape: tuple[int, ...] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, None, layout, dtype))
