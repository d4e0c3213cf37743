"""The index normal form: laws on random expressions, and a table of equivalences."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import islpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, i1, i8, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from stepwell.analysis.index import Analyzer, Lin, MaxAtom, cost, export, isl_text, tree_cost
from stepwell.core.comparisons import COMPARE
from stepwell.core.dtypes import dtype_of, int_range, mlir_type, wrap_int
from stepwell.dialects.tir import (
    BINARY_NAMES,
    Axis,
    BlockOp,
    CastOp,
    ForOp,
    FuncOp,
    HandleType,
    IfOp,
    LetOp,
    MatchBufferOp,
    RampOp,
    SymbolOp,
    TirBuilder,
    comparison_name,
    constant_value,
)

BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "truncdiv": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "truncmod": lambda a, b: a - BINARY["truncdiv"](a, b) * b,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
}


def run(value: SSAValue, numbers: Mapping[SSAValue, int]) -> int:
    """The number of a value, evaluated operation by operation as specified in docs/semantics.md."""
    return _run(value, dict(numbers))


def _run(value: SSAValue, numbers: dict[SSAValue, int]) -> int:
    if value not in numbers:
        numbers[value] = _compute(value, numbers)
    return numbers[value]


def _compute(value: SSAValue, numbers: dict[SSAValue, int]) -> int:
    known = constant_value(value)
    if isinstance(known, int):
        return known
    op = value.owner
    assert isinstance(op, Operation)
    args = [_run(o, numbers) for o in op.operands]
    dtype = dtype_of(value.type)
    match op:
        case arith.CmpiOp():
            name = comparison_name(op)
            assert name is not None
            return int(COMPARE[name](*args))
        case arith.SelectOp():
            return args[1] if args[0] else args[2]
        case CastOp() | LetOp():
            return int(args[0] != 0) if dtype.is_bool else wrap_int(args[0], dtype)
        case _:
            return wrap_int(BINARY[BINARY_NAMES[type(op)]](*args), dtype)


class World:
    """Variables with ranges, in i32 and i64, and a builder for expressions of them."""

    def __init__(self) -> None:
        self.block = Block()
        self.variables: dict[SSAValue, tuple[int, int]] = {}
        self.builder = TirBuilder(self.block)

    def __repr__(self) -> str:
        return f"World({list(self.variables.values())}: {'; '.join(map(str, self.block.ops))})"

    @property
    def value(self) -> SSAValue:
        """The expression, the result of the last operation."""
        assert self.block.last_op is not None
        return self.block.last_op.results[0]

    def loop(self, low: int, extent: int, type: IntegerType = i32) -> SSAValue:
        variable = ForOp(f"v{len(self.variables)}", low, extent, type).variable
        self.variables[variable] = (low, low + extent - 1)
        return variable

    def free(self, type: IntegerType = i32) -> SSAValue:
        variable = self.block.insert_arg(type, len(self.block.args))
        self.variables[variable] = int_range(dtype_of(type))
        return variable


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A world and an expression in it; shrinks to fewer variables, smaller numbers, fewer operators."""
    world = World()
    type = draw(st.sampled_from([i32, i32, i32, i64, i8]))
    top = 100 if type == i8 else 2**20
    pool: list[SSAValue] = []
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 5)) == 5:
            pool.append(world.free(type))
        else:
            low, extent = (
                draw(st.sampled_from([0, 0, 0, 1, -5])),
                draw(st.sampled_from([1, 2, 4, 8, 16, 3, 7, 100, top])),
            )
            pool.append(world.loop(low, min(extent, int_range(dtype_of(type))[1] - 6), type))
    for _ in range(draw(st.integers(1, 10))):
        pool.append(_draw_op(draw, world, pool, type))
    world.builder.let("result", pool[-1])
    return world


