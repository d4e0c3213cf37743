"""The corpus of tensor expressions: their results, and equality of their programs with TVM 0.27's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell import Module, build, parse_mlir, parse_tvmscript
from stepwell.frontends import te
from stepwell.frontends.te import TeError
from stepwell.tools.testing.equivalence import program_difference
from stepwell.tools.testing.te import CASES, TensorCase

RECORDED: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[2] / "data" / "te" / "tvm-0.27.json").read_text()
)
GOOD = [case for case in CASES if not case.tvm_refuses]

OTHERWISE = {
    **dict.fromkeys(
        (
            "difference_of_equal_floats",
            "difference_of_equal_quotients",
            "minimum_of_wrapped_sum",
            "sum_where_the_axis_is_large",
            "max_where_a_mask_says",
            "sum_on_top_of_a_number",
            "sum_on_top_of_a_tensor",
            "max_of_nothing",
        ),
        "TVM's program computes something else",
    ),
    **dict.fromkeys(
        (
            "abs_of_int32",
            "truncating_remainder_of_indices",
            "kinds_of_floats",
            "tiling_by_indexmod",
            "chain_of_10",
            "chain_of_40",
            "the_size_as_a_value",
        ),
        "TVM simplifies values",
    ),
    **dict.fromkeys(("any_of_comparisons_by_a_user_defined_reducer",), "TVM turns a > b into b < a"),
    **dict.fromkeys(
        ("gather_of_gathered_indices", "select_computes_both"), "another form of a box that covers several indices"
    ),
    **dict.fromkeys(
        ("any_of_bools", "argmin_with_the_first_of_equal_ones"),
        "the parser reads TVM's text as more than it says: lazy conditions, other types of literals",
    ),
}
"""Cases whose program differs from TVM's, with the reason."""


def made(case: TensorCase) -> Module:
    return te.create_prim_func(case.build(te), case.index_dtype)


def computed(case: TensorCase, mod: Module, target: str, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """The outputs of a program for a case, and the expected outputs."""
    inputs = case.inputs(te, seed)
    expected = case.reference_outputs(inputs)
    outputs = [np.zeros(each.shape, each.dtype) for each in expected]
    build(mod, target=target)["main"](*case.arguments(inputs, outputs))
    return outputs, expected


@pytest.mark.parametrize("case", [case for case in GOOD if case.runs], ids=lambda case: case.name)
def test_what_is_computed_is_what_numpy_computes(case: TensorCase) -> None:
    mod = made(case)
    mod.verify()
    outputs, expected = computed(case, mod, "llvm")
    assert not any(case.differs(got, wanted) for got, wanted in zip(outputs, expected, strict=True))


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_the_program_is_that_of_tvm(case: TensorCase) -> None:
    found = program_difference(made(case), parse_tvmscript(RECORDED[case.name]["script"]))
    assert (found is not None) == (case.name in OTHERWISE)


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_tensors_print_and_parse(case: TensorCase) -> None:
    mod = te.create_te_func(case.build(te), case.index_dtype)
    mod.verify()
    assert str(parse_mlir(str(mod))) == str(mod)


@pytest.mark.parametrize("case", [c for c in CASES if c.tvm_refuses], ids=lambda case: case.name)
def test_what_tvm_refuses_is_refused_or_right(case: TensorCase) -> None:
    if case.name != "max_of_bools":
        with pytest.raises(TeError):
            made(case)
        return
    outputs, expected = computed(case, made(case), "llvm")
    assert not any(case.differs(got, wanted) for got, wanted in zip(outputs, expected, strict=True))


@pytest.mark.parametrize("target", ["llvm", "python"])
def test_tensors_are_built_as_they_are(target: str) -> None:
    a = te.placeholder((4,), name="A")
    mod = te.create_te_func([a, te.compute((4,), lambda i: a[i] * 2.0, name="B")])
    out = np.zeros(4, "float32")
    build(mod, target=target)(np.ones(4, "float32"), out)
    assert out.tolist() == [2] * 4
