"""Words of `R` whose attributes are sizes with names: the results are those of numpy for each size, 0 included."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepwell import ParseError, VirtualMachine, build_relax, parse_tvmscript
from stepwell.backends.interpreter import interpret

TEXT = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), v: R.Tensor(("m",), "float32"), s: R.Shape(["k"])):
    n = T.int64()
    m = T.int64()
    k = T.int64()
    return {}
"""

Case = Callable[[Any, Any, int, int, int], Any]
CASES: dict[str, Case] = {
    'R.zeros(R.shape([n, k]), "int32")': lambda x, v, n, m, k: np.zeros((n, k), "int32"),
    'R.ones(R.shape([2 * k + 1]), "float16")': lambda x, v, n, m, k: np.ones(2 * k + 1, "float16"),
    'R.zeros(s, "float32")': lambda x, v, n, m, k: np.zeros(k, "float32"),
    "R.full(R.shape([k, 2]), R.const(1.5))": lambda x, v, n, m, k: np.full((k, 2), 1.5, "float32"),
    'R.full(R.shape([2]), R.sum(R.const([1.0, 2.0])), "int32")': lambda x, v, n, m, k: np.full(2, 3.0).astype("int32"),
    "R.full(R.shape([m, k]), R.sum(R.const([1.0, 2.0])))": lambda x, v, n, m, k: np.full((m, k), 3.0, "float32"),
    "R.broadcast_to(v, R.shape([n, m]))": lambda x, v, n, m, k: np.broadcast_to(v, (n, m)),
    "R.arange(n)": lambda x, v, n, m, k: np.arange(n),
    "R.arange(1, n)": lambda x, v, n, m, k: np.arange(1, n),
    "R.arange(n, n + k, 2)": lambda x, v, n, m, k: np.arange(n, n + k, 2),
    'R.arange(0, 3 * m, 3, "float32")': lambda x, v, n, m, k: np.arange(0, 3 * m, 3).astype("float32"),
    "R.arange(n - m)": lambda x, v, n, m, k: np.arange(n - m),
    "R.eye(n)": lambda x, v, n, m, k: np.eye(n, dtype="float32"),
    'R.eye(n, m, k=1, dtype="int64")': lambda x, v, n, m, k: np.eye(n, m, 1, dtype="int64"),
    "R.strided_slice(x, axes=[0], begin=[1], end=[n])": lambda x, v, n, m, k: x[1:n],
    "R.strided_slice(x, axes=[0], begin=[0], end=[n - 1])": lambda x, v, n, m, k: x[: max(n - 1, 0)],
    "R.strided_slice(x, axes=[1, 0], begin=[1, 0], end=[3, k], strides=[1, 2])": lambda x, v, n, m, k: x[:k:2, 1:3],
    "R.strided_slice(x, axes=[0], begin=[k], end=[-1])": lambda x, v, n, m, k: x[k:-1],
    "R.split(x, 2, axis=0)": lambda x, v, n, m, k: (x[: (n + 1) // 2], x[(n + 1) // 2 :]),
    "R.split(x, [1, 2], axis=0)": lambda x, v, n, m, k: (x[:1], x[1:2], x[2:]),
    "R.size(x)": lambda x, v, n, m, k: np.array(4 * n),
    "R.shape_to_tensor(R.shape_of(x))": lambda x, v, n, m, k: np.array([n, 4]),
    "R.meshgrid((v, v))": lambda x, v, n, m, k: tuple(np.meshgrid(v, v, indexing="ij")),
    'R.memory.view(x, R.shape([2 * n, 2]), "int32")': lambda x, v, n, m, k: x.view("int32").reshape(2 * n, 2),
}


def results(value: Any) -> list[Any]:
    return [np.asarray(each) for each in (value if isinstance(value, tuple) else (value,))]


@pytest.mark.parametrize("expression", CASES)
def test_sizes_are_attributes(expression: str) -> None:
    mod = parse_tvmscript(TEXT.format(expression))
    text = mod.script("0.27")
    again = parse_tvmscript(text)
    assert again.script("0.27") == text
    main = VirtualMachine(build_relax(mod))["main"]
    for n, m, k in ((5, 3, 2), (0, 0, 0), (1, 1, 4)):
        x = np.arange(4 * n, dtype="float32").reshape(n, 4)
        v = np.arange(m, dtype="float32")
        wanted = results(CASES[expression](x, v, n, m, k))
        for got in (main(x, v, (k,)), interpret(mod, "main", [x, v, (k,)])):
            for ours, theirs in zip(results(got), wanted, strict=True):
                assert ours.dtype == theirs.dtype
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("R.arange(0, n, -1)", "arange: from 0 to n by -1, expected sizes, and a positive integer as step"),
        ("R.strided_slice(x, [2], [0], [n])", "strided_slice: axis 2 of 2 dimensions"),
        ("R.strided_slice(x, [0, 1], [0], [n])", "strided_slice: axes [0, 1], begin [0], end ['n']"),
    ],
)
def test_wrong_sizes_have_a_place(expression: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_tvmscript(TEXT.format(expression), "f.py")
    assert str(error.value).startswith("f.py:7:12: error: ")
    assert message in str(error.value)


@pytest.mark.parametrize(("mask", "window"), [(None, None), ("TopLeft", 2), ("BottomRight", None)])
def test_attention_has_masks_of_symbolic_lengths(mask: str | None, window: int | None) -> None:
    mod = parse_tvmscript(
        f"""
@R.function
def main(q: R.Tensor((1, "n", 2, 4), "float32"), k: R.Tensor((1, "m", 2, 4), "float32")):
    y = R.nn.attention(q, k, k, causal_mask={mask!r}, window_size={window!r})
    return y
"""
    )
    main = VirtualMachine(build_relax(mod))["main"]
    rng = np.random.default_rng(0)
    for n, m in ((3, 3), (2, 5)):
        q, k = (rng.normal(size=(1, length, 2, 4)).astype("float32") for length in (n, m))
        scores = np.einsum("bshd,bthd->bhst", q, k) / 2
        distance = np.arange(m) - np.arange(n)[:, None] - (m - n if mask == "BottomRight" else 0)
        if mask is not None:
            scores[..., distance > 0] = -np.inf
        if window is not None:
            scores[..., distance <= -window] = -np.inf
        weights = np.exp(scores)
        wanted = np.einsum("bhst,bthd->bshd", weights / weights.sum(-1, keepdims=True), k)
        np.testing.assert_allclose(main(q, k).numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_samples_are_drawn_by_cumulative_probabilities() -> None:
    mod = parse_tvmscript(
        """
@R.function
def main(p: R.Tensor(("b", 3), "float32"), u: R.Tensor(("n", 1), "float32"), i: R.Tensor(("n", 1), "int64")):
    return R.multinomial_from_uniform(p, u, i)
"""
    )
    p = np.array([[0.2, 0.3, 0.5], [0.3, 0.4, 0.3]], "float32")
    u, rows = np.array([[0.4], [0.9], [0.1], [1.0]], "float32"), np.array([[0], [1], [1], [0]])
    got = VirtualMachine(build_relax(mod))["main"](p, u, rows).numpy()
    assert got.tolist() == [[1], [2], [0], [2]]
    assert got.dtype == np.int64
