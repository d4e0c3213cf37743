"""The module `tvm.relay`, as of v0.16: graphs as expressions, and their compilation."""

from __future__ import annotations

import sys

from ...relay import functor, names, type_functor
from ...relay import functor as expr_functor
from ...relay.functor import *  # noqa: F403
from ...relay.names import *  # noqa: F403
from ...relay.op import *  # noqa: F403
from ...relay.type_functor import *  # noqa: F403
from ...relay.types import is_dynamic
from .. import params as param_dict
from ..absent import report_absent
from ..ir.families import SourceName, Type, TypeConstraint
from ..ir.module import IRModule as Module
from ..ir.operators import Op
from ..ir.span import Span
from ..params import load_param_dict, save_param_dict
from ..registry import register_func
from . import (
    adt,
    analysis,
    annotation,
    backend,
    build_module,
    data_dep_optimization,
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
from .analysis import Feature
from .annotation import device_copy
from .build_module import build, optimize
from .comparison import (
    alpha_equal,
    assert_alpha_equal,
    assert_graph_equal,
    graph_equal,
    structural_hash,
)
from .execute import create_executor
from .parser import fromtext, parse, parse_expr
from .prelude import Prelude
from .scope_builder import ScopeBuilder
from .texts import astext, pretty_print
from .transform import (
    FunctionPass,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    build_config,
    function_pass,
    gradient,
    module_pass,
)

if sys.getrecursionlimit() < 10_000:  # visitors recurse over the depth of graphs, as in TVM
    sys.setrecursionlimit(10_000)

__getattr__ = report_absent("tvm.relay")

Kind = names.TypeKind
"""The name of `TypeKind` in v0.6."""

__all__ = [
    "Feature",
    "FunctionPass",
    "Kind",
    "Module",
    "ModulePass",
    "Op",
    "Pass",
    "PassContext",
    "PassInfo",
    "Prelude",
    "ScopeBuilder",
    "Sequential",
    "ShapeVar",
    "SourceName",
    "Span",
    "Type",
    "TypeConstraint",
    "adt",
    "alpha_equal",
    "analysis",
    "annotation",
    "assert_alpha_equal",
    "assert_graph_equal",
    "astext",
    "backend",
    "build",
    "build_config",
    "build_module",
    "create_executor",
    "data_dep_optimization",
    "dataflow_pattern",
    "device_copy",
    "expr",
    "expr_functor",
    "fromtext",
    "frontend",
    "function_pass",
    "gradient",
    "graph_equal",
    "ir_pass",
    "is_dynamic",
    "load_param_dict",
    "loops",
    "module_pass",
    "op",
    "optimize",
    "param_dict",
    "parse",
    "parse_expr",
    "parser",
    "prelude",
    "pretty_print",
    "qnn",
    "quantize",
    "register_func",
    "save_param_dict",
    "scalar_type",
    "structural_hash",
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


def ShapeVar(name: str) -> names.TypeVar:
    """A variable of shapes."""
    return names.TypeVar(name, names.TypeKind.ShapeVar)
