"""`stepwell.Module`, the module of the user's API."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import stepwell
from stepwell.core.errors import OptionError
from stepwell.module import constants_of

TWO = """\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        A[0] = T.float32(1)

    @T.prim_func
    def g(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + 1.0
"""


@pytest.fixture
def module() -> stepwell.Module:
    return stepwell.parse_tvmscript(TWO)


def test_text_is_mlir_and_script_is_tvmscript(module: stepwell.Module) -> None:
    assert str(module).startswith("builtin.module {\n  tir.func @f(")
    assert "@T.prim_func" in module.script()
    assert "T.sblock" in module.script("0.27")


def test_an_unknown_style_is_refused(module: stepwell.Module) -> None:
    with pytest.raises(OptionError, match=r"unknown style 'clasic', did you mean 'classic'\?"):
        module.script("clasic")


def test_a_function_by_name_is_a_module_of_its_own(module: stepwell.Module) -> None:
    g = module["g"]
    assert list(g) == ["g"]
    assert list(module) == ["f", "g"]
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    stepwell.build(g)(a, b)
    assert np.array_equal(b, a + 1)


def test_an_unknown_function_is_refused(module: stepwell.Module) -> None:
    with pytest.raises(stepwell.StepwellError, match=r"no function 'h' \(has: f, g\)") as error:
        module["h"]
    assert isinstance(error.value, KeyError)


def test_a_bare_function_becomes_a_module() -> None:
    module = stepwell.parse_tvmscript('@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n    A[0] = T.float32(1)\n')
    assert isinstance(module.op, ModuleOp)
    assert list(module) == ["f"]


@pytest.mark.parametrize("target", ["llvm", "python"])
def test_building_leaves_the_module_as_it_is(module: stepwell.Module, target: str) -> None:
    before = str(module)
    stepwell.build(module, target)
    assert str(module) == before


def test_xdsl_modules_are_built_too(module: stepwell.Module) -> None:
    assert sorted(stepwell.build(module.op).functions) == ["f", "g"]


def test_an_unknown_target_is_refused(module: stepwell.Module) -> None:
    with pytest.raises(OptionError, match=r"unknown target 'lvm', did you mean 'llvm'\?"):
        stepwell.build(module, "lvm")


def test_a_clone_shares_the_constants_and_nothing_else(module: stepwell.Module) -> None:
    module.constants["w"] = np.zeros(3)
    clone = module.clone()
    clone.op.body.block.first_op.detach()  # pyright: ignore[reportOptionalMemberAccess]
    assert list(module) == ["f", "g"]
    assert clone.constants["w"] is module.constants["w"]


def test_constants_stand_beside_the_op_that_passes_see(module: stepwell.Module) -> None:
    array = np.zeros(3)
    module.constants["w"] = array
    assert constants_of(module.op) is stepwell.Module(module.op).constants
    assert stepwell.Module(module.op, {"v": array}).constants == {"v": array}
    assert list(module.constants) == ["v"]
    assert constants_of(module.op.clone()) == {}
    assert module["f"].constants["v"] is array


def test_values_used_before_they_are_defined_are_refused() -> None:
    text = """
    "builtin.module"() ({
      "tir.func"() <{sym_name = "f", param_names = []}> ({
        "tir.evaluate"(%0) : (i32) -> ()
        %0 = "arith.constant"() <{value = 1 : i32}> : () -> i32
      }) : () -> ()
    }) : () -> ()
    """
    with pytest.raises(stepwell.VerifyError, match=r"operand 0 of tir\.evaluate is used before it is defined"):
        stepwell.parse_mlir(text).verify()


def test_a_broken_constraint_is_one_of_our_errors() -> None:
    segments = "operandSegmentSizes = array<i32: 1, 0, 0>"
    load = f'%x = "tir.load"(%A) <{{{segments}}}> : (memref<4xf32>) -> f32'
    text = f'tir.func @f("A" %A: memref<4xf32>) {{\n  {load}\n}}\n'
    with pytest.raises(stepwell.VerifyError, match=r"\(C1\) 0 indices for a buffer of rank 1"):
        stepwell.parse_mlir(text).verify()


_PRINT_EVERYTHING = f"""
import stepwell
module = stepwell.parse_tvmscript({TWO!r})
library = stepwell.build(module)
print(module, module.script(), library.source("llvm"), library.source("asm"))
print(stepwell.build(module, "python").source("python"))
"""


def test_output_does_not_depend_on_the_hash_seed() -> None:
    outputs: set[Any] = set()
    for seed in ("0", "1", "77"):
        command = [sys.executable, "-c", _PRINT_EVERYTHING]
        outputs.add(subprocess.run(command, env={"PYTHONHASHSEED": seed}, check=True, capture_output=True).stdout)
    assert len(outputs) == 1
