"""Statement-tree form: the result of `treeify` on other programs."""

from typing import Any

import pytest
from hypothesis import given
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from stepwell import Module, parse_mlir, parse_tvmscript
from stepwell.dialects import mlir_context
from stepwell.dialects.tir.tree import is_tree_form, treeify
from stepwell.tools.testing.comparison import assert_same
from stepwell.tools.testing.corpus import CorpusProgram, programs_of_schedules, script_programs
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import oracle_results
from stepwell.tools.testing.strategies import programs

HEAD = 'tir.func @f("A" %A: memref<8xf32>, "B" %B: memref<8xf32>, "n" %n: i32) {'


def tree(body: str) -> str:
    """The body of a function after `treeify`."""
    module = parse_mlir(f"{HEAD}\n{body}\n}}")
    treeify(module.op)
    module.verify()
    assert is_tree_form(module.op)
    lines = str(module).splitlines()
    start = next(i for i, line in enumerate(lines) if "tir.func" in line)
    return "\n".join(line.strip() for line in lines[start + 1 : -2])


def test_a_program_in_tree_form_stays_as_it_is() -> None:
    body = """
    %0 = arith.constant 1 : i32
    %1 = arith.addi %n, %0 : i32
    %2 = tir.load %A[%1] : memref<8xf32>
    tir.store %2, %B[%n] : memref<8xf32>"""
    assert tree(body) == "\n".join(line.strip() for line in body.strip().splitlines())


def test_a_shared_pure_op_is_copied_to_each_statement() -> None:
    result = tree(
        """
    %x = arith.constant 1.0 : f32
    tir.store %x, %A[%n] : memref<8xf32>
    tir.for serial "i" %i : i32 in [0 +: 8] {
      tir.store %x, %B[%i] : memref<8xf32>
    }"""
    )
    assert result.count("arith.constant") == 2
    assert result.index("tir.for") < result.rindex("arith.constant")


def test_an_op_moves_to_its_one_statement() -> None:
    result = tree(
        """
    %0 = tir.load %A[%n] : memref<8xf32>
    tir.for serial "i" %i : i32 in [0 +: 8] {
    }
    %1 = arith.constant 3 : i32
    %c = arith.constant true
    tir.assert %c, "x"
    tir.store %0, %B[%1] : memref<8xf32>"""
    )
    # The load is named at its position, because the body of the loop may write.
    assert result.startswith('%0 = tir.load %A[%n] : memref<8xf32>\n%value = tir.let "value" %0 : f32\ntir.for')
    assert result.endswith("%1 = arith.constant 3 : i32\ntir.store %value, %B[%1] : memref<8xf32>")


def test_a_load_does_not_pass_a_store() -> None:
    result = tree(
        """
    %x = tir.load %A[%n] : memref<8xf32>
    %zero = arith.constant 0.0 : f32
    tir.store %zero, %A[%n] : memref<8xf32>
    tir.store %x, %B[%n] : memref<8xf32>"""
    )
    assert result.splitlines()[:2] == ["%x = tir.load %A[%n] : memref<8xf32>", '%x_1 = tir.let "x" %x : f32']
    assert result.endswith("tir.store %x_1, %B[%n] : memref<8xf32>")


def test_a_load_passes_what_does_not_write() -> None:
    result = tree(
        """
    %x = tir.load %A[%n] : memref<8xf32>
    %y = tir.let "y" %n : i32
    tir.store %x, %B[%y] : memref<8xf32>"""
    )
    assert result.index("tir.let") < result.index("tir.load")


def test_a_load_that_two_statements_read_is_copied_before_the_first_store() -> None:
    result = tree(
        """
    %i = arith.constant 0 : i32
    %x = tir.load %A[%i] : memref<8xf32>
    %y = tir.let "y" %x : f32
    %z = tir.let "z" %x : f32
    tir.store %y, %B[%n] : memref<8xf32>
    tir.store %z, %B[%n] : memref<8xf32>"""
    )
    assert result.count("tir.load") == 2
    assert result.rindex("tir.load") < result.index("tir.store")


def test_a_call_is_never_copied_and_keeps_its_place() -> None:
    result = tree(
        """
    %x = tir.call_extern "f"() -> f32
    tir.store %x, %A[%n] : memref<8xf32>
    tir.store %x, %B[%n] : memref<8xf32>
    %y = tir.call_extern "g"() -> f32"""
    )
    assert result.count('"f"') == 1
    assert '%x_1 = tir.let "x" %x : f32' in result
    assert "tir.evaluate %y : f32" in result


