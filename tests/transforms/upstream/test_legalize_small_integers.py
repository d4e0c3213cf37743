"""Refusals of the pass, and its idempotence."""

import pytest
from xdsl.context import Context

from stepwell.core.errors import UnsupportedError
from stepwell.frontends.mlir import parse_mlir
from stepwell.tools.testing.attachment import assert_uses_are_attached
from stepwell.transforms.upstream.legalize_small_integers import LegalizeSmallIntegersPass


def test_running_it_again_changes_nothing() -> None:
    module = parse_mlir("func.func @f(%a: i4) -> i4 { %r = arith.muli %a, %a : i4\n func.return %r : i4 }")
    LegalizeSmallIntegersPass().apply(Context(), module.op)
    assert_uses_are_attached(module)
    before = str(module)
    assert "i32" in before
    LegalizeSmallIntegersPass().apply(Context(), module.op)
    assert str(module) == before


def test_products_with_their_upper_bits_are_refused() -> None:
    text = "func.func @f(%a: i4) -> i4 { %l, %h = arith.mulsi_extended %a, %a : i4\n func.return %h : i4 }"
    with pytest.raises(UnsupportedError, match=r"arith\.mulsi_extended of i4, expected i8 or more"):
        LegalizeSmallIntegersPass().apply(Context(), parse_mlir(text).op)
