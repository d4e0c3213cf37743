"""The axes of kernels that are collapsed, and what kernels compute with collapsed axes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.dialects.builtin import MemRefType

from stepwell import Module, apply_passes, build, parse_tvmscript, relay
from stepwell.core.remarks import collect_remarks
from stepwell.tools.testing.attachment import assert_uses_are_attached
from stepwell.tools.testing.graphs import RandomGraph, graphs
from stepwell.tools.testing.scheduling import check_computes_the_same
from stepwell.transforms.pipelines import lower_graph, lower_to_tir


def kernels(*inputs: tuple[int, ...], body: Any) -> Module:
    """The kernels of a graph, in loops. body: a function of the inputs."""
    variables = [relay.var(f"x{n}", shape=shape) for n, shape in enumerate(inputs)]
    return lower_to_tir(lower_graph(relay.module(relay.Function(variables, body(*variables)))))


def collapsed(module: Module) -> dict[str, list[tuple[int, ...]]]:
    """The shapes of the buffers of collapsed functions, by name."""
    return {
        name: [value.type.get_shape() for value in func.body.block.args if isinstance(value.type, MemRefType)]
        for name, func in apply_passes(module, "tir-collapse-axes").functions.items()
        if name.endswith(".collapsed")
    }


def check(module: Module) -> None:
    after = apply_passes(module, "tir-collapse-axes")
    for target in ("python", "llvm"):
        check_computes_the_same(module, after, target=target)


def test_a_convolution_with_windows_of_one_element_has_the_axes_of_a_product() -> None:
    def body(x: Any, w: Any, b: Any, r: Any) -> Any:
        return relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w), b) + r)

    module = kernels((2, 3, 7, 5), (4, 3, 1, 1), (4,), (2, 4, 7, 5), body=body)
    ((name, shapes),) = collapsed(module).items()
    assert name.endswith("relu.collapsed")
    assert shapes == [(2, 3, 35), (4, 3, 1), (4,), (2, 4, 35), (2, 4, 35)]
    check(module)


def test_an_index_that_is_equal_to_an_axis_but_reads_collapsed_axes_too() -> None:
    def body(x: Any, m: Any) -> Any:
        rows = relay.multiply(relay.reshape(x, (1, 4, 5, 5)), relay.const(np.float32(2)))
        return relay.where(relay.greater(m, relay.const(np.float32(0))), rows, relay.const(np.float32(1)))

    module = kernels((4, 5, 5), (1, 1, 5, 5), body=body)  # reshape: index (25 * h + 5 * i + j) // 25
    ((name, _),) = collapsed(module).items()
    assert name.endswith(".collapsed")
    check(module)


def test_an_index_that_counts_through_two_axes_but_reads_collapsed_axes_too() -> None:
    def body(x: Any, m: Any) -> Any:
        return relay.add(relay.reshape(x, (2, 3, 4, 6)), m)

    module = kernels((6, 4, 6), (2, 1, 4, 6), body=body)  # reshape: index (72 * b + 24 * h + 6 * i + j) // 6 // 4
    ((_, shapes),) = collapsed(module).items()
    assert shapes == [(6, 24), (2, 1, 24), (2, 3, 24)]
    check(module)


def test_an_index_that_is_loaded() -> None:
    def body(x: Any, rows: Any) -> Any:
        taken = relay.gather_nd(relay.transpose(x, (2, 0, 1)), relay.cast(rows, "int64"))
        return relay.multiply(relay.transpose(taken, (1, 2, 0)), relay.const(np.float32(2)))

    module = kernels((2, 2, 3), (1, 3), body=body)
    after = apply_passes(module, "tir-collapse-axes")
    assert any(name.endswith(".collapsed") for name in after.functions)
    assert_uses_are_attached(after)
    check(module)


def test_dimensions_whose_indices_are_the_parts_of_an_axis() -> None:
    def body(x: Any, b: Any) -> Any:
        return relay.reshape(relay.exp(x), (4, 15)) * b

    module = kernels((4, 3, 5), (4, 1), body=body)  # exp at (p // 5, p % 5) of each row
    assert list(collapsed(module).values()) == [[(4, 15), (4, 1), (4, 15)]]
    check(module)
    module = kernels((4, 15), (4, 1, 1), body=lambda x, b: relay.reshape(relay.exp(x), (4, 3, 5)) * b)
    assert list(collapsed(module).values()) == [[(4, 15), (4, 1, 1), (4, 15)]]  # exp at 5 * y + x of each row
    check(module)


def test_an_axis_that_is_used_twice_stays() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((3, 5, 3), "float32"), B: T.Buffer((3, 5), "float32")):
    T.func_attr({"relay.kernel": True, "tir.noalias": True})
    for i, j in T.grid(3, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj, vi]
"""
    module = parse_tvmscript(text)
    assert collapsed(module) == {}
    check(module)