def _draw_op(draw: st.DrawFn, world: World, pool: list[SSAValue], type: IntegerType) -> SSAValue:
    b = world.builder
    x, y = pick(draw, pool), pick(draw, [pool[-1], *pool])
    c = draw(st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 100]))
    kind = draw(st.sampled_from(["add", "add", "scale", "scale", "div", "mod", "div", "mod", "other"]))
    if kind == "add":
        return b.binary(draw(st.sampled_from(["add", "sub"])), x, pick(draw, [y, y, c, -c]))
    if kind == "scale":
        return b.mul(y, draw(st.sampled_from([c, c, -c, -1])))
    if kind == "div":
        return b.binary(
            draw(st.sampled_from(["floordiv", "floordiv", "truncdiv"])), y, draw(st.sampled_from([c, c, -c]))
        )
    if kind == "mod":
        return b.binary(
            draw(st.sampled_from(["floormod", "floormod", "truncmod"])), y, draw(st.sampled_from([c, c, -c]))
        )
    other = draw(st.sampled_from(["mul", "min", "max", "shift", "and", "or", "xor", "select", "cast", "let", "divx"]))
    match other:
        case "shift":
            return b.binary(draw(st.sampled_from(["shl", "shr"])), y, draw(st.integers(0, type.width.data - 1)))
        case "and":
            return b.binary("and", y, pick(draw, [x, 7, 15, -1, 127]))
        case "select":
            condition = b.binary(draw(st.sampled_from(sorted(COMPARE))), x, pick(draw, [y, c]))
            return b.select(condition, x, y)
        case "cast":
            there = draw(st.sampled_from(["int64", "int8", "int32", "bool", "uint8", "uint32"]))
            return b.cast(b.cast(y, there), dtype_of(type))
        case "let":
            return b.let("x", y)
        case "divx":  # a nonzero divisor
            divisor = b.binary("max", x, c)
            return b.binary(draw(st.sampled_from(["floordiv", "floormod", "truncdiv", "truncmod"])), y, divisor)
        case _:
            return b.binary(other, x, y)


T = TypeVar("T")


def pick(draw: Callable[[st.SearchStrategy[int]], int], choices: Sequence[T]) -> T:
    """Draws a value by its position, because hypothesis must not compare SSA values."""
    return choices[draw(st.integers(0, len(choices) - 1))]


def samples(world: World, data: st.DataObject) -> list[dict[SSAValue, int]]:
    """Sample values of the variables: the ends of their ranges, and others."""
    ends = [{v: r[e] for v, r in world.variables.items()} for e in (0, 1)]
    return ends + [{v: data.draw(st.integers(*r)) for v, r in world.variables.items()} for _ in range(4)]


# Laws


@given(worlds(), st.booleans(), st.data())
def test_a_sum_is_congruent_to_the_value_and_equal_if_exact(
    world: World, through_lets: bool, data: st.DataObject
) -> None:
    value = world.value
    analyzer = Analyzer(through_lets=through_lets)
    lin, exact = analyzer.lin(value), analyzer.exact(value)
    low, high = analyzer.bounds(exact)
    for numbers in samples(world, data):
        expected = run(value, numbers)
        assert wrap_int(lin.evaluate(lambda v: run(v, numbers)), dtype_of(value.type)) == expected
        assert exact.evaluate(lambda v: run(v, numbers)) == expected
        assert low <= expected <= high


@given(worlds(), st.integers(1, 12), st.data())
def test_a_provable_multiple_is_a_multiple(world: World, factor: int, data: st.DataObject) -> None:
    value = world.builder.mul(world.value, pick(data.draw, (factor, 8, 1)))
    if Analyzer().is_multiple(value, factor):
        for numbers in samples(world, data):
            assert run(value, numbers) % factor == 0


@given(worlds(), st.data())
def test_what_is_written_back_computes_the_same(world: World, data: st.DataObject) -> None:
    value = world.value
    analyzer = Analyzer()
    lin = analyzer.lin(value)
    written = export(analyzer, lin, world.builder, value.type)
    assert written.type == value.type
    for numbers in samples(world, data):
        assert run(written, numbers) == run(value, numbers)


