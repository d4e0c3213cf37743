"""Patterns of cuBLAS: products of matrices, with a transposed factor, a bias and an activation."""

from __future__ import annotations

from collections.abc import Iterator

from ......module import Module
from ..pattern_registry import FusionPattern, get_patterns_with_prefix, register_patterns
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


def partition_for_cublas(mod: Module, bind_constants: bool = False) -> Module:
    """A module in which the operators that cuBLAS computes are functions, as of `FuseOpsByPattern`."""
    # lazy: the module imports this package
    from ...partition import FuseOpsByPattern

    return FuseOpsByPattern(get_patterns_with_prefix("cublas"), bind_constants, annotate_codegen=True)(mod)


__all__ = ["partition_for_cublas"]
