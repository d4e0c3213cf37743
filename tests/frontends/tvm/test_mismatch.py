"""Paths of the first parts in which programs differ."""

from typing import Any

import numpy as np
import pytest

import stepwell.frontends.tvm as tvm
from stepwell.frontends.tvm import tir
from stepwell.frontends.tvm.runtime import ObjectPath
from stepwell.frontends.tvmscript import parse_tvmscript

ROOT = ObjectPath.root()
TEXT = """
@I.ir_module
class Module:
    @T.prim_func
    def func(A: T.Buffer((4, {extent}), "int32"), n: T.int32):
        for i in range({count}):
            A[{index}, 0] = A[{index}, 0] + {value}
            if i < {limit}:
                A[i, 1] = n
"""
PLAIN = {"extent": 8, "count": 4, "index": "i", "value": 1, "limit": 2}
FUNC = '<root>.functions[I.GlobalVar("func")]'


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"count": 3}, ".body.extent.value"),
        ({"extent": 9}, ".buffer_map[A_handle].shape[1].value"),
        ({"value": 2}, ".body.body.seq[0].value.b.value"),
        ({"index": "0"}, ".body.body.seq[0].value.a.indices[0]"),
        ({"limit": "n"}, ".body.body.seq[1].condition.b"),
    ],
)
def test_a_difference_has_a_path(change: dict[str, Any], path: str) -> None:
    one, other = (tvm.IRModule(parse_tvmscript(TEXT.format_map(each)).op) for each in (PLAIN, PLAIN | change))
    assert tvm.ir.base.get_first_structural_mismatch(one, one) is None
    paths = tvm.ir.base.get_first_structural_mismatch(one, other)
    assert paths is not None
    assert [str(each) for each in paths] == [FUNC + path] * 2
    with pytest.raises(ValueError, match=r"structural equality: .*, expected .*, at <root>\.functions") as error:
        tvm.ir.assert_structural_equal(one, other)
    assert str(error.value).endswith(FUNC + path)


def test_a_missing_statement_has_a_path() -> None:
    x = tir.Var("x", "int32")
    three, two = (tir.SeqStmt([tir.Evaluate(x + n) for n in range(count)]) for count in (3, 2))
    path = ROOT.attr("seq")
    expected = (path.array_index(2), path.missing_array_element(2))
    assert tvm.ir.base.get_first_structural_mismatch(three, two) == expected
    assert tvm.ir.base.get_first_structural_mismatch(two, three) == expected[::-1]


def test_a_missing_function_has_a_path() -> None:
    one = tvm.IRModule(parse_tvmscript(TEXT.format_map(PLAIN)).op)
    two = tvm.IRModule({"func": one["func"], "other": one["func"]})
    paths = tvm.ir.base.get_first_structural_mismatch(one, two)
    assert paths is not None
    assert [str(each) for each in paths] == [
        "<root>.functions[<missing entry>]",
        '<root>.functions[I.GlobalVar("other")]',
    ]


def test_paths_are_equal_by_their_steps() -> None:
    paths = [
        ROOT,
        ObjectPath.root("mod"),
        ROOT.attr("a"),
        ROOT.attr(None),
        ROOT.attr("a").array_index(1),
        ROOT.array_index(1),
        ROOT.missing_array_element(1),
        ROOT.map_value("a"),
        ROOT.missing_map_entry(),
    ]
    for n, path in enumerate(paths):
        assert [path == other for other in paths] == [n == m for m in range(len(paths))]
    assert str(paths[4]) == "<root>.a[1]"
    assert str(paths[3].map_value("x")) == '<root>.<unknown attribute>["x"]'
    assert paths[2].is_prefix_of(paths[4])
    assert not paths[4].is_prefix_of(paths[2])
    assert paths[4].get_prefix(2) == paths[4].parent == paths[2]
    assert len({hash(ROOT.attr("a")), hash(ROOT.attr("a"))}) == 1
    for length in (0, 4):
        with pytest.raises(IndexError, match="refix"):
            paths[4].get_prefix(length)


def test_arrays_and_names_of_functions_are_compared() -> None:
    one, two = (tvm.nd.array(np.arange(n)) for n in (3, 4))
    assert tvm.ir.structural_equal(one, tvm.nd.array(np.arange(3)))
    assert not tvm.ir.structural_equal(one, two)
    assert tvm.ir.structural_equal(tvm.ir.EnvFunc.get("f"), tvm.ir.EnvFunc.get("f"))
    assert not tvm.ir.structural_equal(tvm.ir.EnvFunc.get("f"), tvm.ir.EnvFunc.get("g"))
