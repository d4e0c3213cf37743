"""Models of language: `tvm.relax.frontend.nn.llm`."""

from __future__ import annotations

from .....absent import report_absent
from . import kv_cache, position_embedding
from .kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache

__getattr__ = report_absent("tvm.relax.frontend.nn.llm")

__all__ = ["PagedKVCache", "RopeMode", "TIRPagedKVCache", "kv_cache", "position_embedding"]
