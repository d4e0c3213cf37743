"""Functions in functions, and calls of values: private functions of the module, and closures."""

from typing import Any

import numpy as np
import pytest

from stepwell import ParseError, VirtualMachine, build_relax, parse_tvmscript
from stepwell.backends.interpreter import interpret

TENSOR = 'R.Tensor(("n", 2), "float32")'


def run(body: str, *args: Any) -> Any:
    """The result of `main`, by the machine and by the interpreter, after a round trip."""
    mod = parse_tvmscript(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: {TENSOR}, y: {TENSOR}, c: R.Tensor((), "bool")):
        n = T.int64()
{body}
""")
    text = mod.script()
    again = parse_tvmscript(text)
    assert again.script() == text
    got = VirtualMachine(build_relax(again))["main"](*args).numpy()
    np.testing.assert_array_equal(got, np.asarray(interpret(mod, "main", args)))
    return got


X, Y, YES = np.arange(6, dtype="float32").reshape(3, 2), np.ones((3, 2), "float32"), np.array(True)


def test_a_local_function_uses_values_around_it() -> None:
    body = f"""
        two = R.const(2.0)
        @R.function
        def scaled(z: R.Tensor(("n", 2), "float32")):
            with R.dataflow():
                w = R.multiply(R.add(z, x), two)
                R.output(w)
            return w
        @R.function
        def twice(z: R.Tensor(("n", 2), "float32")) -> {TENSOR}:
            return scaled(scaled(z))
        return twice(y)
"""
    np.testing.assert_array_equal(run(body, X, Y, YES), ((Y + X) * 2 + X) * 2)


def test_a_local_function_is_a_value() -> None:
    body = f"""
        @R.function
        def outer(a: {TENSOR}):
            @R.function
            def inner(b: {TENSOR}):
                return R.subtract(a, b)
            return inner
        @R.function
        def apply(f: R.Callable(({TENSOR},), {TENSOR}), a: {TENSOR}):
            r: {TENSOR} = f(a)
            return r
        subtract = outer(x)
        r: R.Tensor((n, 2), "float32") = subtract(y)
        @R.function
        def negative(a: {TENSOR}):
            return R.negative(a)
        s = R.call_pure_packed("vm.builtin.invoke_closure", negative, r, sinfo_args=R.Tensor((n, 2), "float32"))
        return s
"""
    np.testing.assert_array_equal(run(body, X, Y, YES), Y - X)


def test_a_branch_calls_a_local_function() -> None:
    body = f"""
        @R.function
        def doubled(a: {TENSOR}):
            return R.add(a, a)
        if c:
            z = doubled(x)
        else:
            z = doubled(y)
        return z
"""
    np.testing.assert_array_equal(run(body, X, Y, YES), 2 * X)
    np.testing.assert_array_equal(run(body, X, Y, np.array(False)), 2 * Y)


def test_a_local_function_calls_itself() -> None:
    body = """
        @R.function
        def power(left: R.Tensor((), "int32"), z: R.Tensor((n, 2), "float32")) -> R.Tensor((n, 2), "float32"):
            again = R.greater(left, R.const(0, "int32"))
            if again:
                more = R.multiply(z, x)
                r = power(R.subtract(left, R.const(1, "int32")), more)
            else:
                r = z
            return r
        result = power(R.const(3, "int32"), y)
        return result
"""
    np.testing.assert_array_equal(run(body, X, Y, YES), X**3)


ERRORS = {
    "def f(a: R.Object):\n    return a\nreturn x": "'f' needs the decorator @R.function",
    "@T.prim_func\ndef f(a: R.Object):\n    return a\nreturn x": "expected @R.function",
    "@R.function\ndef f(a: R.Object):\n    return a\nreturn f(x, y)": "takes 1 arguments, got 2",
    "@R.function\ndef f(a: R.Object):\n    return f(a)\nreturn f(x)": "the result type of main_f must be written",
    "@R.function\ndef f(a: R.Object) -> R.Object:\n    return (f, a)\nreturn f(x)": "main_f is a value in itself",
    "z = x(y)\nreturn z": "cannot be called, expected a function",
}


@pytest.mark.parametrize("body", ERRORS)
def test_wrong_functions_have_a_place(body: str) -> None:
    with pytest.raises(ParseError) as error:
        run("\n".join(f"        {line}" for line in body.split("\n")))
    assert ERRORS[body] in str(error.value)
    assert str(error.value).startswith("<string>:")
