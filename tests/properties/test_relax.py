"""Random programs of `relax` compute the results of numpy: before and after passes, from their text, and by the virtual
machine; memory of intermediate results is read between its first write and its last use alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i64

from stepwell import Module, VirtualMachine, apply_passes, build_relax
from stepwell.backends.interpreter import interpret
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.operators.relax import FuncOp
from stepwell.tools.testing.attachment import assert_uses_are_attached
from stepwell.tools.testing.comparison import assert_near
from stepwell.tools.testing.relax_programs import (
    RandomProgram,
    relax_programs,
    results_by_interpreter,
    results_by_machine,
    results_of_main,
)

PASSES = [
    "relax-inline-dataflow",
    "relax-legalize-operators",
    "relax-legalize-operators{fuse=true}",
    "relax-legalize-operators,convert-relay-to-te,convert-te-to-tir",
    "relax-inline-dataflow,relax-outline-graphs",
    "relax-inline-dataflow,relax-outline-graphs,relax-plan-memory",
    "relax-legalize-operators,convert-relay-to-te,convert-te-to-tir,relax-allocate-results",
    "relax-legalize-operators,convert-relay-to-te,convert-te-to-tir,relax-reuse-operands",
    "relax-legalize-operators,convert-relay-to-te,convert-te-to-tir,relax-fuse-kernels",
    "relay-fold-constants",
    "relay-eliminate-dead-code",
    "cse",
    "cse,relax-inline-dataflow,cse,relay-fold-constants,relay-eliminate-dead-code",
]


def check(module: Module) -> None:
    """Checks that a module verifies, and that its text is parsed as the same text."""
    module.verify()
    assert_uses_are_attached(module)
    text = str(module)
    assert str(parse_mlir(text)) == text


@pytest.mark.parametrize("passes", PASSES)
@given(program=relax_programs())
@settings(max_examples=max(1, settings().max_examples // 3))
def test_a_pass_leaves_what_a_program_computes(passes: str, program: RandomProgram) -> None:
    check(program.module)
    after = apply_passes(program.module, passes)
    check(after)
    assert_near(results_by_interpreter(after, program.inputs), program.expected, program.tolerances)


@given(program=relax_programs(), data=st.data())
@settings(max_examples=max(1, settings().max_examples // 3))
def test_lifted_weights_are_those_of_the_program(program: RandomProgram, data: st.DataObject) -> None:
    main = program.module.functions["main"]
    assert isinstance(main, FuncOp)
    inputs = data.draw(st.integers(0, len(program.inputs)))
    main.func_attrs = DictionaryAttr({"num_input": IntegerAttr(inputs, i64)})
    after = apply_passes(program.module, "relax-inline-dataflow,relax-lift-parameters")
    check(after)
    weights = interpret(after, "main_transform_params", [tuple(program.inputs[inputs:])])
    got = results_by_interpreter(after, [*program.inputs[:inputs], *weights])
    assert_near(got, program.expected, program.tolerances)


@given(program=relax_programs(), level=st.sampled_from([0, 1, 2]))
@settings(max_examples=max(1, settings().max_examples // 2))
def test_the_machine_computes_what_a_program_computes(program: RandomProgram, level: int) -> None:
    got = results_by_machine(program.module, program.inputs, level)
    assert_near(got, program.expected, program.tolerances)


@given(program=relax_programs(), level=st.sampled_from([0, 2]))
@settings(max_examples=max(1, settings().max_examples // 3))
def test_memory_is_written_before_it_is_read_and_not_read_after_its_last_use(
    program: RandomProgram, level: int
) -> None:
    """Poisons memory of intermediate results, which the second call finds as the first one left it."""
    vm = VirtualMachine(build_relax(program.module, opt_level=level), poisons=True)
    for _ in range(2):
        assert_near(results_of_main(vm, program.inputs), program.expected, program.tolerances)


@given(program=relax_programs(), style=st.sampled_from(["classic", "0.27"]))
@settings(max_examples=max(1, settings().max_examples // 2))
def test_tvmscript_is_read_as_what_was_printed(program: RandomProgram, style: str) -> None:
    module = apply_passes(program.module, "relax-legalize-operators,convert-relay-to-te,convert-te-to-tir")
    for printed in (program.module, module):
        if any(func.name == "relay.func" for func in printed.functions.values()):
            continue
        text = printed.script(style)
        read = parse_tvmscript(text)
        read.constants.update(printed.constants)
        assert read.script(style) == text
        assert_near(results_by_interpreter(read, program.inputs), program.expected, program.tolerances)


@given(program=relax_programs())
@settings(max_examples=max(1, settings().max_examples // 5))
def test_a_saved_program_computes_what_it_computed(
    program: RandomProgram, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from stepwell import VMExecutable

    path = tmp_path_factory.mktemp("program") / "program.tar"
    build_relax(program.module).save(path)
    results = VirtualMachine(VMExecutable.load(path))["main"](*program.inputs)
    arrays = [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]
    assert_near(arrays, program.expected, program.tolerances)
