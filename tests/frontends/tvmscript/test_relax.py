"""Functions with `@R.function`: the words of `R` in the spellings of several versions, round trips, and errors."""

# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import re

import numpy as np
import pytest

from stepwell import ParseError, StepwellError, VirtualMachine, build_relax, parse_tvmscript, register_func
from stepwell.operators import OPERATORS
from stepwell.operators.relax import FuncOp
from stepwell.operators.relax.spelling import SPELLINGS, all_words
from stepwell.operators.relay import OperatorOp
from stepwell.script import ir as I
from stepwell.script import relax as R
from stepwell.script import tir as T

SIGNATURE = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((4, 6), "float32"), v: R.Tensor((4,), "float32"),
         i: R.Tensor((2,), "int64"), c: R.Tensor((), "bool"), o: R.Object,
         im: R.Tensor((1, 2, 8, 8), "float32"), k: R.Tensor((3, 2, 3, 3), "float32")):
    n = T.int64()
    m = T.int64()
"""


def parse(body: str):
    """The function with a body, and its text after a round trip."""
    text = SIGNATURE + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    mod = parse_tvmscript(text, "f.py")
    for style in ("classic", "0.27"):
        printed = mod.script(style)
        assert parse_tvmscript(printed).script(style) == printed
    return mod.functions["main"]


def operators(func: FuncOp) -> list[str]:
    return [op.operator.name for op in func.walk() if isinstance(op, OperatorOp)]


EXPRESSIONS = {
    "R.add(x, v)": ["add"],
    "x + v": ["add"],
    "-x * x": ["negative", "multiply"],
    "x / x - x // x": ["divide", "floor_divide", "subtract"],
    "x % x ** x": ["power", "floor_mod"],
    "x < x": ["less"],
    "x @ y": ["nn.matmul"],
    "R.matmul(x, y)": ["nn.matmul"],
    "R.matmul(v, y)": ["einsum"],
    "R.matmul(R.expand_dims(x, 0), R.expand_dims(y, [0]))": ["expand_dims", "expand_dims", "nn.batch_matmul"],
    "R.linear(x, R.permute_dims(y), R.sum(y, axis=[0]))": ["transpose", "sum", "transpose", "nn.matmul", "add"],
    "R.nn.relu(x)": ["nn.relu"],
    "R.matmul(x, y, out_dtype='void')": ["nn.matmul"],
    "R.nn.relu6(x)": ["clip"],
    "R.nn.gelu_tanh(x)": ["nn.gelu"],
    "R.nn.gelu(x)": ["nn.gelu"],
    "R.nn.softmax(x, axis=1)": ["nn.softmax"],
    "R.nn.conv2d(im, k, strides=[1, 1], padding=(1, 1), out_dtype='float32')": ["nn.conv2d"],
    "R.nn.max_pool2d(im, pool_size=(2, 2), strides=[2, 2])": ["nn.max_pool2d"],
    "R.nn.layer_norm(x, v, v, axes=[-1])": ["nn.layer_norm"],
    "R.nn.batch_norm(im, R.sum(k, [1, 2, 3])[0:1] if False else R.ones((2,), 'float32'), R.zeros((2,), 'float32'),"
    " R.zeros((2,), 'float32'), R.ones((2,), 'float32'), axis=1, epsilon=1e-5)[0]": ["ones", "zeros", "zeros", "ones"],
    "R.permute_dims(x, axes=[1, 0])": ["transpose"],
    "R.astype(x, 'float16')": ["cast"],
    "R.astype(x, dtype=T.int8)": ["cast"],
    "R.concat((x, x), axis=0)": ["concatenate"],
    "R.split(x, 2, axis=1)[1]": ["split"],
    "R.split(x, [1], axis=1)": ["split"],
    "R.reshape(x, (n * 4,))": ["reshape"],
    "R.reshape(x, R.shape([n, 2, 2]))": ["reshape"],
    "R.reshape(x, (-1, 2))": ["reshape"],
    "R.flatten(x)": ["reshape"],
    "R.squeeze(R.expand_dims(x, axis=0), axis=[0])": ["expand_dims", "squeeze"],
    "R.broadcast_to(v, (3, 4))": ["broadcast_to"],
    "R.strided_slice(x, [1], [0], [2])": ["strided_slice"],
    "R.take(y, i, axis=0)": ["take"],
    "R.where(x > x, x, x)": ["greater", "where"],
    "R.clip(x, 0, 6)": ["clip"],
    "R.full((2, 3), R.const(1.0, 'float32'), dtype='float32')": ["full"],
    "R.zeros(R.shape([2, 3]), 'float32')": ["zeros"],
    "R.tril(y)": ["trilu"],
    "R.triu(y, 1)": ["trilu"],
    "R.std(x, axis=1)": ["variance", "sqrt"],
    "R.square(x)": ["multiply"],
    "R.argmax(x, axis=1, keepdims=True)": ["argmax", "cast"],
    "R.expand_dims(x, axis=[0, 3])": ["expand_dims", "expand_dims"],
    "R.nn.pad(x, pad_width=[0, 0, 1, 2], pad_value=0.5)": ["nn.pad"],
    "R.gather_nd(y, R.expand_dims(i, 1), batch_dims=0)": ["expand_dims", "transpose", "gather_nd"],
    "R.scatter_elements(y, R.expand_dims(i, 1), R.zeros((2, 1), 'float32'), axis=1)": ["expand_dims", "zeros"],
    "R.meshgrid((v, R.zeros((3,), 'float32')), indexing='ij')[1]": ["zeros", "expand_dims", "broadcast_to"],
    "R.ones_like(x, dtype=None)": ["ones_like"],
    "R.scatter_nd(y, R.expand_dims(i, 1), R.zeros((2, 6), 'float32'), reduction='add')": [
        "expand_dims",
        "zeros",
        "transpose",
        "scatter_nd",
    ],
    "R.index_tensor(y, (i,))": ["take"],
    "R.reverse_sequence(y, R.zeros((4,), 'int64'), seq_axis=1, batch_axis=0)": ["zeros", "reverse_sequence"],
    "R.bucketize(x, v, out_int32=False, right=True)": ["searchsorted"],
    "R.collapse_sum_to(y, R.shape([1, 6]))": ["collapse_sum_to"],
    "R.collapse_sum_like(y, y)": ["collapse_sum_like"],
    "R.ewise_fma(x, x, v)": ["multiply", "add"],
    "R.wrap_param(x, dtype='float16')": ["cast"],
    "R.median(v, axis=[0], keepdims=True)[0]": ["argsort", "take", "expand_dims", "gather"],
    "R.image.affine_grid(R.zeros((1, 2, 3), 'float32'), R.shape([5, 7]), align_corners=True)": [
        "zeros",
        "image.affine_grid",
    ],
    "R.image.resize3d(R.zeros((1, 2, 4, 4, 4), 'float32'), R.shape([3, 5, 7]), layout='NCDHW')": [
        "zeros",
        "image.resize3d",
    ],
    "R.add(R.shape_to_tensor(R.shape_of(y)), R.size(y))": ["add"],
    "R.eye_like(y, 1, dtype='int32')": ["eye"],
    "R.one_hot(i, T.float32(1.0), T.float32(0.0), depth=4, axis=-1)": ["one_hot"],
    "R.quantize(x, R.const(0.5, 'float32'), R.const(3, 'uint8'), axis=1, out_dtype='uint8')": ["qnn.quantize"],
    "R.image.grid_sample(im, R.zeros((1, 2, 5, 5), 'float32'), align_corners=False)": ["zeros", "image.grid_sample"],
    "R.vision.roi_align(im, R.zeros((3, 5), 'float32'), (2, 2), 0.5, 2, aligned=True)": ["zeros", "vision.roi_align"],
    "R.vision.roi_pool(im, R.zeros((3, 5), 'float32'), pooled_size=[2, 2], spatial_scale=0.5, layout='NCHW')": [
        "zeros",
        "vision.roi_pool",
    ],
    "R.atan2(x, v)": ["atan2"],
    "R.add(R.nonzero(y), R.const(1, 'int64'))": ["add"],
    "R.unique(x, True, True, False, False, 1)": [],
    "R.unique(y)": [],
    "R.vision.get_valid_counts(R.zeros((1, 5, 6), 'float32'), score_threshold=0.5)[1]": ["zeros"],
    "R.index_put(v, (i,), R.zeros((2,), 'float32'), accumulate=True)": ["zeros", "stack", "scatter_nd"],
    "R.slice_scatter(y, R.zeros((2, 6), 'float32'), 0, 4, 2, axis=0)": ["zeros", "scatter_elements"],
    "R.add(v, R.hamming_window(4, True, 0.54, 0.46, dtype='float32'))": ["add"],
    "R.grad.no_grad(R.builtin.stop_lift_params(R.exp(v)))": ["exp"],
    "R.reshape(y, R.tensor_to_shape(i))": [],
    "R.dynamic_strided_slice(y, i, i, i)": [],
    "R.zeros_like(x, 'int32')": ["zeros_like", "cast"],
    "R.full_like(x, R.const(2.5, 'float32'), dtype=None)": ["full_like"],
    "R.eye(4, 4, 1, dtype='float32')": ["eye"],
    "R.nn.softplus(x, beta=1.0, threshold=20.0)": ["nn.softplus"],
    "R.nn.softplus(x, beta=2.0)": ["multiply", "nn.softplus", "divide"],
    "R.log_add_exp(x, x)": ["maximum", "subtract", "exp", "subtract", "exp", "add", "log", "add"],
    "R.nn.dropout(x, rate=0.5)[0]": ["nn.dropout"],
    "R.sort(x, axis=1, descending=True)": ["sort"],
    "R.argsort(x, axis=-1, descending=False, dtype='int32')": ["argsort"],
    "R.topk(x, k=2, axis=-1, ret_type='both', largest=True, dtype='int32')[0]": ["topk"],
    "R.outer(v, v)": ["expand_dims", "expand_dims", "multiply"],
    "R.nn.attention(im, im, im, causal_mask='TopLeft')": [
        "einsum",
        "multiply",
        "arange",
        "arange",
        "expand_dims",
        "less_equal",
        "where",
    ],
    "R.nn.group_norm(im, R.ones((2,), 'float32'), R.ones((2,), 'float32'), 2, 1, [2, 3])": [
        "ones",
        "ones",
        "nn.group_norm",
    ],
    "R.nn.instance_norm(im, R.ones((2,), 'float32'), R.ones((2,), 'float32'), channel_axis=1, axes=[2, 3])": [
        "ones",
        "ones",
    ],
    "R.nn.cross_entropy_with_logits(y, y)": ["multiply", "sum", "multiply"],
    "R.nn.pixel_shuffle(R.concat((im, im), axis=1), upscale_factor=2)": ["concatenate", "nn.depth_to_space"],
    "R.strided_slice(x, (1,), (0,), (3,), (1,), assume_inbound=False)": ["strided_slice"],
    "R.image.resize2d(im, R.shape([5, 7]), roi=[T.float32(0.0), T.float32(0.0), T.float32(0.0), T.float32(0.0)],"
    " layout='NCHW', rounding_method='round', cubic_alpha=-0.75, cubic_exclude=0, out_dtype=None)": ["image.resize2d"],
    "R.cumsum(x, axis=0)": ["cumsum"],
    "R.einsum((x, y), subscripts='ij,jk->ik')": ["einsum"],
    "R.relay.nn.dense(x, x)": ["nn.dense"],
    "R.relay.full(fill_value=1.0)": ["full"],
    "R.relay.nn.leaky_relu(x, alpha=0.2)": ["nn.leaky_relu"],
    "R.multiply(x, R.const(float('inf'), 'float32'))": ["multiply"],
    "R.add(x, R.const(2.0, R.Tensor((4,), 'float32')))": ["add"],
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_words_of_operators(expression: str) -> None:
    names = operators(parse(f"return {expression}"))
    expected = EXPRESSIONS[expression]
    assert names[: len(expected)] == expected


def test_every_operator_has_a_word() -> None:
    assert {f"relay.{name}" for name in OPERATORS} <= set(all_words())
    assert {spelling.operator for spelling in SPELLINGS.values()} <= set(OPERATORS)


VALUES = [
    "return R.const([1, 2], 'int32')",
    "return (R.const(1), R.const(True), R.const(1.5))",
    "return R.shape([n, 4, n * 2, T.max(n, 3), T.int64(4)])",
    "return R.shape([n, 4])[0]",
    "return (R.prim_value(n + 1), R.prim_value(1), R.prim_value(0.5), R.prim_value(T.int32(3), 'int32'))",
    "return R.str('a \"text\"')",
    "return R.shape_of(x)",
    "return R.tuple(x, (y, v))",
    "return R.tuple()",
    "t = (x, y)\nreturn t[1]",
    "t = (x, y)\na, b = t\nreturn R.add(a, a)",
    "a, b = R.split(x, 2, axis=1)\nreturn R.add(a, b)",
    "z = R.match_cast(o, R.Tensor((m, 2), 'float32'))\nreturn z",
    "z = R.match_cast(o, R.Tuple(R.Shape([m]), R.Prim('int64'), R.Callable((R.Object,), R.Object), R.Tensor(ndim=2)))\nreturn z",  # noqa: E501
    "z = R.call_packed('f', x, 1, 0.5, 'text', sinfo_args=(R.Tensor((n, 4), 'float32'),))\nreturn z",
    "z = R.call_pure_packed('f', x, sinfo_args=R.Object)\nreturn z",
    "z = R.call_pure_packed('f', x, ty_args=[R.Object, R.Shape])\nreturn z",
    "z = R.call_dps_packed('f', (x, R.shape([n])), out_sinfo=R.Tensor((n, 4), 'float32'))\nreturn z",
    "z = R.call_dps_packed('f', x, out_ty=[R.Tensor((n,), 'float32'), R.Tensor((4,), 'int8')])\nreturn z[1]",
    "z = R.call_tir('f', (x,), (n, 4), dtype='float32')\nreturn z",
    "z = R.call_dps_packed(R.ExternFunc('f'), x, R.Tensor((n, 4), 'float32'))\nreturn z",
    "z: R.Tensor((n, 4), 'float32') = R.emit(R.add(x, x))\nreturn z",
    "z: R.Tensor(ndim=2) = R.add(x, x)\nreturn z",
    "w: R.Tensor((4, 4), 'float32') = metadata['relax.expr.Constant'][0]\nreturn R.matmul(x, w)",
    "if c:\n    z = R.add(x, x)\nelse:\n    z = x\nreturn z",
    "if c:\n    z = x\nelse:\n    if c:\n        z = R.exp(x)\n    else:\n        z = x\nreturn z",
    "with R.dataflow():\n    a = R.exp(x)\n    b = R.exp(a)\n    R.output(b, a)\nwith R.dataflow():\n    d = R.add(a, b)\n    R.output(d)\nreturn d",  # noqa: E501
    "with R.dataflow():\n    a = x\n    R.output(a)\nreturn a",
    "R.func_attr({'global_symbol': 'main', 'relax.note': [1, 'a', T.int64(2)]})\nreturn x",
]


@pytest.mark.parametrize("body", VALUES)
def test_statements_and_values(body: str) -> None:
    if "call_packed" in body and "pure" not in body:
        with pytest.raises(ParseError, match=r"\(C4\) relax.call_packed \"f\" in a pure function"):
            parse(body)
        return
    parse(body)


def test_an_impure_function_says_so() -> None:
    text = "@R.function(pure=False, private=True)\ndef main(x: R.Object):\n    R.call_packed('f', x)\n    return x"
    mod = parse_tvmscript(text)
    func = mod.functions["main"]
    assert func.impure is not None
    assert func.private is not None
    assert parse_tvmscript(mod.script()).script() == mod.script()


def test_both_kinds_of_functions_are_in_one_module() -> None:
    @I.ir_module
    class Mixed:
        @T.prim_func
        def copy(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n,), "float32")
            B = T.match_buffer(b, (n,), "float32")
            for i in range(n):
                B[i] = A[i]

        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            cls = Mixed
            with R.dataflow():
                y = R.call_tir(cls.copy, (x,), out_sinfo=R.Tensor((n,), dtype="float32"))
                R.output(y)
            return y

    Mixed.verify()
    text = Mixed.script()
    assert "class Mixed:" in text
    assert "cls = Mixed" in text
    assert parse_tvmscript(text).script() == text


def test_a_function_of_python_is_a_module_with_its_captured_values() -> None:
    size, scale = 8, np.arange(8, dtype="float32")

    @R.function
    def double(x: R.Tensor((size,), "float32")):
        return R.multiply(x, R.const(scale))

    assert 'R.Tensor((8,), dtype="float32")' in double.script()
    assert [array.tolist() for array in double.constants.values()] == [scale.tolist()]


def test_functions_may_call_later_ones_and_themselves() -> None:
    mod = parse_tvmscript("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((2, 3), "float32"):
        if c:
            y = cls.main(x, c)
        else:
            y = cls.later(x)
        return y
    @R.function
    def later(x: R.Tensor(("n", "m"), "float32")):
        n, m = T.int64(), T.int64()
        return R.reshape(R.reshape(x, (n * m,)), (n, m)) if False else x
""")
    assert list(mod.functions) == ["main", "later"]
    mod.verify()


