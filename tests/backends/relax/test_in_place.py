"""Calls that overwrite operands: results, arrays of the caller, values that passes merge, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepwell import (
    Device,
    ParseError,
    VirtualMachine,
    apply_passes,
    build_relax,
    nd,
    parse_mlir,
    parse_tvmscript,
    register_func,
)
from stepwell.backends.interpreter import interpret

TYPE = 'R.Tensor((8,), "float32")'
PROGRAM = f"""
@I.ir_module
class Module:
    @T.prim_func
    def increment(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = A[i] + 1.0
    @T.prim_func
    def twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] * 2.0
            A[i] = A[i] + 1.0
    @R.function
    def main(x: {TYPE}, w: {TYPE}):
        cls = Module
        with R.dataflow():
            a = R.add(x, w)
            s = R.sum(a)
            b = R.call_tir_inplace(cls.increment, (a,), inplace_indices=0, out_sinfo={TYPE})
            c = R.call_tir_inplace(cls.twice, (b,), inplace_indices=[0, -1], out_sinfo=[{TYPE}, {TYPE}])
            d = R.add(c[0], R.add(c[1], s))
            R.output(d)
        return d
    @R.function
    def parameter(x: {TYPE}):
        cls = Module
        y = R.call_tir_inplace(cls.increment, (x,), inplace_indices=[0], out_sinfo={TYPE})
        return y
    @R.function
    def merged(x: {TYPE}):
        cls = Module
        a = R.floor(x)
        b = R.floor(x)
        c = R.call_tir_inplace(cls.increment, (a,), inplace_indices=[0], out_sinfo={TYPE})
        d = R.subtract(c, b)
        return d
    @R.function
    def folded():
        cls = Module
        a = R.add(R.ones((8,), "float32"), R.ones((8,), "float32"))
        b = R.call_tir_inplace(cls.increment, (a,), inplace_indices=[0], out_sinfo={TYPE})
        return b
    @R.function(pure=False)
    def packed(x: {TYPE}):
        a = R.floor(x)
        b = R.call_inplace_packed("test.shift", a, R.prim_value(3), inplace_indices=0, sinfo_args={TYPE})
        return b
"""
TRANSPOSED = """
@I.ir_module
class Module:
    @T.prim_func
    def increment(A: T.Buffer((3, 2), "float32")):
        for i, j in T.grid(3, 2):
            A[i, j] = A[i, j] + 1.0
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        cls = Module
        a = R.permute_dims(x)
        y = R.call_tir_inplace(cls.increment, (a,), inplace_indices=[0], out_sinfo=R.Tensor((3, 2), "float32"))
        return y
"""
FIELDS = f"""
@I.ir_module
class Module:
    @T.prim_func
    def twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] * 2.0
            A[i] = A[i] + 1.0
    @R.function
    def main(x: {TYPE}):
        cls = Module
        a = R.add(x, x)
        t = R.call_tir_inplace(cls.twice, (a,), inplace_indices=[0, -1], out_sinfo=[{TYPE}, {TYPE}])
        s = R.call_tir_inplace(cls.twice, (t[0],), inplace_indices=[0, -1], out_sinfo=[{TYPE}, {TYPE}])
        b = R.subtract(s[0], R.const(-1.0, "float32"))
        c = R.subtract(R.add(b, t[1]), x)
        d = R.subtract(c, x)
        return d
