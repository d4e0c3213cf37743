"""Programs that are no graphs: data types of users, matches, references, recursion, sizes known at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.core.errors import ArgumentError, LoadError, OptionError, UnsupportedError
from stepwell.frontends import tvm
from stepwell.frontends.relay.parsing import RelayTextError
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.relay.interpreter import ConstructorValue
from stepwell.frontends.tvm.relay.prelude import Prelude
from stepwell.frontends.tvm.relay.testing import add_nat_definitions, count, make_nat_expr

PRELUDE = Prelude()
PRELUDE.mod.import_from_std("nat.rly")
_, CONS, NIL = PRELUDE.mod.get_type("List")
X, Y = relay.var("x", "int32"), relay.var("y", "int32")
ADD = relay.Function([X, Y], X + Y)
NUMBERS = st.lists(st.integers(-9, 9), max_size=6)


def listed(numbers: Sequence[int]) -> Any:
    """The expression of a list."""
    return reduce(lambda rest, number: CONS(relay.const(number), rest), reversed(numbers), NIL())


def evaluate(expr: Any, mod: tvm.IRModule | None = None) -> Any:
    return relay.create_executor("vm", mod=PRELUDE.mod if mod is None else mod).evaluate(expr)


def numbers_of(value: Any) -> Any:
    """A value in Python: numbers, tuples and lists."""
    if not isinstance(value, ConstructorValue):
        return tuple(map(numbers_of, value)) if isinstance(value, tuple | list) else int(value.numpy())
    result: list[Any] = []
    while value.tag == CONS.tag:
        result.append(numbers_of(value.fields[0]))
        value = value.fields[1]
    return result


@given(NUMBERS, NUMBERS)
def test_functions_on_lists_are_those_of_python(left: list[int], right: list[int]) -> None:
    p, a, b = PRELUDE, listed(left), listed(right)
    subtract = relay.Function([X, Y], X - Y)
    is_positive = relay.Function([X], X > relay.const(0))
    pair = relay.Function([X, Y], relay.Tuple([X + Y, X]))
    zero = relay.const(0)
    sums = list(accumulate(left, initial=0))
    expected = {
        p.concat(a, b): left + right,
        p.rev(a): left[::-1],
        p.length(a): len(left),
        p.sum(a): sum(left),
        p.map(relay.Function([X], X * X), a): [x * x for x in left],
        p.filter(is_positive, a): [x for x in left if x > 0],
        p.zip(a, b): list(zip(left, right, strict=False)),
        p.foldl(subtract, zero, a): reduce(lambda x, y: x - y, left, 0),
        p.foldr(subtract, zero, a): reduce(lambda x, y: y - x, left[::-1], 0),
        p.map_accuml(pair, zero, a): (sums[-1], sums[-2::-1] if left else []),
    }
    found = evaluate(relay.Tuple(list(expected)))
    assert [numbers_of(each) for each in found] == list(expected.values())


def test_a_loop_of_many_rounds_takes_no_memory() -> None:
    mod = tvm.IRModule()
    total, n, acc = relay.GlobalVar("total"), relay.var("n", "int32"), relay.var("acc", "int32")
    again = total(n - relay.const(1), acc + n)
    mod[total] = relay.Function([n, acc], relay.If(relay.equal(n, relay.const(0)), acc, again))
    run = relay.create_executor("debug", mod=mod).evaluate(total)
    assert int(run(3000, 0).numpy()) == 4501500


def test_while_loop_repeats_a_body() -> None:
    x = relay.var("x", shape=(relay.Any(), 2))
    loop = relay.loops.while_loop(
        lambda n, _: relay.less(n, relay.const(3)),
        [relay.var("n", "int32"), x],
        lambda n, y: [n + relay.const(1), relay.concatenate([y, y], 0)],
    )
    mod = tvm.IRModule()
    start = relay.var("start", shape=(1, 2))
    mod["main"] = relay.Function([start], relay.TupleGetItem(loop(relay.const(0), start), 1))
    run = tvm.runtime.vm.VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu())
    assert np.array_equal(run.invoke("main", np.array([[1, 2]], "float32")).numpy(), [[1, 2]] * 8)


def test_references_are_written_in_order_and_shared_expressions_are_evaluated_once() -> None:
    r = relay.var("r")
    write = relay.RefWrite(r, relay.RefRead(r) + relay.const(1))
    body = relay.Tuple([write, write, relay.RefRead(r)])
    value = evaluate(relay.Let(r, relay.RefCreate(relay.const(1)), body))
    assert numbers_of(value) == ((), (), 2)


@given(st.permutations([2, 3, 4]), st.integers(1, 4))
def test_sizes_of_tensors_are_known_at_run_time(sizes: list[int], k: int) -> None:
    x, shape, count = (
        relay.var("x", shape=(24,)),
        relay.var("shape", shape=(3,), dtype="int64"),
        relay.var("k", "int32"),
    )
    outputs = relay.Tuple(
        [relay.reshape(x, shape), relay.zeros(shape, "int8"), relay.topk(x, count, ret_type="values")]
    )
    mod = tvm.IRModule({"main": relay.Function([x, shape, count], outputs)})
    data = np.random.default_rng(0).permutation(24).astype("float32")
    reshaped, zeros, best = relay.create_executor("vm", mod=mod).evaluate()(data, np.array(sizes), k)
    assert np.array_equal(reshaped.numpy(), data.reshape(sizes))
    assert zeros.numpy().shape == tuple(sizes)
    assert np.array_equal(best.numpy(), np.sort(data)[::-1][:k])


@pytest.mark.parametrize("shapes", [((3, 2), (3, 2)), ((1, 2), (3, 2)), ((1, 2), (1, 1))])
def test_operands_of_unknown_sizes_are_broadcast(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = (relay.var(name, shape=(relay.Any(), relay.Any())) for name in "xy")
    mod = tvm.IRModule({"main": relay.Function([x, y], x + y)})
    a, b = (np.arange(np.prod(shape), dtype="float32").reshape(shape) for shape in shapes)
    run = relay.create_executor("vm", mod=mod).evaluate()
    assert np.array_equal(run(a, b).numpy(), a + b)
    with pytest.raises(ArgumentError, match=r"x: float64.*, expected Tensor"):
        run(a.astype("float64"), b)


def test_types_of_programs_are_inferred() -> None:
    mod = tvm.IRModule()
    p = Prelude(mod)
    numbers, cons, nil = mod.get_type("List")
    constant = relay.Function([relay.var("element", "int32")], relay.const(1.5))
    mod["main"] = relay.Function([X], p.map(constant, cons(X, nil())))
    typed = relay.transform.InferType()(mod)["main"]
    floats = numbers(relay.TensorType((), "float32"))
    assert typed.checked_type == relay.FuncType([X.type_annotation], floats)
    identity = mod["id"].checked_type
    a = relay.TypeVar("a")
    assert identity == relay.FuncType([a], a, [a])
    shape = relay.var("shape", shape=(2,), dtype="int32")
    assert relay.transform.InferTypeLocal(relay.broadcast_to(X, shape)) == relay.TensorType(
        (relay.Any(), relay.Any()), "int32"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda cons, nil: cons(relay.const(1), relay.const(2)), "type int32, expected List"),
        (
            lambda cons, nil: relay.Match(nil(), [relay.Clause(relay.PatternConstructor(cons), nil())]),
            "0 fields, expected 2",
        ),
        (lambda cons, nil: relay.RefRead(relay.const(1)), "type int32, expected ref"),
        (lambda cons, nil: relay.If(relay.const(True), nil(), relay.const(1)), "type int32, expected List"),
        (lambda cons, nil: PRELUDE.hd(nil(), nil()), "2 arguments, expected 1"),
    ],
)
def test_types_that_do_not_go_together_are_errors(make: Callable[[Any, Any], Any], message: str) -> None:
    mod = tvm.IRModule()
    Prelude(mod)
    _, cons, nil = mod.get_type("List")
    mod["main"] = relay.Function([], make(cons, nil))
    with pytest.raises(OptionError, match=message):
        relay.transform.InferType()(mod)


def test_programs_are_read_from_their_text() -> None:
    text = PRELUDE.mod.astext()
    read = relay.fromtext(text)
    assert read.astext() == text
    assert tvm.ir.structural_equal(read, PRELUDE.mod)
    assert read.get_constructor(CONS.tag).name_hint == "Cons"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type A { } type A { }", "type A is defined twice"),
        ("type A { B, } type C { B, }", "constructor B is defined twice"),
        ("def @f() { 1 } def @f() { 2 }", "function @f is defined twice"),
        ("def @f[A, A](%x: A) { %x }", "type variables A, A, one of them twice"),
        ("def @f(%x: int32) { match (%x) { C => 1 } }", "C is not defined"),
    ],
)
def test_names_of_programs_are_defined_once(text: str, message: str) -> None:
    with pytest.raises(RelayTextError, match=message):
        relay.fromtext(text)


def test_programs_have_no_operations() -> None:
    mod = tvm.IRModule({"main": relay.Function([X], relay.RefRead(relay.RefCreate(X)))})
    assert not mod.has_operations
    with pytest.raises(UnsupportedError, match=r"ref_read.* is no operation of a graph"):
        relay.build(mod, "llvm")
    with pytest.raises(OptionError, match="executor 'graph' of a program that is no graph, expected 'vm' or 'debug'"):
        relay.create_executor("graph", mod=mod).evaluate()
    with pytest.raises(OptionError, match=r"no program .list\.rly., there is core\.rly, nat\.rly, prelude\.rly"):
        mod.import_from_std("list.rly")


def test_a_match_without_a_clause_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="no clause for"):
        evaluate(PRELUDE.hd(NIL()))


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4), st.booleans())
def test_nodes_are_read_from_their_json(numbers: list[int], is_shared: bool) -> None:
    fields = [
        relay.const(np.array(numbers, "int32")),
        relay.var("y", shape=(2, 3)),
        relay.nn.pad(X, ()) if False else X,
    ]
    body = relay.Tuple([*fields, fields[1]]) if is_shared else relay.strided_slice(fields[1], [0, 1], [1, 2])
    func = relay.Function([X, fields[1]], relay.Let(relay.var("t"), body, relay.TupleGetItem(relay.Tuple(fields), 0)))
    func = func.with_attr("name", "f").with_attr("count", 2)
    read = tvm.ir.load_json(tvm.ir.save_json(func))
    assert tvm.ir.structural_equal(read, func)
    assert read.attrs == {"name": "f", "count": 2}


def test_json_of_other_objects_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="save_json of Prelude, expected a module, an expression or a type"):
        tvm.ir.save_json(PRELUDE)


def test_modules_are_read_from_json_as_they_were_saved() -> None:
    x = relay.var("x", shape=(2,))
    graph = tvm.IRModule.from_expr(relay.Function([x], relay.add(x, relay.const(np.ones(2, "float32")))))
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(graph)), graph)

    @tvm.script.ir_module
    class Kernels:
        @tvm.script.tir.prim_func
        def main(a: tvm.script.tir.Buffer((4,), "float32")):  # pyright: ignore
            for i in range(4):
                a[i] = 1.0

    for each in (Kernels, Kernels["main"]):
        read = tvm.ir.load_json(tvm.ir.save_json(each))
        assert type(read) is type(each)
        assert read.script() == each.script()
    with pytest.raises(LoadError, match="load_json"):
        tvm.ir.load_json("{}")


def test_a_prelude_has_the_data_types_constructors_and_natural_numbers_of_v0_6() -> None:
    p = Prelude()
    with pytest.raises(AttributeError, match="no function 'nat'"):
        _ = p.nat
    add_nat_definitions(p)
    assert [each.name_hint for each in (p.l, p.tree, p.optional, p.nat)] == ["List", "Tree", "Option", "nat"]
    assert [each.name_hint for each in (p.cons, p.nil, p.some, p.none, p.rose)] == [
        "Cons",
        "Nil",
        "Some",
        "None",
        "Rose",
    ]
    number = relay.create_executor("debug", mod=p.mod).evaluate(p.double(p.add(p.s(p.z()), make_nat_expr(p, 2))))
    assert count(p, number) == 6
