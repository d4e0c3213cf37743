"""Patterns of cuBLAS: products of matrices, with a transposed factor, a bias and an activation."""

from __future__ import annotations

from collections.abc import Iterator

from ..pattern_registry import FusionPattern, register_patterns
from ..patterns import make_matmul_pattern

_ACTIVATIONS = {"": None, "_relu": "relax.nn.relu", "_gelu": "relax.nn.gelu"}


def _patterns() -> Iterator[FusionPattern]:
    for transposed in (False, True):
        for bias in (False, True):
            for suffix, activation in _ACTIVATIONS.items():
                if activation is not None and not bias:
                    continue
                name = f"cublas.matmul{'_transposed' if transposed else ''}{'_bias' if bias else ''}{suffix}"
                yield FusionPattern(name, *make_matmul_pattern(bias, activation, transposed))


register_patterns(list(_patterns()))