"""
BRANCH = f"""
@I.ir_module
class Module:
    @T.prim_func
    def increment(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = A[i] + 1.0
    @R.function
    def main(x: {TYPE}, c: R.Tensor((), "bool")):
        cls = Module
        a = R.floor(x)
        if c:
            y = R.floor(x)
        else:
            y = R.add(a, R.const(1.0, "float32"))
        z = R.call_tir_inplace(cls.increment, (y,), inplace_indices=[0], out_sinfo={TYPE})
        w = R.add(z, a)
        return w
"""
X = np.arange(8, dtype="float32")


def shift(array: Any, number: int) -> Any:
    """Adds in place to an array of numpy or of a device."""
    array[:] = (array.numpy() if isinstance(array, nd.NDArray) else array) + np.float32(number)
    return array


register_func("test.shift", shift, override=True)


CASES: list[tuple[str, list[np.ndarray], np.ndarray]] = [
    ("main", [X, X], 2 * X + 2 + 2 * (2 * X + 1) + (2 * X).sum()),
    ("merged", [X], np.ones(8)),
    ("folded", [], np.full(8, 3.0)),
    ("packed", [X], X + 3),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), CASES)
def test_the_machine_and_the_interpreter_compute_the_same_in_each_call(
    name: str, arguments: list[np.ndarray], expected: np.ndarray
) -> None:
    module = parse_tvmscript(PROGRAM)
    machine = VirtualMachine(build_relax(module))
    for _ in range(2):
        np.testing.assert_array_equal(machine[name](*arguments).numpy(), expected)
        np.testing.assert_array_equal(interpret(module, name, arguments), expected)
    np.testing.assert_array_equal(X, np.arange(8))


def test_calls_overwrite_memory_of_devices(device: Device, target: str) -> None:
    machine = VirtualMachine(build_relax(parse_tvmscript(PROGRAM), target), device)
    x = nd.array(X, device)
    for name, arguments, expected in CASES:
        given = [x for _ in arguments]
        for _ in range(2):
            np.testing.assert_array_equal(machine[name](*given).numpy(), expected)
    np.testing.assert_array_equal(x.numpy(), X)


def test_a_parameter_is_an_array_of_the_caller() -> None:
    machine, x = VirtualMachine(build_relax(parse_tvmscript(PROGRAM))), X.copy()
    np.testing.assert_array_equal(machine["parameter"](x).numpy(), X + 1)
    np.testing.assert_array_equal(x, X + 1)


@pytest.mark.parametrize("style", ["classic", "0.27"])
def test_texts_are_read_back(style: str) -> None:
    module = parse_tvmscript(PROGRAM)
    script = module.script(style)
    assert "twice, (b,), inplace_indices=[0, -1], out_" in script
    assert parse_tvmscript(script).script(style) == script
    assert str(parse_mlir(str(module))) == str(module)


@pytest.mark.parametrize("passes", ["cse", "relay-fold-constants", "relax-inline-dataflow,relax-lift-parameters"])
def test_passes_do_not_merge_or_move_what_is_overwritten(passes: str) -> None:
    merged = 'merged(x: R.Tensor((8,), "float32")):\n'
    program = PROGRAM.replace(merged, f'{merged}        R.func_attr({{"num_input": 0}})\n')
    assert program != PROGRAM
    module = apply_passes(parse_tvmscript(program), passes)
    script = module.script()
    assert parse_tvmscript(script).script() == script
    assert script.count("R.floor(") == 3
    weights = interpret(module, "merged_transform_params", [(X,)]) if "transform_params" in script else [X]
    np.testing.assert_array_equal(interpret(module, "merged", weights), np.ones(8))
    np.testing.assert_array_equal(interpret(module, "folded", []), np.full(8, 3.0))


def test_the_interpreter_overwrites_a_copy_of_a_transposed_array() -> None:
    module = parse_tvmscript(TRANSPOSED)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    after = apply_passes(module, "relax-inline-dataflow,relax-outline-graphs")
    for each in (module, after):
        np.testing.assert_array_equal(interpret(each, "main", [x]), np.arange(6).reshape(2, 3).T + 1)
    np.testing.assert_array_equal(x, np.arange(6).reshape(2, 3))


def test_fields_of_a_tuple_are_overwritten_one_by_one() -> None:
    module = parse_tvmscript(FIELDS)
    for _ in range(2):
        np.testing.assert_array_equal(interpret(module, "main", [X]), 4 * X + 3)
        np.testing.assert_array_equal(VirtualMachine(build_relax(module))["main"](X).numpy(), 4 * X + 3)
    with pytest.raises(ParseError, match=r"\(C3\) operand 0 is overwritten, and read later by relay.add"):
        parse_tvmscript(FIELDS.replace("R.add(b, t[1])", "R.add(b, t[0])"))


def test_a_value_of_a_branch_shares_memory_with_the_branch() -> None:
    module = parse_tvmscript(BRANCH)
    for flag, expected in ((True, 2 * X + 1), (False, 2 * X + 2)):
        np.testing.assert_array_equal(interpret(module, "main", [X, np.array(flag)]), expected)
    with pytest.raises(ParseError, match=r"\(C3\) operand 0 is overwritten, and read later by relay.add"):
        parse_tvmscript(BRANCH.replace("y = R.floor(x)", f"y = R.match_cast(a, {TYPE})"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("R.add(c[1], s)", "R.add(a, s)", "n.py:19:17: error: (C3) operand 0 is overwritten, and read later by relay"),
        ("inplace_indices=0, out", "inplace_indices=2, out", "(C1) position 2, expected -1 or one of 1 operands"),
        ("inplace_indices=0, out", 'inplace_indices="a", out', "inplace_indices: expected integers, got "),
        ("cls.increment, (a,), inplace_indices=0", '"f", (a,), inplace_indices=0', "expected a function of the module"),
        ("d = R.subtract(c, b)", "d = cls.parameter(b)", "is a parameter of parameter, which is called"),
    ],
)
def test_errors_name_the_place(old: str, new: str, message: str) -> None:
    assert PROGRAM.count(old) >= 1
    with pytest.raises(ParseError) as error:
        parse_tvmscript(PROGRAM.replace(old, new, 1), "n.py")
    assert message in str(error.value)
