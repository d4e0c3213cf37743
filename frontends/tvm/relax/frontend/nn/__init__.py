"""Models as modules of layers: `tvm.relax.frontend.nn`."""

from ....absent import report_absent
from . import op, spec
from .core import Module, ModuleDict, ModuleList, Object, Parameter, ParameterDict, ParameterList, Tensor
from .core import get_default_dtype as get_default_dtype
from .core import set_default_dtype as set_default_dtype
from .extern import ExternModule
from .modules import (
    GELU,
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    Embedding,
    GroupNorm,
    Identity,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SiLU,
)
from .op import *  # noqa: F403
from .visitor import Mutator

__getattr__ = report_absent("tvm.relax.frontend.nn")

__all__ = [
    "GELU",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "ConvTranspose1D",
    "Embedding",
    "ExternModule",
    "GroupNorm",
    "Identity",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Mutator",
    "Object",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "SiLU",
    "Tensor",
    "op",
    "spec",
]
__all__ += op.__all__
