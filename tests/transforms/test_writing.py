"""The writing helpers of passes."""

import numpy as np
import pytest

from stepwell import build, parse_tvmscript
from stepwell.dialects.tir import MatchBufferOp, StoreOp, TirBuilder
from stepwell.transforms.writing import each_element

SIZES = ["(3, 4)", "(n, 4)", "()"]


@pytest.mark.parametrize("shape", SIZES)
def test_a_block_is_written_for_each_element(shape: str) -> None:
    n = "    n = T.int32()\n" if "n" in shape else ""
    mod = parse_tvmscript(
        f"@T.prim_func\ndef main(a: T.handle):\n{n}    A = T.match_buffer(a, {shape}, 'float32')\n    T.evaluate(0)\n"
    )
    func = mod.functions["main"]
    matched = [op.buffer for op in func.body.block.ops if isinstance(op, MatchBufferOp)]
    buffer = (matched or func.body.block.args)[0]
    builder = TirBuilder(func.body.block)
    with each_element(builder, "fill", buffer) as index:
        builder.store(2.5, buffer, index)
    mod.verify()
    assert "T.writes(A" in mod.script()
    array = np.zeros([3, 4] if shape != "()" else [], "float32")
    build(mod)(array)
    assert (array == 2.5).all()
    (store,) = [op for op in func.walk() if isinstance(op, StoreOp)]
    assert store.parent_op().name == "tir.block"  # pyright: ignore[reportOptionalMemberAccess]
