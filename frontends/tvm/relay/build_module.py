"""The module `tvm.relay.build_module`: compilation of graphs."""

from ..absent import report_absent
from .building import GraphExecutorFactoryModule, bind_params_by_name, build, optimize
from .execute import create_executor

__getattr__ = report_absent("tvm.relay.build_module")

__all__ = ["GraphExecutorFactoryModule", "bind_params_by_name", "build", "create_executor", "optimize"]
