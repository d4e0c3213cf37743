"""Regions of other compilers in graphs: `AnnotateTarget`, `MergeCompilerRegions`, `PartitionGraph`."""

from typing import Any

import numpy as np
import pytest

from stepwell.backends.interpreter import interpret
from stepwell.core.errors import OptionError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay import transform
from stepwell.frontends.tvm.relay.analysis import AnnotatedRegionSet
from stepwell.frontends.tvm.relay.pattern_tables import get_pattern_table, register_pattern_table
from stepwell.frontends.tvm.relay.testing import run_infer_type, run_opt_pass
from stepwell.frontends.tvm.transform import Sequential

compiler_begin, compiler_end = relay.annotation.compiler_begin, relay.annotation.compiler_end
UNARY = ("abs", "exp", "tanh", "sigmoid")


@pytest.fixture(autouse=True)
def npu() -> None:
    """A compiler of sums, absolute values and hyperbolic tangents of float32."""
    for name in ("add", "abs", "tanh"):
        tvm.ir.register_op_attr(name, "target.npu", lambda call: call.args[0].checked_type.dtype == "float32")


def partition(func: relay.Function, **options: Any) -> tvm.IRModule:
    passes = [transform.AnnotateTarget("npu"), transform.MergeCompilerRegions(), transform.PartitionGraph(**options)]
    return Sequential(passes)(tvm.IRModule.from_expr(func))


def run(mod: tvm.IRModule, *args: np.ndarray) -> Any:
    return relay.create_executor(mod=mod).evaluate()(*args).numpy()


def test_operators_are_marked() -> None:
    x = relay.var("x", shape=(4,))
    marked = run_opt_pass(relay.Function([x], relay.exp(relay.abs(x))), transform.AnnotateTarget(["npu"]))
    inner = compiler_end(relay.abs(compiler_begin(x, "npu")), "npu")
    outer = compiler_end(relay.exp(compiler_begin(inner, "default")), "default")
    assert tvm.ir.structural_equal(marked, run_infer_type(relay.Function([x], outer)))
    assert tvm.ir.structural_equal(run_opt_pass(marked, transform.AnnotateTarget("npu")), marked)


def test_regions_around_another_compiler_are_not_merged() -> None:
    x = relay.var("x", shape=(4,))
    top = relay.abs(x)
    func = relay.Function([x], relay.add(relay.tanh(top), relay.exp(top)))
    merged = run_opt_pass(func, Sequential([transform.AnnotateTarget("npu"), transform.MergeCompilerRegions()]))
    regions = AnnotatedRegionSet(merged)
    assert [(each.target, len(each.args), len(each.rets)) for each in regions.regions] == [
        ("npu", 1, 2),
        ("npu", 2, 1),
        ("default", 1, 1),
    ]
    mod = partition(func)
    assert {name: each.attrs.get("Compiler") for name, each in mod.items()} == {
        "tvmgen_default_npu_main_0": "npu",
        "tvmgen_default_npu_main_1": "npu",
        "main": None,
    }
    array = np.linspace(-2, 2, 4, dtype="float32")
    np.testing.assert_allclose(run(mod, array), np.tanh(abs(array)) + np.exp(abs(array)), rtol=1e-6)


@pytest.mark.parametrize("bind_constants", [False, True])
def test_constants_are_parts_of_functions_on_request(bind_constants: bool) -> None:
    x = relay.var("x", shape=(3,))
    array = np.array([1, -2, 3], "float32")
    mod = partition(relay.Function([x], x + relay.const(array)), mod_name="net", bind_constants=bind_constants)
    assert len(mod["tvmgen_net_npu_main_0"].params) == (1 if bind_constants else 2)
    assert tvm.ir.structural_equal(transform.FoldConstant()(mod), mod)
    np.testing.assert_array_equal(run(mod, array), array + array)


def test_an_end_without_a_begin_is_an_error() -> None:
    x = relay.var("x", shape=(3,))
    with pytest.raises(OptionError, match="ends no region, expected a region of npu"):
        AnnotatedRegionSet(compiler_end(relay.abs(x), "npu"))
    with pytest.raises(OptionError, match="ends a region of other, expected a region of npu"):
        AnnotatedRegionSet(compiler_end(relay.abs(compiler_begin(x, "other")), "npu"))


@pytest.mark.parametrize("seed", range(6))
def test_partitioned_graphs_keep_results(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = relay.var("x", shape=(5,))
    nodes: list[relay.Expr] = [x]
    for _ in range(9):
        a, b = (nodes[n] for n in rng.integers(len(nodes), size=2))
        nodes.append(getattr(relay, str(rng.choice(UNARY)))(a) if rng.random() < 0.5 else relay.add(a, b))
    func = relay.Function([x], relay.concatenate(relay.Tuple(nodes[-3:]), axis=0))
    array = rng.uniform(-1, 1, 5).astype("float32")
    mod = partition(func)
    assert any("Compiler" in each.attrs for _, each in mod.items())
    expected = interpret(tvm.IRModule.from_expr(func), "main", [array])
    np.testing.assert_allclose(run(mod, array), expected, rtol=1e-5, atol=1e-6)


def test_tables_of_patterns() -> None:
    register_pattern_table("npu", lambda: [("npu.abs", None)])
    assert get_pattern_table("npu") == [("npu.abs", None)]
    assert get_pattern_table("none") is None


def test_passes_leave_functions_of_other_compilers() -> None:
    x, y, ones = relay.var("x", shape=(4,)), relay.var("y", shape=(4,)), relay.const(np.ones(4, "float32"))
    own = relay.Function([y], relay.nn.dropout(relay.add(y, relay.abs(ones))))
    for key, value in (("Compiler", "npu"), ("Primitive", 1), ("global_symbol", "npu_0")):
        own = own.with_attr(key, value)
    mod, name = tvm.IRModule(), relay.GlobalVar("npu_0")
    mod[name] = own
    mod["main"] = relay.Function([x], relay.exp(name(x)))
    mod = transform.InferType()(mod)
    for change in (transform.SimplifyExpr(), transform.SimplifyInference(), transform.FoldConstant()):
        assert tvm.ir.structural_equal(change(mod)["npu_0"], mod["npu_0"])