@given(worlds())
def test_what_is_written_back_is_imported_as_it_was(world: World) -> None:
    value = world.value
    analyzer = Analyzer()
    lin = analyzer.lin(value)
    written = export(analyzer, lin, world.builder, value.type)
    again = analyzer.lin(written)
    # The sum of a leaf may itself wrap.
    plain = all(analyzer.lin(leaf) == Lin.of(leaf) for leaf in lin.leaves())
    if plain and analyzer.fits(lin, value.type):
        assert analyzer.same(written, value)
        assert again == lin
        assert tree_cost(written, set(lin.leaves())) == cost(analyzer, lin, value.type)


@given(worlds(), st.sampled_from(sorted(COMPARE)), st.data())
def test_what_is_decided_of_a_comparison_is_so(world: World, name: str, data: st.DataObject) -> None:
    value = world.value
    other = pick(data.draw, [*(o.results[0] for o in world.block.ops), *world.variables])
    if other.type != value.type:
        other = world.builder.cast(other, dtype_of(value.type))
    condition = world.builder.binary(name, value, other)
    decided = Analyzer().decide(condition)
    for numbers in samples(world, data):
        assert decided in (None, bool(run(condition, numbers)))


@given(worlds(), st.data())
def test_what_is_concluded_from_a_condition_holds_where_it_holds(world: World, data: st.DataObject) -> None:
    value = world.value
    b = world.builder
    others = [v for v in (*world.variables, *(o.results[0] for o in world.block.ops)) if v.type == value.type]
    name = data.draw(st.sampled_from(sorted(COMPARE)))
    first = b.binary(name, pick(data.draw, others), pick(data.draw, [*others, 3, 0]))
    second = b.binary(data.draw(st.sampled_from(sorted(COMPARE))), value, pick(data.draw, [*others, 5]))
    assumed = b.binary(data.draw(st.sampled_from(["and", "or"])), first, second)
    truth = data.draw(st.booleans())
    analyzer = Analyzer()
    with analyzer.assuming(assumed, truth):
        lin, decided = analyzer.exact(value), analyzer.decide(second)
        low, high = analyzer.bounds(lin)
    outside = Analyzer().bounds(Analyzer().exact(value))
    assert analyzer.bounds(analyzer.exact(value)) == outside
    for numbers in samples(world, data):
        if bool(run(assumed, numbers)) is truth:
            number = run(value, numbers)
            assert low <= number <= high
            assert lin.evaluate(lambda v: run(v, numbers)) == number
            assert decided in (None, bool(run(second, numbers)))


@given(worlds(), st.data())
def test_substitution_is_evaluation_of_what_is_put_in(world: World, data: st.DataObject) -> None:
    value = world.value
    analyzer = Analyzer()
    lin = analyzer.exact(value)
    variable, low_high = pick(data.draw, list(world.variables.items()))
    outer = world.loop(0, 5, variable.type)  # pyright: ignore[reportArgumentType]
    low, high = low_high
    replacement = analyzer.minimum(Lin.of(outer) * 3 + low, Lin(high))
    replaced = analyzer.substitute(lin, {variable: replacement})
    for numbers in samples(world, data):
        put = {**numbers, variable: min(numbers[outer] * 3 + low, high)}
        assert replaced.evaluate(lambda v: run(v, put)) == lin.evaluate(lambda v: run(v, put))


@given(worlds(), st.data())
def test_isl_reads_a_sum_as_the_same_function(world: World, data: st.DataObject) -> None:
    value = world.value
    analyzer = Analyzer()
    lin = analyzer.exact(value)
    names = {v: f"x{i}" for i, v in enumerate(dict.fromkeys(lin.leaves()))}
    text = isl_text(lin, names.__getitem__)
    if text is None:
        return
    function = islpy.PwAff(f"{{ [{', '.join(names.values())}] -> [({text})] }}")
    for numbers in samples(world, data)[:3]:
        point = islpy.Point.zero(function.get_domain_space())
        for i, leaf in enumerate(names):
            number = islpy.Val.int_from_si(islpy.DEFAULT_CONTEXT, run(leaf, numbers))
            point = point.set_coordinate_val(islpy.dim_type.set, i, number)
        assert function.eval(point).to_python() == lin.evaluate(lambda v: run(v, numbers))


