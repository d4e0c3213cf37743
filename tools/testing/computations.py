"""Random programs for schedules: some blocks under loops, that read each other's results in all the ways that matter.

Pointwise, stencils, transposed and strided reads, broadcasts, reductions of several kinds, products, padding, gathers,
blocks that update what others wrote, that read what they overwrite, and that run under a predicate. Integers mostly, so
that what they compute is exact in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from .choices import Choices, flag, pick

MAX_ELEMENTS = 80
"""The most elements of a buffer: the oracle runs one by one."""

_LETTERS = "ijkl"


@dataclass(frozen=True)
class _Buffer:
    name: str
    shape: tuple[int, ...]


@dataclass
class _Text:
    """A program as it is being written."""

    choices: Choices
    dtype: str
    parameters: list[_Buffer] = field(default_factory=list[_Buffer])
    known: list[_Buffer] = field(default_factory=list[_Buffer])
    allocated: list[_Buffer] = field(default_factory=list[_Buffer])
    lines: list[str] = field(default_factory=list[str])
    has_indices: bool = False

    def literal(self, number: int) -> str:
        return f"T.{self.dtype}({number})"


def random_computation(choices: Choices) -> Module:
    """A module with one function `main`, whose blocks compute buffers from buffers; the last one is a parameter.

    Shrinks to one pointwise block.
    """
    return parse_tvmscript(random_computation_text(choices), "computation.py")


def random_computation_text(choices: Choices) -> str:
    """The program of `random_computation` as TVMScript."""
    text = _Text(choices, "float32" if flag(choices, 4) else "int32")
    shape = tuple(choices.integer(2, 6) for _ in range(choices.integer(1, 2)))
    first = _Buffer("A", shape)
    text.parameters.append(first)
    text.known.append(first)
    count = choices.integer(1, 4)
    for n in range(count):
        stage = pick(choices, _STAGES)
        stage(text, f"B{n}", n == count - 1)
    return _written(text)


def _written(text: _Text) -> str:
    parameters = [f'{b.name}: T.Buffer({_shape(b)}, "{text.dtype}")' for b in text.parameters]
    if text.has_indices:
        parameters.append('index: T.Buffer((8,), "int32")')
    lines = ["@I.ir_module", "class Module:", "    @T.prim_func", f"    def main({', '.join(parameters)}):"]
    lines += [f'        {b.name} = T.alloc_buffer({_shape(b)}, "{text.dtype}")' for b in text.allocated]
    return "\n".join([*lines, *(f"        {line}" for line in text.lines), ""])


def _shape(buffer: _Buffer) -> str:
    return f"({', '.join(map(str, buffer.shape))},)"


def _define(text: _Text, name: str, shape: tuple[int, ...], is_last: bool) -> _Buffer:
    """A new buffer: a parameter if it is the result, or now and then."""
    buffer = _Buffer(name, shape)
    (text.parameters if is_last or flag(text.choices, 6) else text.allocated).append(buffer)
    return buffer


def _nest(
    text: _Text,
    name: str,
    spatial: tuple[int, ...],
    reduced: tuple[int, ...],
    body: list[str],
    init: list[str] | None = None,
    where: str | None = None,
) -> None:
    """A block under a loop for each axis."""
    loops = [f"{_LETTERS[n]}" for n in range(len(spatial) + len(reduced))]
    kinds = "S" * len(spatial) + "R" * len(reduced)
    extents = ", ".join(map(str, spatial + reduced))
    axes = [f"v{loop}" for loop in loops]
    header = f"for {', '.join(loops)} in T.grid({extents}):" if len(loops) > 1 else f"for i in range({extents}):"
    text.lines += [header, f'    with T.block("{name}"):']
    text.lines.append(f'        {", ".join(axes)} = T.axis.remap("{kinds}", [{", ".join(loops)}])')
    if where is not None:
        text.lines.append(f"        T.where({where})")
    if init is not None:
        text.lines += ["        with T.init():", *(f"            {line}" for line in init)]
    text.lines += [f"        {line}" for line in body]


def _axes(count: int) -> list[str]:
    return [f"v{letter}" for letter in _LETTERS[:count]]


def _load(text: _Text, source: _Buffer, axes: list[str], shape: tuple[int, ...]) -> str:
    """A read of a buffer by axes of these extents, in bounds: each dimension by an axis that fits, shifted if there is
    room, or by a number."""
    indices: list[str] = []
    for dimension, extent in enumerate(source.shape):
        fitting = [n for n, s in enumerate(shape) if s <= extent]
        if not fitting:
            largest = max(range(len(shape)), key=lambda n: shape[n], default=None)
            indices.append("0" if largest is None else f"{axes[largest]} % {extent}")
            continue
        n = dimension if dimension in fitting and not flag(text.choices, 4) else pick(text.choices, fitting)
        room = extent - shape[n]
        shift = text.choices.integer(0, room)
        indices.append(_shifted(text, axes[n], shape[n], extent, shift))
    return f"{source.name}[{', '.join(indices)}]"


def _shifted(text: _Text, axis: str, size: int, extent: int, shift: int) -> str:
    if size * 2 - 1 <= extent and flag(text.choices, 3):
        return f"{axis} * 2"
    if flag(text.choices, 8):
        return f"{extent - 1} - {axis}"
    if flag(text.choices, 8):
        return f"{axis} // 2"
    return axis if shift == 0 else f"{axis} + {shift}"


def _source(text: _Text) -> _Buffer:
    """A buffer to read, the latest one most of the time."""
    return pick(text.choices, [text.known[-1], *reversed(text.known)])


def _pointwise(text: _Text, name: str, is_last: bool) -> None:
    source = _source(text)
    shape = source.shape
    axes = _axes(len(shape))
    value = f"{_load(text, source, axes, shape)} * {text.literal(2)} + {text.literal(1)}"
    if flag(text.choices):
        value = f"{value} + {_load(text, _source(text), axes, shape)}"
    target = _define(text, name, shape, is_last)
    _nest(text, name, shape, (), [f"{name}[{', '.join(axes)}] = {value}"])
    text.known.append(target)


def _stencil(text: _Text, name: str, is_last: bool) -> None:
    source = _source(text)
    shape = (max(source.shape[0] - text.choices.integer(1, 2), 1), *source.shape[1:])
    axes = _axes(len(shape))
    reads = [_load(text, source, axes, shape) for _ in range(text.choices.integer(2, 3))]
    target = _define(text, name, shape, is_last)
    _nest(text, name, shape, (), [f"{name}[{', '.join(axes)}] = {' + '.join(reads)}"])
    text.known.append(target)


def _reduction(text: _Text, name: str, is_last: bool) -> None:
    source = _source(text)
    keep = text.choices.integer(0, len(source.shape) - 1) if len(source.shape) > 1 else 0
    spatial = (source.shape[keep],) if len(source.shape) > 1 or flag(text.choices) else (3,)
    reduced = tuple(e for n, e in enumerate(source.shape) if n != keep) or (source.shape[0],)
    axes = _axes(len(spatial) + len(reduced))
    shape = spatial + reduced
    value = _load(text, source, axes, shape)
    if flag(text.choices):
        value = f"{value} * {_load(text, _source(text), axes, shape)}"
    target = _define(text, name, spatial, is_last)
    element = f"{name}[{', '.join(axes[: len(spatial)])}]"
    operator, zero = pick(text.choices, [("+", 0), ("max", -1000), ("min", 1000)])
    combined = f"{element} + {value}" if operator == "+" else f"T.{operator}({element}, {value})"
    _nest(text, name, spatial, reduced, [f"{element} = {combined}"], [f"{element} = {text.literal(zero)}"])
    text.known.append(target)


def _fill_and_update(text: _Text, name: str, is_last: bool) -> None:
    """A buffer that is filled by one block and updated, in place, by another."""
    source = _source(text)
    shape = source.shape
    axes = _axes(len(shape))
    target = _define(text, name, shape, is_last)
    element = f"{name}[{', '.join(axes)}]"
    _nest(text, f"{name}_fill", shape, (), [f"{element} = {_load(text, source, axes, shape)}"])
    updated = (shape[0], *shape[1:])
    other = _load(text, target, axes, updated) if flag(text.choices, 3) else element
    _nest(text, name, updated, (), [f"{element} = {other} * {text.literal(3)} - {text.literal(1)}"])
    text.known.append(target)


def _steps(text: _Text, name: str, is_last: bool) -> None:
    """A stencil in time: each row from the one in front of it."""
    source = _source(text)
    width = source.shape[-1] + 2
    target = _define(text, name, (4, width), is_last)
    first = _load(text, source, ["vi"], (source.shape[-1],)) if len(source.shape) == 1 else text.literal(1)
    _nest(text, f"{name}_first", (width,), (), [f"{name}[0, vi] = {text.literal(1)}"])
    _nest(text, f"{name}_rest", (4, width), (), [f"{name}[vi, vj] = {text.literal(2)}"], where="i >= 1")
    left, right = text.choices.integer(0, 1), text.choices.integer(1, 2)
    value = f"{name}[vi, vj + {left}] + {name}[vi, vj + {right}]"
    _nest(text, name, (3, width - 2), (), [f"{name}[vi + 1, vj + 1] = {value}"])
    if first.startswith(source.name) and flag(text.choices):
        _nest(text, f"{name}_add", (source.shape[-1],), (), [f"{name}[1, vi] = {name}[1, vi] + {first}"])
    text.known.append(target)


def _padding(text: _Text, name: str, is_last: bool) -> None:
    source = _source(text)
    shape = tuple(e + 2 for e in source.shape)
    axes = _axes(len(shape))
    inside = " and ".join(f"1 <= {a} and {a} < {e + 1}" for a, e in zip(axes, source.shape, strict=True))
    read = f"{source.name}[{', '.join(f'{a} - 1' for a in axes)}]"
    target = _define(text, name, shape, is_last)
    value = f"T.if_then_else({inside}, {read}, {text.literal(0)})"
    _nest(text, name, shape, (), [f"{name}[{', '.join(axes)}] = {value}"])
    text.known.append(target)


def _gather(text: _Text, name: str, is_last: bool) -> None:
    """A read at an index that another buffer gives: of what no formula knows."""
    source = _source(text)
    text.has_indices = True
    rest = "".join(", 0" for _ in source.shape[1:])
    target = _define(text, name, (8,), is_last)
    _nest(text, name, (8,), (), [f"{name}[vi] = {source.name}[index[vi] % {source.shape[0]}{rest}]"])
    text.known.append(target)


def _guarded(text: _Text, name: str, is_last: bool) -> None:
    """A block under a predicate, in front of which all is filled."""
    source = _source(text)
    shape = source.shape
    axes = _axes(len(shape))
    target = _define(text, name, shape, is_last)
    element = f"{name}[{', '.join(axes)}]"
    _nest(text, f"{name}_fill", shape, (), [f"{element} = {text.literal(5)}"])
    bound = text.choices.integer(1, shape[0])
    _nest(text, name, shape, (), [f"{element} = {_load(text, source, axes, shape)}"], where=f"i < {bound}")
    text.known.append(target)


_STAGES = [_pointwise, _reduction, _stencil, _fill_and_update, _padding, _steps, _guarded, _gather]
