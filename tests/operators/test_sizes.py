"""Operators on tensors of symbolic sizes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from stepwell import build
from stepwell.expressions.sizes import values_of_size
from stepwell.frontends import te
from stepwell.operators import OPERATORS

n = te.var("n")

CASES: dict[str, tuple[str, dict[str, Any], Callable[..., Any]]] = {
    "a function": ("exp", {}, np.exp),
    "a sum": ("sum", {"axis": 0}, lambda x: x.sum(0)),
    "a mean": ("mean", {"axis": 0}, lambda x: x.mean(0)),
    "a variance": ("variance", {"axis": 0, "keepdims": True}, lambda x: x.var(0, keepdims=True)),
    "a place": ("argmax", {}, lambda x: np.argmax(x).astype("int32")),
    "a norm of all": ("nn.l2_normalize", {"eps": 1e-9}, lambda x: x / np.sqrt((x * x).sum())),
    "neighbours": ("nn.lrn", {"size": 1, "axis": 0, "alpha": 1}, lambda x: x / (2 + x * x) ** 0.75),
    "padded": ("nn.pad", {"pad_width": [(1, 2), (0, 0)]}, lambda x: np.pad(x, [(1, 2), (0, 0)])),
    "with its edge": (
        "nn.pad",
        {"pad_width": [(1, 7), (-1, 0)], "pad_mode": "edge"},
        lambda x: np.pad(x[:, 1:], [(1, 7), (0, 0)], "edge"),
    ),
    "reflected": (
        "nn.pad",
        {"pad_width": [(3, 7), (0, 0)], "pad_mode": "reflect"},
        lambda x: np.pad(x, [(3, 7), (0, 0)], "reflect"),
    ),
    "wrapped": (
        "nn.pad",
        {"pad_width": [(3, 7), (0, 0)], "pad_mode": "wrap"},
        lambda x: np.pad(x, [(3, 7), (0, 0)], "wrap"),
    ),
    "mirrored": ("nn.mirror_pad", {"pad_width": [(3, 7), (0, 0)]}, lambda x: np.pad(x, [(3, 7), (0, 0)], "symmetric")),
    "a triangle": ("trilu", {"k": 1}, lambda x: np.triu(x, 1)),
    "ones": ("ones_like", {}, np.ones_like),
    "rows": ("nn.batch_flatten", {}, lambda x: x),
    "flat": ("reshape", {"newshape": [-1]}, lambda x: x.reshape(-1)),
    "kept": ("reshape", {"newshape": [0, 2, 2]}, lambda x: x.reshape(-1, 2, 2)),
    "what is left": ("reshape", {"newshape": [0, -1]}, lambda x: x.reshape(len(x), -1)),
    "rows of two": ("reshape", {"newshape": [-1, 2]}, lambda x: x.reshape(-1, 2)),
    "joined": ("reshape", {"newshape": [-3]}, lambda x: x.reshape(-1)),
    "split": ("reshape", {"newshape": [-4, 1, -1, 0]}, lambda x: x[None]),
    "the other way round": ("reverse", {"axis": 0}, lambda x: x[::-1]),
    "turned": ("transpose", {}, lambda x: x.T),
    "twice": ("tile", {"reps": [2, 1]}, lambda x: np.tile(x, (2, 1))),
    "in order": ("sort", {"axis": 0}, lambda x: np.sort(x, 0)),
    "places in order": ("argsort", {"axis": 0, "is_ascend": False}, lambda x: np.argsort(-x, 0).astype("int32")),
    "the greatest": ("topk", {"axis": 0, "ret_type": "values"}, lambda x: x.max(0, keepdims=True)),
    "so far": ("cumsum", {"axis": 0, "exclusive": True}, lambda x: np.cumsum(x, 0) - x),
    "from the end": ("cumprod", {"reverse": True}, lambda x: np.cumprod(x[::-1, ::-1]).reshape(-1)[::-1]),
    "columns": ("einsum", {"equation": "ij->j"}, lambda x: x.sum(0)),
    **{
        f"cut from {begin} to {end} by {step}": (
            "strided_slice",
            {"begin": [begin], "end": [end], "strides": [step]},
            lambda x, begin=begin, end=end, step=step: x[begin:end:step],
        )
        for begin, end, step in [
            (1, 2**31, 1),
            (0, -1, 1),
            (2, -1, 1),
            (0, 2, 1),
            (1, 3, 1),
            (-2, 2**31, 1),
            (-3, -1, 1),
            (-2, 2, 1),
            (1, 9, 2),
        ]
    },
    "each twice": ("repeat", {"repeats": 2, "axis": 0}, lambda x: np.repeat(x, 2, 0)),
}


@pytest.mark.parametrize("case", CASES)
def test_sizes_are_known_at_the_call(case: str) -> None:
    name, attributes, reference = CASES[case]
    A = te.placeholder((n, 4), name="A")
    run = build(te.create_prim_func([A, OPERATORS[name].formula(A, **attributes)]))["main"]
    for size in (1, 5):
        x = np.random.default_rng(0).random((size, 4), "float32")
        expected = np.asarray(reference(x))
        got = np.zeros(expected.shape, expected.dtype)
        run(x, got)
        np.testing.assert_allclose(got, expected, 1e-5, 1e-6, err_msg=str(size))


@pytest.mark.parametrize("name", ["concatenate", "stack", "add"])
def test_tensors_of_one_unknown_size_go_together(name: str) -> None:
    A, B = te.placeholder((n, 4), name="A"), te.placeholder((n, 4), name="B")
    x, y = np.random.default_rng(0).random((2, 3, 4), "float32")
    expected = OPERATORS[name].reference(x, y)
    got = np.zeros_like(expected)
    build(te.create_prim_func([A, B, OPERATORS[name].formula(A, B)]))["main"](x, y, got)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["nn.layer_norm", "nn.instance_norm"])
def test_norms_along_sizes_that_are_known_at_the_call(name: str) -> None:
    is_layer = name == "nn.layer_norm"
    inputs = [te.placeholder((2, 3, n)), *(te.placeholder((n if is_layer else 3,), name=each) for each in ("g", "b"))]
    run = build(te.create_prim_func([*inputs, OPERATORS[name].formula(*inputs)]))["main"]
    choose = np.random.default_rng(0)
    for size in (1, 5):
        given = [choose.random(each, "float32") for each in ((2, 3, size), *[(size if is_layer else 3,)] * 2)]
        got = np.zeros((2, 3, size), "float32")
        run(*given, got)
        np.testing.assert_allclose(got, OPERATORS[name].reference(*given), 1e-4, 1e-5, err_msg=str(size))


RESHAPES = [
    ((n * 12, n, 5), [-4, -1, 12, 0, 0], (2, 12, 2, 5)),
    ((n, 12, n, 5), [-3, 0, 0], (24, 2, 5)),
    ((n, n + 1, 6), [0, 0, 2, 3], (2, 3, 2, 3)),
    ((n, 6, n + 1), [0, 2, 3, 1, -1], (2, 2, 3, 1, 3)),
    ((1, n, 1, 4, 6), [-3, 8, 3], (2, 8, 3)),
]


@pytest.mark.parametrize(("shape", "newshape", "expected"), RESHAPES)
def test_reshape_divides_nothing_by_an_unknown_size(
    shape: Sequence[Any], newshape: list[int], expected: tuple[int, ...]
) -> None:
    x = te.placeholder(shape, "float32", "x")
    y = OPERATORS["reshape"].formula(x, newshape=newshape)
    module = te.create_prim_func([x, y])
    text = module.script()
    assert "// n" not in text
    assert "% n" not in text
    data = np.arange(np.prod(expected), dtype="float32").reshape([_value(extent, 2) for extent in shape])
    result = np.zeros(expected, "float32")
    build(module)["main"](data, result)
    np.testing.assert_array_equal(result, data.reshape(expected))


def _value(extent: Any, number: int) -> int:
    """The value of an extent for a value of `n`."""
    return extent if isinstance(extent, int) else int(values_of_size(extent, {"n": number}))


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_what_cannot_be_repeated_is_0(mode: str) -> None:
    A = te.placeholder((n,), name="A")
    got = np.ones(3, "float32")
    made = OPERATORS["nn.pad"].formula(A, [(1, 2)], 0.0, mode)
    build(te.create_prim_func([A, made]))["main"](np.zeros(0, "float32"), got)
    np.testing.assert_array_equal(got, np.zeros(3))


m = te.var("m")
ROWS = te.placeholder((n, 4), name="rows")
PLACES = te.placeholder((m, 4), "int32", name="places")
UPDATES = te.placeholder((m, 4), name="updates")


LINE = te.placeholder((1, m), "int32", name="line")
SEQUENCE, VALUES = te.placeholder((n,), name="sequence"), te.placeholder((m,), name="values")
SIZES = [(3, 5), (3, 0), (1, 1), (0, 0), (0, 2), (100, 300)]
"""The numbers of rows, and of indices or updates."""


def _rows(rows: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The data, the indices and the updates of a gather or a scatter."""
    choose = np.random.default_rng(0)
    x, updates = choose.random((rows, 4), "float32"), choose.random((count, 4), "float32")
    return x, choose.integers(-rows - 1, rows + 1, (count, 4), "int32"), updates


