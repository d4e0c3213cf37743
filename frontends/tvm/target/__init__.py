"""The module `tvm.target`: targets of compilations, as text, dictionaries and tags."""

from .creation import arm_cpu, create, cuda, llvm
from .tags import list_tags
from .target import Target, TargetKind

__all__ = ["Target", "TargetKind", "arm_cpu", "create", "cuda", "list_tags", "llvm"]
