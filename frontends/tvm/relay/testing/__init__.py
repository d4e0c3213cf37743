"""Test networks: `tvm.relay.testing`."""

from ...absent import report_absent
from . import dcgan, layers, lstm, mlp, mobilenet, mobilenet_v2, resnet, squeezenet, transformer, vgg
from .init import create_workload
from .passes import rand, run_infer_type, run_opt_pass

__getattr__ = report_absent("tvm.relay.testing")

__all__ = [
    "create_workload",
    "dcgan",
    "layers",
    "lstm",
    "mlp",
    "mobilenet",
    "mobilenet_v2",
    "rand",
    "resnet",
    "run_infer_type",
    "run_opt_pass",
    "squeezenet",
    "transformer",
    "vgg",
]
