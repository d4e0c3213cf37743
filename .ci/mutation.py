"""Mutation test of the compiler: plants faults in passes, and counts the faults that the tests notice.

`python .ci/mutation.py --count 60 --seed 1` copies the tracked files to a temporary folder. For each fault it changes
one expression or statement of one file there, runs the tests of that file from the nearest to the farthest, and stops
at the first failure. It prints a line for each fault, and a table by kind at the end.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
SOURCES = (
    *("transforms/tir", "transforms/gpu", "transforms/relay", "transforms/te", "transforms/upstream"),
    *("analysis", "schedule/primitives", "schedule/rewriting"),
)
"""The rooms in which faults are planted."""
TESTS = {
    "transforms/relay": ("tests/transforms/relay", "tests/properties/test_relay.py", "tests/backends/graph"),
    "transforms/te": ("tests/transforms/te", "tests/properties/test_te.py", "tests/frontends/te"),
    "transforms/gpu": ("tests/backends/cuda", "tests/backends/devices"),
    "transforms/tir/to_scf": ("tests/transforms/tir/to_scf", "tests/properties", "tests/backends/llvm"),
    "transforms/tir": ("tests/transforms", "tests/properties", "tests/backends/cuda", "tests/backends"),
    "transforms/upstream": ("tests/transforms/upstream", "tests/backends"),
    "analysis": ("tests/analysis", "tests/schedule", "tests/properties", "tests/transforms", "tests/backends"),
    "schedule": ("tests/schedule", "tests/properties/test_schedules.py", "tests/analysis"),
}
"""The tests of each room after those named like the file, the nearest first; the longest prefix of a path counts."""


@dataclass(frozen=True)
class Fault:
    """A change of one node of a file: `changed` in place of `node`. kind: the kind of change."""

    file: Path
    kind: str
    node: ast.AST
    changed: ast.AST

    def source(self) -> str:
        """The file with the change; comments are lost."""
        tree = ast.parse((ROOT / self.file).read_text())
        same = next(each for each in ast.walk(tree) if _is_at(each, self.node))
        return ast.unparse(ast.fix_missing_locations(_Replacement(same, self.changed).visit(tree)))

    def __str__(self) -> str:
        before, after = (ast.unparse(each).partition("\n")[0] for each in (self.node, self.changed))
        return f"{self.file}:{getattr(self.node, 'lineno', 0)}: {self.kind}: {before} -> {after}"


# ---- faults

_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_EMITTING = ("insert", "replace", "erase", "insert_op", "replace_op", "replace_matched_op", "add_op", "add", "append")
"""Methods whose call is a statement that changes a program or a set."""


def _compare(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.Compare) or type(node.ops[0]) not in _SWAPS:
        return None
    changed = copy.deepcopy(node)
    changed.ops[0] = _SWAPS[type(node.ops[0])]()  # pyright: ignore[reportCallIssue, reportArgumentType]
    return changed


def _arithmetic(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.BinOp) or type(node.op) not in _SWAPS:
        return None
    if isinstance(node.left, ast.Constant | ast.JoinedStr) and isinstance(getattr(node.left, "value", ""), str):
        return None
    changed = copy.deepcopy(node)
    changed.op = _SWAPS[type(node.op)]()  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]
    return changed


def _connective(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.BoolOp):
        return None
    changed = copy.deepcopy(node)
    changed.op = _SWAPS[type(node.op)]()  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]
    return changed


def _guard(node: ast.AST) -> ast.AST | None:
    """Drops a guard: an `if` without `else` whose body returns, continues or raises."""
    if (
        not isinstance(node, ast.If)
        or node.orelse
        or not isinstance(node.body[-1], ast.Return | ast.Continue | ast.Raise)
    ):
        return None
    changed = copy.deepcopy(node)
    changed.test = ast.Constant(False)
    return changed


def _operands(node: ast.AST) -> ast.AST | None:
    """Swaps the first two arguments of a call, if they differ."""
    if not isinstance(node, ast.Call) or len(node.args) < 2 or any(isinstance(a, ast.Starred) for a in node.args[:2]):
        return None
    if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "zip", "getattr", "max", "min", "cast"):
        return None
    changed = copy.deepcopy(node)
    changed.args[:2] = changed.args[1::-1]
    return changed if ast.dump(changed) != ast.dump(node) else None


def _statement(node: ast.AST) -> ast.AST | None:
    """Drops a statement that changes a program or a set."""
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if not is_call or not isinstance(node.value.func, ast.Attribute) or node.value.func.attr not in _EMITTING:
        return None
    return ast.Pass()


def _number(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        return None
    return ast.Constant(node.value + 1)


KINDS: dict[str, Callable[[ast.AST], ast.AST | None]] = {
    "comparison": _compare,
    "arithmetic": _arithmetic,
    "connective": _connective,
    "dropped guard": _guard,
    "swapped operands": _operands,
    "dropped statement": _statement,
    "number": _number,
}


class _Replacement(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self.old = old
        self.new = new

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(self.new, node) if node is self.old else super().visit(node)


def _nodes_of_code(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes inside of functions, without annotations, decorators, defaults and messages of errors."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            pending: list[ast.AST] = [*function.body]
            while pending:
                node = pending.pop()
                if isinstance(node, ast.FunctionDef | ast.Raise | ast.Assert | ast.JoinedStr | ast.ClassDef):
                    continue
                yield node
                skipped = getattr(node, "annotation", None)
                pending.extend(child for child in ast.iter_child_nodes(node) if child is not skipped)


def faults(file: Path) -> list[Fault]:
    """All faults of a file."""
    tree = ast.parse((ROOT / file).read_text())
    changes = ((kind, node, change(node)) for node in _nodes_of_code(tree) for kind, change in KINDS.items())
    return [Fault(file, kind, node, changed) for kind, node, changed in changes if changed is not None]


def _is_at(a: ast.AST, b: ast.AST) -> bool:
    fields = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return type(a) is type(b) and all(getattr(a, name, None) == getattr(b, name, None) for name in fields)


def choose(count: int, seed: int, sources: Sequence[str]) -> list[Fault]:
    """Random faults, of as many files as there are, each kind about equally often."""
    rng = random.Random(seed)
    files = sorted(path.relative_to(ROOT) for room in sources for path in (ROOT / room).rglob("*.py"))
    rng.shuffle(files)
    chosen: list[Fault] = []
    counts: Counter[str] = Counter()
    possible = [each for each in map(faults, files) if each]
    for every in islice(cycle(possible), count):
        by_kind: dict[str, list[Fault]] = {}
        for fault in every:
            by_kind.setdefault(fault.kind, []).append(fault)
        kind = min(by_kind, key=lambda each: (counts[each], rng.random()))
        counts[kind] += 1
        chosen.append(rng.choice(by_kind[kind]))
    return chosen


# ---- tests


def tests_of(file: Path, root: Path) -> list[list[str]]:
    """The stages of tests for a file: those named like it, its text tests, and those of its room."""
    named = sorted(path for path in (root / "tests").rglob(f"test_*{file.stem}*.py"))
    stages = [[str(path.relative_to(root)) for path in named], ["tests/test_filecheck.py"]]
    room = max((room for room in TESTS if file.as_posix().startswith(room)), key=len)
    return [stage for stage in [*stages, *([path] for path in TESTS[room])] if stage and (root / stage[0]).exists()]


def is_noticed(fault: Fault, package: Path, seconds: float) -> str | None:
    """The stage of tests that fails with a fault in the copy of the package; None if all pass."""
    path = package / fault.file
    original = path.read_text()
    path.write_text(fault.source())
    try:
        for stage in tests_of(fault.file, package):
            if not _pass(stage, package, seconds):
                return " ".join(stage)
    finally:
        path.write_text(original)
    return None


def _pass(stage: Sequence[str], package: Path, seconds: float) -> bool:
    """Whether tests pass; a fault that makes them endless is noticed."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *stage]
    try:
        done = subprocess.run(command, cwd=package, env=environment, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode in (0, 5)


def copy_tracked(root: Path, target: Path) -> None:
    """Copies the tracked files of the repository."""
    names = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split()
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, target / name)


