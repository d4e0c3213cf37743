"""Inception v3: blocks of parallel towers of convolutions, which are concatenated (Szegedy et al., 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ....relay import Expr, Function, free_vars, nn, op
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import conv_bn_relu, data_of, dense_add_bias

Layer: TypeAlias = "tuple[int, int, int, int] | str"
"""A convolution: its channels, the height and width of its kernel, and its stride, whose kernel is not padded if it is
2; or a pool, `avg` or `max` with stride 1, `reduce` with the greatest elements with stride 2."""
Tower: TypeAlias = "tuple[Layer | tuple[Layer, ...], ...]"
"""The layers of a tower in order; a tuple of layers is applied to one result, and their results are concatenated."""


def _near(pooled: int) -> tuple[Tower, ...]:
    """The towers of a block on images of 35 by 35 pixels. pooled: the channels of the tower with the pool."""
    return (
        ((64, 1, 1, 1),),
        ((48, 1, 1, 1), (64, 5, 5, 1)),
        ((64, 1, 1, 1), (96, 3, 3, 1), (96, 3, 3, 1)),
        ("avg", (pooled, 1, 1, 1)),
    )


def _middle(narrow: int) -> tuple[Tower, ...]:
    """The towers of a block on images of 17 by 17 pixels. narrow: the channels within a tower."""
    wide, high = (narrow, 1, 7, 1), (narrow, 7, 1, 1)
    return (
        ((192, 1, 1, 1),),
        ((narrow, 1, 1, 1), wide, (192, 7, 1, 1)),
        ((narrow, 1, 1, 1), high, wide, high, (192, 1, 7, 1)),
        ("avg", (192, 1, 1, 1)),
    )


def _far(pool: str) -> tuple[Tower, ...]:
    """The towers of a block on images of 8 by 8 pixels. pool: the kind of the pool."""
    sides = ((384, 1, 3, 1), (384, 3, 1, 1))
    return (
        ((320, 1, 1, 1),),
        ((384, 1, 1, 1), sides),
        ((448, 1, 1, 1), (384, 3, 3, 1), sides),
        (pool, (192, 1, 1, 1)),
    )


_STEM: tuple[tuple[Layer, int], ...] = (
    ((32, 3, 3, 2), 0), ((32, 3, 3, 1), 0), ((64, 3, 3, 1), 1), ("reduce", 0), ((80, 1, 1, 1), 0), ((192, 3, 3, 1), 0),
    ("reduce", 0),
)  # fmt: skip
"""The layers before the blocks, each with the padding."""
_BLOCKS: tuple[tuple[Tower, ...], ...] = (
    _near(32),
    _near(64),
    _near(64),
    (((384, 3, 3, 2),), ((64, 1, 1, 1), (96, 3, 3, 1), (96, 3, 3, 2)), ("reduce",)),
    _middle(128),
    _middle(160),
    _middle(160),
    _middle(192),
    (
        ((192, 1, 1, 1), (320, 3, 3, 2)),
        ((192, 1, 1, 1), (192, 1, 7, 1), (192, 7, 1, 1), (192, 3, 3, 2)),
        ("reduce",),
    ),
    _far("avg"),
    _far("max"),
)


class _Network:
    """The layers of a network, whose parameters are numbered."""

    def __init__(self) -> None:
        self._count = 0

    def layer(self, data: Expr, layer: Layer, padding: tuple[int, int] | None = None) -> Expr:
        """The result of a layer. padding: that of a convolution, by default the one that keeps the size with stride
        1."""
        if layer == "reduce":
            return nn.max_pool2d(data, (3, 3), (2, 2))
        if isinstance(layer, str):
            pool = nn.avg_pool2d if layer == "avg" else nn.max_pool2d
            included = {"count_include_pad": True} if layer == "avg" else {}
            return pool(data, (3, 3), (1, 1), padding=(1, 1), **included)
        channels, height, width, stride = layer
        if padding is None:
            padding = (height // 2, width // 2) if stride == 1 else (0, 0)
        name = f"conv{self._count}"
        self._count += 1
        sizes = {"kernel_size": (height, width), "strides": (stride, stride), "padding": padding}
        return conv_bn_relu(data, name, 2e-5, channels=channels, **sizes)

    def tower(self, data: Expr, tower: Tower) -> Sequence[Expr]:
        """The results of a tower."""
        *first, last = tower
        for each in first:
            assert isinstance(each, str) or isinstance(each[0], int)
            data = self.layer(data, each)  # pyright: ignore[reportArgumentType]
        sides = [last] if isinstance(last, str) or isinstance(last[0], int) else last
        return [self.layer(data, each) for each in sides]  # pyright: ignore[reportArgumentType]


def get_net(batch_size: int, num_classes: int, image_shape: tuple[int, ...], dtype: str) -> Function:
    """The network, for images of 299 by 299 pixels."""
    network = _Network()
    body: Expr = data_of(batch_size, image_shape, dtype)
    for layer, padding in _STEM:
        body = network.layer(body, layer, (padding, padding))
    for towers in _BLOCKS:
        body = op.concatenate([result for tower in towers for result in network.tower(body, tower)], axis=1)
    body = nn.batch_flatten(nn.avg_pool2d(body, (8, 8), (1, 1)))
    net = nn.softmax(dense_add_bias(body, units=num_classes, name="fc1"))
    return Function(free_vars(net), net)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 299, 299),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
