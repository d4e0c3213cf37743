"""Operators of users: `relay.op.register`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stepwell import StepwellError
from stepwell.frontends import tvm
from stepwell.frontends.relay.host import HOST_OPERATORS
from stepwell.frontends.tvm import relay, te
from stepwell.frontends.tvm.relay import op


@pytest.fixture
def mixed() -> Iterator[Any]:
    """The operator `mixed`: two times the first operand, plus the second one in its shape."""
    op.register("mixed", "a sum")
    mixed: Any = op.get("mixed")
    mixed.set_num_inputs(2)
    mixed.add_argument("a", "Tensor", "a summand")
    mixed.set_attrs_type_key("DictAttrs")
    mixed.set_support_level(3)
    mixed.add_type_rel("Broadcast")
    op.register_pattern("mixed", op.OpPattern.BROADCAST)
    op.register_stateful("mixed", False)
    yield mixed
    del HOST_OPERATORS["mixed"]


def program(mixed: Any, *shapes: tuple[int, ...]) -> tvm.IRModule:
    params = [relay.var(f"x{n}", shape=shape) for n, shape in enumerate(shapes)]
    return tvm.IRModule.from_expr(relay.Function(params, relay.exp(relay.Call(mixed, params))))


def test_operators_of_users_have_types_and_facts(mixed: Any) -> None:
    mod = relay.transform.InferType()(program(mixed, (2, 1), (3,)))
    assert mod["main"].ret_type == relay.TensorType((2, 3))
    assert (mixed.num_inputs, mixed.support_level, mixed.get_attr("TOpPattern")) == (2, 3, 1)
    assert tvm.ir.structural_equal(relay.parse(mod.astext()), mod)
    mixed.add_type_rel("own", lambda types, attrs: types[1])
    assert relay.transform.InferType()(program(mixed, (2, 1), (3,)))["main"].ret_type == relay.TensorType((3,))


@pytest.mark.parametrize("executor", ["debug", "vm"])
def test_tensor_expressions_compute_operators_of_users(mixed: Any, executor: str) -> None:
    @op.register_compute("mixed")
    def compute(attrs: Any, inputs: Any, result: relay.TensorType) -> list[te.Tensor]:
        a, b = inputs
        return [te.compute(result.shape, lambda i, j: 2 * a[i, 0] + b[j])]

    a, b = np.array([[1], [2]], "float32"), np.array([1, 2, 3], "float32")
    got = relay.create_executor(executor, mod=program(mixed, (2, 1), (3,))).evaluate()(a, b).numpy()
    np.testing.assert_allclose(got, np.exp(2 * a + b), rtol=1e-5)


def test_wrong_uses_of_operators_of_users_are_rejected(mixed: Any) -> None:
    with pytest.raises(StepwellError, match="mixed is registered already"):
        op.register("mixed")
    with pytest.raises(StepwellError, match="operator 'exp', expected one of"):
        op.register_compute("exp", lambda *_: [])
    with pytest.raises(StepwellError, match="3 operands, expected 2"):
        relay.transform.InferType()(program(mixed, (1,), (1,), (1,)))
    with pytest.raises(StepwellError, match="expected equal sizes, or 1"):
        relay.transform.InferType()(program(mixed, (2,), (3,)))
    with pytest.raises(StepwellError, match="'Reshape' without a function"):
        mixed.add_type_rel("Reshape")
    with pytest.raises(StepwellError, match="expected 'DictAttrs'"):
        mixed.set_attrs_type_key("relay.attrs.Own")
    with pytest.raises(StepwellError, match="no tensor expression, expected one of"):
        relay.create_executor("debug", mod=program(mixed, (1,), (1,))).evaluate()(np.ones(1, "f"), np.ones(1, "f"))
    mixed.add_type_rel("own", lambda types, attrs: None)
    with pytest.raises(StepwellError, match="a result of type None"):
        relay.transform.InferType()(program(mixed, (2,), (2,)))
