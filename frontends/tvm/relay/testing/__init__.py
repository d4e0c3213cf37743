"""Test networks: `tvm.relay.testing`."""

from ...absent import report_absent
from ...testing import enabled_targets
from ..prelude import Prelude
from ..transform import gradient
from . import (
    dcgan,
    densenet,
    dqn,
    inception_v3,
    layers,
    lstm,
    mlp,
    mobilenet,
    mobilenet_v2,
    resnet,
    squeezenet,
    synthetic,
    transformer,
    vgg,
)
from .gradients import check_grad
from .gradients import random_array as _np_randn_from_type
from .init import create_workload
from .nat import add_nat_definitions, count, make_nat_expr, make_nat_value
from .passes import count_ops, rand, run_infer_type, run_opt_pass
from .py_converter import run_as_python
from .temp_op_attr import TempOpAttr

__getattr__ = report_absent("tvm.relay.testing")

__all__ = [
    "Prelude",
    "TempOpAttr",
    "_np_randn_from_type",
    "add_nat_definitions",
    "check_grad",
    "count",
    "count_ops",
    "create_workload",
    "dcgan",
    "densenet",
    "dqn",
    "enabled_targets",
    "gradient",
    "inception_v3",
    "layers",
    "lstm",
    "make_nat_expr",
    "make_nat_value",
    "mlp",
    "mobilenet",
    "mobilenet_v2",
    "rand",
    "resnet",
    "run_as_python",
    "run_infer_type",
    "run_opt_pass",
    "squeezenet",
    "synthetic",
    "transformer",
    "vgg",
]
