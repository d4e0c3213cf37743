"""The rules of CONTRIBUTING.md that a program can check: names map to paths, documentation and tests are complete, and
imports point in one direction."""

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

import pytest
from xdsl.ir import Attribute, Operation

from stepwell.dialects import DIALECTS, get_all_dialects
from stepwell.operators.relay import OperatorOp
from stepwell.transforms import PASSES, get_all_passes

ROOT = Path(__file__).parents[1]
FILECHECK = ROOT / "tests/filecheck"
CONSTRAINT = re.compile(r"\(C\d+\)")

# The folders of transforms/ that hold passes; their other modules are parts that passes share.
LANDINGS = ("relax", "relay", "te", "tir", "gpu", "upstream")

# An import may point to a lower layer or its own; front ends and back ends do not import each other.
LAYERS = {
    "core": 0,
    "dialects": 1,
    "module": 2,
    "expressions": 2,
    "operators": 3,
    "operators.relay": 4,
    "operators.relax": 5,
    "analysis": 6,
    "schedule": 7,
    "transforms": 8,
    "frontends": 9,
    "backends": 9,
    "decoding": 10,
    "frontends.tvm": 11,
    "tools": 11,
    "": 11,
}
SOURCES = sorted(
    [
        *ROOT.glob("*.py"),
        *(file for layer in LAYERS if "." not in layer for file in (ROOT / (layer or "-")).rglob("*.py")),
    ]
)


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[-_.]", name))


# Passes


def _place(name: str) -> str:
    """The module of the pass called `name`: `tir.simplify` for `tir-simplify`, `te.to_tir` for `convert-te-to-tir`."""
    conversion = re.fullmatch(r"convert-(\w+)-to-(\w+)", name)
    if conversion is not None:
        return f"{conversion[1]}.to_{conversion[2]}"
    landing, _, rest = name.partition("-")
    if landing in LANDINGS:
        return f"{landing}.{rest.replace('-', '_')}"
    return f"{'tir' if name == 'apply-schedule' else 'upstream'}.{name.replace('-', '_')}"


@pytest.mark.parametrize("name", PASSES)
def test_pass_is_where_its_name_says(name: str) -> None:
    cls = get_all_passes()[name]()
    assert cls.name == name
    assert cls.__module__ == f"stepwell.transforms.{_place(name)}"
    assert PASSES[name] == _place(name)
    assert cls.__name__ == f"{_camel(name)}Pass"
    assert (FILECHECK / "transforms" / f"{name}.mlir").is_file()


@pytest.mark.parametrize("name", PASSES)
def test_pass_is_documented_by_a_program_before_and_after(name: str) -> None:
    doc = inspect.getdoc(get_all_passes()[name]()) or ""
    assert "Before" in doc
    assert "After" in doc


