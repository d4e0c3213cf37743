"""A multilayer perceptron: two hidden layers and a softmax."""

from __future__ import annotations

from math import prod

from ....relay import Function, free_vars, nn
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import classifier, data_of, dense_add_bias


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> Function:
    """The network, with hidden layers of 128 and 64 units."""
    pixels = (prod(image_shape),)
    hidden = nn.batch_flatten(data_of(batch_size, image_shape if len(image_shape) > 1 else pixels, dtype))
    for n, units in enumerate((128, 64), start=1):
        hidden = nn.relu(dense_add_bias(hidden, units=units, name=f"fc{n}"))
    net = classifier(hidden, num_classes, "fc3")
    return Function(free_vars(net), net)


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