def test_functions_are_values() -> None:
    mod = parse_tvmscript("""
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Object):
        y = R.call_pure_packed("env.map", cls.body, x)
        z = R.call_packed("env.each", cls.show, y)
        return z
    @R.function(private=True)
    def body(x: R.Tensor(("n",), "float32")):
        return R.exp(x)
    @R.function(private=True, pure=False)
    def show(x: R.Tensor(("n",), "float32")):
        y = R.call_packed("env.show", x)
        return y
""")
    mod.verify()
    assert 'R.call_pure_packed("env.map", cls.body, x,' in mod.script()
    assert parse_tvmscript(mod.script()).script() == mod.script()
    shown: list[int] = []
    register_func("env.map", lambda body, items: tuple(map(body, items)), override=True)
    register_func("env.show", lambda x: shown.append(len(x)), override=True)
    register_func("env.each", lambda show, items: [show(each) for each in items] and len(items), override=True)
    assert VirtualMachine(build_relax(mod))["main"]([np.ones(2, "float32"), np.ones(3, "float32")]) == 2
    assert shown == [2, 3]


def test_sizes_may_be_type_variables() -> None:
    """As TVM 0.27 prints them, outside of the module."""
    text = """
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 4), dtype="float32")) -> R.Tensor((n * 2, 4), dtype="float32"):
        return R.concat((x, x))
"""
    assert '(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("2 * n", 4),' in parse_tvmscript(text).script()


