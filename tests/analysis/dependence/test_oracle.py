"""Changes classified as legal preserve results: random changes of random programs, checked with the oracle.

The programs are text: loop nests over blocks with affine, gathering and scattering accesses, changed by reordering,
splitting, fusing, moving, repeating and cutting loops, legally or illegally. All numbers are integers, so that results
are exact.
"""

from __future__ import annotations

import copy
import itertools
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from stepwell import Module, parse_tvmscript
from stepwell.analysis.dependence import compare_flows, value_flow
from stepwell.backends.oracle import run_oracle
from stepwell.core.errors import UndefinedBehaviorError
from stepwell.dialects.tir import FuncOp

Pairs: TypeAlias = Callable[[FuncOp, FuncOp], dict[Any, Any]]

SIZE = 14


@dataclass
class Loop:
    name: str
    extent: int
    body: list[Loop | Leaf]


@dataclass
class Code:
    """A block: its axes (names, extents, kinds), the lines of its body, and of its init."""

    name: str
    extents: list[int]
    reduced: int
    lines: list[str]
    init: list[str] = field(default_factory=list)

    @property
    def axes(self) -> list[tuple[str, int, str]]:
        first = len(self.extents) - self.reduced
        return [(f"v{n}", e, "spatial" if n < first else "reduce") for n, e in enumerate(self.extents)]


@dataclass
class Leaf:
    """An occurrence of a block in a program. part: the whole block, its body, or its init."""

    code: Code
    bindings: list[str]
    conditions: list[str] = field(default_factory=list)
    part: str = "all"


Tree = list[Loop | Leaf]


# Programs


