"""Kernels that are merged into one function, and what they compute."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import Module, apply_passes, parse_tvmscript, relay
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.backends.interpreter import interpret
from stepwell.dialects.tir import FuncOp
from stepwell.tools.testing.attachment import assert_uses_are_attached
from stepwell.tools.testing.scheduling import check_computes_the_same
from stepwell.transforms.pipelines import lower_graph, lower_to_parts, lower_to_tir

SCHEDULES = "tir-collapse-axes,tir-schedule-cpu"


def layers(*channels: int, size: int = 3) -> Module:
    """A graph of convolutions with windows of one element, of images of some numbers of channels."""
    images = [relay.var(f"x{n}", shape=(1, count, size, size)) for n, count in enumerate(channels)]
    weights = [relay.var(f"w{n}", shape=(8, count, 1, 1)) for n, count in enumerate(channels)]
    results = [relay.nn.relu(relay.nn.conv2d(x, w)) for x, w in zip(images, weights, strict=True)]
    return relay.module(relay.Function([*images, *weights], relay.concatenate(results, axis=1)))


def kernels(graph: Module) -> Module:
    return lower_to_tir(lower_graph(graph))


def merged(module: Module, passes: str = "tir-merge-kernels") -> dict[str, FuncOp]:
    """The merged functions of a module after passes."""
    functions = apply_passes(module, passes).functions
    return {name: func for name, func in functions.items() if isinstance(func, FuncOp) and name.endswith(".merged")}


@pytest.mark.parametrize("passes", ["tir-merge-kernels", f"{SCHEDULES},tir-merge-kernels"])
@pytest.mark.parametrize("target", ["python", "llvm"])
def test_convolutions_of_a_growing_number_of_channels_are_one_function(passes: str, target: str) -> None:
    module = kernels(layers(32, 64, 96))
    ((name, func),) = merged(module, passes).items()
    assert name.startswith("fused_nn_conv2d_nn_relu")
    assert "extent" in [parameter.data for parameter in func.param_names]
    after = apply_passes(module, passes)
    assert_uses_are_attached(after)
    check_computes_the_same(module, after, target=target)


@pytest.mark.parametrize("passes", ["tir-merge-kernels", f"{SCHEDULES},tir-merge-kernels"])
@pytest.mark.parametrize("target", ["python", "llvm"])
def test_convolutions_of_blocks_of_channels_are_one_function(passes: str, target: str) -> None:
    """The extent is a number of blocks; the weights have 16 times as many channels."""
    images = [relay.var(f"x{n}", shape=(1, blocks, 2, 3, 16)) for n, blocks in enumerate((2, 4, 6))]
    weights = [relay.var(f"w{n}", shape=(1, 16 * blocks, 1, 1, 16)) for n, blocks in enumerate((2, 4, 6))]
    convolutions = [
        relay.nn.relu(relay.nn.contrib_conv2d_pack(x, w, 16, data_layout="NCHW16c", out_layout="NCHW16c"))
        for x, w in zip(images, weights, strict=True)
    ]
    module = kernels(relay.module(relay.Function([*images, *weights], relay.Tuple(convolutions))))
    ((_, func),) = merged(module, passes).items()
    assert [parameter.data for parameter in func.param_names][-1] == "extent"
    check_computes_the_same(module, apply_passes(module, passes), target=target)


def test_a_graph_computes_the_same_with_merged_kernels() -> None:
    channels = (32, 64, 96)
    executor = GraphExecutor(build_graph(layers(*channels)))
    random = np.random.default_rng(0)
    images = [random.integers(-3, 4, (1, count, 3, 3)).astype(np.float32) for count in channels]
    weights = [random.integers(-3, 4, (8, count, 1, 1)).astype(np.float32) for count in channels]
    for n, (x, w) in enumerate(zip(images, weights, strict=True)):
        executor.set_input(f"x{n}", x)
        executor.set_input(f"w{n}", w)
    executor.run()
    sums = [np.einsum("oi,bihw->bohw", w[:, :, 0, 0], x) for x, w in zip(images, weights, strict=True)]
    np.testing.assert_array_equal(np.asarray(executor.get_output(0)), np.maximum(np.concatenate(sums, axis=1), 0))


def test_similar_kernels_are_in_one_part_of_a_program() -> None:
    parts = lower_to_parts(lower_graph(layers(16, 24, 40, 48, size=9)))
    convolutions = [{name for name in part.module.functions if "conv2d" in name} for part in parts]
    assert max(map(len, convolutions)) == 4


FILL = """\
@T.prim_func
def {name}(A: T.Buffer(({n}, {m}), "int32"), B: T.Buffer(({k}, {n}), "int32")):
    T.func_attr({{"relay.kernel": True}})
    for i, j in T.grid({n}, {m}):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = vi * 3 + vj + {c}
    for k, i in T.grid({k}, {n}):
        with T.block("B"):
            vk, vi = T.axis.remap("SS", [k, i])
            B[vk, vi] = A[vi, 0] - vk
