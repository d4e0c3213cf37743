"""Builtins of targets as functions."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.expressions.errors import TeError
from stepwell.frontends.tvm import tir


def test_builtins_have_their_names() -> None:
    fragments = [tir.decl_buffer((16, 16), "float16", scope="wmma.accumulator").data for _ in range(4)]
    pairs = [each for fragment in fragments for each in (fragment, 0)]
    assert tir.tvm_mma_sync(*pairs).op.name == "tir.tvm_mma_sync"
    assert tir.tvm_fill_fragment(fragments[0], 16, 16, 16, 0, value=0.0).op.name == "tir.tvm_fill_fragment"
    assert tir.mma_fill("int32", 8, fragments[0], 0).op.name == "tir.mma_fill"
    assert tir.call_intrin("handle", "tir.tvm_storage_sync", "shared").op.name == "tir.tvm_storage_sync"
    x: Any = tir.Var("x", "int32")
    calls: list[Any] = [tir.likely(x), tir.reinterpret("float32", x)]
    assert [call.op.name for call in calls] == ["tir.likely", "tir.reinterpret"]


def test_builtins_are_statements() -> None:
    a = tir.decl_buffer((4,), "int32", "a")
    body = tir.SeqStmt(
        [
            tir.Evaluate(tir.assume(a[0] > 1)),
            tir.Evaluate(tir.tvm_storage_sync(storage_scope="shared")),
            tir.BufferStore(a, a[0] + 1, [1]),
        ]
    )
    func = tir.PrimFunc([a], body)
    assert "T.assume(1 < a[0])" in func.script() or "T.assume(a[0] > 1)" in func.script()
    assert 'T.tvm_storage_sync("shared")' in func.script()
    without = tir.transform.RemoveAssume()(tvm.IRModule({"main": tir.PrimFunc([a], tir.SeqStmt([body[0], body[2]]))}))
    numbers = np.full(4, 5, "int32")
    tvm.build(without)(numbers)
    np.testing.assert_array_equal(numbers, [5, 6, 5, 5])


def test_other_arguments_are_errors() -> None:
    for wrong in (
        lambda: tir.tvm_fill_fragment(1, 2),
        lambda: tir.tvm_storage_sync("shared", storage_scope="shared"),
        lambda: tir.mma_fill("int32", 8, 0, 0, length=1),
    ):
        with pytest.raises(TeError, match="expected "):
            wrong()
    with pytest.raises(AttributeError, match="ptx_cp_async': copies are loads and stores"):
        tir.ptx_cp_async("float16", 0, 0, 0, 0, 16)
