"""Test networks: `tvm.relay.testing`."""

from . import dcgan, layers, lstm, mlp, mobilenet, mobilenet_v2, resnet, squeezenet, transformer, vgg
from .init import create_workload

__all__ = [
    "create_workload",
    "dcgan",
    "layers",
    "lstm",
    "mlp",
    "mobilenet",
    "mobilenet_v2",
    "resnet",
    "squeezenet",
    "transformer",
    "vgg",
]
