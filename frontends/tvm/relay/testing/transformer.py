"""A transformer encoder (Vaswani et al., 2017): attention and a perceptron, each with a residual connection."""

from __future__ import annotations

from math import sqrt

from .....core.errors import OptionError
from ....relay import Expr, Function, free_vars, nn, op, var
from ....relay.expr import Number
from ...ir.module import IRModule
from ...nd import NDArray
from .init import create_workload
from .layers import dense_add_bias


def attention(data: Expr, batch_size: int, seq_length: int, d_model: int, num_heads: int, name: str) -> Expr:
    """Multi-head self-attention. data: (batch * seq, d_model)."""
    width = d_model // num_heads

    def heads(role: str, axes: list[int], last: tuple[int, int]) -> Expr:
        rows = dense_add_bias(data, units=d_model, name=f"{name}_{role}")
        split = op.reshape(rows, (batch_size, seq_length, num_heads, width))
        return op.reshape(op.transpose(split, axes), (batch_size * num_heads, *last))

    query = heads("query", [0, 2, 1, 3], (seq_length, width))
    key = heads("key", [0, 2, 1, 3], (seq_length, width))
    value = heads("value", [0, 2, 3, 1], (width, seq_length))
    scores = op.multiply(nn.batch_matmul(query, key), Number(1 / sqrt(width)))
    mixed = op.reshape(nn.batch_matmul(nn.softmax(scores), value), (batch_size, num_heads, seq_length, width))
    rows = op.reshape(op.transpose(mixed, [0, 2, 1, 3]), (batch_size * seq_length, d_model))
    return dense_add_bias(rows, units=d_model, name=f"{name}_out")


def encoder_block(
    data: Expr, batch_size: int, seq_length: int, d_model: int, num_heads: int, d_ff: int, name: str
) -> Expr:
    """A block: attention, then two dense layers, each with a residual connection followed by a layer normalization."""

    def normalize(rows: Expr, norm: str) -> Expr:
        return nn.layer_norm(rows, var(f"{name}_{norm}_gamma"), var(f"{name}_{norm}_beta"))

    mixed = attention(data, batch_size, seq_length, d_model, num_heads, f"{name}_attention")
    first = normalize(op.add(data, mixed), "norm1")
    hidden = nn.gelu(dense_add_bias(first, units=d_ff, name=f"{name}_ff1"))
    return normalize(op.add(first, dense_add_bias(hidden, units=d_model, name=f"{name}_ff2")), "norm2")


def get_net(
    batch_size: int = 1,
    num_layers: int = 1,
    d_model: int = 256,
    num_heads: int = 4,
    seq_length: int = 128,
    d_ff: int = 1024,
    dtype: str = "float32",
) -> Function:
    """A sequence of encoder blocks. `data` and the result are (batch, seq, d_model).

    OptionError if d_model is not a multiple of the number of heads.
    """
    if num_heads < 1 or d_model % num_heads:
        raise OptionError(f"transformer: {num_heads} heads of a model of {d_model}, expected heads that divide it")
    shape = (batch_size, seq_length, d_model)
    body = op.reshape(var("data", shape=shape, dtype=dtype), (batch_size * seq_length, d_model))
    for n in range(num_layers):
        body = encoder_block(body, batch_size, seq_length, d_model, num_heads, d_ff, f"layer{n}")
    net = op.reshape(body, shape)
    return Function(free_vars(net), net)


def get_workload(
    batch_size: int = 1,
    num_layers: int = 1,
    d_model: int = 256,
    num_heads: int = 4,
    seq_length: int = 128,
    d_ff: int = 1024,
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, NDArray]]:
    """The network as a module, and random parameters."""
    return create_workload(get_net(batch_size, num_layers, d_model, num_heads, seq_length, d_ff, dtype))
