"""The stages of random programs: the computations of their blocks.

Each stage adds a buffer to a function, the result of one or more blocks: pointwise, copies, stencils, transposed and
strided reads, broadcasts, reductions of several kinds, also without an axis, products, padding, gathers; blocks that
update the results of other blocks, that read the elements they overwrite, with a predicate, with several results, with
nested blocks and views.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .choices import Choices, flag, pick
from .nests import Extent, Nest, NestWriter, axes, indent


@dataclass(frozen=True)
class BufferText:
    """A buffer. dtype: None for the data type of the function."""

    name: str
    shape: tuple[Extent, ...]
    dtype: str | None = None


@dataclass
class StageWriter:
    """A function under construction.

    known: the readable buffers, latest last.  index: the data type of loops and sizes.  plain: whether each axis is
    bound to a loop of its own.  has_scalar_size: whether the symbolic size `n` is a scalar parameter.
    """

    choices: Choices
    dtype: str
    index: str
    is_symbolic: bool
    plain: bool
    parameters: list[BufferText] = field(default_factory=list[BufferText])
    known: list[BufferText] = field(default_factory=list[BufferText])
    allocated: list[BufferText] = field(default_factory=list[BufferText])
    lines: list[str] = field(default_factory=list[str])
    has_indices: bool = False
    has_scalar_size: bool = False

    @property
    def nests(self) -> NestWriter:
        return NestWriter(self.choices, self.index, plain=self.plain)

    def literal(self, number: int) -> str:
        return f"T.{self.dtype}({number})"

    def add(self, nest: Nest) -> None:
        self.lines += self.nests.lines(nest)

    def source(self) -> BufferText:
        """A buffer to read, preferably the latest."""
        return pick(self.choices, [self.known[-1], *reversed(self.known)])

    def define(self, name: str, shape: tuple[Extent, ...], is_last: bool, dtype: str | None = None) -> BufferText:
        """Defines a buffer: a parameter if it is the result, and occasionally otherwise."""
        buffer = BufferText(name, shape, dtype)
        (self.parameters if is_last or flag(self.choices, 6) else self.allocated).append(buffer)
        return buffer


def shape_text(func: StageWriter, shape: tuple[Extent, ...]) -> str:
    return f"({', '.join(func.nests.number(extent) for extent in shape)},)"


def _element(name: str, indices: list[str]) -> str:
    return f"{name}[{', '.join(indices)}]"


def _load(func: StageWriter, source: BufferText, names: list[str], shape: tuple[Extent, ...]) -> str:
    """A read of a buffer, in bounds. Each dimension is indexed by an axis of fitting extent, shifted within the bounds,
    or by a constant."""
    return _element(source.name, [_index(func, n, extent, names, shape) for n, extent in enumerate(source.shape)])


def _index(func: StageWriter, dimension: int, extent: Extent, names: list[str], shape: tuple[Extent, ...]) -> str:
    if isinstance(extent, str):
        same = [n for n, s in enumerate(shape) if s == extent]
        return names[same[0]] if same else "0"
    fitting = [n for n, s in enumerate(shape) if isinstance(s, int) and s <= extent]
    if not fitting:
        return "0" if not shape else f"{names[dimension % len(shape)]} % {extent}"
    n = dimension if dimension in fitting and not flag(func.choices, 4) else pick(func.choices, fitting)
    size = shape[n]
    assert isinstance(size, int)
    return _shift_index(func, names[n], size, extent)


def _shift_index(func: StageWriter, axis: str, size: int, extent: int) -> str:
    shift = func.choices.integer(0, extent - size)
    if size * 2 - 1 <= extent and flag(func.choices, 3):
        return f"{axis} * 2"
    if flag(func.choices, 8):
        return f"{extent - 1} - {axis}"
    if flag(func.choices, 8):
        return f"{axis} // 2"
    return axis if shift == 0 else f"{axis} + {shift}"


# The stages


def _pointwise(func: StageWriter, name: str, is_last: bool) -> None:
    shape = func.source().shape
    names = axes(len(shape))
    value = f"{_load(func, func.source(), names, shape)} * {func.literal(2)} + {func.literal(1)}"
    if flag(func.choices):
        value = f"{value} + {_load(func, func.source(), names, shape)}"
    target = func.define(name, shape, is_last)
    func.add(Nest(name, shape, body=[f"{_element(name, names)} = {value}"], is_parallel=True))
    func.known.append(target)


def _copy(func: StageWriter, name: str, is_last: bool) -> None:
    shape = func.source().shape
    names = axes(len(shape))
    body = [f"{_element(name, names)} = {_load(func, func.source(), names, shape)}"]
    target = func.define(name, shape, is_last)
    func.add(Nest(name, shape, body=body, is_parallel=True))
    func.known.append(target)


def _sum_of_one(func: StageWriter, name: str, is_last: bool) -> None:
    """A reduction without a reduction axis, and usually a copy of it."""
    shape = func.source().shape
    names = axes(len(shape))
    copies = not flag(func.choices, 4)
    target = func.define(f"{name}_sum" if copies else name, shape, is_last and not copies)
    element = _element(target.name, names)
    body = [f"{element} = {element} + {_load(func, func.source(), names, shape)}"]
    init = [f"{element} = {func.literal(3)}"]
    func.add(Nest(target.name, shape, body=body, init=init, is_parallel=True))
    func.known.append(target)
    if copies:
        _copy(func, name, is_last)


def _stencil(func: StageWriter, name: str, is_last: bool) -> None:
    source = func.source()
    first = source.shape[0]
    shape = (max(first - func.choices.integer(1, 2), 1) if isinstance(first, int) else first, *source.shape[1:])
    names = axes(len(shape))
    reads = [_load(func, source, names, shape) for _ in range(func.choices.integer(2, 3))]
    target = func.define(name, shape, is_last)
    func.add(Nest(name, shape, body=[f"{_element(name, names)} = {' + '.join(reads)}"], is_parallel=True))
    func.known.append(target)


def _reduction(func: StageWriter, name: str, is_last: bool) -> None:
    source = func.source()
    keep = func.choices.integer(0, len(source.shape) - 1)
    kept = source.shape[keep] if len(source.shape) > 1 or flag(func.choices) else 3
    spatial: tuple[Extent, ...] = (kept,)
    reduced = tuple(e for n, e in enumerate(source.shape) if n != keep) or source.shape
    names = axes(len(spatial) + len(reduced))
    shape = spatial + reduced
    value = _load(func, source, names, shape)
    if flag(func.choices):
        value = f"{value} * {_load(func, func.source(), names, shape)}"
    target = func.define(name, spatial, is_last)
    element = _element(name, names[: len(spatial)])
    operator, zero = pick(func.choices, [("+", 0), ("max", -100), ("min", 100)])
    combined = f"{element} + {value}" if operator == "+" else f"T.{operator}({element}, {value})"
    func.add(Nest(name, spatial, reduced, [f"{element} = {combined}"], [f"{element} = {func.literal(zero)}"]))
    func.known.append(target)


def _biased_sum(func: StageWriter, name: str, is_last: bool) -> None:
    """A sum, and a block that adds a term to it."""
    source = func.source()
    spatial, reduced = source.shape[:1], source.shape[-1:]
    total = BufferText(f"{name}_sum", spatial)
    func.allocated.append(total)
    names = axes(2)
    element = f"{total.name}[vi]"
    body = [f"{element} = {element} + {_load(func, source, names, (*spatial, *reduced))}"]
    func.add(Nest(total.name, spatial, reduced, body, [f"{element} = {func.literal(func.choices.integer(0, 1))}"]))
    target = func.define(name, spatial, is_last)
    terms = [element, _load(func, func.source(), names[:1], spatial)]
    value = " + ".join(terms if flag(func.choices) else terms[::-1])
    func.add(Nest(name, spatial, body=[f"{name}[vi] = {value}"], is_parallel=True))
    func.known.append(target)


def _cascade(func: StageWriter, name: str, is_last: bool) -> None:
    """A block and a consumer of overlapping windows of its results."""
    source = func.source()
    size, width = func.choices.integer(2, 4) * 2, func.choices.integer(1, 2)
    first = BufferText(f"{name}_first", (size + width,))
    func.allocated.append(first)
    value = f"{_load(func, source, axes(1), first.shape)} + {func.literal(1)}"
    func.add(Nest(first.name, first.shape, body=[f"{first.name}[vi] = {value}"], is_parallel=True))
    target = func.define(name, (size,), is_last)
    body = [f"{name}[vi] = {first.name}[vi] * {func.literal(2)} + {first.name}[vi + {width}]"]
    func.add(Nest(name, (size,), body=body, is_parallel=True))
    func.known.append(target)


def _product(func: StageWriter, name: str, is_last: bool) -> None:
    """A matrix product whose operands are indexed by the axes themselves."""
    source = func.source()
    rows, inner = source.shape[0], source.shape[-1]
    left = BufferText(f"{name}_left", (rows, inner))
    right = BufferText(f"{name}_right", (inner, func.choices.integer(2, 4)))
    func.parameters += [left, right]
    spatial = (rows, right.shape[1])
    element = f"{name}[vi, vj]"
    value = f"{left.name}[vi, vk] * {right.name}[vk, vj]"
    target = func.define(name, spatial, is_last)
    body, init = [f"{element} = {element} + {value}"], [f"{element} = {func.literal(0)}"]
    func.add(Nest(name, spatial, (inner,), body, init))
    func.known.append(target)


def _argmax(func: StageWriter, name: str, is_last: bool) -> None:
    """The maximum of unequal keys, and its position."""
    source = func.source()
    spatial, reduced = source.shape[:1], source.shape[-1:]
    names = axes(2)
    key = f'T.Cast("int32", {_load(func, source, names, (*spatial, *reduced))}) * 32 + T.Cast("int32", vj)'
    where, most = (func.define(f"{name}{end}", spatial, is_last, "int32") for end in ("_at", ""))
    init = [f"{where.name}[vi] = -1", f"{most.name}[vi] = -100000"]
    body = [
        f'at: T.int32 = T.Select({most.name}[vi] >= {key}, {where.name}[vi], T.Cast("int32", vj))',
        f"key: T.int32 = T.Select({most.name}[vi] >= {key}, {most.name}[vi], {key})",
        f"{where.name}[vi] = at",
        f"{most.name}[vi] = key",
    ]
    func.add(Nest(name, spatial, reduced, body, init))


def _sums(func: StageWriter, name: str, is_last: bool) -> None:
    """A block with two results: two reductions, or two pointwise values."""
    source = func.source()
    spatial, reduced = source.shape[:1], source.shape[1:]
    names = axes(len(source.shape))
    value = _element(source.name, names)
    one, two = (func.define(f"{name}{end}", spatial, is_last) for end in ("", "_more"))
    first, second = f"{one.name}[vi]", f"{two.name}[vi]"
    if reduced:
        body = [f"{first} = {first} + {value}", f"{second} = T.max({second}, {value})"]
        init = [f"{first} = {func.literal(0)}", f"{second} = {func.literal(-100)}"]
    else:
        body, init = [f"{first} = {value}", f"{second} = {value} - {func.literal(1)}"], []
    func.add(Nest(name, spatial, reduced, body, init))
    func.known += [two, one]


def _fill_and_update(func: StageWriter, name: str, is_last: bool) -> None:
    """A buffer filled by one block and updated in place by another block."""
    source = func.source()
    shape = source.shape
    names = axes(len(shape))
    target = func.define(name, shape, is_last)
    element = _element(name, names)
    fill = [f"{element} = {_load(func, source, names, shape)}"]
    func.add(Nest(f"{name}_fill", shape, body=fill, is_parallel=True))
    is_pointwise = not flag(func.choices, 3)
    other = element if is_pointwise else _load(func, target, names, shape)
    update = [f"{element} = {other} * {func.literal(3)} - {func.literal(1)}"]
    func.add(Nest(name, shape, body=update, is_parallel=is_pointwise))
    func.known.append(target)


def _steps(func: StageWriter, name: str, is_last: bool) -> None:
    """A stencil in time: each row is computed from the previous row."""
    width = func.choices.integer(3, 5)
    target = func.define(name, (4, width), is_last)
    func.add(Nest(f"{name}_first", (width,), body=[f"{name}[0, vi] = {func.literal(1)}"]))
    func.add(Nest(f"{name}_rest", (4, width), body=[f"{name}[vi, vj] = {func.literal(2)}"], where="{0} >= 1"))
    left, right = func.choices.integer(0, 1), func.choices.integer(1, 2)
    value = f"{name}[vi, vj + {left}] + {name}[vi, vj + {right}]"
    func.add(Nest(name, (3, width - 2), body=[f"{name}[vi + 1, vj + 1] = {value}"], in_order=True))
    if flag(func.choices):
        read = _load(func, func.source(), ["vi"], (width,))
        func.add(Nest(f"{name}_add", (width,), body=[f"{name}[1, vi] = {name}[1, vi] + {read}"]))
    func.known.append(target)


def _scan(func: StageWriter, name: str, is_last: bool) -> None:
    """Prefix sums in place."""
    source = func.source()
    shape = source.shape
    names = axes(len(shape))
    target = func.define(name, shape, is_last)
    element = _element(name, names)
    func.add(Nest(f"{name}_fill", shape, body=[f"{element} = {_element(source.name, names)}"], is_parallel=True))
    if isinstance(shape[0], int) and shape[0] > 1:
        front, own = _element(name, names), _element(name, [f"{names[0]} + 1", *names[1:]])
        func.add(Nest(name, (shape[0] - 1, *shape[1:]), body=[f"{own} = {own} + {front}"], in_order=True))
    func.known.append(target)


def _padding(func: StageWriter, name: str, is_last: bool) -> None:
    source = func.source()
    before, after = func.choices.integer(0, 1), func.choices.integer(1, 2)
    padded = [n for n, e in enumerate(source.shape) if isinstance(e, int) and not (n and flag(func.choices, 3))]
    shape, inside = list(source.shape), []
    names = axes(len(shape))
    indices = list(names)
    for n in padded:
        extent = source.shape[n]
        assert isinstance(extent, int)
        shape[n] = extent + before + after
        inside += [f"{before} <= {names[n]}"] if before else []
        inside += [f"{names[n]} < {extent + before}"]
        indices[n] = f"{names[n]} - {before}" if before else names[n]
    target = func.define(name, tuple(shape), is_last)
    value = _element(source.name, indices)
    if inside:
        value = f"T.if_then_else({' and '.join(inside)}, {value}, {func.literal(0)})"
    func.add(Nest(name, tuple(shape), body=[f"{_element(name, names)} = {value}"], is_parallel=True))
    func.known.append(target)


def _gather(func: StageWriter, name: str, is_last: bool) -> None:
    """A read at an index loaded from another buffer, unknown to every analysis."""
    source = func.source()
    func.has_indices = True
    rest = "".join(", 0" for _ in source.shape[1:])
    target = func.define(name, (8,), is_last)
    extent = source.shape[0] if isinstance(source.shape[0], int) else 2
    func.add(Nest(name, (8,), body=[f"{name}[vi] = {source.name}[index[vi] % {extent}{rest}]"], is_parallel=True))
    func.known.append(target)


def _guard(func: StageWriter, name: str, is_last: bool) -> None:
    """A block with a predicate, preceded by a block that fills the buffer."""
    source = func.source()
    shape = source.shape
    names = axes(len(shape))
    target = func.define(name, shape, is_last)
    element = _element(name, names)
    func.add(Nest(f"{name}_fill", shape, body=[f"{element} = {func.literal(5)}"], is_parallel=True))
    most = shape[0] if isinstance(shape[0], int) else 2
    body = [f"{element} = {_load(func, source, names, shape)}"]
    func.add(Nest(name, shape, body=body, where=f"{{0}} < {func.choices.integer(1, most)}"))
    func.known.append(target)


def _triangle(func: StageWriter, name: str, is_last: bool) -> None:
    """The lower triangle of a matrix, by a loop whose extent depends on the outer loop."""
    source = func.source()
    size = func.choices.integer(2, 4)
    shape = (size, size)
    target = func.define(name, shape, is_last)
    func.add(Nest(f"{name}_fill", shape, body=[f"{name}[vi, vj] = {func.literal(0)}"], is_parallel=True))
    number = func.nests.number
    least = func.choices.integer(0, 1)
    func.lines += [
        f"for i in range({number(size)}):",
        f"    for j in range({number(least)}, i + 1):",
        f'        with T.block("{name}"):',
        f"            vi = T.axis.spatial({number(size)}, i)",
        f"            vj = T.axis.spatial({number(size)}, j)",
        f"            {name}[vi, vj] = {_load(func, source, axes(2), shape)}",
    ]
    func.known.append(target)


def _rows(func: StageWriter, name: str, is_last: bool) -> None:
    """A producer and a consumer in one loop: each row is computed and read before the next row."""
    source = func.source()
    outer, width = source.shape[0], source.shape[-1]
    shared = flag(func.choices)
    target = func.define(name, (outer, width), is_last)
    row = BufferText(f"{name}_row", (width,) if shared else (outer, width))
    func.allocated.append(row)
    own = "vj" if shared else "vi, vj"
    make = [f"{row.name}[{own}] = {_load(func, source, axes(2), (outer, width))}"]
    read = own if flag(func.choices) or not isinstance(width, int) else own.replace("vj", f"{width - 1} - vj")
    use = [f"{name}[vi, vj] = {row.name}[{read}] + {func.literal(1)}"]
    func.lines.append(f"for i in range({func.nests.number(outer)}):")
    func.lines += indent(func.nests.lines(Nest(row.name, (outer, width), body=make), ["i"]))
    func.lines += indent(func.nests.lines(Nest(name, (outer, width), body=use), ["i"]))
    func.known.append(target)


def _nested_block(func: StageWriter, name: str, is_last: bool) -> None:
    """A block with a nested block, and occasionally an allocation or a view of its source."""
    source = func.source()
    outer, width = source.shape[0], source.shape[-1]
    number = func.nests.number
    middle = "".join(", 0" for _ in source.shape[1:-1])
    row = f"{source.name}[vi{middle}, 0:{width}]" if len(source.shape) > 1 else f"{source.name}[0:{width}]"
    read = row.replace(f"0:{width}", "vj")
    target = func.define(name, (outer, width), is_last)
    inside: list[str] = []
    kind = func.choices.integer(0, 2)
    if kind == 1 and isinstance(width, int) and len(source.shape) < 3:
        view = (1,) * (len(source.shape) - 1)
        inside.append(
            f'view = T.match_buffer({row}, {shape_text(func, (*view, width))}, "{func.dtype}", offset_factor=1)'
        )
        read = f"view[{', '.join(['0'] * len(view) + ['vj'])}]"
    elif kind == 2:
        inside.append(f'own = T.alloc_buffer({shape_text(func, (width,))}, "{func.dtype}")')
        inside += func.nests.lines(Nest(f"{name}_copy", (width,), body=[f"own[vj] = {read}"], first=1))
        read = "own[vj]"
    body = [f"{name}[vi, vj] = {read} + {func.literal(2)}"]
    inside += func.nests.lines(Nest(f"{name}_inner", (width,), body=body, first=1))
    func.lines += [
        f"for i in range({number(outer)}):",
        f'    with T.block("{name}"):',
        f"        vi = T.axis.spatial({number(outer)}, i)",
        *indent(inside, 2),
    ]
    func.known.append(target)


Stage = Callable[[StageWriter, str, bool], None]

STAGES: list[Stage] = [
    _pointwise,
    _reduction,
    _stencil,
    _fill_and_update,
    _product,
    _padding,
    _steps,
    _guard,
    _rows,
    _nested_block,
    _sums,
    _triangle,
    _scan,
    _argmax,
    _gather,
    _copy,
    _sum_of_one,
    _biased_sum,
    _cascade,
]