@pytest.mark.parametrize("mode", ["update", "add", "mul", "min", "max", "mean"])
def test_updates_are_as_many_as_the_caller_says(mode: str) -> None:
    _check("scatter_elements", [ROWS, PLACES, UPDATES], [_rows(*sizes) for sizes in SIZES], {"reduction": mode})


@pytest.mark.parametrize("mode", ["update", "add"])
def test_updates_of_rows_are_as_many_as_the_caller_says(mode: str) -> None:
    cases = [(x, places[None, :, 0], updates) for x, places, updates in (_rows(*sizes) for sizes in SIZES)]
    _check("scatter_nd", [ROWS, LINE, UPDATES], cases, {"mode": mode})


def test_places_are_found_in_as_many_rows_as_the_caller_says() -> None:
    _check("gather", [ROWS, PLACES], [_rows(*each)[:2] for each in SIZES], {"axis": 0})
    _check(
        "gather_nd", [ROWS, LINE], [(x, places[None, :, 0]) for x, places, _ in (_rows(*each) for each in SIZES)], {}
    )
    choose = np.random.default_rng(0)
    numbers = [(np.sort(choose.random(rows)), choose.random(count)) for rows, count in SIZES]
    _check("searchsorted", [SEQUENCE, VALUES], numbers, {})


