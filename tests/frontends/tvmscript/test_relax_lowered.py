"""Programs as TVM's passes leave them: allocated tensors, closures, layouts, sequences of several lengths."""

import numpy as np
import pytest

from stepwell import ArgumentError, ExecutionError, ParseError, VirtualMachine, build_relax, parse_tvmscript
from stepwell.operators.relax import AllocTensorOp, CallTirInplaceOp

HEAD = """
@I.ir_module
class M:
    @T.prim_func
    def double(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, 4), "float32")
        Y = T.match_buffer(y, (n, 4), "float32")
        for i, j in T.grid(n, 4):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.float32(2)
"""

# As TVM 0.27 prints it after CallTIRRewrite, StaticPlanBlockMemory, KillAfterLastUse; and 0.14 after LowerAllocTensor.
PLANNED = """
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        cls = M
        s: R.Any = R.memory.alloc_storage(R.shape([16 * n]), 0, R.str("global"), R.dtype("float32"))
        alloc: R.Tensor((n, 4), "float32") = R.memory.alloc_tensor(s, 0, R.shape([n, 4]), R.dtype("float32"), 0)
        cls.double(x, alloc)
        a: R.Tensor((n, 4), dtype="float32") = alloc
        alloc1: R.Tensor((n, 4), dtype="float32") = R.builtin.alloc_tensor(R.shape([n, 4]), R.dtype("float32"), 0)
        cls.double(a, alloc1)
        R.memory.kill_tensor(alloc)
        R.memory.kill_storage(s)
        return alloc1
"""
LOWERED = """
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        cls = M
        s: R.Object = R.vm.alloc_storage(R.shape([16 * n]), R.prim_value(0), R.dtype("uint8"))
        alloc: R.Tensor((n, 4), "float32") = R.vm.alloc_tensor(s, R.prim_value(0), R.shape([n, 4]), R.dtype("float32"))
        _: R.Tuple = cls.double(x, alloc)
        b: R.Tensor((n, 4), "float32") = R.vm.alloc_tensor(s, R.prim_value(0), R.shape([n, 4]), R.dtype("float32"))
        _1: R.Tuple = R.vm.call_tir_dyn(cls.double, (alloc, b))
        _2: R.Tuple = R.vm.kill_object(alloc)
        y: R.Tensor((n, 4), dtype="float32") = b
        return y
"""


@pytest.mark.parametrize("body", [PLANNED, LOWERED])
def test_kernels_write_allocated_tensors(body: str) -> None:
    mod = parse_tvmscript(HEAD + body)
    names = [type(op) for op in mod["main"].op.walk() if isinstance(op, AllocTensorOp | CallTirInplaceOp)]
    assert names == [AllocTensorOp, CallTirInplaceOp] * 2
    for style in ("classic", "0.27"):
        text = mod.script(style)
        assert parse_tvmscript(text).script(style) == text
    x = np.arange(8, dtype="float32").reshape(2, 4)
    np.testing.assert_array_equal(VirtualMachine(build_relax(mod))["main"](x).numpy(), 4 * x)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y = cls.double(x, x)", "expected R.call_tir(cls.double, ...), or a tensor of R.builtin.alloc_tensor"),
        ('y = R.builtin.alloc_tensor(R.shape([n, 4]), R.dtype("float32"), 1)', "memory on device 1, expected 0"),
        ('y = R.builtin.alloc_tensor(R.shape([n, 4]), R.dtype("float33"), 0)', "float33"),
        ("y = R.vm.call_tir_dyn(x, (x, x))", "expected a function of the module"),
        ('y = R.ccl.allreduce(x, "sum")', "R.ccl.allreduce is not supported: programs run in one process"),
        ("y = R.layout_transform(x, lambda i, j: (j, i))", "expected a tensor of known numbers as extents"),
        ("y = R.layout_transform(v, 1)", "expected T.index_map(lambda ...)"),
        ("y = R.layout_transform(v, lambda i: i // 2)", "the map has equal indices for several elements"),
        ("y = R.layout_transform(v, lambda i: i - 1)", "the map has a negative index"),
        (
            "y = R.layout_transform(v, lambda i: (i // 2, i % 2), axis_separators=[1])",
            "axis_separators: expected none: the memory of a tensor is flat",
        ),
        ("y = R.nn.attention_var_len(x, x, x, v)", "expected [1, length, heads, size]"),
    ],
)
def test_wrong_words_have_a_place(line: str, message: str) -> None:
    text = f"""
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), v: R.Tensor((6,), "float32")):
        n = T.int64()
        cls = M
        {line}
        return y
"""
    with pytest.raises(ParseError) as error:
        parse_tvmscript(HEAD + text, "m.py")
    assert message in str(error.value)
    assert str(error.value).startswith("m.py:18:")


