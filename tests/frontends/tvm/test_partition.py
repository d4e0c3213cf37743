"""Functions of patterns and their code generators: `FuseOpsByPattern`, `MergeCompositeFunctions`, `RunCodegen`."""

# pyright: reportInvalidTypeForm=false

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell.frontends.tvm as tvm
from stepwell import LinkError, OptionError, UnsupportedError, register_func
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.ir.module import IRModule
from stepwell.frontends.tvm.relax.backend import (
    FusionPattern,
    get_pattern,
    get_patterns_with_prefix,
    register_patterns,
)
from stepwell.frontends.tvm.relax.dpl import is_op, wildcard
from stepwell.frontends.tvm.relax.transform import FuseOpsByPattern, MergeCompositeFunctions, RunCodegen
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R


def run(mod: IRModule, *args: Any) -> np.ndarray[Any, Any]:
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"](*args).numpy()


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 8), "float32")) -> R.Tensor((2, 8), "float32"):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            e = R.exp(z)
            q = R.multiply(z, e)
            r = R.sigmoid(R.add(q, R.const(np.ones((2, 8), "float32"))))
            R.output(r)
        return r


ARGS = [np.random.default_rng(0).standard_normal(shape).astype("float32") for shape in ((2, 4), (4, 8))]


@cache
def expected_result() -> np.ndarray[Any, Any]:
    """The result of `Model`."""
    return run(Model, *ARGS)


def partitioned(bind_constants: bool = True) -> IRModule:
    patterns = get_patterns_with_prefix("example_npu")
    return FuseOpsByPattern(patterns, bind_constants=bind_constants, annotate_codegen=True)(Model)


@pytest.mark.parametrize("bind_constants", [False, True])
def test_matched_operators_are_functions(bind_constants: bool) -> None:
    mod = partitioned(bind_constants)
    names = {name: func.attrs.get("Composite") for name, func in mod.items()}
    assert names == {
        "main": None,
        "fused_relax_matmul_relax_nn_relu": "example_npu.matmul_relu_fused",
        "fused_relax_multiply": "example_npu.multiply",
        "fused_relax_add": "example_npu.add",
        "fused_relax_sigmoid": "example_npu.sigmoid",
    }
    assert mod["fused_relax_add"].attrs["Codegen"] == "example_npu"
    assert len(mod["fused_relax_add"].params) == (1 if bind_constants else 2)
    np.testing.assert_allclose(run(mod, *ARGS), expected_result(), rtol=1e-6)


def test_a_match_with_other_users_and_a_failed_check_are_skipped() -> None:
    both = FusionPattern("a.both", is_op("relax.exp")(is_op("relax.nn.relu")(wildcard())))
    assert list(FuseOpsByPattern([both])(Model)) == ["main"]  # the relu has another user
    seen: list[Any] = []

    def check(context: Any) -> bool:
        seen.append(context.annotated_expr["x"].struct_info.shape)
        return False

    x = wildcard()
    pattern = ("a.exp", is_op("relax.exp")(x), {"x": x}, check)
    assert list(FuseOpsByPattern([pattern])(Model)) == ["main"]
    assert seen == [(2, 8)]
    with pytest.raises(OptionError, match="expected a FusionPattern"):
        FuseOpsByPattern(["a"])  # pyright: ignore[reportArgumentType]


def test_later_patterns_of_the_registry_have_precedence() -> None:
    register_patterns([("one.exp", is_op("relax.exp")(wildcard())), FusionPattern("one.any", wildcard())])
    assert [each.name for each in get_patterns_with_prefix("one.")] == ["one.any", "one.exp"]
    assert get_pattern("two") is None
    assert get_pattern("cublas.matmul_transposed_bias_relu") is not None


def test_adjacent_functions_of_one_code_generator_are_merged() -> None:
    mod = MergeCompositeFunctions()(partitioned())
    calls = [each for each in mod.script().splitlines() if "cls.fused_example_npu" in each]
    assert len(calls) == 2  # the exponential between them has no pattern
    assert list(mod["fused_example_npu_1"].callees) == [
        "fused_relax_sigmoid",
        "fused_relax_add",
        "fused_relax_multiply",
    ]
    np.testing.assert_allclose(run(mod, *ARGS), expected_result(), rtol=1e-6)


def test_a_code_generator_compiles_functions() -> None:
    compiled: list[tuple[str, dict[str, int]]] = []

    def generate(functions: Sequence[relax.Function], options: dict[str, int], constants: Any) -> list[Any]:
        return [compile_one(each, options) for each in functions]

    def compile_one(func: relax.Function, options: dict[str, int]) -> Any:
        name = str(func.attrs["global_symbol"])
        compiled.append((name, options))
        machine = relax.VirtualMachine(relax.build(IRModule.from_expr(func), "llvm"), tvm.cpu())
        return lambda *args: args[-1].copyfrom(machine[name](*args[:-1]).numpy())

    register_func("relax.ext.example_npu", generate, override=True)
    mod = RunCodegen({"example_npu": {"lanes": 4}})(MergeCompositeFunctions()(partitioned()))
    assert compiled == [("fused_example_npu", {"lanes": 4}), ("fused_example_npu_1", {"lanes": 4})]
    assert list(mod) == ["main"]
    np.testing.assert_allclose(run(mod, *ARGS), expected_result(), rtol=1e-6)
    mod = FuseOpsByPattern([FusionPattern("none.exp", is_op("relax.exp")(wildcard()))], annotate_codegen=True)(Model)
    with pytest.raises(LinkError, match=r"no packed function 'relax\.ext\.none'"):
        RunCodegen()(mod)


def test_functions_for_a_library_stay() -> None:
    """`relax.build` compiles them, and calls the library that the target has."""
    assert tvm.get_global_func("relax.ext.cublas", True) is not None
    mod = FuseOpsByPattern([FusionPattern("cublas.exp", is_op("relax.sigmoid")(wildcard()))], annotate_codegen=True)(
        Model
    )
    library = RunCodegen()(mod)
    assert list(library) == list(mod) != ["main"]
    np.testing.assert_allclose(run(library, *ARGS), expected_result(), rtol=1e-6)
    library_generator: Any = tvm.get_global_func("relax.ext.cudnn")
    with pytest.raises(UnsupportedError, match=r"expected relax\.build with the target `cuda -libs=cudnn`"):
        library_generator()


@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "exp", "negative", "multiply"]), st.integers(0, 5), st.integers(0, 5)),
        min_size=2,
        max_size=7,
    )
)
def test_partitions_compute_the_same(steps: list[tuple[str, int, int]]) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((3,), "float32"))
    with bb.function("main", x):
        with bb.dataflow():
            values: list[Any] = [x]
            for word, a, b in steps:
                args = [values[a % len(values)], values[b % len(values)]]
                operands = args if word in ("add", "multiply") else args[:1]
                values.append(bb.emit(getattr(relax.op, word)(*operands)))
            result = bb.emit_output([values[-1], values[len(values) // 2]])
        bb.emit_func_output(result)
    mod = bb.get()
    patterns = [
        FusionPattern(f"p.{word}", is_op(f"relax.{word}")(wildcard(), wildcard())) for word in ("add", "multiply")
    ]
    merged = MergeCompositeFunctions()(FuseOpsByPattern(patterns, annotate_codegen=True)(mod))
    argument = np.array([0.1, -0.2, 0.05], "float32")
    results = [relax.VirtualMachine(relax.build(each, "llvm"), tvm.cpu())["main"](argument) for each in (mod, merged)]
    for expected, got in zip(*results, strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-5)
