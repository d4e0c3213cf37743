"""The package `torch`, an optional dependency: the extra `torch`."""

from importlib import import_module
from typing import Any

torch: Any = import_module("torch")