def test_faults(chosen: Sequence[Fault], jobs: int, seconds: float) -> Iterator[tuple[Fault, str | None]]:
    """The faults, in the order in which their tests end, and the stages that notice them; each job has its own copy of
    the package."""
    with TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        packages: Queue[Path] = Queue()
        for n in range(jobs):
            package = Path(folder, str(n), "stepwell")
            copy_tracked(ROOT, package)
            packages.put(package)

        def test(fault: Fault) -> tuple[Fault, str | None]:
            package = packages.get()
            try:
                return fault, is_noticed(fault, package, seconds)
            finally:
                packages.put(package)

        for done in as_completed([pool.submit(test, fault) for fault in chosen]):
            yield done.result()


def main() -> int:
    """The command line; the exit code is 1 if less than 95 % of the faults are noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", nargs="*", default=SOURCES, help="rooms (default: passes, analyses, primitives)")
    parser.add_argument("--count", type=int, default=60, help="the number of faults (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the faults (default 1)")
    parser.add_argument("--seconds", type=float, default=600, help="the time limit of a stage of tests (default 600)")
    parser.add_argument("--jobs", type=int, default=2, help="the number of processes (default 2)")
    options = parser.parse_args()
    chosen = choose(options.count, options.seed, options.sources)
    noticed: Counter[str] = Counter()
    for fault, stage in test_faults(chosen, options.jobs, options.seconds):
        noticed[fault.kind] += stage is not None
        print(f"{'noticed' if stage else 'UNNOTICED'} {fault} [{stage or 'all tests pass'}]", flush=True)
    total = Counter(fault.kind for fault in chosen)
    for kind in KINDS:
        print(f"{kind:20}{noticed[kind]:>4} of {total[kind]}")
    share = sum(noticed.values()) / len(chosen)
    print(f"{sum(noticed.values())} of {len(chosen)} faults noticed, {100 * share:.0f} %, seed {options.seed}")
    return 0 if share >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
