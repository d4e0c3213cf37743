"""The names of `tvm.relax` that were in `tvm.relax.vm` until v0.12."""

from __future__ import annotations

from typing import Any

build: Any = None
VirtualMachine: Any = None
Executable: Any = None
