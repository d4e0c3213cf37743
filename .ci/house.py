"""Measure the house: files, functions, nesting, documentation, prose, names, circles of imports, rooms.

`python .ci/house.py` prints the table; `python .ci/house.py --sentences FOLDER` lists the first sentences of the
docstrings there that have the largest share of fillers. tests/test_prose.py holds limits on
these figures.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]

FILLERS = frozenset("what that those these one it its they them there which whom whose some is has".split())
"""Pronouns, and verbs without a meaning of their own, that stand in for nouns and verbs."""

VAGUE = frozenset("found made place given said".split())
"""Names of variables that say that something was done, and not which thing it was done to."""

_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_CODE = re.compile(r"``.*?``|`[^`]*`", re.DOTALL)
_END = re.compile(r"(?<=[.?!:])(?:\s+(?=[A-Z`\"'(]))|\n\s*\n")
_PARTICIPLE = re.compile(r"_*[a-z]+ed")
_IRREGULAR = frozenset(
    "bound built chosen done drawn driven fed found given gone held hidden kept known laid left lent made met meant "
    "paid said seen sent shown spent stood taken thrown told understood woven written".split()
)
_NOUNS_AND_VERBS = frozenset("need embed feed seed shed speed".split())

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | FunctionNode
_NESTING = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)


# Files


@cache
def folders() -> tuple[str, ...]:
    """The folders of the source: those at the root that hold a package."""
    return tuple(
        sorted(p.parent.name for p in ROOT.glob("*/__init__.py") if not p.parent.name.startswith((".", "build")))
    )


@cache
def sources() -> tuple[Path, ...]:
    """The files of the source, tests not among them."""
    return (*sorted(ROOT.glob("*.py")), *(file for name in folders() for file in sorted((ROOT / name).rglob("*.py"))))


@cache
def tree_of(file: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(file.read_text())


def path_of(file: Path) -> str:
    """The path of a file below the root."""
    return str(file.relative_to(ROOT))


# Prose


@dataclass(frozen=True)
class Docstring:
    """A docstring and its place: the path of its file, its line, the name of the object that it documents."""

    path: str
    line: int
    name: str
    text: str

    @property
    def first_sentence(self) -> str:
        """The text up to the first full stop, question mark or blank line, in one line."""
        return " ".join(_END.split(self.text.strip(), maxsplit=1)[0].split())

    @property
    def filler_share(self) -> float:
        """The share of fillers among the words of the first sentence; a span of code counts as one word."""
        return filler_share(self.first_sentence)


def words(text: str) -> list[str]:
    """The words of a text in lower case; a span of code is the word `CODE`."""
    return [word if word == "CODE" else word.lower() for word in _WORD.findall(_CODE.sub(" CODE ", text))]


def filler_share(sentence: str) -> float:
    """The share of fillers among the words of a sentence."""
    found = words(sentence)
    return sum(word in FILLERS for word in found) / len(found) if found else 0.0


def docstrings(file: Path) -> Iterator[Docstring]:
    """The docstrings of a file: of the module, of classes, functions, and of assigned names."""
    tree = ast.parse(file.read_text())  # not kept: the trees of all files would slow down each collection of garbage
    yield from _docstrings(tree, path_of(file), "")


def _docstrings(node: Documented, path: str, prefix: str) -> Iterator[Docstring]:
    text = ast.get_docstring(node)
    if text:
        yield Docstring(path, node.body[0].lineno, prefix or "module", text)
    for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(statement, ast.ClassDef | FunctionNode):
            yield from _docstrings(statement, path, f"{prefix}.{statement.name}".lstrip("."))
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
            value = after.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
                yield Docstring(path, after.lineno, f"{prefix}.{ast.unparse(target)}".lstrip("."), value.value)


@cache
def all_docstrings() -> tuple[Docstring, ...]:
    """The docstrings of the source."""
    return tuple(doc for file in sources() for doc in docstrings(file))


def uses_per_thousand(word: str, texts: Iterable[str]) -> float:
    """How many of 1,000 words of these texts are `word`."""
    counts = Counter(found for text in texts for found in words(text))
    return 1000 * counts[word] / max(counts.total(), 1)


# Functions


@dataclass(frozen=True)
class Function:
    """A function of the source: lines of code without docstring, comments and blank lines; levels of nested blocks."""

    path: str
    name: str
    node: FunctionNode
    lines: int
    nesting: int
    in_class: bool


@cache
def functions() -> tuple[Function, ...]:
    """The functions of the source, methods and nested ones among them."""
    return tuple(function for file in sources() for function in _functions(file))


def _functions(file: Path) -> Iterator[Function]:
    text = file.read_text().splitlines()
    code = [bool(line.strip()) and not line.lstrip().startswith("#") for line in text]
    methods = {item for node in ast.walk(tree_of(file)) if isinstance(node, ast.ClassDef) for item in node.body}
    for node in ast.walk(tree_of(file)):
        if isinstance(node, FunctionNode):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            docstring = range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1) if body is not node.body else ()
            lines = sum(code[n - 1] and n not in docstring for n in range(node.lineno, (node.end_lineno or 0) + 1))
            yield Function(path_of(file), node.name, node, lines, _nesting(body), node in methods)


def _nesting(body: list[ast.stmt]) -> int:
    deepest = 0
    for statement in body:
        for block in _blocks(statement):
            deepest = max(deepest, isinstance(statement, _NESTING) + _nesting(block))
    return deepest


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, ast.ClassDef | FunctionNode):
        return
    for name in ("body", "finalbody"):
        yield getattr(statement, name, [])
    orelse = getattr(statement, "orelse", [])
    if len(orelse) == 1 and isinstance(orelse[0], ast.If):
        yield from _blocks(orelse[0])
    else:
        yield orelse
    for handler in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
        yield handler.body


def is_participle(name: str) -> bool:
    """Whether a name is one participle, such as `moved` or `_taken`."""
    bare = name.strip("_")
    return bare not in _NOUNS_AND_VERBS and (bool(_PARTICIPLE.fullmatch(bare)) or bare in _IRREGULAR)


# Names


def names_in_several_modules() -> dict[str, dict[str, list[str]]]:
    """Public classes and functions of modules that two modules or more define: kind, name, paths."""
    places: dict[str, dict[str, list[str]]] = {"class": defaultdict(list), "function": defaultdict(list)}
    for file in sources():
        for node in tree_of(file).body:
            if isinstance(node, ast.ClassDef | FunctionNode) and not node.name.startswith("_"):
                places["class" if isinstance(node, ast.ClassDef) else "function"][node.name].append(path_of(file))
    return {
        kind: {name: paths for name, paths in sorted(table.items()) if len(set(paths)) > 1}
        for kind, table in places.items()
    }


def vague_variables() -> Counter[str]:
    """How often a variable has a name of `VAGUE`."""
    stores = (
        node.id
        for file in sources()
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return Counter(name for name in stores if name in VAGUE)


# Imports


def imports(kinds: frozenset[str] = frozenset({"top"})) -> dict[Path, set[Path]]:
    """The files that each file imports: at the top, `lazy` inside functions, or under `typing` alone."""
    return {file: {target for kind, target in _imports(file) if kind in kinds and target != file} for file in sources()}


def _imports(file: Path) -> Iterator[tuple[str, Path]]:
    def visit(node: ast.AST, kind: str) -> Iterator[tuple[str, Path]]:
        if isinstance(node, ast.ImportFrom) and node.level:
            yield from ((kind, target) for target in _targets(file, node))
        if isinstance(node, FunctionNode):
            kind = "lazy"
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            kind = "typing"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, kind)

    return visit(tree_of(file), "top")


def _targets(file: Path, node: ast.ImportFrom) -> Iterator[Path]:
    base = file.parents[node.level - 1].joinpath(*filter(None, (node.module or "").split(".")))
    for alias in node.names:
        for candidate in (
            base / f"{alias.name}.py",
            base / alias.name / "__init__.py",
            base.with_suffix(".py"),
            base / "__init__.py",
        ):
            if candidate.is_file():
                yield candidate
                break


def circles(graph: dict[Path, set[Path]]) -> list[list[Path]]:
    """The groups of two or more files that reach each other (Tarjan, SIAM J. Comput. 1, 1972)."""
    order: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    groups: list[list[Path]] = []

    def visit(file: Path) -> None:
        order[file] = low[file] = len(order)
        stack.append(file)
        for target in graph[file]:
            if target not in order:
                visit(target)
                low[file] = min(low[file], low[target])
            elif target in stack:
                low[file] = min(low[file], order[target])
        if low[file] == order[file]:
            start = stack.index(file)
            groups.append(stack[start:])
            del stack[start:]

    sys.setrecursionlimit(10_000)
    for file in graph:
        if file not in order:
            visit(file)
    return [sorted(group) for group in groups if len(group) > 1]


# The table


def _share(values: list[int], *percents: int) -> str:
    ordered = sorted(values)
    return "/".join(str(ordered[min(len(ordered) * p // 100, len(ordered) - 1)]) for p in percents)


def rooms() -> Counter[str]:
    """Lines of each folder of the source, two levels deep."""
    sizes: Counter[str] = Counter()
    for file in sources():
        parts = file.relative_to(ROOT).parts[:-1]
        sizes["/".join(parts[:1]) or "(root)"] += len(file.read_text().splitlines())
    return sizes


def _table() -> Iterator[tuple[str, str]]:
    lines = [len(file.read_text().splitlines()) for file in sources()]
    total = sum(lines)
    yield "files", f"{len(lines)} of {total} lines, p50/p90/max {_share(lines, 50, 90, 100)}"
    every = functions()
    yield "functions", f"{len(every)}, lines p50/p90/p99/max {_share([f.lines for f in every], 50, 90, 99, 100)}"
    yield "nesting", f"p90/p99/max {_share([f.nesting for f in every], 90, 99, 100)}"
    yield "functions of more than 20 lines", str(sum(f.lines > 20 for f in every))
    public = [f for f in every if not f.name.startswith("_")]
    documented = sum(ast.get_docstring(f.node) is not None for f in public)
    yield "public functions with a docstring", f"{documented / len(public):.0%}"
    yield "functions with a type of their result", f"{sum(f.node.returns is not None for f in every) / len(every):.0%}"
    yield from _prose_rows()
    yield "functions named by one participle", str(sum(is_participle(f.name) for f in every))
    yield "variables " + ", ".join(sorted(VAGUE)), str(vague_variables().total())
    for kind, table in names_in_several_modules().items():
        yield f"{kind} names in several modules", str(len(table))
    for title, kinds in (("top", ["top"]), ("and lazy", ["top", "lazy"]), ("and typing", ["top", "lazy", "typing"])):
        groups = circles(imports(frozenset(kinds)))
        yield f"circles of imports, {title}", f"{len(groups)} ({', '.join(str(len(group)) for group in groups)})"
    yield "imports inside functions", str(sum(kind == "lazy" for file in sources() for kind, _ in _imports(file)))
    for name, size in rooms().most_common(12):
        yield f"room {name}", f"{size} lines, {size / total:.0%}"


def _prose_rows() -> Iterator[tuple[str, str]]:
    documents = all_docstrings()
    shares = [doc.filler_share for doc in documents]
    yield "docstrings", str(len(documents))
    yield "filler share of first sentences", f"mean {sum(shares) / len(shares):.3f}, median {median(shares):.3f}"
    yield "first sentences with a filler share over 0.35", str(sum(share > 0.35 for share in shares))
    yield "'what' in 1,000 words of docstrings", f"{uses_per_thousand('what', (doc.text for doc in documents)):.1f}"
    starts = Counter(doc.first_sentence.partition(" ")[0] for doc in documents)
    yield "first sentences that begin with What", str(starts["What"])
    behind = sum(len(re.findall(r"\bbehind\b|\bin front of\b", doc.text)) for doc in documents)
    yield "'behind' and 'in front of' in docstrings", str(behind)


def main() -> None:
    """Print the table, or the first sentences of a folder with the largest share of fillers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", metavar="FOLDER", help="list first sentences below a folder, the worst first")
    arguments = parser.parse_args()
    if arguments.sentences is None:
        for title, value in _table():
            print(f"{title:<50} {value}")
        return
    chosen = [doc for doc in all_docstrings() if doc.path.startswith(arguments.sentences)]
    for doc in sorted(chosen, key=lambda doc: -doc.filler_share):
        print(f"{doc.filler_share:.2f} {doc.path}:{doc.line} {doc.name}: {doc.first_sentence}")


if __name__ == "__main__":
    main()