class Generator:
    def __init__(self, seed: random.Random):
        self.random = seed
        self.ranks = {name: seed.randint(1, 2) for name in ("A", "X", "Y")}
        self.temporaries = ["X"] if seed.random() < 0.15 else []
        self.fresh = (f"x{n}" for n in itertools.count())

    def program(self) -> Tree:
        tree: Tree = []
        for number in range(self.random.choice([1, 2, 2, 3])):
            code = self.code(f"B{number}")
            loops = [f"i{number}{n}" for n in range(len(code.extents))]
            node: Loop | Leaf = Leaf(code, list(loops))
            for name, extent in reversed(list(zip(loops, code.extents, strict=True))):
                node = Loop(name, extent, [node])
            tree.append(node)
        return tree

    def code(self, name: str) -> Code:
        extents = [self.random.randint(1, 4) for _ in range(self.random.randint(1, 3))]
        axes = [f"v{n}" for n in range(len(extents))]
        kind = self.random.choice(["map", "map", "in place", "reduce", "reduce", "gather", "scatter", "branch"])
        target = self.random.choice(["X", "Y"])
        if kind == "reduce":
            return self.reduction(name, extents, axes, target)
        source, other = (self.access(self.random.choice("AXY"), axes) for _ in range(2))
        element = self.access(target, axes)
        if kind == "map":
            return Code(name, extents, 0, [f"{element} = {source} + 2 * {other}"])
        if kind == "in place":
            old = self.random.choice([element, self.access(target, axes)])
            return Code(name, extents, 0, [f"{element} = {old} * 3 + {source}"])
        if kind == "branch":
            condition = f"{self.random.choice(axes)} + {self.random.choice(axes)} < {self.random.randint(1, 5)}"
            return Code(name, extents, 0, [f"if {condition}:", f"    {element} = {source} + 3"])
        unknown = self.random.choice(axes)
        if kind == "gather":
            buffer = self.random.choice("AXY")
            place = ", ".join([f"I[{unknown}]"] * self.ranks[buffer])
            return Code(name, extents, 0, [f"{element} = {buffer}[{place}] + 1"])
        place = f"{target}[{', '.join([f'I[{unknown}]'] * self.ranks[target])}]"
        start = self.random.choice(["", f"{place} + "])
        return Code(name, extents, 0, [f"{place} = {start}{self.access('A', axes)}"])

    def reduction(self, name: str, extents: list[int], axes: list[str], target: str) -> Code:
        reduced = self.random.randint(0, len(axes))
        kept = axes[: len(axes) - reduced]
        element = self.access(target, kept or ["1"])
        value = self.access(self.random.choice("AXY"), axes)
        step = self.random.choice(["{0} + {1}", "{1} + {0}", "{0} - {1}", "T.max({0}, {1})", "{0} * 3 + {1}"])
        init = [f"{element} = {self.random.choice('07')}"] if reduced and self.random.random() < 0.8 else []
        return Code(name, extents, reduced, [f"{element} = {step.format(element, value)}"], init)

    def access(self, buffer: str, axes: list[str]) -> str:
        order = self.random.sample(axes, len(axes))
        simple = self.random.random() < 0.6
        places = [
            (order[n] if n < len(order) else "0") + self.random.choice(["", "", " + 1"]) if simple else self.index(axes)
            for n in range(self.ranks[buffer])
        ]
        return f"{buffer}[{', '.join(places)}]"

    def index(self, axes: list[str]) -> str:
        a, b = self.random.choice(axes), self.random.choice(axes)
        return self.random.choice(
            [a, f"{a} + {b}", f"2 * {a}", f"{a} // 2", f"({a} + {b}) % 3", f"6 - {a}", str(self.random.randint(0, 3))]
        )

    # Changes

    def change(self, tree: Tree) -> None:
        """Applies a random change to a program, which may be illegal."""
        loops = list(all_loops(tree))
        if loops:
            name = self.random.choice(sorted(CHANGES))
            CHANGES[name](self, tree, self.random.choice(loops))

    def interchange(self, tree: Tree, loop: Loop) -> None:
        if len(loop.body) == 1 and isinstance(inner := loop.body[0], Loop):
            loop.name, inner.name = inner.name, loop.name
            loop.extent, inner.extent = inner.extent, loop.extent

    def split(self, tree: Tree, loop: Loop) -> None:
        factor, outer, inner = self.random.randint(1, 3), next(self.fresh), next(self.fresh)
        value = f"{outer} * {factor} + {inner}"
        replace(loop.body, loop.name, value, f"{value} < {loop.extent}" if loop.extent % factor else "")
        loop.body = [Loop(inner, factor, loop.body)]
        loop.name, loop.extent = outer, -(-loop.extent // factor)

    def reverse(self, tree: Tree, loop: Loop) -> None:
        replace(loop.body, loop.name, f"{loop.extent - 1} - {loop.name}")

    def fuse(self, tree: Tree, loop: Loop) -> None:
        if len(loop.body) == 1 and isinstance(inner := loop.body[0], Loop):
            fused = next(self.fresh)
            replace(inner.body, loop.name, f"{fused} // {inner.extent}")
            replace(inner.body, inner.name, f"{fused} % {inner.extent}")
            loop.name, loop.extent, loop.body = fused, loop.extent * inner.extent, inner.body

    def exchange(self, tree: Tree, loop: Loop) -> None:
        body = self.random.choice([tree, loop.body])
        if len(body) > 1:
            first = self.random.randrange(len(body) - 1)
            body[first], body[first + 1] = body[first + 1], body[first]

    def merge(self, tree: Tree, loop: Loop) -> None:
        for body in (tree, loop.body):
            for a, b in itertools.pairwise(body):
                if isinstance(a, Loop) and isinstance(b, Loop) and a.extent == b.extent:
                    replace(b.body, b.name, a.name)
                    a.body += b.body
                    del body[body.index(b)]
                    return

    def sink(self, tree: Tree, loop: Loop) -> None:
        """Moves a loop nest into another: the whole nest, or the part that an iteration may require."""
        node = self.random.choice(tree)
        hosts = [host for other in tree if other is not node for host in all_loops([other])]
        if not hosts or not isinstance(node, Loop):
            return
        host = self.random.choice(hosts)
        tree.remove(node)
        if self.random.random() < 0.5:
            width, inner = self.random.randint(1, 2), next(self.fresh)
            value = f"{host.name} + {inner}"
            replace(node.body, node.name, value, f"{value} < {node.extent}")
            node = Loop(inner, width, node.body)
        host.body.insert(self.random.choice([0, 0, len(host.body)]), node)

    def repeat(self, tree: Tree, loop: Loop) -> None:
        place = self.random.randrange(len(tree))
        tree[place] = Loop(next(self.fresh), self.random.randint(1, 2), [tree[place]])

    def cut(self, tree: Tree, loop: Loop) -> None:
        loop.extent = max(1, loop.extent - self.random.randint(0, 1))

    def decompose(self, tree: Tree, loop: Loop) -> None:
        """Moves the init of the only block in a loop to a loop nest before the loop."""
        leaves = list(all_leaves([loop]))
        leaf = leaves[0]
        if len(leaves) != 1 or leaf.part != "all" or not leaf.code.init or leaf.conditions:
            return
        init = Leaf(leaf.code, list(leaf.bindings), [], "init")
        kept = " ".join(b for b, (_, _, kind) in zip(init.bindings, leaf.code.axes, strict=True) if kind == "spatial")
        node: Loop | Leaf = init
        for inner in reversed(list(all_loops([loop]))):
            if re.search(rf"\b{inner.name}\b", kept):
                name = next(self.fresh)
                replace([node], inner.name, name)
                node = Loop(name, inner.extent, [node])
        body = next(b for b in (tree, *(x.body for x in all_loops(tree))) if any(n is loop for n in b))
        body.insert(next(n for n, x in enumerate(body) if x is loop), node)
        leaf.part = "body"


CHANGES: dict[str, Callable[[Generator, Tree, Loop], None]] = {
    name: getattr(Generator, name)
    for name in ("interchange", "split", "reverse", "fuse", "exchange", "merge", "sink", "repeat", "cut", "decompose")
}


def all_loops(tree: Tree) -> Iterator[Loop]:
    for node in tree:
        if isinstance(node, Loop):
            yield node
            yield from all_loops(node.body)


def all_leaves(tree: Tree) -> Iterator[Leaf]:
    for node in tree:
        if isinstance(node, Loop):
            yield from all_leaves(node.body)
        else:
            yield node


def replace(tree: Tree, name: str, value: str, condition: str = "") -> None:
    """Replaces a loop variable by an expression."""
    for leaf in all_leaves(tree):
        leaf.bindings = [re.sub(rf"\b{name}\b", f"({value})", b) for b in leaf.bindings]
        leaf.conditions = [re.sub(rf"\b{name}\b", f"({value})", c) for c in leaf.conditions]
        leaf.conditions += [condition] if condition else []


# Text


def text_of(tree: Tree, generator: Generator) -> str:
    def buffer(name: str) -> str:
        return f'({SIZE},), "int32"' if generator.ranks[name] == 1 else f'({SIZE}, {SIZE}), "int32"'

    params = [f"{n}: T.Buffer({buffer(n)})" for n in "AXY" if n not in generator.temporaries]
    lines = ["@T.prim_func", f'def main({", ".join(params)}, I: T.Buffer((8,), "int32")):']
    lines += [f"    {name} = T.alloc_buffer({buffer(name)})" for name in generator.temporaries]
    return "\n".join([*lines, *(f"    {line}" for line in tree_lines(tree)), ""])


def tree_lines(tree: Tree) -> Iterator[str]:
    for node in tree:
        if isinstance(node, Loop):
            yield f"for {node.name} in range({node.extent}):"
            yield from (f"    {line}" for line in tree_lines(node.body))
        else:
            yield from leaf_lines(node)


def leaf_lines(leaf: Leaf) -> Iterator[str]:
    code, is_init = leaf.code, leaf.part == "init"
    yield f'with T.block("{code.name}{"_init" if is_init else ""}"):'
    for (name, extent, kind), binding in zip(code.axes, leaf.bindings, strict=True):
        if kind == "spatial" or not is_init:
            yield f"    {name} = T.axis.{kind}({extent}, {binding})"
    if leaf.conditions:
        yield f"    T.where({' and '.join(leaf.conditions)})"
    if leaf.part == "all" and code.init:
        yield "    with T.init():"
        yield from (f"        {line}" for line in code.init)
    yield from (f"    {line}" for line in (code.init if is_init else code.lines))


# Results


def results(module: Module, generator: Generator, seed: int) -> list[Any]:
    numbers = np.random.default_rng(seed)
    arguments: list[Any] = [
        numbers.integers(-50, 50, (SIZE,) * generator.ranks[name]).astype(np.int32)
        for name in "AXY"
        if name not in generator.temporaries
    ]
    arguments.append(numbers.integers(0, 8, (8,)).astype(np.int32))
    run_oracle(module, "main", arguments)
    return arguments


def is_same_for(modules: list[Module], generator: Generator) -> bool:
    """Whether two programs compute the same results for random arguments; the first must not have undefined
    behaviour."""
    for seed in range(2):
        try:
            expected = results(modules[0], generator, seed)
        except UndefinedBehaviorError:
            assume(False)
            raise
        try:
            got = results(modules[1], generator, seed)
        except UndefinedBehaviorError:
            return False
        if not all((a == b).all() for a, b in zip(expected, got, strict=True)):
            return False
    return True


def is_legal(modules: list[Module], pairs: Pairs) -> bool:
    before, after = (next(op for op in m.op.walk() if isinstance(op, FuncOp)) for m in modules)
    return compare_flows(value_flow(before), value_flow(after), renamed=pairs(before, after)) is None


@given(seed=st.integers(0, 2**32))
def test_what_is_legal_computes_the_same(seed: int, pairs: Pairs) -> None:
    generator = Generator(random.Random(seed))
    tree = generator.program()
    for _ in range(generator.random.choice([0, 0, 1, 2])):
        generator.change(tree)
    before = text_of(tree, generator)
    changed = copy.deepcopy(tree)
    for _ in range(generator.random.randint(1, 3)):
        generator.change(changed)
    modules = [parse_tvmscript(before), parse_tvmscript(text_of(changed, generator))]
    if not is_same_for(modules, generator):
        assert not is_legal(modules, pairs), f"{before}\n{text_of(changed, generator)}"
