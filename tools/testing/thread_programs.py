"""Random kernels whose threads and thread blocks communicate, with arguments."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ...core.errors import ParseError, PassError, UnsupportedError
from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from ...transforms.pipelines import lower_launches

Draw = Callable[[st.SearchStrategy[Any]], Any]

SIZE = 64
"""The number of elements of each buffer but those of a thread, and the maximum number of threads of a block."""
PRIVATE = 4
"""The number of elements of each buffer of a thread."""
AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
SHAPES = ((64,), (32,), (40,), (8,), (16, 4), (4, 8), (2, 3, 5), (1, 33), (1,))
"""The numbers of threads of a block, by axis."""

HEADER = """
@T.prim_func
def main(A: T.Buffer(({blocks}, 64), "int32"), B: T.Buffer(({blocks}, 64), "int32")):
    T.func_attr({{"tir.noalias": True}})
"""


@dataclass
class _Kernel:
    """A kernel under construction.

    threads: the number of threads of each axis.  left: the number of statements left.  lines: its text.
    here: the axes of the loops over threads around the current position, with the variables.
    loops: the variables of serial loops and the values in scope.
    """

    draw: Draw
    threads: dict[str, int]
    left: int
    lines: list[str]
    depth: int = 1
    here: dict[str, str] = field(default_factory=dict[str, str])
    extents: dict[str, int] = field(default_factory=dict[str, int])
    loops: list[str] = field(default_factory=list[str])
    names: int = 0

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def nest(self, line: str) -> Generator[None]:
        """Writes the body of a statement."""
        self.write(line)
        self.depth += 1
        yield
        self.depth -= 1

    def name(self, base: str) -> str:
        self.names += 1
        return f"{base}{self.names}"

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def whole(self, least: int, greatest: int) -> int:
        return self.draw(st.integers(least, greatest))

    # Statements

    def block(self) -> None:
        """One to three statements."""
        values = len(self.loops)
        for _ in range(self.whole(1, 3)):
            self.statement()
        del self.loops[values:]

    def statement(self) -> None:
        self.left -= 1
        kinds: list[Callable[[], None]] = [self.store, self.store]
        if self.left > 0:
            kinds += [self.serial, self.branch, self.value]
            free = [axis for axis in self.threads if axis not in self.here]
            kinds += [self.over_threads] * (4 if free else 0) + [self.reduction] * (2 if free else 0)
        self.pick(*kinds)()

    def over_threads(self) -> None:
        axis = self.pick(*(axis for axis in self.threads if axis not in self.here))
        most = self.threads[axis]
        extent = self.pick(most, most, most, max(1, most // 2))
        variable = self.name("t")
        outer, extents = dict(self.here), dict(self.extents)
        with self.nest(f'for {variable} in T.thread_binding({extent}, thread="{axis}"):'):
            self.here[axis], self.extents[axis] = variable, extent
            self.block()
        self.here, self.extents = outer, extents

    def serial(self) -> None:
        variable = self.name("k")
        bound = self.pick("2", "3", f"({self.shared()}) % 3")
        values = len(self.loops)
        with self.nest(f"for {variable} in range({bound}):"):
            self.loops.append(variable)
            self.block()
        del self.loops[values:]

    def branch(self) -> None:
        """A branch that is the same for all threads at most positions."""
        value = self.pick(self.shared(), self.shared(), self.term())
        with self.nest(f"if {value} % {self.whole(2, 3)} {self.pick('==', '!=', '<')} {self.whole(0, 2)}:"):
            self.block()
        if self.pick(False, True):
            with self.nest("else:"):
                self.block()

    def value(self) -> None:
        variable = self.name("x")
        self.write(f"{variable}: T.int32 = {self.load()}")
        self.loops.append(variable)

    def store(self) -> None:
        """A store: to an element of the current thread, or to one element outside of loops over threads."""
        target = self.pick(*self.buffers(is_stored=True))
        others = [name for name in self.buffers() if name != target]
        mine = self.mine()
        if target in "LM":
            element = f"{target}[{self.index(PRIVATE, threads=False)}]"
        else:
            element = f"{'B[bx, ' if target == 'B' else target + '['}{mine}]"
        update = self.pick("", "", f"{element} + ")
        self.write(f"{element} = {update}{self.load(others)} + {self.load(others)} % 7")

    def reduction(self) -> None:
        """A reduction over the threads of an axis, in a block with an init."""
        axis = self.pick(*(axis for axis in self.threads if axis not in self.here))
        targets = [name for name in self.buffers(is_stored=True) if name != "M"]
        variable, name, target = self.name("t"), self.name("R"), self.pick(*targets)
        spatial = [f"v{n} = T.axis.spatial({SIZE}, {v})" for n, v in enumerate(self.here.values())]
        rows = [f"v{n}" for n in range(len(self.here))]
        index = self.linear(dict(zip(self.here, rows, strict=True)))
        element = f"{target}[{index if target not in 'LM' else self.whole(0, PRIVATE - 1)}]"
        if target == "B":
            element = f"B[vb, {index}]"
        source = f"A[vb, ({index} + vk * {self.pick(1, 3)}) % {SIZE}]"
        with self.nest(f'for {variable} in T.thread_binding({self.threads[axis]}, thread="{axis}"):'):
            with self.nest(f'with T.block("{name}"):'):
                self.write("vb = T.axis.spatial(2, bx)")
                for line in spatial:
                    self.write(line)
                self.write(f"vk = T.axis.reduce({self.threads[axis]}, {variable})")
                with self.nest("with T.init():"):
                    self.write(f"{element} = 0")
                self.write(f"{element} = {element} + {source}")

    # Expressions

    def buffers(self, *, is_stored: bool = False) -> list[str]:
        """The buffers that a statement may access: L, of which all threads have the same copy, is stored outside of
        loops over threads alone; M, of which each thread has its own copy, is accessed in loops over all axes alone.
        """
        names = ["S", "S", "Q", "Q", "B", "Z"] if is_stored else ["A", "B", "S", "Q", "Z", "L"]
        if is_stored and not self.here:
            names += ["L", "L"]
        return [*names, "M"] if len(self.here) == len(self.threads) else names

    def linear(self, variables: dict[str, str]) -> str:
        """The number of a thread among the threads of its block, or an element that no thread has."""
        number, stride = ["0"], 1
        for axis, extent in self.threads.items():
            if axis in variables:
                number.append(f"{variables[axis]} * {stride}")
            stride *= extent
        return " + ".join(number)

    def mine(self) -> str:
        """An index that differs between the current threads."""
        if len(self.here) == len(self.threads) and self.pick(False, True):
            return f"({self.linear(self.here)} + {self.whole(0, 9)}) % {SIZE}"
        if not self.here and self.loops and self.pick(False, True):
            return f"({self.pick(*self.loops)} % {SIZE} + {SIZE}) % {SIZE}"
        return self.linear(self.here) if self.here else str(self.whole(0, SIZE - 1))

    def term(self) -> str:
        """A number from loops and values."""
        return self.pick(*self.here.values(), *self.loops, str(self.whole(0, 9)), "bx")

    def index(self, extent: int, *, threads: bool = True) -> str:
        variables = [*self.loops, *(self.here.values() if threads else ())]
        chosen = self.pick(*variables, "0") if variables else "0"
        return f"({chosen} * {self.pick(1, 1, 31)} + {self.whole(0, extent - 1)}) % {extent}"

    def shared(self) -> str:
        """An element that is the same for all threads."""
        number = self.whole(0, SIZE - 1)
        return self.pick(f"S[{number}]", f"Q[{number}]", f"B[bx, {number}]", f"A[bx, {number}]", f"L[{number % 4}]")

    def load(self, buffers: list[str] | None = None) -> str:
        name = self.pick(*(buffers or self.buffers()))
        if name in "LM":
            return f"{name}[{self.index(PRIVATE)}]"
        return f"{name}[{'bx, ' if name in 'AB' else ''}{self.index(SIZE)}]"


@st.composite
def thread_programs(draw: Draw) -> tuple[Module, dict[str, Any]]:
    """Modules whose function `main` is a kernel, and arguments by name.

    Statements are in loops over some of the threads, over all or over none, in any order and in loops and branches
    outside of them; they access memory of threads, of thread blocks and of all, and reduce over threads. Statements in
    which threads race are not excluded: the oracle reports them.
    """
    text = thread_program(draw)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    arrays = {name: rng.integers(0, 9, (2, SIZE)).astype(np.int32) for name in "AB"}
    return parse_tvmscript(text), arrays


def thread_program(draw: Draw) -> str:
    """The text of a random kernel."""
    shape = draw(st.sampled_from(SHAPES))
    threads: dict[str, int] = dict(zip(AXES, shape, strict=False))
    kernel = _Kernel(draw, threads, draw(st.integers(2, 8)), [HEADER.format(blocks=2).rstrip()])
    memories = [_memory(draw, name, SIZE, "shared") for name in "SQ"]
    memories += [_memory(draw, name, PRIVATE, "local") for name in "LM"]
    memories += [_memory(draw, "Z", SIZE, "global")]
    is_outside = draw(st.booleans())
    outside, inside = (memories[:-1], memories[-1:]) if is_outside else ([], memories)
    for line in (line for lines in outside for line in lines):
        kernel.write(line)
    with kernel.nest('for bx in T.thread_binding(2, thread="blockIdx.x"):'):
        for line in (line for lines in inside for line in lines):
            kernel.write(line)
        _initialize(kernel)
        for _ in range(draw(st.integers(2, 4))):
            kernel.block()
    return "\n".join(kernel.lines) + "\n"


def _memory(draw: Draw, name: str, size: int, scope: str) -> list[str]:
    """The lines that allocate a buffer: by itself, through a pointer, or as a view of another shape."""
    rest = f'"int32", scope="{scope}")'
    return draw(
        st.sampled_from(
            (
                [f"{name} = T.alloc_buffer(({size},), {rest}"],
                [f"{name} = T.alloc_buffer(({size},), {rest}"],
                [f"{name} = T.decl_buffer(({size},), {rest}"],
                [
                    f"{name}_of = T.alloc_buffer(({size // 2}, 2), {rest}",
                    f"{name} = T.decl_buffer(({size},), data={name}_of.data, dtype={rest}",
                ],
            )
        )
    )


def _initialize(kernel: _Kernel) -> None:
    """Stores to each element of the memory of a kernel."""
    for name in "SQZ":
        with kernel.nest(f"for i in range({SIZE}):"):
            kernel.write(f"{name}[i] = A[bx, (i * 5 + {kernel.whole(0, 9)}) % {SIZE}]")
    with kernel.nest(f"for i in range({PRIVATE}):"):
        kernel.write("L[i] = i")
    outer = kernel.depth
    for axis, extent in kernel.threads.items():
        kernel.write(f'for {axis[-1]} in T.thread_binding({extent}, thread="{axis}"):')
        kernel.depth += 1
    with kernel.nest(f"for i in range({PRIVATE}):"):
        kernel.write(f"M[i] = i + {' + '.join(axis[-1] for axis in kernel.threads)}")
    kernel.depth = outer


# Mutations

_TOKENS = (
    ("threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y", "vthread", "vthread.x", "warp"),
    ('scope="shared"', 'scope="local"', 'scope="shared.dyn"', 'scope="warp"', 'scope="global"'),
    ("T.thread_binding(64, thread=", "T.thread_binding(2, thread=", "T.thread_binding(0, thread="),
    ("range(2)", "range(3)", "range(0)", "T.parallel(3)", "T.unroll(2)", "T.vectorized(2)"),
    ("if ", "while "),
    ('T.alloc_buffer((64,), "int32"', 'T.decl_buffer((64,), "int32"', 'T.alloc_buffer((64,), "float32"'),
    ("% 64]", "% 3]", "]"),
)
"""Parts of a text that may replace each other."""


def mutate_threads(draw: Draw, text: str) -> str:
    """A text with one to three changes of axes, scopes, extents, kinds of statements or lines."""
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from((_replace_token, _replace_token, _launch_instead, _move_line)))(draw, text)
    return text


def _replace_token(draw: Draw, text: str) -> str:
    tokens = draw(st.sampled_from(_TOKENS))
    old, new = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
    parts = text.split(old)
    if len(parts) == 1:
        return text
    number = draw(st.integers(1, len(parts) - 1))
    return old.join(parts[:number]) + new + old.join(parts[number:])


def _launch_instead(draw: Draw, text: str) -> str:
    """Writes one loop over threads or blocks as a launch."""
    lines = text.split("\n")
    loops = [n for n, line in enumerate(lines) if "T.thread_binding(" in line]
    if not loops:
        return text
    number = draw(st.sampled_from(loops))
    head, rest = lines[number].split("for ", 1)
    variable, call = rest.split(" in T.thread_binding(", 1)
    extent, axis = call.removesuffix("):").split(", thread=")
    lines[number] = f"{head}with T.launch_thread({axis}, {extent}) as {variable}:"
    return "\n".join(lines)


def _move_line(draw: Draw, text: str) -> str:
    """Moves a line of the body, with its indentation."""
    lines = text.split("\n")
    first = next(n for n, line in enumerate(lines) if "thread_binding" in line or "launch_thread" in line)
    line = lines.pop(draw(st.integers(first, len(lines) - 1)))
    lines.insert(draw(st.integers(first, len(lines))), line)
    return "\n".join(lines)


def check_lowering(text: str) -> None:
    """Lowers a program, which may be refused, or have an access certainly out of bounds. Raises all other errors."""
    try:
        lower_launches(parse_tvmscript(text))
    except (ParseError, UnsupportedError):
        pass
    except PassError as error:
        if "is accessed out of bounds" not in str(error):
            raise
