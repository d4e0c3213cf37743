"""The public names of TVM's packages, and the table of those that this package has, on docs/tvm.md.

`python -m stepwell.tools.docs.tvm_names TREE...` reads the names from source trees of TVM, by their syntax alone, and
writes them to tvm_names.json; `python -m stepwell.tools.docs` writes the table.
"""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from ..marks import replace_between_marks

NAMES = Path(__file__).with_name("tvm_names.json")
PACKAGE = "stepwell.frontends.tvm"
MODULES = (
    "tvm", "tvm.te", "tvm.tir", "tvm.tir.transform", "tvm.tir.analysis", "tvm.tir.stmt_functor", "tvm.ir",
    "tvm.ir.transform", "tvm.ir.instrument", "tvm.arith", "tvm.target", "tvm.runtime", "tvm.transform", "tvm.testing",
    "tvm.contrib.cc", "tvm.contrib.cblas", "tvm.contrib.download", "tvm.contrib.graph_executor", "tvm.contrib.nvcc",
    "tvm.contrib.utils", "tvm.topi", "tvm.topi.nn", "tvm.topi.testing", "tvm.topi.utils", "tvm.relay",
    "tvm.relay.transform", "tvm.relay.analysis", "tvm.relax", "tvm.relax.transform", "tvm.relax.analysis",
    "tvm.relax.dpl", "tvm.relax.utils", "tvm.relax.expr_functor", "tvm.relax.frontend.nn", "tvm.relax.training",
    "tvm.relax.testing",
)  # fmt: skip
"""The modules whose names are compared."""
BEGIN, END = "<!-- names: begin -->", "<!-- names: end -->"


def public_names(tree: Path, module: str) -> set[str]:
    """The public names of a module in a source tree of TVM; none if the tree has no such module."""
    base = tree / "python" / module.replace(".", "/")
    file = next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)
    return set() if file is None else {name for name in _names(file) if not name.startswith("_")}


def _names(file: Path, seen: frozenset[Path] = frozenset()) -> Iterator[str]:
    """The names that a file defines, and imports from its own package."""
    for node in ast.parse(file.read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.ImportFrom(names=names, level=level, module=module) if level:
                source = file.parents[level - 1] / (module or "").replace(".", "/")
                for alias in names:
                    if alias.name != "*":
                        yield alias.asname or alias.name
                    else:
                        yield from _imported(source, seen | {file})
            case _:
                pass


def _imported(source: Path, seen: frozenset[Path]) -> Iterator[str]:
    for path in (source / "__init__.py", source.with_suffix(".py")):
        if path.is_file() and path not in seen:
            yield from (name for name in _names(path, seen) if not name.startswith("_"))


def collect(trees: list[Path]) -> dict[str, list[str]]:
    """The public names of all modules, in any of the trees."""
    return {
        module: sorted({name for tree in trees for name in public_names(tree, module)} - {"annotations"})
        for module in MODULES
    }


def present(module: str, names: list[str]) -> list[str]:
    """The names of a module that this package has."""
    own = importlib.import_module(module.replace("tvm", PACKAGE, 1))
    return [name for name in names if hasattr(own, name)]


def coverage_page(text: str) -> str:
    """The page with the table of names."""
    rows = ["| module | names of TVM | here | missing |", "|---|---:|---:|---|"]
    for module, names in json.loads(NAMES.read_text()).items():
        here = present(module, names)
        missing = [f"`{name}`" for name in names if name not in here]
        rows.append(f"| `{module}` | {len(names)} | {len(here)} | {', '.join(missing)} |")
    return replace_between_marks(text, BEGIN, END, "\n".join(rows))


def main() -> None:
    """Writes the names of the trees that the command line names."""
    names = collect([Path(tree) for tree in sys.argv[1:]])
    NAMES.write_text(json.dumps(names, indent=1) + "\n")


if __name__ == "__main__":
    main()