DATA_SIZES = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), o: R.Tensor(ndim=2, dtype="float32"), i: R.Tensor((2,), "int64")):
    a = R.nonzero(x)
    b = R.nonzero(R.abs(x))
    with R.dataflow():
        c = R.nonzero(x)
        d = R.sum(c, axis=[1])
        R.output(c, d)
    e = R.reshape(R.add(o, o), R.tensor_to_shape(i))
    f = R.unique(x, sorted=False, return_index=True, return_inverse=True, return_counts=True)
    return a, b, c, d, e, f
"""


def test_sizes_that_data_determine_have_names_of_their_own() -> None:
    """Sizes are known after a dataflow region that binds them, and from tensors of which only the rank is known."""
    mod = parse_tvmscript(DATA_SIZES)
    x, o = np.array([[0, 1, 0, 2], [1, 0, 0, 3]], "float32"), np.ones((3, 4), "float32")
    a, b, c, d, e, f = VirtualMachine(build_relax(mod))["main"](x, o, np.array([6, 2]))
    for each in (a, b, c):
        np.testing.assert_array_equal(each.numpy(), np.nonzero(x))
    np.testing.assert_array_equal(d.numpy(), np.sum(np.nonzero(x), 1))
    np.testing.assert_array_equal(e.numpy(), np.full((6, 2), 2, "float32"))
    for got, expected in zip(f, ([0, 1, 2, 3], [0, 1, 3, 7], [0, 1, 0, 2, 1, 0, 0, 3], [4, 2, 1, 1]), strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)
    with pytest.raises(StepwellError, match="reshape array of size 12"):
        VirtualMachine(build_relax(mod))["main"](x, o, np.array([5, 2]))


def test_values_are_printed_and_asserted(capsys: pytest.CaptureFixture[str]) -> None:
    main = VirtualMachine(
        build_relax(
            parse_tvmscript("""
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    a = R.print(x, x, format=R.str("{} and {}"))
    b = R.assert_op(c, (x,), format="no: {}")
    return x