"""


def fill(name: str, n: int, m: int = 4, k: int = 5, c: int = 0) -> str:
    return FILL.format(name=name, n=n, m=m, k=k, c=c)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"n": 8}, {"n": 24}, id="a small extent"),
        pytest.param({"n": 16, "m": 16}, {"n": 24, "m": 32}, id="two extents"),
        pytest.param({"n": 8, "m": 12}, {"n": 12, "m": 18}, id="extents without a common factor"),
        pytest.param({"n": 4, "m": 8}, {"n": 6, "m": 12}, id="small multiples"),
        pytest.param({"n": 16, "c": 16}, {"n": 24, "c": 24}, id="a constant besides"),
        pytest.param({"n": 16}, {"n": 16}, id="equal kernels"),
    ],
)
def test_other_kernels_stay(first: dict[str, int], second: dict[str, int]) -> None:
    module = parse_tvmscript(fill("a", **first) + fill("b", **second))
    assert merged(module) == {}


def test_an_extent_and_its_multiples_are_one_number() -> None:
    module = parse_tvmscript(fill("a", 4, 16, 8) + fill("b", 6, 24, 12) + fill("c", 8, 32, 20))
    assert list(merged(module)) == ["a.merged"]
    after = apply_passes(module, "tir-merge-kernels")
    calls = [each for each in after.functions if each != "c" and "merged" in str(after.functions[each])]
    assert calls == ["a.merged", "a", "b"]
    for target in ("python", "llvm"):
        check_computes_the_same(module, after, target=target)


def test_extents_that_are_equal_by_chance_are_told_apart_by_other_kernels() -> None:
    module = parse_tvmscript(fill("a", 16, 16) + fill("b", 24, 16) + fill("c", 32, 16))
    assert list(merged(module)) == ["a.merged"]
    for target in ("python", "llvm"):
        check_computes_the_same(module, apply_passes(module, "tir-merge-kernels"), target=target)


SUMS = """\
@T.prim_func
def {name}({parameters}):
    T.func_attr({{"relay.kernel": True}})
    S = T.alloc_buffer((2, 16), "int32")
    R = T.alloc_buffer((2, 16), "int32")
    for n in range(2):
        for i in range(16):
            with T.block("S"):
                vn, vi = T.axis.remap("SS", [n, i])
                S[vn, vi] = {sum}
{loop} range(16):
            with T.block("R"):
                vn, vi = T.axis.remap("SS", [n, i])
                R[vn, vi] = {last}
{loop} T.{kind}(16):
            with T.block("C"):
                vn, vi = T.axis.remap("SS", [n, i])
                C[vn, vi] = {result}
