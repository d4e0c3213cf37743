"""`tvm.tir.transform` and `tvm.tir.analysis` by TVM's names."""

# Annotations are TVMScript here, not types.
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportUndefinedVariable=false

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context

import stepwell.frontends.tvm as tvm
from stepwell import Module, parse_tvmscript
from stepwell.core.errors import OptionError, PassError
from stepwell.frontends.tvm import tir
from stepwell.frontends.tvm.script import tir as T
from stepwell.frontends.tvm.tir.flatten_buffers import FlattenBuffersPass
from stepwell.frontends.tvm.tir.inline_functions import InlineFunctionsPass
from stepwell.tools.testing.attachment import assert_uses_are_attached
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import oracle_results
from stepwell.tools.testing.strategies import programs


@T.prim_func
def row_sums(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def threads(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(2, "blockIdx.x"):
        for j in T.thread_binding(32, "threadIdx.x"):
            S = T.alloc_buffer((32,), "float32", scope="shared")
            S[j] = A[i * 32 + j]
            B[i * 32 + j] = S[j]


def module(func: Any) -> Any:
    return tvm.IRModule({"main": func})


def run(mod: Any) -> np.ndarray[Any, Any]:
    a, b = np.arange(32, dtype=np.float32).reshape(4, 8), np.empty(4, np.float32)
    tvm.build(mod, target="llvm")(a, b)
    return b


def test_inits_and_axes_are_lowered_one_by_one() -> None:
    lowered = tir.transform.LowerInitBlock()(module(row_sums))
    assert "if vk == 0:" in lowered.script()
    assert "T.init" not in lowered.script()
    opaque = tir.transform.ConvertBlocksToOpaque()(lowered)
    assert "T.axis" not in opaque.script()
    assert "T.reads(A[i, k])" in opaque.script()
    resolved = tir.transform.LowerOpaqueBlock()(opaque)
    tvm.ir.assert_structural_equal(resolved, tir.transform.LowerOpaqueBlock()(module(row_sums)))
    for mod in (lowered, opaque, resolved):
        np.testing.assert_array_equal(run(mod), np.arange(32).reshape(4, 8).sum(1))


def test_axes_of_a_block_with_an_init_stay() -> None:
    with pytest.raises(PassError, match="block B has an init, expected LowerInitBlock before"):
        tir.transform.ConvertBlocksToOpaque()(module(row_sums))


def test_passes_of_the_lowering_keep_results() -> None:
    names = (
        "LowerInitBlock PlanAndUpdateBufferAllocationLocation ConvertBlocksToOpaque UnifyThreadBinding "
        "ManifestSharedMemoryLocalStage CompactBufferAllocation LowerAutoCopy LowerMatchBuffer LowerOpaqueBlock "
        "FlattenBuffer NarrowDataType LoopPartition VectorizeLoop InjectVirtualThread InjectDoubleBuffer "
        "StorageRewrite UnrollLoop RenormalizeSplitPattern Simplify RemoveNoOp RewriteUnsafeSelect HoistIfThenElse "
        "CommonSubexprElimTIR"
    ).split()
    passes = [getattr(tir.transform, name)(*([32] if name == "NarrowDataType" else [])) for name in names]
    np.testing.assert_array_equal(run(tvm.transform.Sequential(passes)(module(row_sums))), [28, 92, 156, 220])


def test_checks_and_assumptions_are_removed() -> None:
    @T.prim_func
    def checked(A: T.Buffer((4,), "int32"), n: T.int32):
        T.evaluate(T.assume(n > 0))
        assert n < 8, "n"
        for i in T.parallel(4):
            A[i] = n

    mod = module(checked)
    assert "assert" not in tir.transform.SkipAssert()(mod).script()
    assert "T.assume" not in tir.transform.RemoveAssume()(mod).script()
    assert "T.assume" in mod.script()
    assert "for i in range(4)" in tir.transform.ConvertForLoopsToSerial()(mod).script()


def test_targets_and_entries_are_attributes() -> None:
    func: Any = row_sums
    target = tvm.target.Target("cuda", host="llvm")
    mod = tvm.IRModule({"main": func, "other": func.without_attr("global_symbol")})
    bound = tir.transform.BindTarget(target)(mod)
    assert bound["main"].attrs["target"] == target
    assert bound["other"].attrs["target"] == target.without_host()
    marked = tir.transform.AnnotateEntryFunc()(mod)
    assert marked["main"].attrs["tir.is_entry_func"]
    assert "tir.is_entry_func" not in marked["other"].attrs


def test_accesses_outside_of_threads_are_found() -> None:
    functions: list[Any] = [row_sums, threads]
    host, device = (func.with_attr("target", tvm.target.Target("cuda")) for func in functions)
    assert tir.analysis.verify_memory(row_sums)
    assert not tir.analysis.verify_memory(host)
    assert tir.analysis.verify_memory(device)
    with pytest.raises(PassError, match="function main accesses memory of the GPU outside of threads"):
        tir.transform.VerifyMemory()(module(host))


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"max_threads_per_block": 32, "max_kernels": 1, "max_shared_memory_per_block": 128}, True),
        ({"max_thread_x": 31}, False),
        ({"max_shared_memory_per_block": 127}, False),
        ({"max_local_memory_per_block": 0, "max_vthread": 1}, True),
        ({"max_kernels": 0}, False),
    ],
)
def test_kernels_are_compared_with_limits(limits: dict[str, int], expected: bool) -> None:
    assert tir.analysis.verify_gpu_code(threads, limits) is expected