# Equivalences that schedules need

EQUIVALENT = [
    ("(i*4 + j) // 4", "i"),
    ("(i*4 + j) % 4", "j"),
    ("(i*4 + j) // 8", "i // 2"),
    ("(i*4 + j) % 8", "i % 2 * 4 + j"),
    ("(i*16 + j*4 + k % 4) // 4 % 4", "j"),
    ("n // 8 * 8 + n % 8", "n"),
    ("n - n // 8 * 8", "n % 8"),
    ("n // 4 // 8", "n // 32"),
    ("n % 32 % 8", "n % 8"),
    ("n % 32 // 8", "n // 8 % 4"),
    ("n // 8 % 4 * 8 + n % 8", "n % 32"),
    ("(i*6 + j) // 3", "i*2 + j // 3"),
    ("(n*8 + j) // 8", "n"),
    ("(j*8 + n) // 8 - n // 8", "j"),
    ("i*8 // 8", "i"),
    ("(i*4 + j + 4) // 4", "i + 1"),
    ("(i*4 - j - 1) // 4", "i - 1"),
    ("min(i*4 + j, 32)", "i*4 + j"),
    ("max(i - 8, 0)", "0"),
    ("min(n, min(n + 1, n + 2)) - n", "0"),
    ("max(min(i, n), min(n, i)) - min(i, n)", "0"),
    ("(i*32 + j*8 + k) // 8 * 8 + (i*32 + j*8 + k) % 8", "i*32 + j*8 + k"),
    ("(i*16 + k) // 32 * 32 + (i*16 + k) % 32", "i*16 + k"),
    ("i*m + j - m*i", "j"),
    ("(i + 1)*m - m", "i*m"),
    ("((i*4 + j) // 16 * 16 + (i*4 + j) % 16) // 4", "i"),
    ("(i*4 + j) % 16 // 4", "i % 4"),
    ("k << 2", "k*4"),
    ("k >> 2", "k // 4"),
    ("k & 7", "k % 8"),
]


class Parser:
    """Builds an expression of the table with the builder; `m` is at least 1."""

    def __init__(self) -> None:
        world = World()
        self.b = world.builder
        small = world.free()
        clipped = self.b.binary("floormod", small, 1000)
        self.values: dict[str, SSAValue] = {
            "i": world.loop(0, 8),
            "j": world.loop(0, 4),
            "k": world.loop(0, 16),
            "n": clipped,
            "m": self.b.binary("max", clipped, 1),
        }

    def __call__(self, text: str) -> SSAValue:
        return self._build(ast.parse(text, mode="eval").body)

    def _build(self, node: object) -> SSAValue:
        names = {
            ast.Add: "add",
            ast.Sub: "sub",
            ast.Mult: "mul",
            ast.FloorDiv: "floordiv",
            ast.Mod: "floormod",
            ast.LShift: "shl",
            ast.RShift: "shr",
            ast.BitAnd: "and",
        }
        match node:
            case ast.Name(id=name):
                return self.values[name]
            case ast.Constant(value=int(number)):
                return self.b.const(number, "int32")
            case ast.BinOp(left=left, op=op, right=right):
                return self.b.binary(names[type(op)], self._build(left), self._build(right))
            case ast.Call(func=ast.Name(id=name), args=[a, b]):
                return self.b.binary(name, self._build(a), self._build(b))
            case _:
                raise AssertionError(ast.dump(node))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("left", "right"), EQUIVALENT)
def test_equivalent_expressions_have_one_normal_form(left: str, right: str) -> None:
    parse = Parser()
    analyzer = Analyzer()
    assert analyzer.lin(parse(left)) == analyzer.lin(parse(right))


