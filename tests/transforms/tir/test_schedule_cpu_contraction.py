"""The sums of functions with default schedules add products that are not rounded; all other sums do not."""

from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import build_graph, relay
from stepwell.backends.runtime.program import Program
from stepwell.core.cpu import host_cpu
from stepwell.frontends.tvmscript import parse_tvmscript

pytestmark = pytest.mark.skipif(not host_cpu().fma, reason="the processor multiplies and adds in two instructions")

PRODUCT = """
@T.prim_func
def main(A: T.Buffer((32, 64), "float32"), B: T.Buffer((64, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j, k in T.grid(32, 32, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
ELEMENTS = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j in T.grid(64, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + A[vi, vj] * B[vj, vi]
"""


def is_contracted(program: Program) -> bool:
    return "llvm.fma" in program.source("llvm")


def test_the_sums_of_a_default_schedule_are_contracted() -> None:
    assert is_contracted(stepwell.build(parse_tvmscript(PRODUCT)))
    assert not is_contracted(stepwell.build(parse_tvmscript(ELEMENTS)))


@pytest.mark.parametrize("options", [{"target": "llvm -fast-math-contract=0"}, {"schedule": False}])
def test_the_sums_of_other_functions_are_not(options: dict[str, Any]) -> None:
    assert not is_contracted(stepwell.build(parse_tvmscript(PRODUCT), **options))
    scheduled = stepwell.Schedule(parse_tvmscript(PRODUCT))
    scheduled.vectorize(scheduled.split(scheduled.get_loops("C")[1], [None, 8])[1])
    assert not is_contracted(stepwell.build(scheduled.mod))


def test_an_exact_product_is_not_rounded_before_it_is_added() -> None:
    rows = np.zeros((32, 64), "float32")
    columns = np.zeros((64, 32), "float32")
    rows[:, :2], columns[:2] = [-1, 1 + 2**-12], [[1 + 2**-11], [1 + 2**-12]]
    sums = np.empty((32, 32), "float32")
    stepwell.build(parse_tvmscript(PRODUCT))(rows, columns, sums)
    assert (sums == np.float32(2**-24)).all()
    stepwell.build(parse_tvmscript(PRODUCT), target="llvm -fast-math-contract=0")(rows, columns, sums)
    assert (sums == 0).all()


def test_the_products_of_graphs_are_contracted() -> None:
    data = relay.var("data", shape=(32, 64))
    net = relay.nn.dense(data, relay.var("weight", shape=(32, 64)), units=32)
    module = relay.module(relay.Function(relay.free_vars(net), net))
    assert is_contracted(build_graph(module).program)
    assert not is_contracted(build_graph(module, target="llvm -fast-math-contract=0").program)
