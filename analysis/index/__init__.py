"""The normal form of integer index expressions: import from SSA, simplification by ranges, comparison, export.

`Analyzer` queries the program; `Lin` is a sum; `export` emits a sum as SSA and `isl_text` prints it for isl. The normal
form is not stored in the program, and only `export` changes the program, by adding ops.

    analyzer = Analyzer()
    lin = analyzer.lin(value)               # 4*i + j, from whatever arithmetic computes it
    analyzer.bounds(lin)                    # (0, 31)
    analyzer.is_provably("lt", lin, 32)     # True
    export(analyzer, lin, builder, i32)     # new ops
"""

from .analyzer import Analyzer, is_index_arithmetic
from .export import WidthError, cost, export, tree_cost
from .isl import isl_text
from .ranges import type_range
from .terms import Atom, Compound, DivAtom, Lin, MaxAtom, MinAtom, ModAtom, ProductAtom, render_sum

__all__ = [
    "Analyzer",
    "Atom",
    "Compound",
    "DivAtom",
    "Lin",
    "MaxAtom",
    "MinAtom",
    "ModAtom",
    "ProductAtom",
    "WidthError",
    "cost",
    "export",
    "is_index_arithmetic",
    "isl_text",
    "render_sum",
    "tree_cost",
    "type_range",
]
