"""Passes on graphs preserve results; native code agrees with numpy; tensors with overlapping lifetimes do not share
memory."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.interpreter import Interpreter
from xdsl.ir import Operation, SSAValue

from stepwell import Module, build
from stepwell.backends.graph.description import GraphDescription
from stepwell.backends.interpreter import register_implementations
from stepwell.backends.interpreter.regions import scope
from stepwell.core.dtypes import numpy_dtype
from stepwell.core.processors import threads
from stepwell.dialects.attributes import VIEW
from stepwell.frontends.mlir import parse_mlir
from stepwell.operators.relay import CallOp, ConstantOp, FuncOp, IfOp, dtype_of_tensor, shape_of
from stepwell.schedule.cpu import threads as threads_rule
from stepwell.tools.testing.attachment import assert_uses_are_attached
from stepwell.tools.testing.comparison import assert_near
from stepwell.tools.testing.execution import interpret_graph
from stepwell.tools.testing.graphs import RandomGraph, graphs
from stepwell.transforms.pipelines import lower_graph, parse_passes, run_pipeline
from stepwell.transforms.relay.placement import ALIGNMENT, offsets_of, workspace_of
from stepwell.transforms.relay.to_tir import arrays_of

EXACT = [
    "relay-infer-types",
    "relay-simplify",
    "relay-fold-constants,relay-simplify,cse",
    "relay-fold-constants",
    "relay-eliminate-dead-code",
    "cse",
    "relay-copy-results",
    "relay-slice-images{least-channels=1}",
    "relay-fuse-operators",
    "relay-fuse-operators{level=0}",
    "relay-fuse-operators,relay-plan-memory,relay-eliminate-dead-code",
]
ROUNDING = [
    "relay-simplify-inference",
    "relay-widen-operands",
    "relay-convert-layout",
    "relay-pack-weights",
    "relay-fuse-attention",
    "relay-convert-conv1d",
    "relay-convert-convolutions{tile-size=2}",
    "relay-convert-convolutions{tile-size=4},relay-fold-constants",
    "relay-fold-constants,relay-fold-scale-axis,relay-fold-constants",
    "relay-simplify-inference,relay-fold-constants,relay-fold-scale-axis,relay-fold-constants,relay-simplify,cse",
]


def check_text(module: Module) -> None:
    text = str(module)
    assert str(parse_mlir(text)) == text


def apply(module: Module, passes: str) -> Module:
    """The result of passes on a copy of a module. Checks after each pass that the module verifies and round-trips
    through text."""
    for step in parse_passes(passes):
        module = run_pipeline(module, [step])
        module.verify()
        assert_uses_are_attached(module)
        check_text(module)
    return module


@pytest.mark.parametrize("passes", EXACT)
@given(graph=graphs())
@settings(max_examples=max(1, settings().max_examples // 2))
def test_a_pass_leaves_what_a_graph_computes(passes: str, graph: RandomGraph) -> None:
    after = apply(graph.module, passes)
    expected = interpret_graph(graph.module, graph.inputs)
    assert_near(interpret_graph(after, graph.inputs), expected, 0)


@pytest.mark.parametrize("passes", ROUNDING)
@given(graph=graphs())
@settings(max_examples=max(1, settings().max_examples // 2))
def test_a_pass_that_rounds_differently_leaves_what_a_graph_computes(passes: str, graph: RandomGraph) -> None:
    after = apply(graph.module, passes)
    expected = interpret_graph(graph.module, graph.inputs)
    assert_near(interpret_graph(after, graph.inputs), expected, graph.tolerances)


# The lowering

DOWN = "relay-plan-memory,convert-relay-to-te,convert-te-to-tir,convert-relay-to-tir"


def run_natively(module: Module, inputs: Sequence[Any], expected: Sequence[Any]) -> list[Any]:
    """The results of native code of a graph of calls. expected: arrays with the shapes and types of the results."""
    func = module.functions["main"]
    assert isinstance(func, FuncOp)
    arrays = [module.constants[name] for name in arrays_of(func)]
    lowered = apply(module, DOWN)
    outputs = [np.empty_like(each, order="C") for each in expected]
    planned = run_pipeline(module, parse_passes("relay-plan-memory")).functions["main"]
    assert isinstance(planned, FuncOp)
    size = workspace_of(planned)
    workspace = [np.full(size, 255, "uint8")] if size else []
    build(lowered)["main"](*map(np.copy, inputs), *map(np.copy, arrays), *outputs, *workspace)
    return outputs


@given(graph=graphs())
@settings(max_examples=max(1, settings().max_examples // 4))
def test_native_code_computes_what_a_graph_computes(graph: RandomGraph) -> None:
    expected = interpret_graph(graph.module, graph.inputs)
    got = run_natively(apply(graph.module, "relay-copy-results,relay-fuse-operators"), graph.inputs, expected)
    assert_near(got, expected, graph.tolerances)


@given(count=st.sampled_from([1, 2, 5]), graph=graphs())
@settings(max_examples=max(1, settings().max_examples // 4))
def test_kernels_that_threads_share_compute_what_a_graph_computes(count: int, graph: RandomGraph) -> None:
    expected = interpret_graph(graph.module, graph.inputs)
    fused = apply(graph.module, "relay-copy-results,relay-fuse-operators")
    with patch.object(threads_rule, "LEAST_TIME", 0), threads(count):
        got = run_natively(fused, graph.inputs, expected)
    assert_near(got, expected, graph.tolerances)


# Memory


class Memory:
    """Runs a function kernel by kernel, and after each kernel overwrites all memory that is not owned by a live
    tensor."""

    def __init__(self, module: Module, inputs: Sequence[Any]):
        func = module.functions["main"]
        assert isinstance(func, FuncOp)
        self.func = func
        self.bytes = np.full(workspace_of(func), 255, "uint8")
        self.interpreter = Interpreter(module.op)
        register_implementations(self.interpreter)
        self.ops = list(func.body.block.ops)
        self.inputs = inputs

    def run(self) -> list[Any]:
        with scope(self.interpreter, "main"):
            self.interpreter.set_values(zip(self.func.body.block.args, self.inputs, strict=True))
            for n, op in enumerate(self.ops[:-1]):
                self.step(op)
                self.poison(n)
            return list(self.interpreter.get_values(self.func.return_values))

    def step(self, op: Operation) -> None:
        places = [None] * len(op.results) if isinstance(op, ConstantOp) else offsets_of(op)
        views = [None if place is None else self.view(r, place) for r, place in zip(op.results, places, strict=True)]
        is_view = VIEW in op.attributes  # its elements are in their place, and no kernel is called
        for view in views:
            if view is not None and not is_view:
                view.fill(-1 if view.dtype.kind != "u" else 255)  # a kernel may write before its last read
        made = self.interpreter.run_op(op, self.interpreter.get_values(op.operands))
        for result, view, array in zip(op.results, views, made, strict=True):
            if is_view:
                np.testing.assert_array_equal(view, array)
            elif view is not None:
                view[...] = array
            self.interpreter.set_values([(result, np.copy(array) if view is None else view)])

    def view(self, value: SSAValue, offset: int) -> Any:
        """The memory of a tensor as an array."""
        assert offset % ALIGNMENT == 0
        shape = [int(size) for size in shape_of(value)]
        dtype = numpy_dtype(dtype_of_tensor(value))
        size = int(np.prod(shape)) * dtype.itemsize
        assert offset + size <= len(self.bytes)
        return self.bytes[offset : offset + size].view(dtype).reshape(shape)

    def poison(self, done: int) -> None:
        later = {operand for op in self.ops[done + 1 :] for inner in op.walk() for operand in inner.operands}
        owned = np.zeros(len(self.bytes), bool)
        for op in self.ops[: done + 1]:
            if isinstance(op, CallOp | IfOp):
                for result, offset in zip(op.results, offsets_of(op), strict=True):
                    if offset is not None and result in later:
                        size = self.view(result, offset).nbytes
                        free = VIEW in op.attributes or not owned[offset : offset + size].any()
                        assert free, "two tensors share memory"
                        owned[offset : offset + size] = True
        self.bytes[~owned] = 255


@given(graph=graphs(most=30))
@settings(max_examples=max(1, settings().max_examples // 2))
def test_tensors_that_share_memory_are_not_read_at_the_same_time(graph: RandomGraph) -> None:
    planned = apply(graph.module, "relay-fuse-operators{level=0},relay-plan-memory")
    expected = interpret_graph(graph.module, graph.inputs)
    assert_near(Memory(planned, graph.inputs).run(), expected, 0)


@given(graph=graphs())
def test_the_description_of_a_graph_is_read_from_its_json(graph: RandomGraph) -> None:
    description = GraphDescription.of(lower_graph(graph.module, 2), "main")
    assert GraphDescription.from_json(description.as_json()) == description
