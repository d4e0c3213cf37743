"""A recurrent layer as a scan over time: `topi.nn.lstm`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....expressions import functions as scalar
from ....expressions.axes import reduce_axis
from ....expressions.errors import TeError
from ....expressions.expr import PrimExpr, const
from ....expressions.scan import scan
from ....expressions.tensor import Tensor, compute, placeholder

Activation = Callable[[Any], Any]


def lstm(
    Xs: Tensor, Wi: Tensor, Wh: Tensor, Bi: Tensor | None = None, Bh: Tensor | None = None,
    h_init: Tensor | None = None, c_init: Tensor | None = None, proj: Tensor | None = None,
    p_i: Tensor | None = None, p_f: Tensor | None = None, p_o: Tensor | None = None,
    f_act: Activation = scalar.sigmoid, g_act: Activation = scalar.tanh, h_act: Activation = scalar.tanh,
    reverse: bool = False, weight_layout: str = "IFGO",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The hidden states and the cell states of all times of a layer of LSTM.

    Xs: the inputs, [time, batch, features].  Wi, Wh: the weights of inputs and of hidden states, [4 * hidden, features]
    and [4 * hidden, states]; the four parts are the input gate, the forget gate, the cell and the output gate in the
    order of weight_layout.  Bi, Bh: biases, [4 * hidden].  h_init, c_init: the states before, [batch, ...], 0 by
    default.  proj: a matrix that maps hidden states to fewer ones, [states, hidden].  p_i, p_f, p_o: the weights of
    cell states in gates, [batch, hidden]; p_i and p_f together.  f_act, g_act, h_act: the activations of gates, of the
    cell, and of the result.  reverse: whether the last input is the first.

    TeError for another weight_layout, and for a number of rows that 4 does not divide.
    """
    if sorted(weight_layout) != sorted("IFGO"):
        raise TeError(f"lstm: weight_layout {weight_layout!r}, expected an order of IFGO")
    rows = getattr(Wi.shape[0], "value", None)
    if rows is None or rows % 4:
        raise TeError(f"lstm: weights of {Wi.shape[0]} rows, expected a known multiple of 4")
    steps, batch, features = Xs.shape
    hidden, dtype = rows // 4, Xs.dtype
    states = hidden if proj is None else proj.shape[0]
    place = {letter: weight_layout.index(letter) for letter in "IFGO"}
    k = reduce_axis((0, features), "ki2h")
    inputs = compute((steps, batch, rows), lambda t, b, j: scalar.sum(Xs(t, b, k) * Wi(j, k), axis=k), "Xi2h")
    if Bi is not None:
        product, bias = inputs, Bi
        inputs = compute(product.shape, lambda t, b, j: product(t, b, j) + bias(j), "Xi2h_bias", "injective")

    def first(given: Tensor | None, width: Any, name: str) -> Tensor:
        zero = const(0, dtype)
        return compute((1, batch, width), lambda _, b, j: zero if given is None else given(b, j), name)

    h = placeholder((steps + 1, batch, states), dtype, "h_state")
    c = placeholder((steps + 1, batch, hidden), dtype, "c_state")
    m = reduce_axis((0, states), "kh2h")

    def at_each_time(element: Callable[..., Any], name: str, *sizes: Any) -> Tensor:
        return compute((steps + 1, batch, *(sizes or (hidden,))), element, name)

    again = at_each_time(lambda t, b, j: scalar.sum(h(t - 1, b, m) * Wh(j, m), axis=m), "s_h2h", rows)

    def gate(letter: str, t: PrimExpr, b: PrimExpr, j: PrimExpr) -> PrimExpr:
        row = j + place[letter] * hidden
        value = inputs(steps - t if reverse else t - 1, b, row) + again(t, b, row)
        return value if Bh is None else value + Bh(row)

    peepholes = {"I": p_i, "F": p_f} if p_i is not None and p_f is not None else {}

    def opened(
        letter: str, name: str, cell: Callable[..., PrimExpr] | None = None, own: Tensor | None = None
    ) -> Tensor:
        def element(t: PrimExpr, b: PrimExpr, j: PrimExpr) -> Any:
            value = gate(letter, t, b, j)
            return f_act(value if own is None or cell is None else value + own(b, j) * cell(t, b, j))

        return at_each_time(element, name)

    def before(t: PrimExpr, b: PrimExpr, j: PrimExpr) -> PrimExpr:
        return c(t - 1, b, j)

    into, kept = (opened(each, f"{each.lower()}_gate", before, peepholes.get(each)) for each in "IF")
    new = at_each_time(lambda t, b, j: g_act(gate("G", t, b, j)), "g_gate")
    cells = at_each_time(lambda t, b, j: kept(t, b, j) * c(t - 1, b, j) + into(t, b, j) * new(t, b, j), "next_c")
    out = opened("O", "o_gate", cells, p_o)
    results = at_each_time(lambda t, b, j: out(t, b, j) * h_act(cells(t, b, j)), "next_h")
    if proj is not None:
        whole, matrix, n = results, proj, reduce_axis((0, hidden), "kh2p")
        results = at_each_time(lambda t, b, j: scalar.sum(whole(t, b, n) * matrix(j, n), axis=n), "next_h_proj", states)
    start = [first(h_init, states, "h_init"), first(c_init, hidden, "c_init")]
    all_h, all_c = scan(start, [results, cells], [h, c], name="lstm_scan")
    return (
        compute((steps, batch, states), lambda t, b, j: all_h(t + 1, b, j), "hidden_states"),
        compute((steps, batch, hidden), lambda t, b, j: all_c(t + 1, b, j), "cell_states"),
    )
