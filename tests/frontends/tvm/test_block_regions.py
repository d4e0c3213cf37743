"""Facts about blocks and memory: `tvm.tir.analysis`."""

import pytest

import stepwell.frontends.tvm as tvm
from stepwell.core.errors import ArgumentError, ScheduleError
from stepwell.frontends.tvm import tir
from stepwell.frontends.tvm.ir import assert_structural_equal
from stepwell.script import tir as T


@T.prim_func
def windows(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), D: T.Buffer((8,), "int32")):  # pyright: ignore[reportInvalidTypeForm]
    for i in range(8):
        with T.block("outer"):
            v = T.axis.spatial(8, i)
            T.reads(A[v * 8 + 1 : v * 8 + 6], D[v])
            T.writes(B[v * 8 : v * 8 + 5])
            for j in range(5):
                with T.block("inner"):
                    w = T.axis.spatial(5, j)
                    T.reads(A[v * 8 + w + 1], D[v])
                    T.writes(B[v * 8 + w])
                    if D[v] > 0:
                        B[v * 8 + w] = A[v * 8 + w + 1]


@T.prim_func
def pointers(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):  # pyright: ignore[reportInvalidTypeForm]
    for i in range(4):
        with T.block("call"):
            v = T.axis.spatial(4, i)
            T.reads(A[v * 16 : v * 16 + 8])
            T.writes(B[0:64])
            C = T.match_buffer(A[v * 16 : v * 16 + 8], (8,), offset_factor=1)
            T.evaluate(T.call_extern("int32", "f", C.access_ptr("r"), B.access_ptr("w")))


def block_of(func, name: str):
    found = []
    tir.stmt_functor.post_order_visit(
        func.body, lambda node: found.append(node) if isinstance(node, tir.Block) and node.name_hint == name else None
    )
    return found[0]


def known(func) -> dict:
    return {buffer.data: buffer for buffer in func.buffer_map.values()}


@pytest.mark.parametrize("name", ["outer", "inner"])
def test_the_regions_of_a_block_are_those_it_declares(name: str):
    func = tir.PrimFunc(windows.op)
    block = block_of(func, name)
    reads, writes, opaque = tir.analysis.get_block_access_region(block, known(func))
    by_name = {region.buffer.name: region for region in reads}
    for declared in block.reads:
        assert_structural_equal(by_name[declared.buffer.name], declared)
    assert_structural_equal(writes, block.writes)
    assert not opaque
    (only,) = [each for each in known(func).values() if each.name == "A"]
    reads, writes, _ = tir.analysis.get_block_access_region(block, {only.data: only})
    assert [each.buffer.name for each in reads] == ["A"]
    assert not writes


def test_regions_through_pointers_are_opaque():
    func = tir.PrimFunc(pointers.op)
    block = block_of(func, "call")
    reads, writes, opaque = tir.analysis.get_block_access_region(block, known(func))
    assert not reads
    assert not writes
    assert_structural_equal(opaque, [*block.reads, *block.writes])
    reads, writes = tir.analysis.get_block_read_write_region(block, known(func))
    assert_structural_equal(reads, block.reads)
    assert_structural_equal(writes, block.writes)
    assert [match.source.buffer.name for match in block.match_buffers] == ["A"]


def test_the_root_has_no_regions_here():
    with pytest.raises(ArgumentError, match="root"):
        tir.analysis.get_block_access_region(tir.PrimFunc(windows.op).body.block, {})  # pyright: ignore[reportAttributeAccessIssue]


def test_the_smallest_statement_around_all_accesses():
    func = tir.PrimFunc(windows.op)
    found = {buffer.name: each for buffer, each in tir.analysis.detect_buffer_access_lca(func).items()}
    inner = block_of(func, "inner")
    assert found == {"A": inner, "B": inner, "D": inner}


def test_memory_of_the_device_is_accessed_around_the_blocks_of_threads():
    @T.prim_func
    def kernel(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):  # pyright: ignore[reportInvalidTypeForm]
        for i in T.thread_binding(4, thread="blockIdx.x"):
            for j in T.thread_binding(32, thread="threadIdx.x"):
                B[i, j] = A[i, j]

    func = tir.PrimFunc(kernel.op)
    assert set(tir.analysis.detect_buffer_access_lca(func).values()) == {func.body}


@pytest.mark.parametrize(("extent", "is_inside"), [(64, True), (65, False)])
def test_accesses_out_of_bounds_are_errors(extent: int, is_inside: bool):
    a, i = tir.decl_buffer((64,), name="A"), tir.Var("i")
    mod = tvm.IRModule({"main": tir.PrimFunc([a], tir.For(i, 0, extent, 0, tir.BufferStore(a, 0.0, [i])))})
    if is_inside:
        assert_structural_equal(tir.analysis.OOBChecker()(mod), mod)
    else:
        with pytest.raises(ScheduleError, match="buffer A"):
            tir.analysis.OOBChecker()(mod)


def test_the_bytes_of_constants_and_of_memory():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):  # pyright: ignore[reportInvalidTypeForm]
        for _ in range(2):
            p = T.allocate([10], "float32", "global")
            P = T.Buffer((10,), "float32", data=p)
            P[0] = A[0]
        for _ in range(2):
            q = T.allocate([7], "int16", "global")
            Q = T.Buffer((7,), "int16", data=q)
            Q[0] = T.int16(0)
        c = T.allocate_const([1, 2, 3], "int32", [3])
        C = T.Buffer((3,), "int32", data=c)
        A[0] = T.cast(C[0], "float32")

    assert tir.analysis.calculate_constant_bytes(func, 8) == 16
    assert tir.analysis.calculate_workspace_bytes(func) == 40


def test_a_call_without_effects_is_pure():
    @T.prim_func
    def pure():
        T.evaluate(T.call_pure_extern("int32", "f"))

    @T.prim_func
    def impure():
        T.evaluate(T.call_extern("int32", "f"))

    assert tir.analysis.is_pure_function(pure)
    with pytest.raises(AssertionError, match="has effects"):
        tir.analysis.assert_pure_function(impure)
