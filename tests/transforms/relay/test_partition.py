"""The assignment of operators to libraries, and the interface of libraries."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import Module, OptionError, PassError, PluginError
from stepwell.backends.graph import GraphExecutor, build_graph
from stepwell.backends.passes import apply_passes
from stepwell.core import plugins
from stepwell.dialects import te, tir
from stepwell.frontends import relay as graphs_in_python
from stepwell.operators.relay import CallOp, FuncOp
from stepwell.transforms.relay.libraries import Library, LibraryPattern, is_op, kernel_of, library_of, wildcard
from stepwell.transforms.relay.partition import partition

relay: Any = graphs_in_python  # its functions are created at import

X, W, B = relay.var("x", shape=(3, 8)), relay.var("w", shape=(8, 8)), relay.var("b", shape=(8,))
DENSE = is_op("nn.dense")(wildcard(), wildcard())
BIASED = is_op("nn.bias_add")(DENSE, wildcard())


def library(name: str, *patterns: Any) -> Library:
    made = tuple(each if isinstance(each, LibraryPattern) else LibraryPattern(each) for each in patterns)
    return Library(name, made, kernel_of)


def parts(expr: Any, *libraries: Library) -> list[str]:
    """The calls and the operators of `main`, in order, after the partition of an expression."""
    mod = relay.module(relay.Function([X, W, B], expr))
    partition(mod.op, libraries)
    mod.verify()
    func = mod.functions["main"]
    steps = list(func.body.block.ops)[:-1]
    return [op.callee.string_value() if isinstance(op, CallOp) else op.name for op in steps]


LAYER = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(X, W), B))


def test_the_longest_pattern_wins_wherever_it_stands() -> None:
    assert parts(LAYER, library("a", DENSE, BIASED)) == ["a_nn_dense_nn_bias_add", "relay.nn.relu"]
    assert parts(LAYER, library("a", DENSE), library("b", BIASED)) == ["b_nn_dense_nn_bias_add", "relay.nn.relu"]


def test_of_patterns_of_one_length_the_first_library_and_pattern_wins() -> None:
    one, other = library("a", DENSE), library("b", DENSE)
    assert parts(LAYER, one, other)[0] == "a_nn_dense"
    assert parts(LAYER, other, one)[0] == "b_nn_dense"
    tail = is_op("nn.relu")(is_op("nn.bias_add")(wildcard(), wildcard()))
    assert parts(LAYER, library("a", BIASED, tail)) == ["a_nn_dense_nn_bias_add", "relay.nn.relu"]
    assert parts(LAYER, library("a", tail, BIASED)) == ["relay.nn.dense", "a_nn_bias_add_nn_relu"]


def test_a_shorter_alternative_is_taken_where_the_longer_one_is_read_elsewhere() -> None:
    dense = relay.nn.dense(X, W)
    pattern = is_op("nn.bias_add")(DENSE | wildcard(), wildcard())
    assert parts(relay.nn.bias_add(dense, B), library("a", pattern)) == ["a_nn_dense_nn_bias_add"]
    both = relay.add(relay.nn.bias_add(dense, B), dense)
    assert parts(both, library("a", pattern)) == ["relay.nn.dense", "a_nn_bias_add", "relay.add"]


def test_a_check_sees_the_operators_and_declines() -> None:
    seen: list[list[str]] = []

    def check(ops: Any) -> bool:
        seen.append([op.operator.name for op in ops])
        return False

    assert parts(LAYER, library("a", LibraryPattern(BIASED, check)))[0] == "relay.nn.dense"
    assert seen == [["nn.dense", "nn.bias_add"]]


def test_equal_functions_are_one_and_others_have_numbers() -> None:
    once = relay.nn.dense(X, W)
    twice = relay.nn.dense(relay.nn.dense(once, W), relay.exp(W))
    assert parts(twice, library("a", DENSE)) == ["a_nn_dense", "a_nn_dense", "relay.exp", "a_nn_dense"]
    other = relay.nn.dense(relay.nn.dense(X, W), relay.reshape(B, newshape=(1, 8)))
    assert [name for name in parts(other, library("a", DENSE)) if "dense" in name] == ["a_nn_dense", "a_nn_dense_1"]


def test_numbers_go_into_the_function() -> None:
    scaled = is_op("multiply")(wildcard(), wildcard())
    assert parts(relay.exp(X * 2.0), library("a", scaled)) == ["a_multiply", "relay.exp"]


UNARY = ("exp", "tanh", "sqrt", "negative")


@st.composite
def graphs(draw: Any) -> Module:
    """A graph of a few operators, each of which reads any previous operators."""
    values: list[Any] = [X]
    for _ in range(draw(st.integers(1, 8))):
        name = draw(st.sampled_from((*UNARY, "add", "multiply")))
        operands = [draw(st.sampled_from(values)) for _ in range(1 if name in UNARY else 2)]
        values.append(getattr(relay, name)(*operands))
    return relay.module(relay.Function([X, W, B], relay.Tuple([draw(st.sampled_from(values[1:])), values[-1]])))


any_ = wildcard()
PATTERNS = (
    is_op("exp")(is_op("tanh")(wildcard())),
    is_op("add")(is_op("multiply")(wildcard(), wildcard()), wildcard()),
    is_op("multiply")(any_, any_),
    is_op("exp")(wildcard()).optional(lambda x: is_op("sqrt")(x)).optional(lambda x: is_op("add")(x, wildcard())),
)


@given(graphs(), st.permutations(range(len(PATTERNS))), st.integers(1, 3))
def test_a_partition_computes_each_operator_once_and_prints_the_same_again(mod: Module, order: Any, cut: int) -> None:
    patterns = [PATTERNS[n] for n in order]
    libraries = library("a", *patterns[:cut]), library("b", *patterns[cut:])

    def operators(module: Module) -> list[str]:
        return sorted(
            op.name
            for func in module.functions.values()
            for op in func.walk()
            if op.name.startswith("relay.") and not isinstance(op, FuncOp | CallOp) and op.name != "relay.return"
        )

    texts: list[str] = []
    for _ in range(2):
        copy = mod.clone()
        partition(copy.op, libraries)
        copy.verify()
        calls = [op.callee.string_value() for op in copy.functions["main"].walk() if isinstance(op, CallOp)]
        if len(calls) == len(set(calls)):  # no function is shared
            assert operators(copy) == operators(mod)
        texts.append(str(copy))
    assert texts[0] == texts[1]


# Libraries by name


def installed(monkeypatch: pytest.MonkeyPatch, **entries: str) -> None:
    """Simulates installed libraries: `name="module:attribute"`."""
    found = {name: [EntryPoint(name, value, plugins.LIBRARIES)] for name, value in entries.items()}
    monkeypatch.setattr(plugins, "_entries_by_name", lambda group: found)
    library_of.cache_clear()


@pytest.fixture(autouse=True)
def _forget_libraries() -> Any:
    yield
    library_of.cache_clear()


def test_an_unknown_library_is_an_error() -> None:
    mod = relay.module(relay.Function([X, W, B], LAYER))
    with pytest.raises(OptionError, match="unknown library 'cbls', did you mean 'cblas'"):
        apply_passes(mod, "relay-partition{libraries=cbls}")


BROKEN = {
    "nowhere:X": "cannot be loaded: ModuleNotFoundError",
    "stepwell.core.plugins:GROUP": "is of type str, expected a Library",
    "stepwell.backends.libraries.cblas:CBLAS": "gives a library called 'cblas'",
}


@pytest.mark.parametrize("entry", BROKEN)
def test_a_broken_package_is_named(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, broken=entry)
    with pytest.raises(PluginError, match=f"entry point broken = '{re.escape(entry)}'.* {BROKEN[entry]}"):
        library_of("broken")


def test_a_name_of_two_packages_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [EntryPoint("twice", value, plugins.LIBRARIES) for value in ("a:A", "b:B")]
    monkeypatch.setattr(plugins, "_entries_by_name", lambda group: {"twice": entries})
    with pytest.raises(PluginError, match=r"two packages .* give the name 'twice': a:A and b:B"):
        library_of("twice")


def _renamed(func: FuncOp) -> te.FuncOp:
    made = kernel_of(func)
    made.sym_name = type(made.sym_name)("other")
    return made


def _shorter(func: FuncOp) -> tir.FuncOp:
    return tir.FuncOp(func.sym_name.data, [])


def _raising(func: FuncOp) -> te.FuncOp:
    raise KeyError("no")


def _nothing(func: FuncOp) -> Any:
    return None


OWN = {
    name: Library(name, (LibraryPattern(DENSE),), lower)
    for name, lower in (("r", _renamed), ("s", _shorter), ("x", _raising), ("n", _nothing), ("own", kernel_of))
}
WRONG = {
    "r": "library r makes of r_nn_dense a function called other",
    "s": "library s makes of s_nn_dense a function of 0 parameters, expected 3",
    "n": "library n makes of n_nn_dense None, expected a te.func or tir.func",
    "x": "pass convert-relay-to-te failed: KeyError: 'no'",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_library_must_not_give_is_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.transforms.relay.libraries.library.library_of", OWN.__getitem__)
    mod = relay.module(relay.Function([X, W, B], LAYER))
    partition(mod.op, [OWN[name]])
    with pytest.raises((PluginError, PassError), match=re.escape(WRONG[name])):
        apply_passes(mod, "relay-fuse-operators,convert-relay-to-te")


def test_a_library_may_leave_operators_to_their_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.transforms.relay.libraries.library.library_of", OWN.__getitem__)
    mod = relay.module(relay.Function([X, W, B], LAYER))
    partition(mod.op, [OWN["own"]])
    executor = GraphExecutor(build_graph(mod))
    assert any(step.kernel == "own_nn_dense" for step in executor.executable.calls)
