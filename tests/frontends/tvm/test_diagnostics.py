"""Renderers of errors, tuples of results, and modules as read from their text."""

import numpy as np
import pytest

from stepwell import StepwellError
from stepwell.frontends import tvm
from stepwell.frontends.tvm import relay
from stepwell.frontends.tvm.ir.diagnostics import DiagnosticContext, get_renderer, override_renderer


def test_the_renderer_of_the_user_shows_the_errors_of_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    contexts: list[DiagnosticContext] = []
    wrong = relay.add(relay.var("x", shape=(2,)), relay.var("y", shape=(3,)))
    override_renderer(contexts.append)
    try:
        with pytest.raises(tvm.error.DiagnosticError):
            tvm.IRModule.from_expr(wrong)
    finally:
        override_renderer(None)
    assert [(each.level.name, "shapes [2] and [3]" in each.message) for each in contexts[0].diagnostics] == [
        ("ERROR", True)
    ]
    contexts[0].render()
    assert capsys.readouterr().err.startswith("error: ")
    with pytest.raises(StepwellError):
        tvm.IRModule.from_expr(wrong)
    assert len(contexts) == 1
    assert get_renderer().render is not contexts.append


def test_several_results_are_a_tuple_of_the_runtime() -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([x + x, x * x])))
    result = relay.create_executor("vm", mod).evaluate()(np.array([1, 2], "float32"))
    assert isinstance(result, tvm.runtime.container.ADT)
    assert (result.tag, [each.numpy().tolist() for each in result]) == (0, [[2, 4], [1, 4]])
    assert tvm.runtime.container.tuple_object() == []


def test_a_module_is_read_from_its_text() -> None:
    x = relay.var("x", shape=(2, 3))
    mod = tvm.IRModule.from_expr(relay.nn.relu(x) + relay.const(np.ones((2, 3), "float32")))
    assert tvm.ir.structural_equal(relay.transform.AnnotateSpans()(mod), mod)


def test_an_expression_outside_of_a_module_has_a_type_on_request() -> None:
    expr = relay.nn.dense(relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3)))
    assert relay.transform.InferTypeLocal(expr) == relay.TensorType((2, 4), "float32")
    assert expr.checked_type.shape == (2, 4)
    with pytest.raises(StepwellError, match="has no type"):
        relay.transform.InferTypeLocal(relay.exp(relay.var("y")))


def test_depth_to_space_accepts_the_mode_of_relay() -> None:
    data = relay.const(np.arange(8, dtype="float32").reshape(1, 8, 1, 1))
    orders = [
        relay.create_executor().evaluate(relay.nn.depth_to_space(data, 2, mode=mode)).numpy()[0, :, 0, 0].tolist()
        for mode in ("DCR", "CDR", "CRD")
    ]
    assert orders == [[0, 1], [0, 4], [0, 4]]


def test_errors_of_scripts_have_places() -> None:
    found: list[DiagnosticContext] = []
    override_renderer(found.append)
    try:
        with pytest.raises(tvm.error.DiagnosticError):
            tvm.script.from_source("@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer(a, (4,))\n    A[i] = 1\n")
    finally:
        override_renderer(None)
    (diagnostic,) = found[0].diagnostics
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == (4, 7)
