"""Models as modules of layers: `tvm.relax.frontend.nn`."""

from ....absent import report_absent
from . import op, spec
from .core import Module, ModuleList, Parameter, Tensor
from .modules import GELU, Conv2D, Embedding, Identity, LayerNorm, Linear, ReLU, RMSNorm, SiLU
from .op import *  # noqa: F403

__getattr__ = report_absent("tvm.relax.frontend.nn")

__all__ = [
    "GELU",
    "Conv2D",
    "Embedding",
    "Identity",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleList",
    "Parameter",
    "RMSNorm",
    "ReLU",
    "SiLU",
    "Tensor",
    "op",
    "spec",
]
__all__ += op.__all__
