"""Operators in other layouts and data types, `ConvertLayout` and `ToMixedPrecision`, and the parts of batch norms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from ....core.errors import ArgumentError, OptionError, UnsupportedError
from .bindings import DataflowBlock, SeqExpr, VarBinding
from .block_builder import BlockBuilder
from .calls import op
from .expr import Call, Expr, Op, Tuple, Var, const
from .expr_functor import Substitution
from .function import Function
from .struct_info import TensorStructInfo

Rule = Callable[[BlockBuilder, Call], Expr]
"""A function from a call to the expression in its place."""
_LAYOUTS = {
    "relax.nn.conv1d": ("NCW", "OIW"),
    "relax.nn.conv2d": ("NCHW", "OIHW"),
    "relax.nn.conv3d": ("NCDHW", "OIDHW"),
    "relax.nn.conv2d_transpose": ("NCHW", "IOHW"),
}
"""The layouts of images and weights of operators by default."""
PRODUCTS = ("relax.matmul", *_LAYOUTS)
"""The operators that mixed precision computes on narrow operands."""


def layout_rules(desired: Mapping[str, Sequence[str]]) -> dict[str, Rule]:
    """The rules of operators by name. desired: for each operator the layouts of images, of weights, and of results, by
    default that of images. UnsupportedError for another operator, OptionError for another number of layouts."""
    for name, layouts in desired.items():
        if name not in _LAYOUTS:
            raise UnsupportedError(f"ConvertLayout: operator {name}, expected one of {', '.join(_LAYOUTS)}")
        if not 1 <= len(layouts) <= 3:
            raise OptionError(f"ConvertLayout: {name}: layouts {list(layouts)}, expected those of images and weights")
    return {name: _in_layouts(name, list(layouts)) for name, layouts in desired.items()}


def callback_layout_rules(layout_cb: Callable[[Call], Mapping[str, Sequence[str]]]) -> dict[str, Rule]:
    """The rules of operators by name. layout_cb: the layouts of a call, as of `layout_rules`; a call of an operator
    without layouts stays."""

    def rule(builder: BlockBuilder, call: Call) -> Expr:
        assert isinstance(call.op, Op)
        rules = layout_rules(layout_cb(call) or {})
        return rules[call.op.name](builder, call) if call.op.name in rules else call

    return dict.fromkeys(_LAYOUTS, rule)


def _in_layouts(name: str, layouts: list[str]) -> Rule:
    word = name.removeprefix("relax.nn.")

    def convert(builder: BlockBuilder, call: Call) -> Expr:
        given = dict(call.attrs)
        images, weights = (
            given.get(key) or default
            for key, default in zip(("data_layout", "kernel_layout"), _LAYOUTS[name], strict=True)
        )
        results = given.get("out_layout") or images
        wanted = [*layouts, *("default" for _ in range(2 - len(layouts)))]
        new_images = images if wanted[0] == "default" else wanted[0]
        new_weights = weights if wanted[1] == "default" else wanted[1]
        new_results = wanted[2] if len(wanted) == 3 else new_images
        data = builder.emit(_permuted(call.args[0], images, new_images))
        kernel = builder.emit(_permuted(call.args[1], weights, new_weights))
        changed = {"data_layout": new_images, "kernel_layout": new_weights, "out_layout": new_results}
        result = builder.emit(getattr(op.nn, word)(data, kernel, **{**given, **changed}))
        return _permuted(result, new_results, results)

    return convert


def _permuted(value: Any, old: str, new: str) -> Expr:
    """A tensor in another layout. UnsupportedError for a layout of other dimensions."""
    if old == new:
        return value
    if sorted(old) != sorted(new):
        raise UnsupportedError(f"ConvertLayout: layout {new} for {old}, expected the same dimensions")
    return op.permute_dims(value, [old.index(letter) for letter in new])


def precision_rules(out_dtype: str) -> dict[str, Rule]:
    """The rules of products by name: those of float32 are computed on float16 with sums in out_dtype, and are float32
    again."""

    def convert(builder: BlockBuilder, call: Call) -> Expr:
        operands = call.children
        if any(each.struct_info.dtype != "float32" for each in operands):
            return call
        narrow = [_as_float16(builder, each) for each in operands]
        assert isinstance(call.op, Op)
        function = attrgetter(call.op.name.removeprefix("relax."))(op)
        result = function(*narrow, **{**dict(call.attrs), "out_dtype": out_dtype})
        return result if out_dtype == "float32" else op.astype(builder.emit(result), "float32")

    return dict.fromkeys(PRODUCTS, convert)


def _as_float16(builder: BlockBuilder, value: Any) -> Expr:
    """A tensor in float16: what the tensor was made of, if it is a float32 of one in float16."""
    source = value.bound_value if isinstance(value, Var) else None
    if isinstance(source, Call) and isinstance(source.op, Op) and source.op.name == "relax.astype":
        (operand, *_) = source.children
        if operand.struct_info.dtype == "float16":
            return operand
    return builder.emit(op.astype(value, "float16"))


def with_float16_params(func: Function, names: Sequence[str]) -> Function:
    """A function whose float32 parameters of some names are float16; its operators get them as float32.

    ArgumentError for a parameter of another type.
    """
    new: dict[Var, Var] = {}
    for param in func.params:
        if param.name_hint not in names:
            continue
        info = param.struct_info
        if info.dtype != "float32":
            raise ArgumentError(f"ToMixedPrecision: parameter {param.name_hint} of {info.dtype}, expected float32")
        new[param] = Var(param.name_hint, TensorStructInfo(info.shape, "float16", ndim=info.ndim))
    if not new:
        return func
    wide = {param: Var(param.name_hint, param.struct_info) for param in new}
    casts = [VarBinding(wide[param], op.astype(narrow, "float32")) for param, narrow in new.items()]
    body = Substitution(wide).visit_expr(func.body)
    params = [new.get(param, param) for param in func.params]
    return Function(
        params, SeqExpr([DataflowBlock(casts), *body.blocks], body.body), None, func.is_pure, func.attrs.data
    )


def batch_norm_rules(is_training: bool) -> dict[str, Rule]:
    """The rule that replaces batch norms by sums and products. is_training: whether by the moments of the batch, which
    move the given ones, unless the call itself says `training=False`."""

    def decompose(builder: BlockBuilder, call: Call) -> Expr:
        given = dict(call.attrs)
        data, gamma, beta, *moving = call.children
        shape, dtype = data.struct_info.shape, data.struct_info.dtype
        if shape is None:
            raise UnsupportedError(f"{call!r}: a tensor of unknown shape, expected a known one")
        rank = len(shape)
        others = [d for d in range(rank) if d != given.get("axis", 1) % rank]

        def emit(name: str, *operands: Any) -> Expr:
            return builder.emit(getattr(op, name)(*operands))

        def number(value: float) -> Expr:
            return const(value, dtype)

        def spread(vector: Expr) -> Expr:
            return emit("expand_dims", vector, others) if others else vector

        mean, variance = moments = moving
        if is_training and given.get("training", True):
            mean, variance = emit("mean", data, others), emit("variance", data, others)
            momentum = given.get("momentum", 0.1)
            moments = [
                emit("add", emit("multiply", number(1 - momentum), old), emit("multiply", number(momentum), new))
                for old, new in zip(moving, (mean, variance), strict=True)
            ]
        deviation = emit("sqrt", emit("add", spread(variance), number(given.get("epsilon", 1e-5))))
        result = emit("divide", emit("subtract", data, spread(mean)), deviation)
        if given.get("scale", True):
            result = emit("multiply", result, spread(gamma))
        if given.get("center", True):
            result = emit("add", result, spread(beta))
        return Tuple([result, *moments])

    return {"relax.nn.batch_norm": decompose}
