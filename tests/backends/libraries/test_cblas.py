"""Matrix products by OpenBLAS, compared with numpy and with generated code."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepwell import ArgumentError, Module, OptionError, PluginError, build, parse_mlir
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.backends.libraries import cblas
from stepwell.backends.passes import apply_passes
from stepwell.frontends import relay as graphs_in_python
from stepwell.operators import operator_of

relay: Any = graphs_in_python  # its functions are created at import

Draw = Callable[[st.SearchStrategy[Any]], Any]
EXTENTS = st.sampled_from((0, 1, 2, 3, 7, 16, 37))


@st.composite
def products(draw: Draw) -> tuple[str, dict[str, Any], list[Any], list[tuple[Any, ...]]]:
    """Matrix products: an operator, its attributes, arrays, and the declared shapes, some with symbolic sizes."""
    name = draw(st.sampled_from(("nn.dense", "nn.matmul", "nn.batch_matmul")))
    sizes: dict[str, int] = {each: draw(EXTENTS) for each in "mkn"}
    said = {each: each if draw(st.booleans()) and draw(st.booleans()) else size for each, size in sizes.items()}
    dtype = draw(st.sampled_from(("float32", "float64")))
    attributes: dict[str, Any] = {}
    if name == "nn.dense":
        formats = [draw(st.sampled_from(("k", "mk", "bmk"))), "nk"]
    else:
        attributes = {each: draw(st.booleans()) for each in ("transpose_a", "transpose_b")}
        formats = ["km" if attributes["transpose_a"] else "mk", "nk" if attributes["transpose_b"] else "kn"]
    if name == "nn.batch_matmul":
        fronts = draw(st.sampled_from((("b", "b"), ("1", "b"), ("b", "1"))))
        formats = [front + each for front, each in zip(fronts, formats, strict=True)]
    sizes |= {"b": draw(st.sampled_from((0, 1, 2, 3))), "1": 1}
    said |= {"b": draw(st.sampled_from(("b", sizes["b"]))), "1": 1}
    choose = np.random.default_rng(draw(st.integers(0, 2**16)))
    arrays = [choose.integers(-8, 9, [sizes[each] for each in axes]).astype(dtype) for axes in formats]
    for array in arrays:
        array.flags.writeable = draw(st.booleans())  # as the weights of a file may not be
    return name, attributes, arrays, [tuple(said[each] for each in axes) for axes in formats]


def graph_of(name: str, attributes: dict[str, Any], dtype: str, shapes: Any) -> Module:
    a, b = (relay.var(each, shape=shape, dtype=dtype) for each, shape in zip("ab", shapes, strict=True))
    function: Any = getattr(relay.nn, name.removeprefix("nn."))
    return relay.module(relay.Function([a, b], function(a, b, **attributes)))


def ones(*shapes: tuple[int, ...]) -> list[Any]:
    return [np.ones(shape, "float32") for shape in shapes]


@given(products())
@example(("nn.dense", {}, ones((1, 0), (3, 0)), [(1, 0), (3, 0)]))  # empty sums: zeros
@example(("nn.matmul", {}, ones((3, 0), (0, 1)), [(3, "k"), ("k", 1)]))
@example(("nn.matmul", {"transpose_a": True}, ones((5, 1), (5, 1)), [(5, 1), (5, 1)]))
def test_products_are_those_of_numpy(product: Any) -> None:
    name, attributes, arrays, shapes = product
    mod = graph_of(name, attributes, arrays[0].dtype.name, shapes)
    (expected,) = operator_of(name).arrays(arrays, attributes)
    # Generated code refuses sums of a symbolic length of 0.
    is_refused = "k" in shapes[0] and arrays[0].shape[shapes[0].index("k")] == 0 and expected.size > 0
    for target in ("llvm -libs=cblas", "llvm"):
        executable = build_graph(mod, target=target)
        assert any("cblas" in step.kernel for step in executable.calls) == ("cblas" in target)
        out = np.full(expected.shape, np.nan, expected.dtype)
        if target == "llvm" and is_refused:
            with pytest.raises(ArgumentError, match="no elements along the reduction axis"):
                executable.program["main"](*arrays, out)
            continue
        executable.program["main"](*arrays, out)
        assert np.array_equal(out, expected)  # sums of these numbers are exact


def test_a_graph_of_layers_computes_the_same() -> None:
    x, w, b = (relay.var(name, shape=shape) for name, shape in (("x", ("n", 13)), ("w", (11, 13)), ("b", (11,))))
    y = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(relay.exp(x), w), b))
    mod = relay.module(relay.Function([x, w, b], relay.nn.softmax(y)))
    choose = np.random.default_rng(0)
    arrays = {name: choose.random(shape, "float32") for name, shape in (("x", (5, 13)), ("w", (11, 13)), ("b", 11))}
    results: list[Any] = []
    for target in ("llvm", {"kind": "llvm", "libs": ["cblas"]}):
        executor = GraphExecutor(build_graph(mod, target=target))
        executor.run(**arrays)
        results.append(executor.get_output(0).copy())
        kernels = [time.kernel for time in executor.profile(1)]
    np.testing.assert_allclose(*results, rtol=1e-5)
    # Library calls are not fused.
    assert [kernel.partition("_")[0] for kernel in kernels] == ["fused", "cblas", "fused", "fused"]


def test_branches_and_constants_go_to_the_library_too() -> None:
    choose = np.random.default_rng(0)
    weights = choose.integers(-4, 5, (6, 5)).astype("float32")
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(3, 5))
    branches = relay.If(c, relay.nn.dense(x, relay.const(weights)), relay.exp(relay.nn.dense(x, relay.const(-weights))))
    mod = relay.module(relay.Function([c, x], branches))
    executable = build_graph(mod, target="llvm -libs=cblas")
    assert str(executable.graph).count("relay.call @cblas_nn_dense(") == 2
    executor, data = GraphExecutor(executable), choose.integers(-4, 5, (3, 5)).astype("float32")
    for condition, expected in ((True, data @ weights.T), (False, np.exp(-data @ weights.T))):
        executor.run(c=np.array(condition), x=data)
        np.testing.assert_allclose(executor.get_output(0), expected, rtol=1e-6)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names a processor of that kind")
def test_the_processor_of_the_target_is_that_of_the_code() -> None:
    x = relay.var("x", shape=(1024,))
    mod = relay.module(relay.Function([x], relay.sqrt(x)))
    plain = build_graph(mod, target="llvm -mcpu=x86-64").program.source("asm")
    wide = build_graph(mod, target="llvm -mcpu=x86-64 -mattr=+avx").program.source("asm")
    assert "ymm" not in plain
    assert "ymm" in wide


PRODUCT = """\
relay.func @main("x" %x: tensor<2x3x{kind}>) {{
  %0 = relay.nn.dense(%x, %x){said} : (tensor<2x3x{kind}>, tensor<2x3x{kind}>) -> tensor<2x2x{result}>
  relay.return %0 : tensor<2x2x{result}>
}}
"""


@pytest.mark.parametrize(
    ("kind", "said", "result"), [("f16", "", "f16"), ("i32", "", "i32"), ("f32", ' {out_dtype = "float64"}', "f64")]
)
def test_types_that_blas_does_not_have_stay(kind: str, said: str, result: str) -> None:
    mod = parse_mlir(PRODUCT.format(kind=kind, said=said, result=result))
    assert str(apply_passes(mod, "relay-partition{libraries=cblas}")) == str(mod)


def test_sizes_that_blas_cannot_count_stay() -> None:
    mod = graph_of("nn.dense", {}, "float32", [(65536, 65536, 1), (1, 1)])
    assert str(apply_passes(mod, "relay-partition{libraries=cblas}")) == str(mod)


def test_a_partitioned_module_can_be_built_as_it_is() -> None:
    mod = apply_passes(
        parse_mlir(PRODUCT.format(kind="f32", said="", result="f32")), "relay-partition{libraries=cblas}"
    )
    x, out = np.arange(6, dtype="float32").reshape(2, 3), np.empty((2, 2), "float32")
    build(mod)["main"](x, out)
    assert np.array_equal(out, x @ x.T)


def test_the_number_of_threads_is_that_of_the_target() -> None:
    mod = parse_mlir(PRODUCT.format(kind="f32", said="", result="f32"))
    blas = cblas._openblas()
    build_graph(mod, target="llvm -libs=cblas -num-cores=2")
    assert blas.scipy_openblas_get_num_threads() == 2
    build_graph(mod, target="llvm -libs=cblas")
    assert blas.scipy_openblas_get_num_threads() == 1


def test_a_missing_wheel_is_an_error_where_the_library_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cblas, "find_spec", lambda name: None)
    cblas._openblas.cache_clear()
    mod = parse_mlir(PRODUCT.format(kind="f32", said="", result="f32"))
    build_graph(mod)
    build_graph(parse_mlir(PRODUCT.format(kind="i32", said="", result="i32")), target="llvm -libs=cblas")
    message = "library cblas: scipy_openblas32 is not installed: pip install 'stepwell[blas]'"
    with pytest.raises(PluginError, match=re.escape(message)):
        build_graph(mod, target="llvm -libs=cblas")


def test_a_library_of_another_kind_of_target_is_refused() -> None:
    mod = parse_mlir(PRODUCT.format(kind="f32", said="", result="f32"))
    with pytest.raises(OptionError, match="library cudnn is for cuda, not for llvm"):
        build_graph(mod, target="llvm -libs=cudnn")


def test_the_library_is_loaded_where_it_is_used_only() -> None:
    code = (
        "import stepwell, sys; from stepwell import apply_passes;"
        f"mod = stepwell.parse_mlir({PRODUCT.format(kind='f32', said='', result='f32')!r});"
        "apply_passes(mod, 'relay-partition{libraries=cblas},convert-relay-to-te');"
        "assert 'openblas' not in open('/proc/self/maps').read().replace('numpy.libs/libscipy_openblas', '')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