def test_terms_are_written_in_the_order_they_came_in() -> None:
    parse = Parser()
    analyzer = Analyzer()
    assert repr(analyzer.lin(parse("k*2 + i + 3 + j"))) == "2*v3 + v1 + v2 + 3"
    assert repr(analyzer.lin(parse("7 - i"))) == "-v1 + 7"
    assert repr(analyzer.lin(parse("i // 4 * 3 - 2 * (j % 3)"))) == "3*(v1//4) - 2*(v2%3)"
    written = export(analyzer, analyzer.lin(parse("7 - i")), parse.b, i32)
    assert isinstance(written.owner, arith.SubiOp)


# Expressions that must not be simplified


def test_a_quotient_that_may_wrap_stays() -> None:
    world = World()
    n = world.free()
    wrapped = world.builder.binary("floordiv", world.builder.mul(n, 8), 8)
    analyzer = Analyzer()
    assert analyzer.lin(wrapped) != analyzer.lin(n)
    assert analyzer.same(world.builder.sub(world.builder.mul(n, 8), world.builder.mul(n, 7)), n)


def test_a_product_that_may_wrap_is_a_multiple_of_powers_of_two_only() -> None:
    world = World()
    product = world.builder.mul(world.free(), 24)
    assert [c for c in range(1, 25) if Analyzer().is_multiple(product, c)] == [1, 2, 4, 8]


def test_a_quotient_by_what_may_be_zero_is_opaque() -> None:
    world = World()
    n, zero = world.free(), world.builder.const(0, "int32")
    quotient = arith.FloorDivSIOp(n, zero).result
    unknown = arith.FloorDivSIOp(n, n).result
    analyzer = Analyzer()
    assert analyzer.lin(quotient) == Lin.of(quotient)
    assert analyzer.lin(unknown) == Lin.of(unknown)
    with pytest.raises(ValueError, match=r"may be zero"):
        analyzer.floordiv(Lin(4), 0)


def test_truncating_division_is_flooring_only_where_nothing_is_negative() -> None:
    world = World()
    low, positive = world.loop(-4, 8), world.loop(0, 8)
    b = world.builder
    analyzer = Analyzer()
    opaque = b.binary("truncdiv", low, 2)
    assert analyzer.lin(opaque) == Lin.of(opaque)
    assert analyzer.lin(b.binary("truncdiv", positive, 2)) == analyzer.floordiv(Lin.of(positive), 2)


def test_unsigned_arithmetic_is_opaque_but_has_its_range() -> None:
    b = World().builder
    x = Block(arg_types=[mlir_type("uint8")]).args[0]
    total = b.add(x, x)
    widened = b.cast(total, "int32")
    analyzer = Analyzer()
    assert analyzer.lin(widened) == Lin.of(total)
    assert analyzer.bounds(analyzer.lin(widened)) == (0, 255)


def test_a_sign_extended_bool_is_not_its_number() -> None:
    flag = Block(arg_types=[i1]).args[0]
    extended = arith.ExtSIOp(flag, i32).result
    analyzer = Analyzer()
    assert analyzer.lin(extended) == Lin.of(extended)
    assert analyzer.bounds(analyzer.lin(extended))[0] < 0


def test_only_integers_have_a_sum() -> None:
    value = Block(arg_types=[f32]).args[0]
    with pytest.raises(ValueError, match="f32 is not an integer type"):
        Analyzer().lin(value)


# Ranges and proofs


def symbolic() -> tuple[SSAValue, SSAValue]:
    """A size that is at least 0, and the variable of a loop over it."""
    function = FuncOp("f", [("a", HandleType())])
    symbol = SymbolOp("n", i32)
    match = MatchBufferOp("A", function.body.block.args[0], f32, [symbol.result])
    loop = ForOp("i", 0, symbol.result, i32)
    function.body.block.add_ops([symbol, match, loop])
    return symbol.result, loop.variable


