"""Patterns of several variables of a block, and rewrites by them: `tvm.relax.dpl`."""

# pyright: reportInvalidTypeForm=false

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell.frontends.tvm as tvm
from stepwell import ArgumentError, OptionError, UnsupportedError
from stepwell.frontends.tvm import relax
from stepwell.frontends.tvm.relax.dpl import (
    DFPattern,
    PatternContext,
    PatternMatchingRewriter,
    is_call_dps_packed,
    is_const,
    is_op,
    is_tuple,
    is_var,
    reject,
    rewrite_bindings,
    wildcard,
)
from stepwell.frontends.tvm.script import ir as I
from stepwell.frontends.tvm.script import relax as R


@I.ir_module
class Projections:
    @R.function
    def main(
        x: R.Tensor((2, 4), "float32"), y: R.Tensor((2, 4), "float32"), u: R.Tensor((4, 3), "float32"),
        v: R.Tensor((4, 3), "float32"), w: R.Tensor((3, 4), "float32"),
    ):  # fmt: skip
        with R.dataflow():
            p = R.matmul(x, u)
            early = R.exp(p)
            q = R.matmul(x, v)
            t = R.permute_dims(w)
            r = R.matmul(y, t)
            s = R.matmul(y, u)
            e = R.add(early, q)
            out = R.add(R.multiply(r, s), e)
            R.output(out)
        return out


def block_of(mod: Any) -> Any:
    return mod["main"].body.blocks[0]


def run(mod: Any, *args: Any) -> Any:
    return relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"](*args).numpy()


RNG = np.random.default_rng(0)
ARGS = [RNG.integers(-2, 3, shape).astype("float32") for shape in ((2, 4), (2, 4), (4, 3), (4, 3), (3, 4))]


def two_products() -> tuple[PatternContext, DFPattern, list[DFPattern], list[DFPattern]]:
    """Two products with an equal first operand: the context, this operand, the second ones, and the products."""
    with PatternContext() as context:
        first = wildcard()
        seconds: list[DFPattern] = [wildcard(), wildcard()]
        products: list[DFPattern] = [is_op("relax.matmul")(first, each) for each in seconds]
    return context, first, seconds, products


def test_a_context_finds_values_with_a_common_operand() -> None:
    context, first, seconds, products = two_products()
    found = context.match_dfb(block_of(Projections))
    assert found is not None
    names = {each.name_hint for each in found.values()}
    assert names == {"x", "u", "v", "p", "q"}
    assert [found[each].name_hint for each in (first, *seconds, *products)] == ["x", "u", "v", "p", "q"]


def test_three_products_with_a_common_operand_are_not_found() -> None:
    with PatternContext() as context:
        first = wildcard()
        for _ in range(3):
            is_op("relax.matmul")(first, wildcard())
    assert context.match_dfb(block_of(Projections)) is None


def test_rewritten_bindings_compute_the_same() -> None:
    context, first, seconds, products = two_products()
    seen: list[Any] = []

    def rewriter(found: Any, values: Any) -> Any:
        seen.append(sorted(each.name_hint for each in values))
        width = found[seconds[0]].struct_info.shape[1]
        whole = relax.op.matmul(found[first], relax.op.concat([found[each] for each in seconds], axis=1))
        parts = [relax.op.strided_slice(whole, [1], [n * width], [(n + 1) * width]) for n in range(2)]
        return {found[each]: part for each, part in zip(products, parts, strict=True)}

    mod = tvm.IRModule({"main": rewrite_bindings(context, rewriter, Projections["main"])})
    assert mod.script().count("R.matmul") == 2
    assert mod.script().count("R.concat") == 2
    assert len(seen) == 2
    assert len(seen[1]) == len(seen[0]) - 2
    np.testing.assert_array_equal(run(mod, *ARGS), run(Projections, *ARGS))
    assert Projections.script().count("R.matmul") == 4


