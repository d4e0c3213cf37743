"""The module `tvm.relay`, as of v0.16: graphs as expressions, and their compilation."""

from __future__ import annotations

import sys

from ...relay import functor, names, type_functor
from ...relay import functor as expr_functor
from ...relay.functor import *  # noqa: F403
from ...relay.names import *  # noqa: F403
from ...relay.op import *  # noqa: F403
from ...relay.type_functor import *  # noqa: F403
from ..absent import report_absent
from ..ir.module import IRModule as Module
from ..ir.span import Span
from ..params import load_param_dict, save_param_dict
from . import (
    adt,
    analysis,
    annotation,
    backend,
    build_module,
    dataflow_pattern,
    expr,
    frontend,
    ir_pass,
    loops,
    op,
    parser,
    prelude,
    quantize,
    testing,
    transform,
    vm,
)
from . import qnn as qnn
from .build_module import build, optimize
from .execute import create_executor
from .parser import fromtext, parse, parse_expr
from .scope_builder import ScopeBuilder
from .transform import build_config, gradient

if sys.getrecursionlimit() < 10_000:  # visitors recurse over the depth of graphs, as in TVM
    sys.setrecursionlimit(10_000)

__getattr__ = report_absent("tvm.relay")

__all__ = [
    "Module",
    "ScopeBuilder",
    "Span",
    "adt",
    "analysis",
    "annotation",
    "backend",
    "build",
    "build_config",
    "build_module",
    "create_executor",
    "dataflow_pattern",
    "expr",
    "expr_functor",
    "fromtext",
    "frontend",
    "gradient",
    "ir_pass",
    "load_param_dict",
    "loops",
    "op",
    "optimize",
    "parse",
    "parse_expr",
    "parser",
    "prelude",
    "qnn",
    "quantize",
    "save_param_dict",
    "scalar_type",
    "testing",
    "transform",
    "vm",
]
__all__ += names.__all__
__all__ += functor.__all__
__all__ += type_functor.__all__
__all__ += op.__all__


def scalar_type(dtype: str) -> names.TensorType:
    """The type of a tensor of rank 0."""
    return names.TensorType((), dtype)
