"""The operators of `relay` under their names in `R`: `R.permute_dims(x, axes=[1, 0])` is `transpose`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ...core.diagnostics import did_you_mean
from ...expressions.errors import TeError
from ..definition import OPERATORS
from ..relay import ConstantOp, OperatorOp, RelayBuilder, Size, shape_of
from .composites import COMPOSITES, product_equation, reshape_codes

Values: TypeAlias = Sequence[SSAValue]
Arguments: TypeAlias = "dict[str, Any]"
"""The arguments of a call by name: tensors, tuples of tensors, and values of attributes; a symbolic size is text."""


@dataclass(frozen=True)
class Spelling:
    """A word of `R` for an operator.

    operands: the parameters that are tensors; those of a variadic operator are a tuple.  attributes: the parameters
    that are attributes, in order, each with its name in the operator.  implied: the attributes that the word implies.
    """

    name: str
    operator: str
    operands: tuple[str, ...]
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    implied: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_variadic(self) -> bool:
        """Whether the operator takes a tuple of tensors."""
        return OPERATORS[self.operator].variadic

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, in order."""
        return (*self.operands, *self.attributes)


SPELLINGS: dict[str, Spelling] = {}
"""The words by name: `nn.softmax`."""


def _add(name: str, operator: str, operands: str, attributes: str = "", **implied: Any) -> None:
    """Adds a word. attributes: names, `name:attribute` where the operator has another name."""
    pairs = (each.partition(":") for each in attributes.split())
    names = {name: attribute or name for name, _, attribute in pairs}
    SPELLINGS[name] = Spelling(name, operator, tuple(operands.split()), names, implied)


for _name in (
    "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf exp floor isfinite isinf isnan log logical_not"
    " negative round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc ones_like zeros_like"
).split():
    _add(_name, _name, "x")
for _name in (
    "add subtract multiply divide floor_divide mod floor_mod maximum minimum power atan2 left_shift right_shift"
    " bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor equal not_equal less less_equal greater"
    " greater_equal"
).split():
    _add(_name, _name, "x1 x2")
for _name in "sum prod max min mean variance".split():
    _add(_name, _name, "x", "axis keepdims")
for _name in "relu silu softplus selu".split():
    _add(f"nn.{_name}", f"nn.{_name}", "data")
for _name in "softmax log_softmax".split():
    _add(f"nn.{_name}", f"nn.{_name}", "data", "axis")
for _rank in (1, 2, 3):
    _add(
        f"nn.conv{_rank}d",
        f"nn.conv{_rank}d",
        "data weight",
        "strides padding dilation groups data_layout kernel_layout out_layout out_dtype",
    )
    _add(
        f"nn.conv{_rank}d_transpose",
        f"nn.conv{_rank}d_transpose",
        "data weight",
        "strides padding output_padding dilation groups data_layout kernel_layout out_layout out_dtype",
    )
    _pool = "pool_size strides padding dilation ceil_mode"
    _add(f"nn.max_pool{_rank}d", f"nn.max_pool{_rank}d", "data", f"{_pool} layout skip_padding")
    _add(f"nn.avg_pool{_rank}d", f"nn.avg_pool{_rank}d", "data", f"{_pool} count_include_pad layout skip_padding")
    _add(f"nn.adaptive_avg_pool{_rank}d", f"nn.adaptive_avg_pool{_rank}d", "data", "output_size layout")

