"""The module `tvm.relay.build_module`: compilation of graphs."""

from ..absent import report_absent
from .building import GraphExecutorFactoryModule, bind_params_by_name, build, optimize
from .execute import create_executor
from .executors import Executor, Runtime
from .transform import build_config

__getattr__ = report_absent("tvm.relay.build_module")

__all__ = [
    "Executor", "GraphExecutorFactoryModule", "Runtime", "bind_params_by_name", "build", "build_config",
    "create_executor", "optimize",
]  # fmt: skip
