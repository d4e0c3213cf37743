"""Long short-term memory, unrolled over time (Hochreiter and Schmidhuber, 1997)."""

from __future__ import annotations

from ....relay import Expr, Function, Tuple, TupleGetItem, Var, op, var
from ....relay.types import TensorType, TupleType
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import dense_add_bias


def _step(num_hidden: int, inputs: Expr, hidden: Expr, cell: Expr, weights: dict[str, Var], name: str) -> Tuple:
    """The results of one step: the output, which is also the next hidden state, and the next cell state."""
    gates = 4 * num_hidden
    from_input = dense_add_bias(inputs, weights["i2h_weight"], weights["i2h_bias"], gates, name=f"{name}i2h")
    from_hidden = dense_add_bias(hidden, weights["h2h_weight"], weights["h2h_bias"], gates, name=f"{name}h2h")
    input_gate, forget_gate, update, output_gate = op.split(op.add(from_input, from_hidden), 4, axis=1)
    new = op.add(op.multiply(op.sigmoid(forget_gate), cell), op.multiply(op.sigmoid(input_gate), op.tanh(update)))
    out = op.multiply(op.sigmoid(output_gate), op.tanh(new))
    return Tuple([out, Tuple([out, new])])


def _weights(num_hidden: int, dtype: str) -> dict[str, Var]:
    matrix, bias = TensorType((4 * num_hidden, num_hidden), dtype), TensorType((4 * num_hidden,), dtype)
    types = {"i2h_weight": matrix, "i2h_bias": bias, "h2h_weight": matrix, "h2h_bias": bias}
    return {name: Var(name, type) for name, type in types.items()}


def lstm_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = "") -> Function:
    """One step as a function from the input, a tuple of two states, weights and biases to the output and the next
    states."""
    row = TensorType((batch_size, num_hidden), dtype)
    weights = _weights(num_hidden, dtype)
    inputs, states = Var("inputs", row), Var("states", TupleType([row, row]))
    hidden, cell = TupleGetItem(states, 0), TupleGetItem(states, 1)
    return Function([inputs, states, *weights.values()], _step(num_hidden, inputs, hidden, cell, weights, name))


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """The network: `data` is (iterations, batch, hidden), each step a call of one cell; returns the last output.

    All steps share the same weights; the initial states are zeros.
    """
    shape = (batch_size, num_hidden)
    data = var("data", shape=(iterations, *shape), dtype=dtype)
    cell, weights = lstm_cell(num_hidden, batch_size, dtype), _weights(num_hidden, dtype)
    state: Expr = Tuple([op.zeros(shape, dtype), op.zeros(shape, dtype)])
    out: Expr = op.zeros(shape, dtype)
    for row in op.split(data, iterations, axis=0):
        result: Expr = cell(op.squeeze(row, [0]), state, *weights.values())
        out, state = TupleGetItem(result, 0), TupleGetItem(result, 1)
    return Function([data, *weights.values()], out)


def get_workload(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