_add("nn.gelu", "nn.gelu", "data")
_add("nn.gelu_tanh", "nn.gelu", "data", approximate="tanh")
_add("nn.leakyrelu", "nn.leaky_relu", "data", "alpha")
_add("nn.prelu", "nn.prelu", "data alpha", "axis")
_add("nn.batch_flatten", "nn.batch_flatten", "data")
_norm = "data gamma beta"
_add("nn.layer_norm", "nn.layer_norm", _norm, "axes:axis epsilon center scale")
_add("nn.rms_norm", "nn.rms_norm", "data weight", "axes:axis epsilon")
_add("astype", "cast", "x", "dtype")
_add("clip", "clip", "x", "min:a_min max:a_max")
_add("permute_dims", "transpose", "x", "axes")
_add("expand_dims", "expand_dims", "x", "axis")
_add("squeeze", "squeeze", "x", "axis")
_add("broadcast_to", "broadcast_to", "x", "shape")
_add("concat", "concatenate", "tensors", "axis")
_add("stack", "stack", "tensors", "axis")
_add("split", "split", "x", "indices_or_sections axis")
_add("flip", "reverse", "data", "axis")
_add("repeat", "repeat", "data", "repeats axis")
_add("tile", "tile", "data", "repeats:reps")
_add("strided_slice", "strided_slice", "x", "axes begin end strides")
_add("take", "take", "x indices", "axis mode")
_add("where", "where", "condition x1 x2")
_add("full", "full", "", "shape fill_value dtype")
_add("zeros", "zeros", "", "shape dtype")
_add("ones", "ones", "", "shape dtype")
_add("full_like", "full_like", "x", "fill_value")
_add("arange", "arange", "", "start end:stop step dtype")
_add("tril", "trilu", "x", "k", upper=False)
_add("triu", "trilu", "x", "k")
_add("cumsum", "cumsum", "data", "axis dtype exclusive")
_add("cumprod", "cumprod", "data", "axis dtype exclusive")
_add("sort", "sort", "data", "axis")
_add("eye", "eye", "", "n:rows m:columns k dtype")
_add("scatter_elements", "scatter_elements", "data indices updates", "axis reduction")
_add("gather_elements", "gather", "data indices", "axis")
_add("einsum", "einsum", "operands", "subscripts:equation")
_add("image.grid_sample", "image.grid_sample", "data grid", "method layout padding_mode align_corners")
_add("image.affine_grid", "image.affine_grid", "data", "size:target_shape align_corners")
_add("collapse_sum_like", "collapse_sum_like", "data collapse_target")
_add("collapse_sum_to", "collapse_sum_to", "data", "shape")
_add("reverse_sequence", "reverse_sequence", "data seq_lengths", "seq_axis batch_axis")
_add(
    "vision.roi_align",
    "vision.roi_align",
    "data rois",
    "pooled_size spatial_scale sample_ratio aligned layout mode",
)
_add("vision.roi_pool", "vision.roi_pool", "data rois", "pooled_size spatial_scale layout")
_add("quantize", "qnn.quantize", "data scale zero_point", "axis out_dtype", ties="even")
_add("dequantize", "qnn.dequantize", "data scale zero_point", "axis out_dtype")
for _rank in (2, 3):
    _add(
        f"image.resize{_rank}d",
        f"image.resize{_rank}d",
        "data",
        "size roi layout method coordinate_transformation_mode rounding_method cubic_alpha cubic_exclude"
        " extrapolation_value out_dtype",
    )


OWN_PREFIX = "relay."
"""The prefix of the words for all operators under their own names: `R.relay.nn.dense(x, w)`."""


def all_words() -> Iterable[str]:
    """The words for operators, those with the operators' own names included."""
    return [*SPELLINGS, *COMPOSITES, *(OWN_PREFIX + name for name in OPERATORS)]


def spelling_of_word(name: str) -> Spelling:
    """The spelling of a word, other than a composite. TeError for an unknown word."""
    if name in SPELLINGS:
        return SPELLINGS[name]
    own = name.removeprefix(OWN_PREFIX)
    if own == name or own not in OPERATORS:
        raise TeError(f"no operator {name!r}{did_you_mean(name, all_words())}")
    operator = OPERATORS[own]
    return Spelling(name, own, operator.operands, {each.name: each.name for each in operator.attributes})


