"""Schedules of kernels that are equal but for an extent are those that a search of their own finds."""

from collections.abc import Callable

import pytest

from stepwell import Module, parse_tvmscript, relay
from stepwell.core.cpu import CPU_MODELS
from stepwell.dialects.tir import FuncOp
from stepwell.schedule.cpu import schedule_functions
from stepwell.transforms.pipelines import lower_graph, lower_to_tir
from stepwell.transforms.tir import similar_schedules

CPU = CPU_MODELS["avx2"]
ROWS = """\
@T.prim_func
def rows_{n}(A: T.Buffer(({n}, 24), "float32"), B: T.Buffer(({n}, 24), "float32")):
    T.func_attr({{"relay.kernel": True}})
    for i, j in T.grid({n}, 24):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""


def convolutions(*channels: int) -> Module:
    """Kernels of convolutions with windows of one element, of images of some numbers of channels."""
    images = [relay.var(f"x{n}", shape=(1, count, 16, 16)) for n, count in enumerate(channels)]
    weights = [relay.var(f"w{n}", shape=(8, count, 1, 1)) for n, count in enumerate(channels)]
    results = [relay.nn.relu(relay.nn.conv2d(x, w)) for x, w in zip(images, weights, strict=True)]
    return lower_to_tir(lower_graph(relay.module(relay.Function([*images, *weights], relay.Tuple(results)))))


def blocks(*channels: int) -> Module:
    """The same with the channels in blocks of 16."""
    images = [relay.var(f"x{n}", shape=(1, count // 16, 16, 16, 16)) for n, count in enumerate(channels)]
    weights = [relay.var(f"w{n}", shape=(1, count, 1, 1, 16)) for n, count in enumerate(channels)]
    results = [
        relay.nn.contrib_conv2d_pack(x, w, 16, data_layout="NCHW16c", out_layout="NCHW16c")
        for x, w in zip(images, weights, strict=True)
    ]
    return lower_to_tir(lower_graph(relay.module(relay.Function([*images, *weights], relay.Tuple(results)))))


def rows(*extents: int) -> Module:
    return parse_tvmscript("".join(ROWS.format(n=n) for n in extents))


@pytest.mark.parametrize(
    ("make", "extents", "found"),
    [
        pytest.param(convolutions, (256, 288, 320, 352), 2, id="reductions"),
        pytest.param(blocks, (256, 288, 320, 352), 2, id="blocks"),
        pytest.param(blocks, (256, 272, 320), 0, id="blocks at another distance"),
        pytest.param(rows, (160, 32, 96, 64), 2, id="rows in any order"),
        pytest.param(rows, (32, 48, 64), 0, id="an extent with other divisors"),
        pytest.param(rows, (32, 64), 0, id="two kernels"),
        pytest.param(rows, (1024, 200_000, 2048, 4_000_000), 0, id="ends whose loops are shared otherwise"),
    ],
)
def test_schedules_are_those_of_a_search(
    make: Callable[..., Module], extents: tuple[int, ...], found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = make(*extents)
    searched = module.clone()
    expected = schedule_functions(searched.op, CPU)
    names: list[str] = []

    def search(*arguments: object) -> object:
        functions = arguments[2]
        assert isinstance(functions, list | tuple)
        names.extend(func.sym_name.data for func in functions if isinstance(func, FuncOp))
        return schedule_functions(*arguments)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(similar_schedules, "schedule_functions", search)
    schedules = similar_schedules.schedule_similar_functions(module.op, CPU)
    assert str(module) == str(searched)
    module.verify()
    assert {name: each.applied for name, each in schedules.items()} == {
        name: each.applied for name, each in expected.items()
    }
    assert len(set(expected) - set(names)) == found
