"""Layouts that users give operators, and those that other operators take over from them: `AlterOpLayout`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ....core.errors import OptionError
from ....operators import Operator
from ....operators.definition import Pattern
from ....operators.layouts import Layout
from ...relay.expr import Call, Expr, Function, Tuple, TupleGetItem
from ...relay.expr import call as new_call
from ...relay.functor import ExprMutator
from ...relay.types import TensorType
from .layouts import in_layout

Rule: TypeAlias = Callable[[Any, Any, Any, Any], Any]
"""As of `relay.op.register_alter_op_layout`."""


def alter_layouts(func: Function, rules: Mapping[str, Rule]) -> Function:
    """A typed graph whose operators have the layouts that rules give them. Operators that compute the same in any
    layout take over the layouts of their operands; changes of layouts stand between operators of different ones.

    rules: by the name of the operator. OptionError for a rule that returns another value than an expression or None.
    """
    return _Alteration(rules).visit(func)


@dataclass(frozen=True)
class _Value:
    """A tensor of the new graph. old: the layout of the tensor that it stands for, None if no operator says it.  new:
    its own layout."""

    expr: Expr
    old: Layout | None = None
    new: Layout | None = None


@dataclass(frozen=True)
class _Inferred:
    """The layouts of the operands and of the result of a call, and the attributes that change with them."""

    operands: Sequence[Layout]
    result: Layout
    changes: Mapping[str, Any]


Layouts: TypeAlias = Sequence[Layout | None]


class _Alteration(ExprMutator):
    """values: the values of nodes of the old graph in layouts of their own.  changed: those in other layouts."""

    def __init__(self, rules: Mapping[str, Rule]):
        super().__init__()
        self.rules = rules
        self.values: dict[Expr, _Value] = {}
        self.changed: dict[tuple[Expr, str, str], Expr] = {}

    def visit_call(self, call: Call) -> Expr:
        plain = super().visit_call(call)
        if not isinstance(call.op, Operator) or not isinstance(plain, Call):
            return plain
        inputs = [self.values.get(arg) or _Value(self.visit(arg)) for arg in call.args]
        value = self._in_layouts(call, inputs)
        if value is None:
            return self._altered(call, list(plain.args)) or plain
        self.values[call] = value
        return self._transform(value.expr, value.new, value.old, call.checked_type)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        if not isinstance(op.tuple_value, Tuple):
            return super().visit_tuple_getitem(op)
        field = op.tuple_value.fields[op.index]
        result = self.visit(field)
        if field in self.values:
            self.values[op] = self.values[field]
        return result

    def _in_layouts(self, call: Call, inputs: Sequence[_Value]) -> _Value | None:
        """The value of a call that takes its operands in their new layouts, None if it takes the old ones."""
        types = [arg.checked_type for arg in call.args]
        if not all(isinstance(each, TensorType) for each in (*types, call.checked_type)):
            return None
        old = _infer(call, None, [each.old for each in inputs], types)
        if old is None:
            return None
        altered = self._altered(call, [each.expr for each in inputs])
        new = altered if altered is not None else Call(call.op, [each.expr for each in inputs], call.attrs)
        if not isinstance(new, Call) or new.op is not call.op or len(new.args) != len(inputs):
            return None
        before = [each.old or known for each, known in zip(inputs, old.operands, strict=True)]
        after = [each.new or known for each, known in zip(inputs, old.operands, strict=True)]
        found = _infer(new, after, before, types)
        if found is None:
            return None
        args = [
            self._between(arg, (given.old, known), (given.new or known, wanted), type)
            for arg, given, known, wanted, type in zip(
                new.args, inputs, old.operands, found.operands, types, strict=True
            )
        ]
        result = new.with_args(args, found.changes)
        result.location = call.location
        return _Value(result, old.result, found.result)

    def _altered(self, call: Call, args: list[Expr]) -> Expr | None:
        """The expression of the rule for a call, None without one."""
        rule = self.rules.get(call.op.name)
        if rule is None:
            return None
        altered = rule(call.attrs, args, [arg.checked_type for arg in call.args], call.checked_type)
        if altered is not None and not isinstance(altered, Expr):
            raise OptionError(f"AlterOpLayout: {call.op.name}: {altered!r}, expected an expression or None")
        return altered

    def _between(
        self, expr: Expr, old: tuple[Layout | None, Layout], new: tuple[Layout, Layout], type: TensorType
    ) -> Expr:
        """An operand in the new layout of its user. old: the old layouts, of its producer and of its user.  new: the
        new ones."""
        if old[0] is None or old[0] == old[1]:
            return self._transform(expr, *new, type)
        return self._transform(self._transform(expr, new[0], old[0], type), old[1], new[1], type)

    def _transform(self, expr: Expr, source: Layout | None, target: Layout | None, type: TensorType) -> Expr:
        """A tensor in another layout. type: of the tensor in the old graph."""
        if source is None or target is None or source == target:
            return expr
        missing = [letter for letter in target.letters if letter not in source.letters]
        if missing and all(size == 1 for size in type.shape):
            return expr
        key = expr, source.text, target.text
        if key not in self.changed:
            wide = expr
            if missing:
                wide = new_call("expand_dims", expr, axis=0, num_newaxis=len(missing))
                source = Layout.of("".join(missing) + source.text)
            self.changed[key] = in_layout(wide, source.text, target.text)
        return self.changed[key]


# The layouts of operators


def _infer(call: Call, new: Layouts | None, old: Layouts, types: Sequence[TensorType]) -> _Inferred | None:
    """The layouts of an operator. None if it has none, or if those of its operands do not determine them.

    new: the new layouts of the operands, None for those of the old graph.  old: the old ones, None where no operator
    says them.  types: of the operands in the old graph.
    """
    name, names = call.op.name, {each.name for each in call.op.attributes}
    if "kernel_layout" in names:
        attrs: Any = call.attrs
        operands = [Layout.of(attrs.data_layout), Layout.of(attrs.kernel_layout)]
        return _Inferred(operands, Layout.of(attrs.out_layout or attrs.data_layout), {})
    rule = _images if "layout" in names and len(types) == 1 else _RULES.get(name)
    if rule is None and not names & {"axis", "axes", "shape", "layout", "newshape"}:
        is_by_element = call.op.pattern is Pattern.ELEMWISE and len(types) == 1
        rule = _same if is_by_element else _broadcast if _is_pair(call) else None
    return None if rule is None else rule(call, new, old, types)


def _is_pair(call: Call) -> bool:
    return call.op.pattern is Pattern.BROADCAST and len(call.args) == 2 and not call.op.name.endswith("_like")


def _first(layouts: Layouts) -> Layout | None:
    return next((each for each in layouts if each is not None), None)


def _images(call: Call, new: Layouts | None, old: Layouts, types: Sequence[TensorType]) -> _Inferred | None:
    """Operators on images, such as pools, which have a layout as an attribute."""
    own = Layout.of(call.attrs.layout)  # pyright: ignore[reportAttributeAccessIssue]
    if getattr(call.attrs, "out_layout", "") not in ("", own.text):
        return None
    if new is None or new[0] is None or sorted(new[0].letters) != sorted(own.letters):
        return _Inferred([own], own, {})
    if any(new[0].block(letter) > 1 for letter in "DHW" if letter in new[0].letters):
        return None
    return _Inferred([new[0]], new[0], {"layout": new[0].text})


def _same(call: Call, new: Layouts | None, old: Layouts, types: Sequence[TensorType]) -> _Inferred | None:
    """Operators by element."""
    layout = _first(old) if new is None else new[0]
    return None if layout is None else _Inferred([layout], layout, {})


def _broadcast(call: Call, new: Layouts | None, old: Layouts, types: Sequence[TensorType]) -> _Inferred | None:
    """Operators on two tensors that broadcast to each other."""
    shapes = [each.shape for each in types]
    large = 0 if len(shapes[0]) >= len(shapes[1]) else 1
    known = list(old)
    if old[0] is None or old[1] is None:
        said = 0 if old[0] is not None else 1
        layout = old[said]
        if layout is None or len(shapes[said]) < len(shapes[1 - said]):
            return None
        known[1 - said] = _last(layout, len(shapes[1 - said]))
    operands = [each for each in known if each is not None]
    if len(operands) < 2:
        return None
    if new is None:
        return _Inferred(operands, operands[large], {})
    given = [each for each in new if each is not None]
    whole = 0 if len(given[0].letters) >= len(given[1].letters) else 1
    part = 1 - whole
    wanted = _alike(operands[part], operands[whole], given[whole])
    if wanted is None:
        return None
    operands[whole], operands[part] = given[whole], _with_ones(wanted, operands[part], shapes[part])
    return _Inferred(operands, given[large], {})


def _last(layout: Layout, count: int) -> Layout | None:
    """The layout of the last axes, None if these are blocks of other axes."""
    axes = layout.axes[len(layout.axes) - count :]
    return None if {letter for letter, factor in axes if factor} - _whole(axes) else _layout(axes)


def _whole(axes: Sequence[tuple[str, int | None]]) -> set[str]:
    return {letter for letter, factor in axes if factor is None}


def _layout(axes: Sequence[tuple[str, int | None]]) -> Layout:
    return Layout.of("".join(letter if factor is None else f"{factor}{letter.lower()}" for letter, factor in axes))


def _alike(part: Layout, old: Layout, new: Layout) -> Layout | None:
    """The layout of a tensor that broadcasts to another one whose layout has changed. None if the tensors are not seen
    in the same dimensions."""
    if not part.axes:
        return part
    rest = old.axes[: len(old.axes) - len(part.axes)]
    is_same = len(part.axes) <= len(old.axes) and old.axes[len(rest) :] == part.axes
    return new if is_same and not {letter for letter, _ in rest} & set(part.letters) else None


def _with_ones(layout: Layout, old: Layout, shape: Sequence[Any]) -> Layout:
    """A layout whose blocks have one element where a tensor has one, or no such dimension."""
    sizes = dict(zip(old.axes, shape, strict=True))
    axes = [
        (letter, 1)
        if factor is not None and (letter not in old.letters or (sizes[letter, None] == 1 and old.block(letter) == 1))
        else (letter, factor)
        for letter, factor in layout.axes
    ]
    return _layout(axes)


def _joined(call: Call, new: Layouts | None, old: Layouts, types: Sequence[TensorType]) -> _Inferred | None:
    """Concatenations."""
    axis = call.attrs.axis % len(types[0].shape)  # pyright: ignore[reportAttributeAccessIssue]
    known = _first(old)
    if known is None or len(known.axes) <= axis or known.axes[axis][1] is not None:
        return None
    if new is None or new[0] is None or any(each != new[0] for each in new):
        return _Inferred([known] * len(types), known, {})
    place = new[0].axes.index((known.axes[axis][0], None))
    return _Inferred([new[0]] * len(types), new[0], {"axis": place} if place != axis else {})


def _padded(call: Call, new: Layouts | None, old: Layouts, types: Sequence[TensorType]) -> _Inferred | None:
    """Paddings of dimensions without blocks."""
    known = _first(old)
    if known is None or len(known.axes) != len(types[0].shape):
        return None
    if new is None or new[0] is None or new[0] == known:
        return _Inferred([known], known, {})
    widths = dict(zip(known.axes, call.attrs.pad_width, strict=True))  # pyright: ignore[reportAttributeAccessIssue]
    divided = {letter for letter in new[0].letters if new[0].block(letter) > 1 or known.block(letter) > 1}
    if any(any(widths[letter, None]) for letter in divided):
        return None
    around = [(0, 0) if factor is not None else widths[letter, None] for letter, factor in new[0].axes]
    return _Inferred([new[0]], new[0], {"pad_width": around})


def _reduced(call: Call, new: Layouts | None, old: Layouts, types: Sequence[TensorType]) -> _Inferred | None:
    """Reductions along axes."""
    known, attrs = _first(old), call.attrs
    axis: Any = attrs.axis  # pyright: ignore[reportAttributeAccessIssue]
    rank = len(types[0].shape)
    if known is None or axis is None or len(known.axes) != rank or known.text != known.letters:
        return None
    letters = {known.letters[each % rank] for each in ([axis] if isinstance(axis, int) else axis)}
    layout = known if new is None or new[0] is None else new[0]
    gone = set(known.letters) - letters if attrs.exclude else letters  # pyright: ignore[reportAttributeAccessIssue]
    keeps: bool = attrs.keepdims  # pyright: ignore[reportAttributeAccessIssue]
    kept = [(letter, 1 if factor and letter in gone else factor) for letter, factor in layout.axes]
    result = _layout([each for each in kept if keeps or each[0] not in gone])
    places = [n for n, (letter, _) in enumerate(layout.axes) if letter in letters]
    return _Inferred([layout], result, {} if layout == known else {"axis": places})


def _cut(call: Call, new: Layouts | None, old: Layouts, types: Sequence[TensorType]) -> _Inferred | None:
    """Slices whose bounds are multiples of the blocks."""
    known, attrs = _first(old), call.attrs
    begin, end, strides, axes = (getattr(attrs, each) for each in ("begin", "end", "strides", "axes"))
    if known is None or len(known.axes) != len(types[0].shape) or known.text != known.letters:
        return None
    if new is None or new[0] is None or new[0] == known:
        return _Inferred([known], known, {})
    rank = len(types[0].shape)
    letters = [known.letters[each % rank] for each in (range(len(begin)) if axes is None else axes)]
    steps = [1] * len(begin) if strides is None else list(strides)
    bounds: dict[str, tuple[int, int, int]] = {}
    for letter, first, last, step in zip(letters, begin, end, steps, strict=False):
        block, size = new[0].block(letter), types[0].shape[known.letters.index(letter)]
        if block > 1:
            if not isinstance(size, int) or step != 1 or first % block or (last % block and last < size) or last < 0:
                return None
            first, last = first // block, -(-min(last, size) // block)
        bounds[letter] = first, last, step
    places = [new[0].axes.index((letter, None)) for letter in letters]
    if axes is None and places != list(range(len(places))):
        return None
    parts = list(bounds.values())
    changes = {"begin": [each[0] for each in parts], "end": [each[1] for each in parts]}
    return _Inferred([new[0]], new[0], changes if axes is None else {**changes, "axes": places})


_RULES: dict[str, Callable[..., _Inferred | None]] = {
    "concatenate": _joined,
    "nn.pad": _padded,
    **dict.fromkeys(("sum", "mean", "max", "min", "prod", "variance"), _reduced),
    "strided_slice": _cut,
}
"""The layouts of operators with axes by their name."""
