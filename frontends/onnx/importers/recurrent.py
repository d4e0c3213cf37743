"""Importers of recurrent networks, whose steps are unrolled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.dtypes import numpy_dtype
from ...models.values import ModelTensor, known_integers
from ..call import Call
from ..errors import OnnxError, OnnxUnsupportedError
from ..registry import Results, importer
from .elementwise import nan_propagating_extreme
from .shapes import permute_axes, split_along

MOST_STEPS = 512
"""The maximum length of a sequence."""


@dataclass(frozen=True)
class _Sequence:
    """The inputs common to all directions. x: of all steps, (length, batch, inputs).  lengths: the length of each
    sequence, (batch,); None if all sequences have full length."""

    x: ModelTensor
    length: int
    lengths: ModelTensor | None
    hidden: int
    batch: Any
    directions: int


def _sequence(call: Call) -> _Sequence:
    x, weights, recurrence = (call.tensor_of_rank(n, 3) for n in range(3))
    if call.integer("layout"):
        x = permute_axes(call, x, (1, 0, 2))
    length = known_integers(x.shape[:1], f"{call.op_type} of so many steps")[0]
    if length > MOST_STEPS:
        raise OnnxUnsupportedError(f"{call.op_type} of {length} steps, expected {MOST_STEPS} at most")
    hidden = call.integer("hidden_size") or recurrence.static_shape[-1]
    lengths = call.optional(4)
    if lengths is not None and lengths.array is not None and bool((lengths.array >= length).all()):
        lengths = None
    return _Sequence(x, length, lengths, hidden, x.extents[1], weights.static_shape[0])


def _take_direction(call: Call, data: ModelTensor | None, direction: int) -> ModelTensor | None:
    return None if data is None else call.op("take", data, call.constant(direction, "int64"), axis=0)


def _state(call: Call, index: int, sequence: _Sequence, direction: int) -> ModelTensor:
    """The initial state of a direction, (batch, hidden)."""
    state = call.optional(index)
    if state is None:
        zero = np.zeros((), numpy_dtype(call.tensor(0).dtype))
        return call.builder.full([sequence.batch, sequence.hidden], zero)
    if call.integer("layout"):
        state = permute_axes(call, state, (1, 0, 2))
    initial = _take_direction(call, state, direction)
    assert initial is not None
    return initial


Function = Callable[[ModelTensor], ModelTensor]
"""The activation function of a gate."""

Step = Callable[[ModelTensor, Sequence[ModelTensor]], Sequence[ModelTensor]]
"""Maps the products of x of a step and the weights, (batch, gates), and the states to the next states, the first of
which is the output."""


def _run(
    call: Call, sequence: _Sequence, backward: bool, weights: _Weights, states: Sequence[ModelTensor], step: Step
) -> tuple[list[ModelTensor], Sequence[ModelTensor]]:
    """The outputs of all steps in order, and the final states. Outputs after the end of a sequence are 0.

    The products of x and the weights, which do not depend on the states, are computed for all steps at once.
    """
    products = split_along(call, _times(call, sequence.x, weights.w, weights.w_bias), [1] * sequence.length, 0)
    outputs: list[ModelTensor] = []
    order = range(sequence.length)
    for n in reversed(order) if backward else order:
        new_states = step(call.op("squeeze", products[n], axis=[0]), states)
        output = new_states[0]
        if sequence.lengths is not None:
            goes_on = call.op("expand_dims", call.scalar("greater", sequence.lengths, n), axis=1)
            new_states = [call.op("where", goes_on, new, old) for new, old in zip(new_states, states, strict=True)]
            output = call.op("where", goes_on, output, call.builder.scalar_constant(0, output.dtype))
        states = new_states
        outputs.append(output)
    return outputs[::-1] if backward else outputs, states


def _stack_results(call: Call, runs: Sequence[tuple[list[ModelTensor], Sequence[ModelTensor]]]) -> Results:
    """The results of a node: all outputs (length, directions, batch, hidden), and the final states of the
    directions."""
    layout = call.integer("layout")
    steps = [call.op("stack", *(outputs[n] for outputs, _ in runs), axis=0) for n in range(len(runs[0][0]))]
    every = call.op("stack", *steps, axis=0)
    last = [call.op("stack", *(states[n] for _, states in runs), axis=0) for n in range(len(runs[0][1]))]
    if layout:
        every = permute_axes(call, every, (2, 0, 1, 3))
        last = [permute_axes(call, each, (1, 0, 2)) for each in last]
    return Results([every, *last])


# Activation functions of gates


def _functions(call: Call, default: Sequence[str], directions: int) -> list[list[Function]]:
    names = list(call.attribute("activations") or [*default] * directions)
    alphas, betas = (list(call.attribute(f"activation_{each}") or ()) for each in ("alpha", "beta"))
    functions: list[Function] = []
    for name in names:
        alpha = alphas.pop(0) if alphas and name in _ALPHA else None
        beta = betas.pop(0) if betas and name in _BETA else None
        functions.append(_function(call, name, alpha, beta))
    size = len(default)
    return [functions[n : n + size] for n in range(0, len(functions), size)]


_ALPHA = {"LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Affine"}
_BETA = {"ScaledTanh", "HardSigmoid", "Affine"}


def _function(call: Call, name: str, alpha: float | None, beta: float | None) -> Function:
    plain = {"Relu": "nn.relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Softplus": "nn.softplus"}
    if name in plain:
        return lambda x: call.op(plain[name], x)
    match name:
        case "LeakyRelu":
            return lambda x: call.op("nn.leaky_relu", x, alpha=0.01 if alpha is None else alpha)
        case "HardSigmoid":
            slope, offset = 0.2 if alpha is None else alpha, 0.5 if beta is None else beta
            return lambda x: call.op("nn.hard_sigmoid", x, alpha=slope, beta=offset)
        case "Elu":
            return lambda x: call.op("nn.elu", x, alpha=1.0 if alpha is None else alpha)
        case "Softsign":
            return lambda x: call.op("divide", x, call.scalar("add", call.op("abs", x), 1))
        case "Affine" if alpha is not None:
            return lambda x: call.scalar("add", call.scalar("multiply", x, alpha), beta or 0.0)
        case "ScaledTanh" if alpha is not None and beta is not None:
            return lambda x: call.scalar("multiply", call.op("tanh", call.scalar("multiply", x, beta)), alpha)
        case _:
            raise OnnxUnsupportedError(f"{call.op_type}: activation '{name}' is not supported")


def _clip(call: Call, x: ModelTensor) -> ModelTensor:
    """Clamps the input of an activation function to the attribute `clip` of the node, if present."""
    limit = call.attribute("clip")
    if limit is None:
        return x
    number = call.builder.scalar_constant
    return nan_propagating_extreme(
        call, "Max", number(-limit, x.dtype), nan_propagating_extreme(call, "Min", number(limit, x.dtype), x)
    )


@dataclass(frozen=True)
class _Weights:
    """The weights of a direction: w (gates, inputs), r (gates, hidden), and the bias of each."""

    w: ModelTensor
    r: ModelTensor
    w_bias: ModelTensor | None
    r_bias: ModelTensor | None


def _weights(call: Call, direction: int, gates: int, hidden: int) -> _Weights:
    w, r = (_take_direction(call, call.tensor(n), direction) for n in (1, 2))
    assert w is not None
    assert r is not None
    both = _take_direction(call, call.optional(3), direction)
    halves = [None, None] if both is None else split_along(call, both, [gates * hidden] * 2, 0)
    return _Weights(w, r, *halves)


def _times(call: Call, x: ModelTensor, w: ModelTensor, bias: ModelTensor | None) -> ModelTensor:
    product = call.op("nn.dense", x, w)
    return product if bias is None else call.op("add", product, bias)


def _directions(call: Call, count: int) -> list[bool]:
    """For each direction, whether it runs backward. Raises OnnxError for weights of another number of directions."""
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    backward = directions[call.choice("direction", *directions)]
    if len(backward) != count:
        raise OnnxError(f"{call.op_type}: weights of {count} directions, expected {len(backward)}")
    return backward


# Networks


@importer("RNN")
def rnn(call: Call) -> Results:
    sequence = _sequence(call)
    functions = _functions(call, ["Tanh"], sequence.directions)
    runs: list[tuple[list[ModelTensor], Sequence[ModelTensor]]] = []
    for n, backward in enumerate(_directions(call, sequence.directions)):
        weights, (f,) = _weights(call, n, 1, sequence.hidden), functions[n]

        def step(
            inputs: ModelTensor, states: Sequence[ModelTensor], weights: _Weights = weights, f: Function = f
        ) -> list[ModelTensor]:
            kept = _times(call, states[0], weights.r, weights.r_bias)
            return [f(_clip(call, call.op("add", inputs, kept)))]

        runs.append(_run(call, sequence, backward, weights, [_state(call, 5, sequence, n)], step))
    return _stack_results(call, runs)


@importer("GRU")
def gru(call: Call) -> Results:
    sequence = _sequence(call)
    functions = _functions(call, ["Sigmoid", "Tanh"], sequence.directions)
    runs: list[tuple[list[ModelTensor], Sequence[ModelTensor]]] = []
    for n, backward in enumerate(_directions(call, sequence.directions)):
        weights = _weights(call, n, 3, sequence.hidden)
        step = _gru_step(call, weights, functions[n], sequence.hidden)
        runs.append(_run(call, sequence, backward, weights, [_state(call, 5, sequence, n)], step))
    return _stack_results(call, runs)


def _gru_step(call: Call, weights: _Weights, functions: Sequence[Function], hidden: int) -> Step:
    f, g = functions
    linear = call.integer("linear_before_reset")

    def thirds(data: ModelTensor | None, axis: int) -> list[ModelTensor | None]:
        return [None] * 3 if data is None else [*split_along(call, data, [hidden] * 3, axis)]

    rows, biases = thirds(weights.r, 0), thirds(weights.r_bias, 0)

    def step(products: ModelTensor, states: Sequence[ModelTensor]) -> list[ModelTensor]:
        (h,) = states
        inputs = split_along(call, products, [hidden] * 3, 1)

        def gate(n: int) -> ModelTensor:
            row = rows[n]
            assert row is not None
            return f(_clip(call, call.op("add", inputs[n], _times(call, h, row, biases[n]))))

        update, reset = gate(0), gate(1)
        assert rows[2] is not None
        if linear:
            kept = call.op("multiply", reset, _times(call, h, rows[2], biases[2]))
        else:
            kept = _times(call, call.op("multiply", reset, h), rows[2], biases[2])
        new = g(_clip(call, call.op("add", inputs[2], kept)))
        rest = call.op("subtract", call.builder.scalar_constant(1, update.dtype), update)
        return [call.op("add", call.op("multiply", rest, new), call.op("multiply", update, h))]

    return step


@importer("LSTM")
def lstm(call: Call) -> Results:
    sequence = _sequence(call)
    functions = _functions(call, ["Sigmoid", "Tanh", "Tanh"], sequence.directions)
    runs: list[tuple[list[ModelTensor], Sequence[ModelTensor]]] = []
    for n, backward in enumerate(_directions(call, sequence.directions)):
        peepholes = _take_direction(call, call.optional(7), n)
        thirds = None if peepholes is None else split_along(call, peepholes, [sequence.hidden] * 3, 0)
        weights = _weights(call, n, 4, sequence.hidden)
        step = _lstm_step(call, weights, functions[n], sequence.hidden, thirds)
        states = [_state(call, 5, sequence, n), _state(call, 6, sequence, n)]
        runs.append(_run(call, sequence, backward, weights, states, step))
    return _stack_results(call, runs)


def _lstm_step(
    call: Call,
    weights: _Weights,
    functions: Sequence[Function],
    hidden: int,
    peepholes: Sequence[ModelTensor] | None,
) -> Step:
    f, g, h = functions
    coupled = call.integer("input_forget")

    def add_peephole(data: ModelTensor, cell: ModelTensor, n: int) -> ModelTensor:
        return data if peepholes is None else call.op("add", data, call.op("multiply", peepholes[n], cell))

    def step(inputs: ModelTensor, states: Sequence[ModelTensor]) -> list[ModelTensor]:
        output, cell = states
        kept = _times(call, output, weights.r, weights.r_bias)
        i, o, forget, c = split_along(call, call.op("add", inputs, kept), [hidden] * 4, 1)
        i = f(_clip(call, add_peephole(i, cell, 0)))
        if coupled:
            forget = call.op("subtract", call.builder.scalar_constant(1, i.dtype), i)
        else:
            forget = f(_clip(call, add_peephole(forget, cell, 2)))
        new = g(_clip(call, c))
        cell = call.op("add", call.op("multiply", forget, cell), call.op("multiply", i, new))
        o = f(_clip(call, add_peephole(o, cell, 1)))
        return [call.op("multiply", o, h(cell)), cell]

    return step
