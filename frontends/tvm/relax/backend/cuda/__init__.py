"""Patterns of NVIDIA's libraries."""

from __future__ import annotations

from . import cublas, cudnn

__all__ = ["cublas", "cudnn"]