def test_every_pass_is_registered() -> None:
    defined = {
        node.name
        for landing in LANDINGS
        for file in (ROOT / "transforms" / landing).rglob("*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef) and "ModulePass" in map(ast.unparse, node.bases)
    }
    assert defined == {f"{_camel(name)}Pass" for name in PASSES}


# Dialects


@cache
def _definitions(dialect: str) -> tuple[type[Operation] | type[Attribute], ...]:
    value = get_all_dialects()[dialect]()
    return (*value.operations, *value.attributes)


def _operations(dialect: str) -> list[type[Operation]]:
    return [cls for cls in _definitions(dialect) if issubclass(cls, Operation)]


def _is_of_operator(cls: type) -> bool:
    """Whether an operation is generated from the definition of an operator; tests/dialects/relay tests each of
    these."""
    return issubclass(cls, OperatorOp)


def _constraints(dialect: str) -> Iterator[tuple[type, str]]:
    """Every numbered constraint of a docstring, with its class."""
    for cls in (*_definitions(dialect), *([OperatorOp] if dialect == "relay" else [])):
        for constraint in sorted(set(CONSTRAINT.findall(cls.__doc__ or ""))):
            yield cls, constraint


@cache
def _module_code(module: str) -> dict[str, str]:
    """The classes and functions of a module of Stepwell: name to code without docstrings."""
    tree = ast.parse(inspect.getsource(import_module(module)))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return {node.name: ast.unparse(node) for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def _code(cls: type) -> str:
    """The code of a class, of its base classes in Stepwell, and of the objects that they refer to in their modules."""
    found: dict[str, str] = {}
    todo = [(base.__module__, base.__name__) for base in cls.__mro__ if base.__module__.startswith("stepwell.")]
    while todo:
        module, name = todo.pop()
        if name not in found:
            found[name] = _module_code(module)[name]
            words = set(re.findall(r"\w+", found[name]))
            todo += [(module, other) for other in _module_code(module) if other in words]
    return "\n".join(found.values())


def _mentions(cls: type, text: str) -> bool:
    """Whether a test mentions an operation or attribute, by mnemonic or by class."""
    name: str = cls.__dict__.get("name", cls.__name__)
    return re.search(rf"{re.escape(name)}\b|\b{cls.__name__}\b", text) is not None


@cache
def _negative_tests(dialect: str) -> tuple[str, ...]:
    """The test cases that expect an error: the cases of invalid.mlir, and the functions of tests/dialects."""
    cases = (FILECHECK / "dialects" / dialect / "invalid.mlir").read_text().split("// -----")
    for file in (ROOT / "tests/dialects").rglob("test_*.py"):
        text = file.read_text()
        cases += [ast.get_source_segment(text, node) or "" for node in ast.parse(text).body]
    return tuple(cases)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_operation_classes_are_named_from_their_mnemonics(dialect: str) -> None:
    expected = {cls.__name__: f"{_camel(cls.name.partition('.')[2])}Op" for cls in _operations(dialect)}
    assert {name: expected[name] for name in expected if name != expected[name]} == {}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_everything_in_a_dialect_is_documented(dialect: str) -> None:
    assert [cls.__name__ for cls in _definitions(dialect) if not (cls.__dict__.get("__doc__") or "").strip()] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_operation_is_read_and_printed_by_a_test(dialect: str) -> None:
    files = [path for path in sorted((FILECHECK / "dialects" / dialect).glob("*.mlir")) if path.stem != "invalid"]
    text = "\n".join(path.read_text() for path in files)
    program = re.sub(r"//.*", "", text)
    names = [cls.name for cls in _operations(dialect) if not _is_of_operator(cls)]
    assert [name for name in names if not re.search(rf"\b{re.escape(name)}(?![.\w])", program)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_numbered_constraint_is_raised_by_the_code(dialect: str) -> None:
    assert [(cls, c) for cls, c in _constraints(dialect) if c not in _code(cls)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_numbered_constraint_has_a_test_that_breaks_it(dialect: str) -> None:
    cases = [case.replace("\\", "") for case in _negative_tests(dialect)]

    def tested(cls: type, constraint: str) -> bool:
        return any(constraint in case and _mentions(cls, case) for case in cases)

    assert [(cls, c) for cls, c in _constraints(dialect) if not tested(cls, c)] == []


# Imports


def _layer(module: tuple[str, ...]) -> str:
    """The layer of a module, given by its path below the root package."""
    two = ".".join(module[:2])
    return two if two in LAYERS else module[0] if module and module[0] in LAYERS else ""


def _is_module(path: tuple[str, ...]) -> bool:
    place = ROOT.joinpath(*path)
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def _targets(node: ast.ImportFrom, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The modules imported by a relative import, as paths below the root package."""
    base = package[: len(package) - node.level + 1] + tuple(filter(None, (node.module or "").split(".")))
    for alias in node.names:
        yield (*base, alias.name) if _is_module((*base, alias.name)) else base


Import: TypeAlias = ast.Import | ast.ImportFrom


def _imports(body: Sequence[object], in_function: bool = False) -> Iterator[tuple[Import, bool, bool]]:
    """The imports of statements and of those inside of them, each with whether it is in a function, and whether it is
    the first of a run of imports.
    """
    for before, node in zip([None, *body], body, strict=False):
        if isinstance(node, Import):
            yield node, in_function, not isinstance(before, Import)
        elif isinstance(node, ast.AST) and not isinstance(node, ast.expr):
            inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for _, inner in ast.iter_fields(node):
                if isinstance(inner, list):
                    yield from _imports(inner, inside)


def _wrong_imports(file: Path, tree: ast.Module) -> Iterator[str]:
    """The relative imports in a file that point to a higher layer, and the absolute ones of this package."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    here = _layer(parts if parts != ("__init__",) else ())
    ours = {"stepwell"} | {layer for layer in LAYERS if layer}
    for node, _, _ in _imports(tree.body):
        if isinstance(node, ast.Import) or node.level == 0:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (f"line {node.lineno}: absolute" for name in names if name.partition(".")[0] in ours)
            continue
        for target in _targets(node, parts[:-1]):
            there = _layer(target)
            if LAYERS[there] > LAYERS[here] or {here, there} == {"frontends", "backends"}:
                yield f"line {node.lineno}: {here or 'the root'} imports {'.'.join(target) or 'the root'}"


def _unexplained_imports(text: str, tree: ast.Module) -> list[int]:
    """The lines of imports inside functions that have no comment `# lazy: reason`, there or on the line before. A run
    of imports needs one.
    """
    lines = text.splitlines()
    numbers = [node.lineno for node, inside, is_first in _imports(tree.body) if inside and is_first]
    return [n for n in numbers if not any("# lazy: " in line for line in lines[max(n - 2, 0) : n])]


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_are_relative_point_one_way_and_have_a_reason_inside_of_functions(file: Path) -> None:
    text = file.read_text()
    tree = ast.parse(text)
    assert list(_wrong_imports(file, tree)) == []
    assert _unexplained_imports(text, tree) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from ..dialects import tir", []),
        ("from ..core.errors import PassError", []),
        ("from .. import module", []),
        ("from .. import Module", ["line 1: transforms imports the root"]),
        ("from ..backends import llvm", ["line 1: transforms imports backends.llvm"]),
        ("import numpy\nfrom stepwell.core import errors", ["line 2: absolute"]),
        ("if True:\n    import dialects.tir", ["line 2: absolute"]),
        ("def f():\n    from ..frontends import tvmscript", ["line 2: transforms imports frontends.tvmscript"]),
    ],
)
def test_a_wrong_import_is_seen(source: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("transforms", "dialects", "core", "backends/llvm", "frontends/tvmscript"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "module.py").touch()
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert list(_wrong_imports(tmp_path / "transforms/some_pass.py", ast.parse(source))) == found


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import a", []),
        ("def f():\n    import a", [2]),
        ("class A:\n    def f(self):\n        if self:\n            from . import a", [4]),
        ("def f():\n    import a  # lazy: it is optional", []),
        ("def f():\n    # lazy: it is optional\n    import a\n\n    from . import b", []),
    ],
)
def test_an_import_without_a_reason_is_seen(source: str, lines: list[int]) -> None:
    assert _unexplained_imports(source, ast.parse(source)) == lines