"""


VARIANTS = "tir-merge-kernels{least-shared=50}"
BUFFER = {"A": (2, 24), "B": (2, 16), "C": (2, 16), "D": (16,)}


def sums(
    name: str, result: str = "R[vn, vi]", last: str = "S[vn, vi] * 2", nested: bool = True, kind: str = "serial",
    factor: int = 3, terms: int = 12, dtypes: dict[str, str] | None = None,
) -> str:  # fmt: skip
    """A kernel of sums of elements, of a result of each, and of a copy. nested: whether one loop is around all."""
    buffers = ["A", *(each for each in "BD" if f"{each}[" in result), "C"]
    parameters = ", ".join(
        f'{each}: T.Buffer({BUFFER[each]}, "{(dtypes or {}).get(each, "int32")}")' for each in buffers
    )
    total = " + ".join(f"A[vn, (vi * {factor} + {k}) % 24]" for k in range(terms))
    loop = "        for i in" if nested else "    for n in range(2):\n        for i in"
    return SUMS.format(name=name, parameters=parameters, sum=total, last=last, loop=loop, kind=kind, result=result)


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("target", ["python", "llvm"])
def test_kernels_that_differ_in_a_statement_are_one_function(nested: bool, target: str) -> None:
    module = parse_tvmscript(
        sums("a", nested=nested)
        + sums("b", "R[vn, vi] + B[vn, vi]", nested=nested)
        + sums("c", "S[vn, vi] - D[vi] + B[vn, vi]", nested=nested)
    )
    after = apply_passes(module, VARIANTS)
    ((_, func),) = merged(module, VARIANTS).items()
    assert [name.data for name in func.param_names] == ["A", "C", "B", "D", "variant"]
    assert [op.name for op in func.walk()].count("tir.if") == 2
    assert str(func).count('"S"') == 2, "one allocation and one block"
    loops = [op for op in func.body.block.ops if op.name == "tir.for"]
    assert len(loops) == (1 if nested else 2), "the branch is in the loop around the statements"
    assert_uses_are_attached(after)
    after.verify()
    check_computes_the_same(module, after, target=target)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({}, {}, id="equal kernels"),
        pytest.param({}, {"result": "-R[vn, vi]", "last": "S[vn, vi] * 3"}, id="two statements"),
        pytest.param({}, {"factor": 5}, id="the larger part"),
        pytest.param({}, {"result": "R[vn, vi] + B[vn, vi]", "nested": False}, id="loops besides"),
        pytest.param(
            {}, {"result": "R[vn, vi] + T.Cast('int32', B[vn, vi])", "dtypes": {"B": "int8"}}, id="nothing to pass"
        ),
    ],
)
def test_kernels_that_differ_otherwise_stay(first: dict[str, Any], second: dict[str, Any]) -> None:
    module = parse_tvmscript(sums("a", **first) + sums("b", **second))
    before = str(module)
    assert str(apply_passes(module, VARIANTS)) == before


def test_statements_in_registers_stay_together() -> None:
    module = parse_tvmscript(sums("a", kind="unroll") + sums("b", "R[vn, vi] + B[vn, vi]", kind="unroll"))
    assert merged(module, VARIANTS) == {}, "the branch would be between loops whose elements are in registers"


def test_convolutions_by_winograds_algorithm_share_their_sums() -> None:
    x, y = (relay.var(name, shape=(1, 16, 8, 8)) for name in "xy")
    weight = relay.var("w", shape=(6, 6, 1, 16, 16))
    sums = [relay.nn.conv2d_winograd(each, weight, channels=16, padding=1) for each in (x, y)]
    results = relay.Tuple([relay.nn.relu(sums[0]), relay.nn.relu(sums[1] + x)])
    module = kernels(relay.module(relay.Function([x, y, weight], results)))
    ((_, func),) = merged(module, f"{SCHEDULES},tir-merge-kernels").items()
    assert [op.name for op in func.walk()].count("tir.if") == 1
    check_computes_the_same(module, apply_passes(module, f"{SCHEDULES},tir-merge-kernels"), target="llvm")


def test_kernels_that_differ_in_a_statement_are_in_one_part_of_a_program() -> None:
    results = ["R[vn, vi]", "-R[vn, vi]"]
    text = "".join(sums(f"f{n}", results[n % 2], factor=3 + n // 2, terms=40) for n in range(4))
    parts = lower_to_parts(parse_tvmscript(text))
    assert [list(part.module.functions) for part in parts] == [["f0", "f1"], ["f2", "f3"]]


RESULTS = st.sampled_from(["R[vn, vi]", "R[vn, vi] + B[vn, vi]", "S[vn, vi] * D[vi]", "T.max(R[vn, vi], B[vn, vi])"])


@settings(max_examples=4)
@given(
    results=st.lists(RESULTS, min_size=2, max_size=4),
    nested=st.booleans(),
    lasts=st.lists(st.sampled_from(["S[vn, vi] * 2", "S[vn, vi] + vi"]), min_size=4, max_size=4),
    schedules=st.booleans(),
)
def test_random_variants_compute_the_same(results: list[str], nested: bool, lasts: list[str], schedules: bool) -> None:
    texts = [sums(f"f{n}", result, last, nested) for n, (result, last) in enumerate(zip(results, lasts, strict=False))]
    module = parse_tvmscript("".join(texts))
    after = apply_passes(module, f"{SCHEDULES},{VARIANTS}" if schedules else VARIANTS)
    assert_uses_are_attached(after)
    check_computes_the_same(module, after, target="llvm")


EXTENTS = st.sampled_from([3, 8, 12, 16, 17, 24, 32])


@given(extents=st.lists(st.tuples(EXTENTS, EXTENTS, EXTENTS), min_size=2, max_size=4), schedules=st.booleans())
def test_random_kernels_compute_the_same(extents: list[tuple[int, int, int]], schedules: bool) -> None:
    module = parse_tvmscript("".join(fill(f"f{i}", *each) for i, each in enumerate(extents)))
    passes = f"{SCHEDULES},tir-merge-kernels" if schedules else "tir-merge-kernels"
    after = apply_passes(module, passes)
    assert_uses_are_attached(after)
    check_computes_the_same(module, after, target="llvm")


@settings(max_examples=max(1, settings().max_examples // 4))
@given(
    channels=st.lists(st.sampled_from([16, 19, 32, 48]), min_size=2, max_size=3, unique=True),
    groups=st.booleans(),
    step=st.integers(1, 2),
    image=st.tuples(st.integers(1, 20), st.integers(1, 20)),
)
def test_random_kernels_for_images_of_any_size_compute_the_same(
    channels: list[int], groups: bool, step: int, image: tuple[int, int]
) -> None:
    """groups: whether the convolutions are depthwise, which differ in all channels, not those of images alone."""
    random, arrays, results = np.random.default_rng(0), dict[str, Any](), list[Any]()
    for n, count in enumerate(channels):
        kind = (count, 1, 3, 3) if groups else (5, count, 3, 3)
        weight = relay.const(random.integers(-2, 3, kind).astype("float32"))
        x = relay.var(f"x{n}", shape=(1, count, "h", "w"))
        arrays[f"x{n}"] = random.integers(-2, 3, (1, count, *image)).astype("float32")
        net = relay.nn.conv2d(x, weight, strides=step, padding=1, groups=count if groups else 1)
        results.append(relay.nn.relu(net))
    module = relay.module(relay.Function(relay.analysis.free_vars(relay.Tuple(results)), relay.Tuple(results)))
    assert merged(kernels(module), f"{SCHEDULES},tir-merge-kernels") or {16, 32, 48}.isdisjoint(channels)
    executor = GraphExecutor(build_graph(module))
    executor.run(**arrays)
    expected = interpret(module, "main", list(arrays.values()))
    for n, wanted in enumerate(expected):
        np.testing.assert_array_equal(executor.get_output(n), wanted)
