"""Graphs as native code: an entry point that runs all kernels, and an entry point per kernel."""

from .build import build_graph
from .executable import Executable
from .executor import GraphExecutor
from .function import GraphFunction
from .profile import KernelRun, KernelSum, KernelTime, Profile
from .steps import TensorSpec
from .workspace import Workspace

__all__ = [
    "Executable",
    "GraphExecutor",
    "GraphFunction",
    "KernelRun",
    "KernelSum",
    "KernelTime",
    "Profile",
    "TensorSpec",
    "Workspace",
    "build_graph",
]