def test_closures_bind_their_first_arguments() -> None:
    mod = parse_tvmscript(
        """
@I.ir_module
class M:
    @R.function(private=True)
    def lifted(a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.subtract(a, b)
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        closure = R.make_closure(M.lifted, (x,))
        z = R.invoke_pure_closure(closure, (y,), sinfo_args=(R.Tensor((4,), "float32"),))
        return z
    @R.function(pure=False)
    def wrong(x: R.Tensor((4,), "float32")) -> R.Object:
        z = R.invoke_closure(x, (x,), sinfo_args=(R.Object,))
        return z
"""
    )
    text = mod.script()
    assert parse_tvmscript(text).script() == text
    vm = VirtualMachine(build_relax(mod))
    x, y = np.arange(4, dtype="float32"), np.ones(4, "float32")
    np.testing.assert_array_equal(vm["main"](x, y).numpy(), x - y)
    with pytest.raises(ExecutionError, match="expected a closure, got"):
        vm["wrong"](x)


def test_a_layout_has_padding_where_no_element_is() -> None:
    mod = parse_tvmscript(
        """
@R.function
def main(x: R.Tensor((2, 6), "int32")):
    y = R.layout_transform(x, index_map=T.index_map(lambda i, j: (j // 4, i, j % 4)), pad_value=T.int32(-1))
    z = R.layout_transform(x, lambda i, j: (j, T.max(i, 0)), axis_separators=[], input_axis_separators=[])
    return (y, z)
"""
    )
    x = np.arange(12, dtype="int32").reshape(2, 6)
    y, z = VirtualMachine(build_relax(mod))["main"](x)
    padded = np.pad(x, ((0, 0), (0, 2)), constant_values=-1)
    np.testing.assert_array_equal(y.numpy(), padded.reshape(2, 2, 4).transpose(1, 0, 2))
    np.testing.assert_array_equal(z.numpy(), x.T)


@pytest.mark.parametrize("mask", [None, "TopLeft", "BottomRight"])
def test_sequences_of_several_lengths_attend_to_themselves(mask: str | None) -> None:
    """The same as the attention of each sequence."""
    lengths, key_lengths = (3, 0, 2), (4, 1, 5)
    mod = parse_tvmscript(
        f"""
@R.function
def main(q: R.Tensor((1, "n", 2, 4), "float32"), k: R.Tensor((1, "m", 2, 4), "float32"),
         v: R.Tensor((1, "m", 2, 3), "float32"), s: R.Tensor(("b",), "int32"), t: R.Tensor(("b",), "int32")):
    y = R.nn.attention_var_len(q, k, v, s, t, causal_mask={mask!r})
    return y
"""
    )
    main = VirtualMachine(build_relax(mod))["main"]
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=shape).astype("float32") for shape in ((1, 5, 2, 4), (1, 10, 2, 4), (1, 10, 2, 3)))
    starts, key_starts = (np.cumsum((0, *each)).astype("int32") for each in (lengths, key_lengths))
    got = main(q, k, v, starts, key_starts).numpy()
    for n, (count, keys) in enumerate(zip(lengths, key_lengths, strict=True)):
        own = slice(starts[n], starts[n + 1])
        part = slice(key_starts[n], key_starts[n + 1])
        scores = np.einsum("shd,thd->hst", q[0, own], k[0, part]) / 2
        if mask is not None:
            scores[:, ~np.tri(count, keys, keys - count if mask == "BottomRight" else 0, dtype=bool)] = -np.inf
        weights = np.exp(scores)
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(got[0, own], np.einsum("hst,thd->shd", weights, v[0, part]), rtol=1e-5, atol=1e-6)
    with pytest.raises(ExecutionError, match=r"sequences of queries at \[0, 3, 3, 4\], expected 0 to 5 in order"):
        main(q, k, v, np.array([0, 3, 3, 4], "int32"), key_starts)
    with pytest.raises(ArgumentError, match="int32"):
        main(q, k, v, starts.astype("int64"), key_starts)