def test_an_extent_of_a_parameter_is_not_negative() -> None:
    n, _ = symbolic()
    assert Analyzer().bounds(Lin.of(n)) == (0, 2**30 - 1)
    assert Analyzer().bounds(Lin.of(SymbolOp("m", i32).result))[0] < 0


@pytest.mark.parametrize(("type", "limit"), [(i32, 2**30), (i64, 2**62)])
def test_extents_of_a_parameter_multiply_to_what_its_elements_may_be(type, limit: int) -> None:
    function = FuncOp("f", [("a", HandleType())])
    n, m, k = (SymbolOp(name, type) for name in "nmk")
    match = MatchBufferOp("A", function.body.block.args[0], f32, [n.result, 8, m.result])
    function.body.block.add_ops([n, m, k, match])
    analyzer = Analyzer()
    both = Lin.of(n.result).times(Lin.of(m.result))
    assert analyzer.bounds(both) == (0, (limit - 1) // 8)
    assert analyzer.fits(both * 8, type)
    assert not analyzer.fits(both.times(Lin.of(m.result)), type)
    assert not analyzer.fits(both.times(Lin.of(k.result)), type)


def test_a_loop_variable_is_less_than_its_symbolic_end() -> None:
    n, i = symbolic()
    analyzer = Analyzer()
    assert analyzer.is_provably("lt", Lin.of(i), Lin.of(n))
    assert analyzer.bounds(Lin.of(n) - Lin.of(i)) == (1, 2**30 - 1)
    assert analyzer.compare("lt", Lin.of(i), Lin.of(n) - 1) is None
    assert analyzer.bounds(Lin.of(n))[0] == 0  # the loop may have no iteration


@given(st.data())
def test_an_assumption_narrows_bounds(data: st.DataObject) -> None:
    n, _ = symbolic()
    world = World()
    b = world.builder
    pool = [n]
    analyzer = Analyzer()
    for _ in range(data.draw(st.integers(1, 3))):
        factor, size = data.draw(st.sampled_from((1, 3, 12))), data.draw(st.sampled_from((1, 4, 64)))
        extent = b.binary("floordiv", b.add(b.mul(n, factor), size - 1), size)
        loop = ForOp("i", 0, data.draw(st.integers(1, 256)) if data.draw(st.booleans()) else extent, i32)
        world.block.add_op(loop)
        analyzer.enter(loop, loop.body.block)
        pool.append(b.add(b.mul(loop.variable, size), pick(data.draw, pool[1:] or [0])))
    for _ in range(data.draw(st.integers(0, 3))):
        pool.append(_draw_op(data.draw, world, pool, i32))  # pyright: ignore[reportArgumentType]
    quotient = b.binary("floordiv", pick(data.draw, pool), data.draw(st.sampled_from((1, 3, 12))))
    condition = b.binary(data.draw(st.sampled_from(("lt", "le"))), quotient, n)
    sums = [analyzer.exact(value) for value in reversed(pool)]
    with analyzer.assumptions():  # without cached results
        outside = [analyzer.bounds(each) for each in sums]
    with analyzer.assuming(condition):
        inside = [analyzer.bounds(each) for each in sums]
    for (low, high), (least, most) in zip(inside, outside, strict=True):
        assert low > high or (least <= low and high <= most)


def test_the_range_of_a_loop_may_depend_on_a_fact_about_its_variable() -> None:
    n, _ = symbolic()
    function = n.owner.parent_op()
    assert isinstance(function, FuncOp)
    builder = TirBuilder(function.body.block)
    blocks = ForOp("b", 0, builder.binary("floordiv", builder.add(n, 255), 256), i32)
    threads = ForOp("t", 0, 256, i32)
    function.body.block.add_ops([blocks, threads])
    index = builder.add(builder.mul(blocks.variable, 256), threads.variable)
    condition = builder.binary("lt", builder.binary("floordiv", index, 12), n)
    analyzer = Analyzer()
    with analyzer.assuming(condition):
        assert analyzer.bounds(analyzer.lin(index)) == (0, 2**30 - 1)  # n > index // 12, and `b` is less than n // 256
        assert analyzer.bounds(analyzer.lin(n))[0] == 1


def test_inside_of_a_loop_it_has_an_iteration() -> None:
    n, i = symbolic()
    loop = i.owner.parent_op()
    assert isinstance(loop, ForOp)
    inner = TirBuilder(loop.body.block).let("x", n)
    assert isinstance(inner.owner, LetOp)
    analyzer = Analyzer()
    with analyzer.inside(inner.owner):
        assert analyzer.bounds(analyzer.lin(n))[0] == 1
    assert analyzer.bounds(analyzer.lin(n))[0] == 0


def test_a_clipped_tile_is_not_longer_than_the_tile() -> None:
    n, i = symbolic()
    analyzer = Analyzer()
    end = analyzer.minimum(Lin.of(n), Lin.of(i) + 8)
    assert analyzer.bounds(end - Lin.of(i)) == (1, 8)
    start = analyzer.maximum(Lin.of(i) - 8, Lin(0))
    assert isinstance(start.atom, MaxAtom)
    assert analyzer.is_provably("le", start, Lin.of(i))


def test_quotients_by_a_positive_size_are_simplified() -> None:
    n, i = symbolic()
    analyzer = Analyzer()
    analyzer.assume_not_negative(Lin.of(n) - 1)
    size, index = Lin.of(n), Lin.of(i)
    assert analyzer.floordiv(index, size) == Lin()
    assert analyzer.floordiv(size * 8 - 1, size) == Lin(7)
    assert analyzer.floordiv(size * 8 - 1, size * 2) == Lin(3)
    quotient, remainder = analyzer.floordiv(index * 3, size), analyzer.floormod(index * 3, size)
    assert analyzer.add(analyzer.mul(quotient, size) * 2, remainder * 2) == index * 6
    assert analyzer.add(analyzer.mul(quotient, size), remainder * 2) != index * 3


def test_the_factors_of_a_positive_product_of_sizes_are_positive() -> None:
    function = FuncOp("f", [("a", HandleType())])
    n, m, k = (SymbolOp(name, i64) for name in "nmk")
    match = MatchBufferOp("A", function.body.block.args[0], f32, [n.result, m.result])
    function.body.block.add_ops([n, m, k, match])
    sizes = [Lin.of(op.result) for op in (n, m, k)]
    analyzer = Analyzer()
    with analyzer.assumptions():
        analyzer.assume_not_negative(sizes[0].times(sizes[1]) - 1)
        assert [analyzer.is_provably("ge", size, 1) for size in sizes] == [True, True, False]
    with analyzer.assumptions():  # k may be negative, but not in a positive product with n
        analyzer.assume_not_negative(sizes[0].times(sizes[2]) - 1)
        assert [analyzer.is_provably("ge", size, 1) for size in sizes] == [True, False, True]
    analyzer.assume_not_negative(sizes[0].times(sizes[1]))
    assert not analyzer.is_provably("ge", sizes[0], 1)


def test_an_assumption_that_follows_from_others_changes_nothing() -> None:
    n, _ = symbolic()
    analyzer = Analyzer()
    analyzer.assume_not_negative(Lin.of(n) - 3)
    analyzer.assume_not_negative(Lin(9) - Lin.of(n))
    product = analyzer.lin(n) * 2
    assert analyzer.bounds(product) == (6, 18)
    results = dict(analyzer.scope.imports), dict(analyzer.scope.bounds)
    for weaker in (Lin.of(n) - 1, Lin.of(n) * 2 - 5, Lin(20) - Lin.of(n)):
        analyzer.assume_not_negative(weaker)
        assert (analyzer.scope.imports, analyzer.scope.bounds) == results  # which stay cached
        assert analyzer.bounds(Lin.of(n)) == (3, 9)
        results = dict(analyzer.scope.imports), dict(analyzer.scope.bounds)


def test_a_fused_symbolic_loop_gives_back_its_parts() -> None:
    n, i = symbolic()
    analyzer = Analyzer()
    outer = ForOp("o", 0, 100, i32).variable
    with analyzer.assumptions():
        analyzer.assume_not_negative(Lin.of(n) - 1)
        fused = Lin.of(outer).times(Lin.of(n)) + Lin.of(i)
        assert analyzer.floordiv(fused, Lin.of(n)) == Lin.of(outer)
        assert analyzer.floormod(fused, Lin.of(n)) == Lin.of(i)


def test_an_axis_has_the_range_of_its_domain_where_the_predicate_says_so() -> None:
    world = World()
    b, outer, inner = world.builder, world.loop(0, 3), world.loop(0, 4)
    binding = b.add(b.mul(outer, 4), inner)
    fits = b.binary("lt", binding, 10)
    for predicate, highest in ((fits, 9), (None, 11)):
        block = BlockOp("B", [Axis("vi", "spatial", 0, 10, binding)], predicate=predicate)
        assert Analyzer().bounds(Lin.of(block.variables[0])) == (0, highest)


def test_a_loop_with_a_step_ends_at_a_step() -> None:
    loop = ForOp("i", 1, 10, i32, step=4)
    assert Analyzer().bounds(Lin.of(loop.variable)) == (1, 9)


def test_what_if_says_holds_in_its_branches_only() -> None:
    world = World()
    n = world.free()
    branch = IfOp(world.builder.binary("lt", n, 10))
    world.block.add_op(branch)
    then = TirBuilder(branch.then.block).let("x", n)
    orelse = TirBuilder(branch.orelse.block).let("x", n)
    analyzer = Analyzer()
    for value, bounds in ((then, (-(2**31), 9)), (orelse, (10, 2**31 - 1))):
        assert isinstance(value.owner, LetOp)
        with analyzer.inside(value.owner):
            assert analyzer.bounds(analyzer.lin(n)) == bounds
    assert analyzer.bounds(analyzer.lin(n)) == (-(2**31), 2**31 - 1)


def test_sums_with_different_remainders_are_never_equal() -> None:
    world = World()
    n, m = world.loop(0, 100), world.loop(0, 100)
    analyzer = Analyzer()
    assert analyzer.compare("eq", Lin.of(n) * 4 + 1, Lin.of(m) * 2) is False
    assert analyzer.is_provably("ne", Lin.of(n) * 4 + 1, Lin.of(m) * 2)


# Size


def test_long_and_deep_expressions_are_imported_without_recursion() -> None:
    world = World()
    n, b = world.loop(0, 7), world.builder
    deep = total = n
    for i in range(500):
        deep = b.binary("floordiv", b.add(deep, 1000 + i), 3)
        total = b.add(total, world.loop(0, 3))
    square = n
    for _ in range(64):
        square = b.mul(square, square)
    chosen = n
    for i in range(500):
        chosen = b.select(b.binary("lt", chosen, i), chosen, n)
    analyzer = Analyzer()
    for value in (deep, total, square, chosen):
        low, high = analyzer.bounds(analyzer.exact(value))
        assert low <= run_deep(value, dict.fromkeys(world.variables, 1)) <= high


def run_deep(value: SSAValue, numbers: dict[SSAValue, int]) -> int:
    """`run` without recursion: evaluates the operations before `value` in order."""
    assert isinstance(value.owner, Operation)
    block = value.owner.parent
    assert block is not None
    for op in block.ops:
        numbers[op.results[0]] = run(op.results[0], numbers)
    return numbers[value]


def test_a_ramp_is_no_index_value() -> None:
    b = World().builder
    ramp = b.ramp(0, 1, 4)
    assert isinstance(ramp.owner, RampOp)
    with pytest.raises(ValueError, match="is not an integer type"):
        Analyzer().lin(ramp)
