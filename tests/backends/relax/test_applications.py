"""Words of `R` on operands of which only a part is known: types, printed text, and results for operands that arrive."""

from __future__ import annotations

import numpy as np
import pytest

import stepwell
from stepwell.backends.relax import VirtualMachine, build_relax
from stepwell.core.errors import ArgumentError, ParseError
from stepwell.tools.testing.relax_programs import results_by_interpreter

rng = np.random.default_rng(0)


def _module(signature: str, *body: str) -> stepwell.Module:
    lines = "".join(f"    {line}\n" for line in body)
    return stepwell.parse_tvmscript(f"@R.function\ndef main({signature}):\n{lines}")


def _result(mod: stepwell.Module) -> str:
    return mod["main"].script().split(" -> ")[1].partition(":\n")[0]


TYPES = {
    "rank and data type": ("x: R.Tensor(), y: R.Tensor((2, 3), 'float32')", "R.add(x, y)", "R.Tensor()"),
    "data type": ("x: R.Tensor((2, 3)), y: R.Tensor((2, 3), 'float32')", "R.add(x, y)", "R.Tensor((2, 3))"),
    "sizes": ("x: R.Tensor((2, 3), 'float32'), y: R.Tensor('float32', ndim=2)", "R.add(x, y)", 'R.Tensor(dtype="float32", ndim=2)'),  # noqa: E501
    "a comparison": ("x: R.Tensor(), y: R.Tensor()", "R.less(x, y)", 'R.Tensor(dtype="bool")'),
    "a sum of all": ("x: R.Tensor('float16')", "R.sum(x)", 'R.Tensor((), dtype="float16")'),
    "a sum of one axis": ("x: R.Tensor(ndim=3)", "R.sum(x, axis=1)", "R.Tensor(ndim=2)"),
    "a cast": ("x: R.Tensor()", "R.astype(x, 'int8')", 'R.Tensor(dtype="int8")'),
    "a stated shape": ("x: R.Tensor(('n', 4))", "R.reshape(x, (2, 2, 'n'))", 'R.Tensor((2, 2, "n"))'),
    "an unknown shape": ("x: R.Tensor((2, 3), 'int32'), s: R.Shape(ndim=3)", "R.reshape(x, s)", 'R.Tensor(dtype="int32", ndim=3)'),  # noqa: E501
    "extents that may be 1": ("x: R.Tensor('int32', ndim=3)", "R.squeeze(x)", 'R.Tensor(dtype="int32")'),
    "a convolution": ("x: R.Tensor('float32'), w: R.Tensor((8, 4, 3, 3), 'float32')", "R.nn.conv2d(x, w)", 'R.Tensor(dtype="float32", ndim=4)'),  # noqa: E501
    "names that may agree": ("x: R.Tensor(('n', 3), 'int8'), y: R.Tensor(('m', 3), 'int8')", "R.add(x, y)", 'R.Tensor(dtype="int8", ndim=2)'),  # noqa: E501
    "a product": ("x: R.Tensor((2, 3), 'float32'), y: R.Tensor('float32', ndim=1)", "R.matmul(x, y)", 'R.Tensor(dtype="float32", ndim=1)'),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize(("signature", "value", "expected"), TYPES.values(), ids=TYPES)
def test_the_type_of_a_word_is_known_as_far_as_its_operands(signature: str, value: str, expected: str) -> None:
    mod = _module(signature, f"y = {value}", "return y")
    assert _result(mod) == expected
    again = stepwell.parse_tvmscript(mod["main"].script())
    assert _result(again) == expected
    assert str(stepwell.Module(again.op)) == str(mod)


def test_an_operator_is_compiled_for_the_operands_that_arrive() -> None:
    mod = _module(
        "x: R.Tensor(), y: R.Tensor('float32')",
        "z = R.add(x, y)",
        "w = R.nn.softmax(z, axis=-1)",
        "parts = R.split(w, 2, axis=0)",
        "u = R.concat((parts[0], w), axis=0)",
        "v = R.multiply(u, R.const(2.0, 'float32'))",
        "return v",
    )
    run = VirtualMachine(build_relax(mod))["main"]
    for shapes in (((2, 3), (1, 3)), ((4,), (4,)), ((2, 1, 2), (3, 2))):
        x, y = (rng.random(shape, np.float32) for shape in shapes)
        total = x + y
        soft = np.exp(total) / np.exp(total).sum(-1, keepdims=True)
        expected = 2 * np.concatenate([soft[: len(soft) // 2], soft])
        np.testing.assert_allclose(np.asarray(run(x, y)), expected, rtol=1e-6)
        np.testing.assert_allclose(results_by_interpreter(mod, [x, y])[0], expected, rtol=1e-6)


def test_sizes_with_names_are_operands_of_a_word() -> None:
    mod = _module("x: R.Tensor(), y: R.Tensor(('n',), 'int8')", "n = T.int64()", "z = R.reshape(x, (2, n))", "return z")
    run = VirtualMachine(build_relax(mod))["main"]
    x = rng.random(6, np.float32)
    assert np.array_equal(np.asarray(run(x, np.zeros(3, np.int8))), x.reshape(2, 3))
    with pytest.raises(ArgumentError, match=r"main: R.reshape: newshape .*: 8 elements, expected 6"):
        run(x, np.zeros(4, np.int8))


def test_a_word_of_which_no_operands_fit_is_an_error() -> None:
    with pytest.raises(ParseError, match=r"add: shapes \[n, 3\] and \[m, 4\] do not go together"):
        _module("x: R.Tensor(('n', 3), 'int8'), y: R.Tensor(('m', 4), 'int8')", "z = R.add(x, y)", "return z")


def test_operands_that_do_not_fit_are_errors_of_the_call() -> None:
    run = VirtualMachine(build_relax(_module("x: R.Tensor(), y: R.Tensor()", "z = R.add(x, y)", "return z")))["main"]
    with pytest.raises(ArgumentError, match=r"main: R.add: shapes \[2\] and \[3\] do not go together"):
        run(np.ones(2, np.float32), np.ones(3, np.float32))


def test_a_program_of_unknown_types_is_saved(tmp_path: object) -> None:
    executable = build_relax(_module("x: R.Tensor()", "z = R.exp(x)", "return z"))
    executable.save(f"{tmp_path}/p.tar")
    run = VirtualMachine(stepwell.VMExecutable.load(f"{tmp_path}/p.tar"))["main"]
    x = rng.random((2, 2), np.float32)
    np.testing.assert_allclose(np.asarray(run(x)), np.exp(x), rtol=1e-6)


def test_parts_of_unequal_extents() -> None:
    mod = _module("x: R.Tensor((10, 2), 'float32')", "y = R.split(x, 3, axis=0)", "return y")
    x = rng.random((10, 2), np.float32)
    results = VirtualMachine(build_relax(mod))["main"](x)
    for got, expected in zip(results, (x[:4], x[4:8], x[8:]), strict=True):
        assert np.array_equal(np.asarray(got), expected)


def test_one_part_is_a_tuple() -> None:
    mod = _module("x: R.Tensor((4,), 'float32')", "y = R.split(x, 1, axis=0)", "z = R.exp(y[0])", "return (z, y)")
    text = mod["main"].script()
    assert stepwell.parse_tvmscript(text)["main"].script() == text
    x = rng.random(4, np.float32)
    z, (y,) = VirtualMachine(build_relax(mod))["main"](x)
    assert np.array_equal(np.asarray(y), x)
    np.testing.assert_allclose(np.asarray(z), np.exp(x), rtol=1e-6)


def test_words_as_tvm_reads_their_attributes() -> None:
    mod = _module(
        "x: R.Tensor((2, 3), 'float32')",
        "a = R.reshape(x, (0, -1))",
        "b = R.repeat(a, 2)",
        "c = R.expand_dims(b, axis=[])",
        "return c",
    )
    x = rng.random((2, 3), np.float32)
    assert np.array_equal(np.asarray(VirtualMachine(build_relax(mod))["main"](x)), np.repeat(x, 2))


def test_sizes_that_only_numbers_fit_are_compiled_for_the_operands() -> None:
    mod = _module(
        "x: R.Tensor(('n', 4), 'float32')",
        "n = T.int64()",
        "a = R.nn.cross_entropy_with_logits(x, x)",
        "b = R.strided_slice(x, [0], [n - 1], [0], [-1])",
        "return (a, b)",
    )
    x = rng.random((3, 4), np.float32)
    a, b = VirtualMachine(build_relax(mod))["main"](x)
    np.testing.assert_allclose(np.asarray(a), -(x * x).sum() / 3, rtol=1e-6)
    assert np.array_equal(np.asarray(b), x[2:0:-1])