""")
        )
    )["main"]
    main(np.ones(2, "float32"), np.array(True))
    assert capsys.readouterr().out == "[1. 1.] and [1. 1.]\n"
    with pytest.raises(StepwellError, match="AssertionError: no: "):
        main(np.ones(2, "float32"), np.array(False))


ERRORS = {
    "return R.unique(x, axis=2)": "unique: axis 2 of 2 dimensions",
    "return R.tensor_to_shape(x)": "tensor_to_shape: float32['n', 4], expected int64 elements of a known number",
    "return R.dynamic_strided_slice(x, i, i, v)": "dynamic_strided_slice: bounds of shape [4], expected [2]",
    "return R.vision.get_valid_counts(x)": "vision.get_valid_counts: boxes of shape ['n', 4], expected 3 dimensions",
    "return R.index_put(y, (i,), i)": "index_put: indices and values of shapes [[2], [2]], expected 2 indices of one shape",  # noqa: E501
    "return R.slice_scatter(y, v, 0, 2, 1)": "slice_scatter: src of shape [4], expected [2, 6]",
    "return R.ad(x, x)": "R.ad is not supported, did you mean 'add'?",
    "return R.add(x)": "add: no argument 'x2', expected a tensor",
    "return R.add(x, x, x)": "add: 3 arguments, expected at most 2",
    "return R.add(x, x2=x, axis=1)": "add: no argument 'axis' (has: x1, x2)",
    "return R.add(x, y)": "add: shapes [n, 4] and [4, 6] do not go together",
    "return R.add(o, x)": "R.add: expected a tensor of known rank and data type, as R.match_cast gives, got a value of type !relax.object",  # noqa: E501
    "return R.reshape(x, (m, n))": "(C3) relax.shape: unknown size m, expected a parameter or",
    "return R.nn.softmax(x, axis='a')": "nn.softmax: axis = 'a', expected int",
    "return T.exp(x)": "T.exp has no place in a function of relax",
    "return x.shape": "a value of relax has no attribute 'shape'",
    "return x[0]": "only tuples and shapes of known sizes have items",
    "return (x, y)[z]": "undefined name 'z'",
    "return R.tuple(x, y)[2]": "field 2 of a tuple of 2",
    "return 1": "expected a value of relax, got an integer",
    "return": "expected a value to return",
    "pass": "a function of relax ends in a return",
    "for j in range(4):\n    pass\nreturn x": "this statement has no place in a function of relax",
    "z = m = x\nreturn x": "a binding has one target",
    "z: R.Tensor((n, 5), 'float32') = x\nreturn z": 'a value of type tensor<?x4xf32, #relay.sizes<"n">>, expected tensor<?x5xf32, #relay.sizes<"n">>',  # noqa: E501
    "z: R.Foo = x\nreturn z": "R.Foo is not supported",
    "z: R.Tensor((n / 2,), 'float32') = x\nreturn z": "operator '/' is not supported on sizes",
    "z: R.Tensor((x,), 'float32') = x\nreturn z": "expected a size, got a value of relax",
    "z: R.Tensor((n,), 'float32', ndim=2) = x\nreturn z": "R.Tensor: 1 sizes, ndim=2",
    "z: R.Tensor((n,), 'floaty') = x\nreturn z": "unknown dtype 'floaty'",
    "z: 3 = x\nreturn z": "expected a type such as R.Tensor((n, 4), 'float32'), got an integer",
    "return R.call_tir(main, (x,))": "expected the type of the result, out_sinfo=R.Tensor(...)",
    "return R.call_tir(3, (x,), R.Object)": "R.call_tir: expected a function of the module, got an integer",
    "return R.call_dps_packed('f', (x,), R.Object)": "(C1) result of type !relax.object, expected a tensor of known shape and data type",  # noqa: E501
    "return R.call_pure_packed(3, x)": "expected a string for the name of the function, got an integer",
    "z = R.match_cast(x, R.Tensor((n, 5), 'float32'))\nreturn z": '(C1) tensor<?x4xf32, #relay.sizes<"n">> is never',
    "return R.expand_dims(x, [0, 0])": "expand_dims: axis [0, 0], expected distinct axes",
    "return R.exp(metadata['relax.expr.Constant'][0])": "expected the type of the constant, name: R.Tensor(...) =",
    "return R.nn.pad(x, [1, 1])": "nn.pad: 2 widths, expected 4",
    "return R.gather_nd(y, i, batch_dims=1)": "gather_nd: batch_dims 1, expected 0",
    "return R.index_tensor(y, (i, i))": "index_tensor: 2 tensors of indices, expected one",
    "return R.nn.nll_loss(v, i)": "nn.nll_loss: reduction 'mean' of rank 1, expected none, sum or mean of rank 2 at least",  # noqa: E501
    "return R.meshgrid((v, v), indexing='xy')": "meshgrid: indexing 'xy', expected 'ij'",
    "return R.nn.softplus(x, threshold=1.0)": "nn.softplus: threshold 1.0, expected at least 20",
    "return R.full_like(x, x)": "full_like: a tensor as fill_value, expected a number or a tensor without dimensions",
    "return R.nn.attention(im, im, im, causal_mask='Left')": "nn.attention: causal_mask 'Left'",
    "return R.nn.instance_norm(im, v, v, 1, [3])": "nn.instance_norm: axes [3], expected [2, 3]",
    "return R.shape([m])": "(C3) relax.shape: unknown size m, expected a parameter or a relax.match_cast with this size",  # noqa: E501
    "with R.dataflow():\n    z = R.call_packed('f', x)\n    R.output(z)\nreturn z": '(C4) relax.call_packed "f" in a pure function',  # noqa: E501
    "with R.dataflow():\n    z = x\nreturn z": "undefined name 'z'",
    "with R.dataflow():\n    R.output(q)\nreturn x": "undefined name 'q'",
    "with R.dataflow():\n    R.output(R.exp(x))\nreturn x": "R.output takes names",
    "with R.dataflow():\n    with R.dataflow():\n        pass\nreturn x": "a dataflow region in a dataflow region",
    "with x:\n    pass\nreturn x": "expected with R.dataflow():",
    "R.output(x)\nreturn x": "R.output has its place in a dataflow region",
    "if c:\n    z = x\nreturn z": "a branch of relax has an else, which binds the same name",
    "if c:\n    z = x\nelse:\n    w = x\nreturn z": "branches bind 'z' and 'w' last, expected the same name",
    "if c:\n    R.exp(x)\nelse:\n    z = x\nreturn z": "the last statement of a branch binds its value to a name",
    "if x:\n    z = x\nelse:\n    z = x\nreturn z": "(C1) condition of type",
    "w = metadata['relax.expr.Constant'][0]\nreturn w": "expected the type of the constant, w: R.Tensor(...) = ...",
    "w: R.Object = metadata['relax.expr.Constant'][0]\nreturn w": "expected a tensor constant",
    "return R.const('a')": "R.const: expected a number or an array, got 'a'",
    "return main(x)": "the result type of main must be written (-> R.Tensor(...)), as it calls itself",
}


@pytest.mark.parametrize("body", ERRORS)
def test_errors_have_a_place(body: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(body)
    first = str(caught.value).splitlines()[0]
    match = re.fullmatch(r"f\.py:(\d+):\d+: error: (.*)", first)
    assert match is not None, first
    assert match[2].startswith(ERRORS[body])


HEADERS = {
    "@R.function(public=True)\ndef main(x: R.Object):\n    return x": "R.function has no parameter 'public'",
    "@R.function\ndef main(x):\n    return x": "parameter 'x' needs a type: R.Tensor((n, 4), 'float32'), ...",
    "@R.function\ndef main(x: R.Object = 1):\n    return x": "a function takes plain parameters without defaults",
    "@R.function\ndef main(x: T.int32):\n    return x": "expected a type such as R.Tensor((n, 4), 'float32')",
    "@R.function\ndef main(x: R.Object) -> R.Tensor((2,), 'float32'):\n    return x": "(C2) returns !relax.object, expected tensor<2xf32>",  # noqa: E501
    "@R.function\ndef main(x: R.Tensor(('n +',), 'float32')):\n    return x": "size 'n +'",
    "@R.function\ndef main(x: R.Tensor(('2 * n',), 'float32')):\n    return x": "(C3) parameter x: unknown size n",
}


@pytest.mark.parametrize("text", HEADERS)
def test_errors_of_signatures_have_a_place(text: str) -> None:
    with pytest.raises(ParseError, match=re.escape(HEADERS[text])):
        parse_tvmscript(text)


def test_words_of_python_are_known_or_refused() -> None:
    assert "Tensor" in dir(R)
    with pytest.raises(AttributeError, match="R has no 'Tensr', did you mean 'Tensor'"):
        R.Tensr