def test_an_unknown_limit_is_an_error() -> None:
    with pytest.raises(OptionError, match="constraint 'max_warps', expected one of max_threads_per_block"):
        tir.analysis.verify_gpu_code(threads, {"max_warps": 1})


def test_memory_and_effects_of_functions() -> None:
    @T.prim_func
    def pure(n: T.int32) -> T.int32:
        return n + 1

    assert tir.analysis.calculate_allocated_bytes(threads) == {"threads": {"shared": 128}}
    assert tir.analysis.is_pure_function(pure)
    assert not tir.analysis.is_pure_function(row_sums)
    with pytest.raises(PassError, match="function row_sums has effects"):
        tir.analysis.assert_pure_function(row_sums)


def test_statements_with_blocks_are_printed() -> None:
    func: Any = row_sums
    text = func.body.block.body.script()
    assert "for i, k in T.grid(4, 8):" in text
    assert "T.writes(B[vi])" in text


@T.prim_func
def images(a: T.handle, B: T.Buffer((4, 8, 16), "float32"), c: T.Buffer((), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (4, n, 16), "float32")
    rows = T.alloc_buffer((4, 16), "float32")
    for i, j in T.grid(4, n):
        rows[i, 0:16] = A[i, j, 0:16] + T.Broadcast(T.float32(1), 16)
        for k in range(16):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                T.reads(rows[vi, 0:16])
                T.writes(B[vi, vj, vk])
                B[vi, vj, vk] = rows[vi, 15 - vk] * c[()]


def test_buffers_are_flattened() -> None:
    mod = tvm.IRModule({"main": images})
    flat = tir.transform.FlattenBuffer()(mod)
    text = flat.script()
    assert "rows = T.alloc_buffer((64,))" in text
    assert "rows[i * 16:i * 16 + 16] = A_1[" in text
    assert "T.reads(rows[vi * 16:vi * 16 + 16])" in text
    assert "T.writes(B_1[vi * 128 + vj * 16 + vk])" in text
    assert "B_1[vi * 128 + vj * 16 + vk] = rows[vi * 16 - vk + 15] * c_1[0]" in text
    a, c = np.arange(4 * 8 * 16, dtype="float32").reshape(4, 8, 16), np.array(2, "float32")
    results = []
    for each in (mod, flat, tir.transform.FlattenBuffer()(flat)):
        b = np.empty_like(a)
        tvm.build(each)(a, b, c)
        results.append(b)
    np.testing.assert_array_equal(results[0], (a[:, :, ::-1] + 1) * 2)
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_buffers_with_strides_and_of_calls_are_not_flattened() -> None:
    @T.prim_func
    def strided(a: T.handle, B: T.Buffer((4, 4), "float32")):
        A = T.match_buffer(a, (4, 4), "float32", strides=[8, 1])
        T.call_packed("f", B)
        for i, j in T.grid(4, 4):
            B[i, j] = A[i, j]

    mod = module(strided)
    tvm.ir.assert_structural_equal(tir.transform.FlattenBuffer()(mod), mod)


CALLS = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            Module.add_row(T.address_of(A[i, 0]), T.address_of(B[i]), i)

    @T.prim_func(private=True)
    def add_row(a: T.handle("float32"), b: T.handle("float32"), n: T.int32):
        A = T.decl_buffer((8,), "float32", data=a)
        B = T.decl_buffer((1,), "float32", data=b)
        B[0] = T.Cast("float32", n)
        for j in range(8):
            B[0] = B[0] + A[j]
        {more}
"""


def test_private_functions_are_inlined() -> None:
    mod = tvm.script.from_source(CALLS.format(more=""))
    inlined = tir.transform.InlinePrivateFunctions()(mod)
    assert list(inlined) == ["main"]
    assert "add_row" not in inlined.script()
    a = np.arange(32, dtype="float32").reshape(4, 8)
    for each in (mod, inlined):
        b = np.zeros(4, "float32")
        tvm.build(each)["main"](a, b)
        np.testing.assert_array_equal(b, a.sum(1) + np.arange(4))


def test_recursive_functions_and_exposed_ones_are_not_inlined() -> None:
    recursive = tvm.script.from_source(CALLS.format(more="if n > 8:\n            Module.add_row(a, b, n - 1)"))
    exposed = tvm.script.from_source(CALLS.format(more="").replace("(private=True)", ""))
    for mod in (recursive, exposed):
        tvm.ir.assert_structural_equal(tir.transform.InlinePrivateFunctions()(mod), mod)


def check_results_stay(module: Module, step: Any, arguments: dict[str, Any]) -> Module:
    after = module.clone()
    step.apply(Context(), after.op)
    after.verify()
    assert_uses_are_attached(after)
    assert_same(oracle_results(after, arguments), oracle_results(module, arguments))
    return after


@given(program=programs(Features(threads=True, libm=True)))
def test_programs_with_flattened_buffers_compute_the_same(program: Any) -> None:
    module, arguments = program
    check_results_stay(module, FlattenBuffersPass(), arguments)


CALLEE = """
    @T.prim_func(private=True)
    def f{n}(a: T.handle("int32"), n: T.int32):
        A = T.decl_buffer((8,), "int32", data=a)
        {body}
"""
CALLER = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        {body}
"""


@st.composite
def modules_with_calls(draw: st.DrawFn) -> str:
    """A program whose private functions call only functions after them, at any depth of loops."""
    count = draw(st.integers(1, 3))

    def body(first: int, pointer: str, number: str) -> str:
        calls = [f"Module.f{k}({pointer}, {number} + {draw(st.integers(0, 3))})" for k in range(first, count)]
        updates = [f"A[({number} + {draw(st.integers(0, 9))}) % 8] = A[i] * 3 + {number}"]
        chosen = draw(st.lists(st.sampled_from(calls + updates), min_size=1, max_size=3))
        return "\n            ".join(["for i in range(3):", *chosen])

    callees = [CALLEE.format(n=n, body=body(n + 1, "a", "n")) for n in range(count)]
    return CALLER.format(body=body(0, "T.address_of(A[0])", "i")) + "".join(callees)


@given(text=modules_with_calls())
def test_programs_with_inlined_functions_compute_the_same(text: str) -> None:
    module = parse_tvmscript(text)
    arguments = {"A": np.arange(8, dtype="int32")}
    assert list(check_results_stay(module, InlineFunctionsPass(), arguments).functions) == ["main"]
