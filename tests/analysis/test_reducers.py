"""Recognition of reductions, the reasons for unrecognized updates, and the combination of partial results."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.analysis.reducers import (
    ArgChoice,
    Reducer,
    init_is_identity,
    is_commutative_update,
    match_reducer,
    why_not_identity_init,
)
from stepwell.analysis.scopes import declarations, root_buffer, statements
from stepwell.backends.oracle import run_oracle
from stepwell.core.dtypes import numpy_dtype
from stepwell.dialects.tir import AllocBufferOp, BlockOp, ForOp, FuncOp, LoadOp, StoreOp, TirBuilder
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.module import Module
from stepwell.tools.testing.comparison import same

ROWS, STEPS = 24, 6


def program(init: str, update: str, dtypes: tuple[str, ...] = ("float32",)) -> Module:
    """A program that accumulates inputs A0, A1, ... and G0, ... (both 24 x 6) in C0, C1, ... (of 24) of the same
    types."""
    shapes = {"A": f"({ROWS}, {STEPS})", "G": f"({ROWS}, {STEPS})", "C": f"({ROWS},)"}
    params = [f'{x}{n}: T.Buffer({shapes[x]}, "{dtype}")' for x in "AGC" for n, dtype in enumerate(dtypes)]
    lines = [
        "@T.prim_func",
        f"def f({', '.join(params)}):",
        f"    for i, k in T.grid({ROWS}, {STEPS}):",
        "        with T.block('P'):",
        "            vi, vk = T.axis.remap('SR', [i, k])",
    ]
    if init:
        lines += ["            with T.init():", textwrap.indent(init, " " * 16)]
    module = parse_tvmscript("\n".join([*lines, textwrap.indent(update, " " * 12)]) + "\n")
    module.verify()
    return module


def block_of(module: Module) -> BlockOp:
    return next(op for op in module.op.walk() if isinstance(op, BlockOp))


def found(update: str, dtype: str = "float32") -> Reducer | str:
    return match_reducer(block_of(program("", update, (dtype,))))


KNOWN = {
    "C0[vi] + A0[vi, vk]": "add",
    "A0[vi, vk] * G0[vi, vk] + C0[vi]": "add",
    "A0[vi, vk] + C0[vi] + G0[vi, vk]": "add",
    "C0[vi] - A0[vi, vk]": "add",
    "G0[vi, vk] + (C0[vi] - A0[vi, vk])": "add",
    "C0[vi] * A0[vi, vk]": "mul",
    "A0[vi, vk] * (C0[vi] * G0[vi, vk])": "mul",
    "T.min(C0[vi], A0[vi, vk])": "min",
    "T.max(A0[vi, vk], C0[vi])": "max",
    "T.Select(vk < 2, C0[vi] + A0[vi, vk], C0[vi])": "add",
    "T.if_then_else(vk < 2, C0[vi], A0[vi, vk] * C0[vi])": "mul",
    "T.Select(C0[vi] >= A0[vi, vk], C0[vi], A0[vi, vk])": "max",
    "T.if_then_else(A0[vi, vk] < C0[vi], A0[vi, vk], C0[vi])": "min",
}
INTEGERS = {
    "C0[vi] | A0[vi, vk]": "or",
    "A0[vi, vk] & C0[vi]": "and",
    "C0[vi] ^ A0[vi, vk]": "xor",
}
UNKNOWN = {
    "C0[vi] = A0[vi, vk]": "C0 is not computed from its old value",
    "C0[vi] = C0[vi]": "C0 is only copied to itself",
    "C0[vi] = A0[vi, vk] - C0[vi]": "C0 becomes A0[vi, vk] - C0[vi], expected one of C + g, C - g, C * g, min(C, g), "
    "max(C, g), C & g, C | g, C ^ g",
    "C0[vi] = (C0[vi] + A0[vi, vk]) * G0[vi, vk]": "C0 mixes add and mul",
    "C0[vi] = C0[vi] + A0[vi, vk] * C0[vi]": "C0 is read 2 times, expected once",
    "C0[vi] = C0[vi] + C0[vk]": "it reads C0[vk], expected only the element of C0 that it writes",
    "C0[vi] = C0[vi] + A0[vi, vk]\nC0[vi] = C0[vi] + 1.0": "it stores to one buffer more than once",
    "for j in range(2):\n    C0[vi] = C0[vi] + A0[vi, vk]": "expected stores only, got tir.for",
    "if C0[vi] < 1.0:\n    C0[vi] = C0[vi] + 1.0": "C0[vi] < T.float32(1.0) is accumulated "
    "and decides what a tir.if does",
    "C0[vi] = T.Select(C0[vi] < 1.0, A0[vi, vk], C0[vi])": "it compares with T.float32(1.0), which it does "
    "not take then",
    "T.evaluate(0)": "expected stores only, got tir.evaluate",
}


@pytest.mark.parametrize(("update", "kind"), KNOWN.items())
def test_operators_are_recognised(update: str, kind: str) -> None:
    reducer = found(f"C0[vi] = {update}")
    assert isinstance(reducer, Reducer)
    assert reducer.kind == kind
    assert reducer.is_commutative


@pytest.mark.parametrize(("update", "kind"), INTEGERS.items())
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_operators_on_bits_are_recognised(update: str, kind: str, dtype: str) -> None:
    reducer = found(f"C0[vi] = {update}", dtype)
    assert isinstance(reducer, Reducer)
    assert reducer.kind == kind


@pytest.mark.parametrize(("update", "reason"), UNKNOWN.items())
def test_what_is_no_reducer_is_explained(update: str, reason: str) -> None:
    assert found(update) == f"the body of block P is not a reduction that is known: {reason}"


def test_accumulators_are_looked_for_through_names() -> None:
    reducer = found("old: T.float32 = C0[vi]\nnew: T.float32 = old + A0[vi, vk]\nC0[vi] = new")
    assert isinstance(reducer, Reducer)
    (accumulator,) = reducer.accumulators
    assert accumulator.kind == "add"
    assert len(accumulator.loads) == 1
    assert accumulator.store.buffer is accumulator.buffer


def test_a_condition_may_guard_the_update() -> None:
    reducer = found("if vk < 3:\n    C0[vi] = C0[vi] + A0[vi, vk]")
    assert isinstance(reducer, Reducer)


# Several accumulators

ARGMAX = """
v0: T.int32 = T.Select({0}, C0[vi], A0[vi, vk])
v1: T.float32 = T.Select({1}, C1[vi], A1[vi, vk])
C0[vi] = v0
C1[vi] = v1
""".strip()
GE, GT, LE, LT = (f"C1[vi] {sign} A1[vi, vk]" for sign in (">=", ">", "<=", "<"))
TIE = f"{GT} or C1[vi] == A1[vi, vk] and C0[vi] < A0[vi, vk]"
PAIR = ("int32", "float32")


@pytest.mark.parametrize(
    ("first", "second", "kind", "choice"),
    [
        (GE, GE, "argmax", ArgChoice(1, "ge")),
        (GE, GT, "argmax", ArgChoice(1, "ge")),
        (GT, GE, "argmax", ArgChoice(1, "gt")),
        (LE, LE, "argmin", ArgChoice(1, "le")),
        ("A1[vi, vk] <= C1[vi]", GE, "argmax", ArgChoice(1, "ge")),
        (TIE, GT, "argmax", ArgChoice(1, "gt", (0, "lt"))),
        ("A0[vi, vk] > C0[vi] and A1[vi, vk] == C1[vi] or " + GT, GT, "argmax", ArgChoice(1, "gt", (0, "lt"))),
    ],
)
def test_argmax_and_argmin_are_recognised(first: str, second: str, kind: str, choice: ArgChoice) -> None:
    reducer = match_reducer(block_of(program("", ARGMAX.format(first, second), PAIR)))
    assert isinstance(reducer, Reducer)
    assert (reducer.kind, reducer.choice) == (kind, choice)
    assert reducer.is_commutative == (choice.tie is not None)


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (ARGMAX.format(GE, LE), "its stores choose by different comparisons"),
        (
            "C1[vi] = T.max(C1[vi], A1[vi, vk])\nC0[vi] = T.Select(C1[vi] >= A1[vi, vk], C0[vi], A0[vi, vk])",
            "it reads C1[vi] behind the store to it",
        ),
        (
            ARGMAX.format("C1[vi] >= G1[vi, vk]", GE),
            "it compares with G1[vi, vk], which it does not take then",
        ),
        (
            "v: T.int32 = C0[vi] + T.Cast('int32', C1[vi])\nC1[vi] = C1[vi] + A1[vi, vk]\nC0[vi] = v",
            "its stores depend on each other, but not by one comparison, as in argmax and argmin",
        ),
    ],
)
def test_stores_that_depend_on_each_other_in_other_ways_are_refused(update: str, reason: str) -> None:
    text = match_reducer(block_of(program("", update, PAIR)))
    assert text == f"the body of block P is not a reduction that is known: {reason}"


def test_accumulators_may_be_each_for_itself() -> None:
    update = "C0[vi] = C0[vi] + A0[vi, vk]\nC1[vi] = T.max(C1[vi], A1[vi, vk])"
    reducer = match_reducer(block_of(program("", update, PAIR)))
    assert isinstance(reducer, Reducer)
    assert reducer.kind == "tuple"
    assert [a.kind for a in reducer.accumulators] == ["add", "max"]
    with pytest.raises(ValueError, match="a reducer of kind tuple does not choose"):
        reducer.keeps(TirBuilder(InsertPoint.before(reducer.accumulators[0].store)), [], [])


# Identities


@pytest.mark.parametrize(
    ("update", "dtype", "identity"),
    [
        ("C0[vi] + A0[vi, vk]", "float32", 0.0),
        ("C0[vi] * A0[vi, vk]", "int32", 1),
        ("T.min(C0[vi], A0[vi, vk])", "float32", math.inf),
        ("T.max(C0[vi], A0[vi, vk])", "int8", -128),
        ("T.min(C0[vi], A0[vi, vk])", "uint8", 255),
        ("C0[vi] & A0[vi, vk]", "uint8", 255),
        ("C0[vi] & A0[vi, vk]", "int32", -1),
        ("C0[vi] & A0[vi, vk]", "bool", 1),
        ("C0[vi] ^ A0[vi, vk]", "int32", 0),
    ],
)
def test_identities_are_of_the_type(update: str, dtype: str, identity: float) -> None:
    reducer = found(f"C0[vi] = {update}", dtype)
    assert isinstance(reducer, Reducer)
    assert reducer.identity() == [identity]


@pytest.mark.parametrize(
    ("init", "update", "reason"),
    [
        ("C0[vi] = 0.0", "C0[vi] + A0[vi, vk]", None),
        ("C0[vi] = 1.0", "C0[vi] + A0[vi, vk]", "sets C0 to T.float32(1.0), expected 0.0"),
        ("C0[vi] = A0[vi, 0]", "C0[vi] + A0[vi, vk]", "sets C0 to A0[vi, 0], expected 0.0"),
        ("G0[vi, 0] = 0.0", "C0[vi] + A0[vi, vk]", "does not write C0"),
        ("C0[vi] = T.min_value('float32')", "T.max(C0[vi], A0[vi, vk])", None),
        ("C0[vi] = T.float32('-inf')", "T.max(C0[vi], A0[vi, vk])", None),
        ("C0[vi] = T.max_value('float32')", "T.max(C0[vi], A0[vi, vk])", "expected -inf"),
    ],
)
def test_an_init_is_compared_with_the_identity(init: str, update: str, reason: str | None) -> None:
    block = block_of(program(init, f"C0[vi] = {update}"))
    reducer = match_reducer(block)
    assert isinstance(reducer, Reducer)
    text = why_not_identity_init(block, reducer)
    assert init_is_identity(block, reducer) == (reason is None)
    assert (text or "").endswith(reason or "")
    assert (text is None) == (reason is None)


def test_a_block_without_init_has_no_identity_in_it() -> None:
    block = block_of(program("", "C0[vi] = C0[vi] + A0[vi, vk]"))
    reducer = match_reducer(block)
    assert isinstance(reducer, Reducer)
    assert why_not_identity_init(block, reducer) == "block P has no init"


def test_what_an_argmax_carries_may_start_as_anything() -> None:
    block = block_of(program("C0[vi] = -1\nC1[vi] = T.min_value('float32')", ARGMAX.format(GE, GE), PAIR))
    reducer = match_reducer(block)
    assert isinstance(reducer, Reducer)
    assert init_is_identity(block, reducer)
    assert reducer.identity() == [0, -math.inf]


# Nests of updates


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ("for j in range(2):\n    C0[vi] = C0[vi] + A0[vi, j]", True),
        ("for j in range(3):\n    C0[j] = A0[j, vk] + C0[j]", True),
        ("C0[vi] = C0[vi] + A0[vi, vk]\nC0[vi] = C0[vi] + G0[vi, vk]", True),
        ("C0[vi] = C0[vi] + A0[vi, vk]\nC0[vi] = C0[vi] * G0[vi, vk]", False),
        ("for j in range(2):\n    C0[vi] = C0[vi] + C0[j]", False),
        ("for j in range(2):\n    C0[vi] = A0[vi, j]", False),
        ("for j in range(2):\n    if C0[vi] < 1.0:\n        C0[vi] = C0[vi] + A0[vi, j]", False),
        ("S = T.alloc_buffer((1,))\nS[0] = A0[vi, vk]\nC0[vi] = C0[vi] + S[0]", True),
        ("S = T.alloc_buffer((1,))\nS[0] = C0[vi]\nC0[vi] = C0[vi] + S[0]", False),
        ("for j in range(2):\n    T.call_packed('f', C0[vi])\n    C0[vi] = C0[vi] + A0[vi, j]", False),
        (
            "for j in range(2):\n    with T.block('Q'):\n        vj = T.axis.reduce(2, j)\n"
            "        C0[vi] = C0[vi] + A0[vi, vj]",
            True,
        ),
        (
            "for j in range(2):\n    with T.block('Q'):\n        vj = T.axis.reduce(2, j)\n"
            "        with T.init():\n            C0[vi] = 0.0\n        C0[vi] = C0[vi] + A0[vi, vj]",
            False,
        ),
    ],
)
def test_updates_inside_of_loops_may_come_in_any_order(update: str, expected: bool) -> None:
    assert is_commutative_update(block_of(program("", update))) is expected


# Law: partial results combine to the whole, on many rows of random numbers


def in_parts(module: Module, parts: int) -> Module:
    """The program with each reduction split into parts that start from the identity element and are then combined."""
    module = module.clone()
    block = block_of(module)
    reducer = match_reducer(block)
    assert isinstance(reducer, Reducer)
    func = next(op for op in module.op.walk() if isinstance(op, FuncOp))
    builder = TirBuilder(InsertPoint.at_start(func.body.block))
    partial = [
        builder.insert(AllocBufferOp(f"P{n}", a.store.value.type, [1])).buffer
        for n, a in enumerate(reducer.accumulators)
    ]
    zero = builder.const(0, "int32")
    row = ForOp("row", 0, ROWS, i32)
    builder.insert(row)
    with builder.at(row.body.block):
        assert block.init is not None
        copy_statements(builder, block.init, {block.variables[0]: row.variable})
        part = builder.insert(ForOp("part", 0, parts, i32))
        with builder.at(part.body.block):
            for value, buffer in zip(reducer.identities(builder), partial, strict=True):
                builder.store(value, buffer, [zero])
            step = builder.insert(ForOp("step", 0, STEPS // parts, i32))
            with builder.at(step.body.block):
                number = builder.add(builder.mul(part.variable, STEPS // parts), step.variable)
                copied = copy_statements(builder, block, {block.variables[0]: row.variable, block.variables[1]: number})
                redirect(copied, reducer, partial, zero)
            new = [builder.load(buffer, [zero]) for buffer in partial]
            old = [builder.load(a.buffer, [row.variable]) for a in reducer.accumulators]
            for value, a in zip(reducer.combine(builder, old, new), reducer.accumulators, strict=True):
                builder.store(value, a.buffer, [row.variable])
    outer = block.parent_op().parent_op()  # pyright: ignore[reportOptionalMemberAccess]
    assert outer is not None
    outer.detach()
    outer.erase()
    module.verify()
    return module


def copy_statements(builder: TirBuilder, op: Any, values: dict[SSAValue, SSAValue]) -> list[Operation]:
    """Copies the body of a block or init, without declarations and init."""
    mapping, copied = dict(values), list[Operation]()
    left_out = {*declarations(op.body.block), *(s for s in statements(op.body.block) if s.name == "tir.init")}
    for inner in op.body.block.ops:
        if inner not in left_out:
            copied.append(builder.insert(inner.clone(mapping)))
    return copied


def redirect(copied: list[Operation], reducer: Reducer, partial: Sequence[SSAValue], zero: SSAValue) -> None:
    targets = {root_buffer(a.buffer): p for a, p in zip(reducer.accumulators, partial, strict=True)}
    for op in (inner for outer in copied for inner in outer.walk()):
        if isinstance(op, LoadOp | StoreOp) and op.buffer in targets:
            first = 1 if isinstance(op, LoadOp) else 2
            op.operands[first - 1] = targets[op.buffer]
            op.operands[first] = zero


def arguments(dtypes: tuple[str, ...]) -> list[np.ndarray[Any, Any]]:
    """Arguments of small integers, so that floats are exact in any order, and keys are often equal."""
    rng = np.random.default_rng(0)
    inputs = [rng.integers(0, 4, (ROWS, STEPS)).astype(numpy_dtype(dtype)) for _ in "AG" for dtype in dtypes]
    return [*inputs, *(np.zeros(ROWS, numpy_dtype(dtype)) for dtype in dtypes)]


LAWS = [
    *((f"C0[vi] = T.{dtype}(2)", f"C0[vi] = {u}", (dtype,)) for u in KNOWN for dtype in ("int32", "float32")),
    *((f"C0[vi] = T.{dtype}(2)", f"C0[vi] = {u}", (dtype,)) for u in INTEGERS for dtype in ("int32", "uint8")),
    *(
        ("C0[vi] = -1\nC1[vi] = T.min_value('float32')", ARGMAX.format(*conditions), PAIR)
        for conditions in ((GE, GE), (GT, GT), (TIE, GT), (GE, GT))
    ),
    ("C0[vi] = 9\nC1[vi] = T.max_value('float32')", ARGMAX.format(LE, LE), PAIR),
    ("C0[vi] = 9\nC1[vi] = T.float32(2)", ARGMAX.format(LT, LT), PAIR),
    ("C0[vi] = 9\nC1[vi] = 7.0", "C0[vi] = C0[vi] + A0[vi, vk]\nC1[vi] = T.max(C1[vi], A1[vi, vk])", PAIR),
]


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize(("init", "update", "dtypes"), LAWS)
def test_parts_that_start_from_the_identity_combine_to_the_whole(
    init: str, update: str, dtypes: tuple[str, ...], parts: int
) -> None:
    module = program(init, update, dtypes)
    whole, combined = arguments(dtypes), arguments(dtypes)
    run_oracle(module, "f", whole)
    run_oracle(in_parts(module, parts), "f", combined)
    assert all(same(a, b) for a, b in zip(whole, combined, strict=True))