def build_known_word(builder: RelayBuilder, name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Values:
    """The results of the operators of `R.name(*args, **keywords)` on tensors of known rank and data type, inserted by a
    builder.

    Raises TeError for an unknown word, and for arguments that do not match it.
    """
    keywords = {key: value for key, value in keywords.items() if (key, value) not in _NOT_GIVEN}
    if name in COMPOSITES:
        return _build_composite(builder, name, args, keywords)
    out_layout = keywords.pop("out_layout", None) if name in _POOLS else None
    spelling = spelling_of_word(name)
    arguments = _bind(spelling, args, keywords)
    operands: list[SSAValue] = []
    for operand in spelling.operands:
        if operand not in arguments:
            raise TeError(f"{name}: no argument {operand!r}, expected a tensor")
        value = arguments.pop(operand)
        operands += list(value) if spelling.is_variadic and isinstance(value, list | tuple) else [value]
    for operand in operands:
        _require_tensor(name, operand)
    attributes = {spelling.attributes[each]: _value(spelling, each, value) for each, value in arguments.items()}
    present = {attribute: value for attribute, value in attributes.items() if value is not None}
    results = builder.operators(spelling.operator, *operands, **{**spelling.implied, **present})
    return results if out_layout is None else _in_layout(builder, results[0], out_layout)


def _in_layout(builder: RelayBuilder, pooled: SSAValue, layout: str) -> Values:
    """The result of a pool in another layout."""
    assert isinstance(pooled.owner, OperatorOp)
    source = pooled.owner.attribute_value("layout")
    if source == layout:
        return [pooled]
    return builder.operators("layout_transform", pooled, src_layout=source, dst_layout=layout)


def _require_tensor(name: str, value: Any) -> None:
    """TeError for an operand that is no tensor of known rank and data type."""
    if not isinstance(value, SSAValue) or not isinstance(value.type, TensorType):
        got = f"a value of type {value.type}" if isinstance(value, SSAValue) else repr(value)
        raise TeError(f"{name}: {got}, expected a tensor of known rank and data type")


def _build_composite(builder: RelayBuilder, name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Values:
    build = COMPOSITES[name]
    parameters = inspect.signature(build).parameters
    for parameter, value in [*zip([*parameters][1:], args, strict=False), *keywords.items()]:
        if parameter in parameters and parameters[parameter].annotation == "SSAValue":
            _require_tensor(name, value)
    try:
        return build(builder, *args, **keywords)
    except TypeError as error:
        raise TeError(f"{name}: {str(error).partition('() ')[2] or error}") from None


def _bind(spelling: Spelling, args: Sequence[Any], keywords: Mapping[str, Any]) -> Arguments:
    names = spelling.parameters
    if len(args) > len(names):
        raise TeError(f"{spelling.name}: {len(args)} arguments, expected at most {len(names)}")
    arguments = dict(zip(names, args, strict=False))
    for name, value in keywords.items():
        if name in arguments:
            raise TeError(f"{spelling.name}: two arguments {name!r}")
        if name in names:
            arguments[name] = value
        elif (spelling.name, name) not in _IGNORED:
            hint = f"{did_you_mean(name, names)} (has: {', '.join(names)})"
            raise TeError(f"{spelling.name}: no argument {name!r}{hint}")
    return arguments


_NOT_GIVEN = (("out_dtype", "void"), ("dtype", "void"), ("out_layout", ""))
"""The arguments of v0.11 to v0.17 that stand for the default."""
_POOLS = {f"nn.{kind}_pool{rank}d" for kind in ("max", "avg", "adaptive_avg") for rank in (1, 2, 3)}
"""The words with an `out_layout` that their operators lack."""
_IGNORED = {
    *((f"nn.max_pool{rank}d", "count_include_pad") for rank in (1, 2, 3)),
    ("strided_slice", "assume_inbound"),
}
"""The (word, parameter) pairs without an effect on the result at inference."""


def _value(spelling: Spelling, parameter: str, value: Any) -> Any:
    """The value of an attribute: the number of a constant, the only item of a list where a number is expected."""
    if isinstance(value, SSAValue):
        number = value.owner.number if isinstance(value.owner, ConstantOp) else None
        if number is None:
            raise TeError(f"{spelling.name}: a tensor as {parameter}, expected a constant")
        return number
    is_single = isinstance(value, list | tuple) and len(value) == 1  # pyright: ignore[reportUnknownArgumentType]
    if is_single and spelling.attributes[parameter] == "axis" and spelling.operator in _SINGLE_AXIS:
        return value[0]  # pyright: ignore[reportUnknownVariableType]
    if spelling.operator == "tile" and isinstance(value, int):
        return [value]
    if parameter == "mode" and value == "fast":
        return "clip"
    return value  # pyright: ignore[reportUnknownVariableType]


_SINGLE_AXIS = ("nn.layer_norm", "nn.rms_norm", "expand_dims", "reverse")
"""The operators with one axis, of which `R` takes a list."""


# Printing


def spell(op: OperatorOp) -> tuple[str, list[SSAValue], dict[str, Any], bool]:
    """The word of an operator, its operands, its attributes by parameter, and whether the operands are a tuple.

    `build_known_word` of the result builds an equal operator.
    """
    attributes = op.explicit_attributes
    composite = _spell_composite(op, attributes)
    if composite is not None:
        return composite[0], list(op.args), composite[1], False
    for spelling in _SPELLINGS_OF.get(op.operator.name, ()):
        names = {attribute: name for name, attribute in spelling.attributes.items()}
        others = {name: value for name, value in attributes.items() if name not in spelling.implied}
        implied = {name: attributes.get(name, op.attribute_value(name)) for name in spelling.implied}
        required = _EXPLICIT.get(spelling.name, set[str]())
        if implied == spelling.implied and required <= others.keys() <= names.keys():
            arguments = {names[name]: _printed(spelling, name, value) for name, value in others.items()}
            return spelling.name, list(op.args), arguments, spelling.is_variadic
    return OWN_PREFIX + op.operator.name, list(op.args), attributes, op.operator.variadic


_EXPLICIT = {"full": {"shape", "dtype"}}
"""The attributes that a word makes explicit: operators that have them by default are printed under their own names."""


def _printed(spelling: Spelling, attribute: str, value: Any) -> Any:
    is_list = attribute == "axis" and spelling.operator in _SINGLE_AXIS[:2]
    return (value,) if is_list else value


def _spell_composite(op: OperatorOp, attributes: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    name = op.operator.name
    if (name == "nn.matmul" and not attributes) or (name == "nn.batch_matmul" and attributes == {"transpose_b": False}):
        return "matmul", {}
    if name == "einsum" and _is_product(op):
        return "matmul", {}
    if name in ("nn.batch_norm", "nn.batch_norm_training"):
        axis = {"axis": op.attribute_value("axis")}
        return "nn.batch_norm", {**axis, **attributes, **({} if name.endswith("training") else {"training": False})}
    if name == "reshape":
        source, shape = shape_of(op.args[0]), shape_of(op.outputs[0])
        if _has_codes(source, shape, attributes["newshape"]):
            return "reshape", {"shape": shape}
    return None


def _is_product(op: OperatorOp) -> bool:
    """Whether the word of products of matrices builds an `einsum`."""
    ranks = [len(shape_of(operand)) for operand in op.args]
    if len(ranks) != 2 or 0 in ranks or ranks in ([2, 2], [3, 3]):
        return False
    return op.attribute_value("equation") == product_equation(*ranks)


def _has_codes(source: Sequence[Size], shape: Sequence[Size], codes: Sequence[int]) -> bool:
    """Whether a shape is read as these codes."""
    try:
        return 0 not in shape and reshape_codes(source, shape) == list(codes)
    except TeError:
        return False


_SPELLINGS_OF: dict[str, list[Spelling]] = {}
for _spelling in SPELLINGS.values():
    _SPELLINGS_OF.setdefault(_spelling.operator, []).append(_spelling)
for _spellings in _SPELLINGS_OF.values():
    _spellings.sort(key=lambda spelling: -len(spelling.implied))
