"""The module `tvm.stmt` until v0.6: statements."""

from ..absent import report_absent
from ..tir import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    Stmt,
    Store,
)
from ..tir import ProducerRealize as Realize
from ..tir import ProducerStore as Provide
from ..tir import SeqStmt as Block

__getattr__ = report_absent("tvm.stmt")


class Free(BufferRealize):
    """The end of memory, as of `BufferRealize`."""


class ProducerConsumer(BufferRealize):
    """The statements of a stage, as of `BufferRealize`."""


__all__ = [
    "Allocate", "AssertStmt", "AttrStmt", "Block", "Evaluate", "For", "Free", "IfThenElse", "LetStmt", "Prefetch",
    "ProducerConsumer", "Provide", "Realize", "Stmt", "Store",
]  # fmt: skip
