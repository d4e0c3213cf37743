"""Models from files to results: `tvm.driver.tvmc`, and `python -m stepwell.frontends.tvm.driver.tvmc` in a shell."""

from ...absent import report_absent
from . import autotuner, transform
from .autotuner import tune_model as tune
from .compiler import compile_model as compile
from .frontends import load_model as load
from .model import TVMCException, TVMCModel, TVMCPackage, TVMCResult
from .runner import run_module as run

__getattr__ = report_absent("tvm.driver.tvmc")

__all__ = [
    "TVMCException", "TVMCModel", "TVMCPackage", "TVMCResult", "autotuner", "compile", "load", "run", "transform",
    "tune",
]  # fmt: skip