def test_slices_are_added_and_set_in_as_many_rows_as_the_caller_says() -> None:
    cases = [(updates, places[:, 0]) for _, places, updates in (_rows(*sizes) for sizes in SIZES)]
    _check("segment_sum", [UPDATES, te.placeholder((m,), "int32", name="numbers")], cases, {"num_segments": 3})
    rows = te.placeholder((n, 2), name="two")
    pairs = [(x, x[:, :2] + 1) for x, _, _ in (_rows(*sizes) for sizes in SIZES)]
    _check("strided_set", [ROWS, rows], pairs, {"begin": [0, 3], "end": [2**31, 0], "strides": [1, -2]})


def test_signals_are_as_long_as_the_caller_says() -> None:
    choose, window = np.random.default_rng(0), te.placeholder((3,), name="window")
    cases = [(choose.random(size), choose.random(3)) for size in (4, 5, 9)]
    _check("stft", [SEQUENCE, window], cases, {"n_fft": 4, "hop_length": 2, "win_length": 3})


def test_images_of_gradients_are_as_large_as_the_caller_says() -> None:
    choose, h, w = np.random.default_rng(0), te.var("h"), te.var("w")
    sizes = ((4, 5), (7, 3), (2, 2))
    image, other = (te.placeholder((1, 2, h, w), name=name) for name in ("image", "other"))
    said = {"pool_size": 2, "strides": 2, "padding": 1}
    grad = te.placeholder((1, 2, te.floordiv(h, 2) + 1, te.floordiv(w, 2) + 1), name="grad")
    cases = [(choose.random((1, 2, r // 2 + 1, c // 2 + 1)), choose.random((1, 2, r, c))) for r, c in sizes]
    for name in ("nn.max_pool2d_grad", "nn.avg_pool2d_grad"):
        _check(name, [grad, image], cases, said)
    slopes = te.placeholder((1, 3, h, w), name="slopes")
    cases = [(choose.random((1, 3, *size)), choose.random((1, 2, *size))) for size in sizes]
    _check("nn.conv2d_backward_weight", [slopes, image], cases, {"kernel_size": 3, "padding": 1})
    pairs = [(choose.random((1, 2, *size)), choose.random((1, 2, *size))) for size in sizes]
    _check("nn.correlation", [image, other], pairs, {"kernel_size": 3, "padding": 2, "is_multiply": False})


def test_slices_of_streams_are_as_many_as_the_caller_says() -> None:
    rows = te.placeholder((n, 2), name="new")
    cases = [(np.ones((size, 2)), np.arange(3.0 * size).reshape(size, 3)) for size in (1, 4)]
    _check("nn.fifo_buffer", [rows, te.placeholder((n, 3), name="old")], cases, {"axis": 1})


def _check(name: str, tensors: list[Any], cases: Sequence[tuple[np.ndarray, ...]], attributes: dict[str, Any]) -> None:
    """Asserts that an operator, built once, agrees with its reference."""
    run = build(te.create_prim_func([*tensors, OPERATORS[name].formula(*tensors, **attributes)]))["main"]
    for arrays in cases:
        given = [array.astype(tensor.dtype) for tensor, array in zip(tensors, arrays, strict=True)]
        expected = OPERATORS[name].reference(*given, **attributes)
        got = np.zeros_like(expected)
        run(*given, got)
        np.testing.assert_allclose(got, expected, 1e-5)