@st.composite
def programs_of_products(draw: st.DrawFn) -> Any:
    """A program of products, sums and negations of matrices of 2 rows, in any order."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{n}", relax.TensorStructInfo((2, 2), "int32")) for n in range(3)]
    with builder.function("main", params):
        with builder.dataflow():
            values: list[Any] = list(params)
            for _ in range(draw(st.integers(1, 8))):
                first, second = (draw(st.sampled_from(values)) for _ in range(2))
                word = draw(st.sampled_from(("matmul", "matmul", "add", "negative")))
                operands = (first,) if word == "negative" else (first, second)
                values.append(builder.emit(getattr(relax.op, word)(*operands)))
            outputs = [builder.emit_output(each) for each in draw(st.lists(st.sampled_from(values[3:]), min_size=1))]
        builder.emit_func_output(relax.Tuple(outputs))
    return builder.get()


@given(programs_of_products())
def test_combined_products_of_any_program_compute_the_same(mod: Any) -> None:
    context, first, seconds, products = two_products()

    def rewriter(found: Any, _: Any) -> Any:
        if any(found[each].bound_value is not None for each in seconds):
            return {}  # one product may be the operand of the other one
        whole = relax.op.matmul(found[first], relax.op.concat([found[each] for each in seconds], axis=1))
        return {
            found[each]: relax.op.strided_slice(whole, [1], [2 * n], [2 * n + 2]) for n, each in enumerate(products)
        }

    new = tvm.IRModule({"main": rewrite_bindings(context, rewriter, mod["main"])})
    args = [RNG.integers(-2, 3, (2, 2)).astype("int32") for _ in range(3)]
    expected, got = (relax.VirtualMachine(relax.build(each, "llvm"), tvm.cpu())["main"](*args) for each in (mod, new))
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_a_rewriter_without_values_ends_the_rewrite() -> None:
    context, *_ = two_products()
    func = Projections["main"]
    assert rewrite_bindings(context, lambda found, values: {}, func) == func


def test_errors_of_new_values() -> None:
    context, first, _, products = two_products()
    func = Projections["main"]
    with pytest.raises(ArgumentError, match="new values of x, expected variables of the block"):
        rewrite_bindings(context, lambda found, values: {found[first]: relax.const(1.0)}, func)
    with pytest.raises(ArgumentError, match=r"new values of .*p.* use each other"):
        rewrite_bindings(context, lambda found, values: {found[products[0]]: relax.op.exp(found[products[0]])}, func)


@I.ir_module
class Chains:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.call_dps_packed("conv", (x,), R.Tensor((4, 4), "float32"))
            b = R.call_dps_packed("relu", (a,), R.Tensor((4, 4), "float32"))
            c = R.call_dps_packed("tanh", (a,), R.Tensor((4, 4), "float32"))
            d = R.call_dps_packed("join", (b, c), R.Tensor((4, 4), "float32"))
            e = R.call_dps_packed("narrow", (d,), R.Tensor((2, 2), "float32"))
            R.output(e)
        return e


def call(name: str) -> DFPattern:
    return is_call_dps_packed(name)


def test_chains_of_patterns() -> None:
    block = block_of(Chains)
    with PatternContext() as context:
        chain = call("relu") >> call("join") >> call("narrow")
        found = context.match_dfb(block)
    assert found is not None
    assert [found[chain[n]].name_hint for n in range(3)] == ["b", "d", "e"]
    with PatternContext() as context:
        call("conv") ^ call("relu")
        assert context.match_dfb(block) is not None
    with PatternContext() as context:
        call("conv") >> call("relu")
        assert context.match_dfb(block) is None  # two values use it


@pytest.mark.parametrize(("index", "fits"), [(0, True), (1, False), (2, False)])
def test_the_position_of_an_operand(index: int, fits: bool) -> None:
    with PatternContext() as context:
        call("relu").only_used_by(call("join"), index=index)
    assert (context.match_dfb(block_of(Chains)) is not None) == fits


def test_forks_and_copies_of_patterns() -> None:
    block = block_of(Chains)
    with PatternContext() as context:
        start, join = call("conv"), call("join")
        start.fork_to(one := call("relu"), other := call("tanh"))
        one >> join
        other >> join
        assert context.match_dfb(block) is not None
    with PatternContext() as context:
        first = call("conv") ^ call("relu")
        second = first.dup()
        assert second[0] is not first[0]
        assert context.match_dfb(block) is None  # another conv, different from the first one
    with PatternContext() as context:
        is_var("x").fork_to(call("conv"))
        assert context.match_dfb(block) is not None
        is_var("y").fork_to(call("conv"))
        assert context.match_dfb(block) is None


def test_contexts_within_contexts() -> None:
    block = block_of(Chains)
    relu, join = call("relu"), call("join")
    with PatternContext() as outer:
        call("tanh") >> relu
        with PatternContext() as inner:
            relu >> join
            assert inner.match_dfb(block) is not None
            assert PatternContext.current() is inner
        with PatternContext(incremental=True) as inner:
            relu >> join
            assert inner.match_dfb(block) is None
        assert PatternContext.current() is outer
        assert outer.match_dfb(block) is None
    assert PatternContext.current() is None
    assert PatternContext().match_dfb(block) is None
    with pytest.raises(ArgumentError, match="incremental outside of a context"):
        PatternContext(incremental=True)


def test_equal_shapes() -> None:
    block = block_of(Chains)
    for name, fits in (("join", True), ("narrow", False)):
        with PatternContext() as context:
            relu, other = call("relu"), call(name)
            relu.same_shape_as(other)
        assert (context.match_dfb(block) is not None) == fits
    with pytest.raises(ArgumentError, match="outside of a context"):
        wildcard().same_shape_as(wildcard())


def test_patterns_of_patterns() -> None:
    block = block_of(Projections)
    product = is_op("relax.matmul")(wildcard(), wildcard())
    values = {each.var.name_hint: each.value for each in block.bindings}
    assert (product & product.has_shape((2, 3))).match(values["p"])
    assert not (product & product.has_shape((3, 3))).match(values["p"])
    assert reject(product).match(values["t"])
    assert not (~product).match(values["p"])
    assert is_op("relax.matmul")(is_var("x"), varg_default_wildcard=True).match(values["p"])
    assert not is_op("relax.matmul")(is_var("y"), varg_default_wildcard=True).match(values["p"])
    copy = product.dup()
    assert copy is not product
    assert copy.match(values["p"])
    one, two = block.bindings[0].var, block.bindings[2].var
    assert is_tuple([is_var("q"), is_var("p")], unordered=True).match(relax.Tuple([one, two]))
    assert not is_tuple([is_var("q"), is_var("p")]).match(relax.Tuple([one, two]))
    assert not is_tuple([is_var("q"), is_var("q")], unordered=True).match(relax.Tuple([one, two]))
    assert product.extract_matched_expr(values["t"]) is None


# Rules


@R.rewriter
class TwiceForSum:
    @R.function
    def pattern(a: R.Tensor):
        b = R.add(a, a)
        return b

    @R.function
    def replacement(a: R.Tensor):
        b = R.multiply(a, R.const(2, "float32"))
        return b


@R.rewriter
class SquareForPower:
    @R.function
    def pattern(a: R.Tensor):
        b = R.power(a, R.const(2, "float32"))
        return b

    @R.function
    def replacement(a: R.Tensor):
        b = R.multiply(a, a)
        return b


@I.ir_module
class Sums:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.add(x, x)
            b = R.add(a, y)
            c = R.power(R.add(b, b), R.const(2, "float32"))
            R.output(c)
        return c


def test_rules_of_modules() -> None:
    args = [np.arange(4, dtype="float32"), np.ones(4, "float32")]
    twice = TwiceForSum(Sums)
    assert twice.script().count("R.add") == 1
    assert twice.script().count("R.multiply") == 2
    both = (TwiceForSum | SquareForPower)(Sums)
    assert "R.power" not in both.script()
    assert both.script().count("R.multiply") == 3
    for each in (twice, both):
        np.testing.assert_array_equal(run(each, *args), run(Sums, *args))
    func = SquareForPower(Sums["main"])
    assert isinstance(func, relax.Function)
    assert "R.power" not in func.script()
    assert "R.power" in Sums.script()


def test_a_rule_of_a_pattern() -> None:
    power = is_op("relax.power")(base := wildcard(), is_const())

    def rewriter(_: Any, matches: Any) -> Any:
        return relax.op.multiply(matches[base], matches[base])

    func = PatternMatchingRewriter.from_pattern(power, rewriter)(Sums["main"])
    assert "R.power" not in func.script()
    with pytest.raises(OptionError, match="still matches"):
        PatternMatchingRewriter.from_pattern(power, lambda expr, _: relax.op.power(*expr.args))(Sums)


def test_errors_of_rules() -> None:
    with pytest.raises(ArgumentError, match="no function of relax 'pattern'"):
        PatternMatchingRewriter.from_module(Sums)

    @I.ir_module
    class Sized:
        @R.function
        def pattern(a: R.Tensor(("n",), "float32")):
            b = R.add(a, a)
            return b

        @R.function
        def replacement(a: R.Tensor(("n",), "float32")):
            return a

    with pytest.raises(UnsupportedError, match="parameters with sizes n"):
        PatternMatchingRewriter.from_module(Sized)

    @I.ir_module
    class Different:
        @R.function
        def pattern(a: R.Tensor((2,), "float32")):
            b = R.add(a, a)
            return b

        @R.function
        def replacement(a: R.Tensor((4,), "float32")):
            return a

    with pytest.raises(ArgumentError, match="different types"):
        PatternMatchingRewriter.from_module(Different)


def test_patterns_of_types() -> None:
    values = {each.var.name_hint: each.value for each in block_of(Projections).bindings}
    product = is_op("relax.matmul")(wildcard(), wildcard())
    for info, fits in (
        (relax.TensorStructInfo((2, 3), "float32"), True),
        (relax.TensorStructInfo(dtype="float32"), True),
        (relax.TensorStructInfo(ndim=2), True),
        (relax.TensorStructInfo((2, 4), "float32"), False),
        (relax.TensorStructInfo(dtype="float16"), False),
        (relax.TensorStructInfo(ndim=3), False),
        (relax.ShapeStructInfo([2, 3]), False),
    ):
        assert product.has_struct_info(info).match(values["p"]) == fits
