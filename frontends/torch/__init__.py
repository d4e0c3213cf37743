"""The front end of PyTorch.

`from_torch` imports an exported program or a module as a module of the `relay` dialect; `torch_parameters` returns the
weights of a model as arrays.

Requires the extra `torch`; no other part of Stepwell but `tools/torch_backend.py` imports the package `torch`.
"""

from ..models.errors import ModelError, ModelUnsupportedError
from .examples import example_inputs
from .exporting import is_exported_program
from .importing import from_torch, torch_parameters
from .registry import IMPORTERS

__all__ = [
    "IMPORTERS",
    "ModelError",
    "ModelUnsupportedError",
    "example_inputs",
    "from_torch",
    "is_exported_program",
    "torch_parameters",
]