def test_unused_computations_are_erased() -> None:
    assert tree("%0 = tir.load %A[%n] : memref<8xf32>\n%1 = arith.addf %0, %0 : f32\ntir.return") == "tir.return"


def test_a_value_of_only_a_branch_of_a_lazy_choice_may_stay_before_the_choice() -> None:
    body = """
    %c = arith.constant true
    %i = arith.addi %n, %n : i32
    %0 = tir.if_then_else %c {
      %1 = tir.load %A[%i] : memref<8xf32>
      tir.yield %1 : f32
    } else {
      %2 = tir.load %B[%i] : memref<8xf32>
      tir.yield %2 : f32
    } : f32
    tir.store %0, %B[%n] : memref<8xf32>"""
    assert tree(body).count("arith.addi") == 1


def test_a_lazy_choice_is_copied_with_what_it_holds() -> None:
    result = tree(
        """
    %c = arith.constant true
    %0 = tir.if_then_else %c {
      %1 = arith.constant 1.0 : f32
      tir.yield %1 : f32
    } else {
      %2 = arith.constant 2.0 : f32
      tir.yield %2 : f32
    } : f32
    tir.store %0, %A[%n] : memref<8xf32>
    tir.store %0, %B[%n] : memref<8xf32>"""
    )
    assert result.count("tir.if_then_else") == 2
    assert result.count("arith.constant true") == 2


def test_the_condition_of_a_while_is_a_tree_of_its_own() -> None:
    result = tree(
        """
    %k = arith.constant 3 : i32
    tir.while {
      %c = arith.cmpi slt, %n, %k : i32
      tir.yield %c : i1
    } do {
      %x = tir.load %A[%k] : memref<8xf32>
      tir.store %x, %B[%k] : memref<8xf32>
    }"""
    )
    assert result.count("arith.constant 3") == 2
    assert result.startswith("tir.while")


def test_what_is_shared_is_seen() -> None:
    shared = f"{HEAD}\n%0 = arith.addi %n, %n : i32\ntir.evaluate %0 : i32\ntir.evaluate %0 : i32\n}}"
    apart = (
        f"{HEAD}\n%0 = arith.addi %n, %n : i32\n%1 = arith.addi %n, %n : i32\n"
        "tir.evaluate %0 : i32\ntir.evaluate %1 : i32\n}"
    )
    for text in (shared, apart):
        assert not is_tree_form(parse_mlir(text).op)


@pytest.mark.parametrize("passes", ["canonicalize", "cse", "dce", "canonicalize,cse"])
@given(program=programs(Features(libm=True)))
def test_upstream_passes_and_treeify_leave_what_is_computed(
    passes: str, program: tuple[Module, dict[str, Any]]
) -> None:
    module, arguments = program
    changed = module.clone()
    for name in passes.split(","):
        UPSTREAM[name].apply(mlir_context(), changed.op)
        changed.verify()
    _check_same(module, changed, arguments)
    treeify(changed.op)
    changed.verify()
    assert is_tree_form(changed.op)
    _check_same(module, changed, arguments)
    assert parse_tvmscript(changed.script()).script() == changed.script()


UPSTREAM = {
    "canonicalize": CanonicalizePass(),
    "cse": CommonSubexpressionElimination(),
    "dce": DeadCodeElimination(),
}


def _check_same(module: Module, changed: Module, arguments: dict[str, Any]) -> None:
    assert_same(oracle_results(changed, arguments), oracle_results(module, arguments))


CORPUS = [*script_programs(), *programs_of_schedules("in")]


@pytest.mark.skipif(not CORPUS, reason="the corpus is not there")
@pytest.mark.parametrize("passes", [[CanonicalizePass()], [CommonSubexpressionElimination()]], ids=["canon", "cse"])
def test_upstream_passes_and_treeify_leave_the_script_as_it_was(passes: list[ModulePass]) -> None:
    for program in CORPUS:
        _check_unchanged(program, passes)


def _check_unchanged(program: CorpusProgram, passes: list[ModulePass]) -> None:
    module = parse_tvmscript(program.text, filename=program.name)
    assert is_tree_form(module.op), program.name
    changed = Module(module.op.clone())
    for upstream in passes:
        upstream.apply(mlir_context(), changed.op)
    assert changed.script() == module.script(), program.name
    treeify(changed.op)
    changed.verify()
    assert is_tree_form(changed.op), program.name
    assert changed.script() == module.script(), program.name
