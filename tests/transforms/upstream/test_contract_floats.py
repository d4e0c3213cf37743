"""`contract-floats`: sums of products with a single rounding."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.rewriter import Rewriter

from stepwell import build
from stepwell.backends.cuda.emulation import compiler
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import oracle_results
from stepwell.tools.testing.strategies import programs
from stepwell.transforms.tir.resolve_blocks import TirResolveBlocksPass
from stepwell.transforms.upstream.contract_floats import ContractFloatsPass

DOT = """
@T.prim_func
def main(A: T.Buffer((4, 8), "{dtype}"), B: T.Buffer((4, 8), "{dtype}"), C: T.Buffer((4,), "{dtype}")):
    for i in range(4):
        C[i] = 0.0
        for k in range(8):
            C[i] = C[i] + A[i, k] * B[i, k]
"""


def contracted(module: Module) -> Module:
    module = module.clone()
    ContractFloatsPass().apply(Context(), module.op)
    module.verify()
    return module


def expanded(module: Module) -> Module:
    """Replaces each `math.fma` by a product and a sum, which round twice."""
    module = module.clone()
    for op in list(module.op.walk()):
        if isinstance(op, math.FmaOp):
            product = arith.MulfOp(op.a, op.b)
            Rewriter.replace_op(op, [product, arith.AddfOp(product.result, op.c)])
    return module


@given(program=programs(Features(libm=True)))
def test_but_for_the_rounding_of_products_the_same_is_computed(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    module = module.clone()
    TirResolveBlocksPass().apply(Context(), module.op)
    assert_same(oracle_results(expanded(contracted(module)), arguments), oracle_results(expanded(module), arguments))


def test_each_step_rounds_once() -> None:
    for dtype, wide in (("float32", np.float64), ("float64", np.longdouble)):
        module = contracted(parse_tvmscript(DOT.format(dtype=dtype)))
        a, b = (np.random.default_rng(seed).standard_normal((4, 8)).astype(dtype) for seed in (0, 1))
        expected = np.zeros(4, dtype)
        for k in range(8):
            expected = (expected.astype(wide) + a[:, k].astype(wide) * b[:, k].astype(wide)).astype(dtype)
        asked = parse_tvmscript(DOT.format(dtype=dtype)), "llvm -fast-math-contract=1"
        for program, target in ((module, "llvm"), (module, "python"), asked):
            c = np.zeros(4, dtype)
            build(program, target=target)(a, b, c)
            np.testing.assert_allclose(c, expected, rtol=0, atol=float(np.finfo(dtype).eps))
        plain = np.zeros(4, dtype)
        build(parse_tvmscript(DOT.format(dtype=dtype)))(a, b, plain)
        assert (plain != c).any()


def test_kernels_round_as_native_code_does() -> None:
    if compiler() is None:
        pytest.skip("needs g++ and binutils")
    a, b = (np.random.default_rng(seed).standard_normal((4, 8), np.float32) for seed in (0, 1))
    found = np.zeros((2, 4), np.float32)
    for c, target in zip(found, ("llvm", "cuda-emulated"), strict=True):
        build(parse_tvmscript(DOT.format(dtype="float32")), target=f"{target} -fast-math-contract=1")(a, b, c)
    np.testing.assert_array_equal(found[0], found[1])