def test_reductions_and_operators_on_elements() -> None:
    module = kernels((2, 3, 7, 7), body=lambda x: relay.mean(x, [2, 3], keepdims=True))
    assert list(collapsed(module).values()) == [[(6, 49), (6, 1)]]
    check(module)
    module = kernels((2, 3, 7), (2, 3, 7), body=lambda a, b: relay.exp(a) * b)
    assert list(collapsed(module).values()) == [[(42,)] * 3]
    check(module)
    module = kernels((2, 3, 7), (3, 1), body=lambda a, b: a * b)
    assert collapsed(module) == {}  # rows of 7 have factors of their own
    module = kernels((3, 2, 7), (3, 1, 1), body=lambda a, b: a * b)
    assert list(collapsed(module).values()) == [[(3, 14), (3, 1, 1), (3, 14)]]
    check(module)


@pytest.mark.parametrize(
    ("shapes", "body"),
    [
        (((1, 3, 7, 7), (4, 3, 3, 3)), lambda x, w: relay.nn.conv2d(x, w, padding=1)),  # windows read between rows
        (((1, 3, 8, 8), (4, 3, 1, 1)), lambda x, w: relay.nn.conv2d(x, w, strides=2)),  # every second element
        (((3, 7, 5),), lambda x: relay.transpose(x, [0, 2, 1])),  # other orders of elements
        (((3, 7),), lambda x: relay.strided_slice(x, [0, 0], [3, 5])),  # parts of rows
        (((3, 128),), relay.exp),  # long rows of whole vectors
        (((7, 1),), relay.exp),  # one row
        (((3, 7),), lambda x: relay.nn.softmax(x)),  # one sum for each row
        (((3, 7),), lambda x: relay.nn.pad(x, [[0, 1], [1, 0]])),  # conditions on axes
    ],
)
def test_other_kernels_stay_as_they_are(shapes: tuple[tuple[int, ...], ...], body: Any) -> None:
    assert collapsed(kernels(*shapes, body=body)) == {}


def test_an_index_that_is_0_but_reads_axes_is_no_quotient() -> None:
    def body(x: Any, w: Any) -> Any:
        packed = {"channels": 16, "strides": 2, "data_layout": "NCHW16c", "out_layout": "NCHW"}
        return relay.nn.contrib_depthwise_conv2d_pack(x, w, **packed)

    check(kernels((1, 1, 4, 3, 16), (1, 1, 3, 3, 16), body=body))  # one pixel: its index is the sum of two axes


def test_a_kernel_keeps_its_parameters_and_reports_its_axes() -> None:
    module = kernels((2, 3, 7), body=relay.exp)
    with collect_remarks() as remarks:
        after = apply_passes(module, "tir-collapse-axes")
    assert [remark.message for remark in remarks] == ["axes of fused_exp are collapsed: v_ax0 and v_ax1 and v_ax2"]
    source, target = np.random.default_rng(0).random((2, 3, 7), "float32"), np.zeros((2, 3, 7), "float32")
    source.flags.writeable = False
    build(after)["fused_exp"](source, target)
    np.testing.assert_allclose(target, np.exp(source), 1e-6)


@given(graphs(most=6, branches=False))
@settings(max_examples=max(1, settings().max_examples // 2))
def test_kernels_of_random_graphs_compute_the_same(graph: RandomGraph) -> None:
    check(lower_to_tir(lower_graph(graph.module)))
