"""A small network with convolutions, products, norms and reshapes, which compiles fast."""

from __future__ import annotations

from collections.abc import Sequence

from ....relay import Expr, Function, free_vars, nn, reshape, reshape_like, var
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import batch_norm_infer


def get_net(input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None) -> Function:
    """The network. wtype: the data type of the weights, by default that of the input."""
    data = var("data", shape=input_shape, dtype=dtype)
    _, channels, _, width = input_shape
    weights = wtype or dtype

    def stage(x: Expr, name: str) -> Expr:
        rows = nn.dense(reshape(x, (-1, width)), var(f"dense{name}_weight", shape=(width, width), dtype=weights))
        kernel = var(f"conv{name}_weight", shape=(channels, channels, 3, 3), dtype=weights)
        return reshape_like(nn.relu(rows), data) + nn.softmax(nn.conv2d(x, kernel, padding=1, kernel_size=3))

    biased = nn.bias_add(stage(data, ""), var("bias", shape=(channels,), dtype=weights))
    net = stage(batch_norm_infer(biased, name="batch_norm"), "2")
    return Function(free_vars(net), net)


def get_workload(
    input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(input_shape, dtype, wtype))
