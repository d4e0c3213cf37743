"""VGG: a sequence of 3 by 3 convolutions (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from .....core.errors import OptionError
from ....relay import Function, free_vars, nn
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import batch_norm_infer, classifier, conv_bias, data_of, dense_add_bias

_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
"""The number of convolutions of each stage, by number of layers (Simonyan and Zisserman, 2014, table 1)."""
_CHANNELS = (64, 128, 256, 512, 512)


def get_net(
    batch_size: int,
    image_shape: tuple[int, ...],
    num_classes: int,
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Function:
    """The network of 11, 13, 16 or 19 layers, optionally with batch normalization. OptionError for any other depth."""
    if num_layers not in _STAGES:
        raise OptionError(f"vgg of {num_layers} layers, expected one of {', '.join(map(str, _STAGES))}")
    body = data_of(batch_size, image_shape, dtype)
    for stage, (count, channels) in enumerate(zip(_STAGES[num_layers], _CHANNELS, strict=True), start=1):
        for n in range(1, count + 1):
            body = conv_bias(body, f"conv{stage}_{n}", channels=channels, kernel_size=(3, 3), padding=(1, 1))
            body = nn.relu(batch_norm_infer(body, name=f"bn{stage}_{n}") if batch_norm else body)
        body = nn.max_pool2d(body, (2, 2), (2, 2))
    body = nn.batch_flatten(body)
    for n in (6, 7):
        body = nn.dropout(nn.relu(dense_add_bias(body, units=4096, name=f"fc{n}")), 0.5)
    net = classifier(body, num_classes, "fc8")
    return Function(free_vars(net), net)


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
