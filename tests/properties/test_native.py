"""Native code agrees with the oracle: exactly for integers and for operations correctly rounded by IEEE 754, up to a
few units in the last place after a function of the C library."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation

from stepwell.analysis import unscheduled
from stepwell.backends.build import build
from stepwell.backends.llvm import units
from stepwell.backends.oracle import compile_oracle, run_oracle
from stepwell.backends.passes import apply_passes
from stepwell.core.dtypes import mlir_type, numpy_dtype, parse_dtype
from stepwell.core.errors import UndefinedBehaviorError
from stepwell.core.processors import threads
from stepwell.dialects.tir import FLOAT_UNARY, ForOp, FuncOp, TirBuilder
from stepwell.dialects.tir import buffer_type as memref
from stepwell.module import Module
from stepwell.schedule.cpu import schedule_cpu
from stepwell.tools.testing.choices import HypothesisChoices
from stepwell.tools.testing.comparison import assert_same, near, same
from stepwell.tools.testing.environment import Features
from stepwell.tools.testing.execution import oracle_results, results
from stepwell.tools.testing.parallel_programs import parallel_programs
from stepwell.tools.testing.programs import copy_arguments, random_array
from stepwell.tools.testing.scheduling import random_arguments
from stepwell.tools.testing.strategies import faulty_programs, programs
from stepwell.tools.testing.unscheduled_programs import SIZES, unscheduled_program
from stepwell.transforms.pipelines import division, lower
from stepwell.transforms.upstream import prefetch_blocks

FLOATS = ("float16", "bfloat16", "float32", "float64")
COUNT = 64


@given(program=programs(Features()))
def test_native_code_computes_exactly_what_the_oracle_computes(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    assert_same(results(build(module)["main"], arguments), oracle_results(module, arguments))


@given(count=st.sampled_from([1, 2, 5]), program=programs(Features()))
def test_native_code_in_several_threads_computes_exactly_what_the_oracle_computes(
    count: int, program: tuple[Module, dict[str, Any]]
) -> None:
    module, arguments = program
    with threads(count):
        assert_same(results(build(module)["main"], arguments), oracle_results(module, arguments))


@given(program=parallel_programs())
def test_parallel_iterations_have_private_memory(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    main, expected = build(module)["main"], oracle_results(module, arguments)
    with threads(2):
        for _ in range(50):
            assert_same(results(main, arguments), expected)


@given(program=programs(Features()))
def test_native_code_of_vectorized_loops_computes_exactly_what_the_oracle_computes(
    program: tuple[Module, dict[str, Any]],
) -> None:
    module, arguments = program
    vectors = apply_passes(module, "tir-resolve-blocks,tir-vectorize-loops")
    assert_same(results(build(vectors)["main"], arguments), oracle_results(module, arguments))


@given(program=programs(Features()))
def test_native_code_with_all_memory_in_a_workspace_computes_exactly_what_the_oracle_computes(
    program: tuple[Module, dict[str, Any]],
) -> None:
    module, arguments = program
    main = build(apply_passes(module, "tir-resolve-blocks,tir-plan-allocations{max-stack-bytes=0}"))["main"]
    expected = oracle_results(module, arguments)
    for _ in range(2):  # the second call finds the values of the first in the workspace
        assert_same(results(main, arguments), expected)


@given(program=programs(Features()))
def test_native_code_of_split_vectors_computes_exactly_what_the_oracle_computes(
    program: tuple[Module, dict[str, Any]],
) -> None:
    module, arguments = program
    split = apply_passes(lower(module), "split-vectors{whole=1}")
    assert_same(results(build(split)["main"], arguments), oracle_results(module, arguments))


@given(program=programs(Features()))
def test_native_code_with_streaming_stores_computes_exactly_what_the_oracle_computes(
    program: tuple[Module, dict[str, Any]],
) -> None:
    module, arguments = program
    vectors = lower(apply_passes(module, "tir-resolve-blocks,tir-vectorize-loops"))
    streams = apply_passes(vectors, "stream-stores{from-bytes=16}")
    assert_same(results(build(streams)["main"], arguments), oracle_results(module, arguments))


@given(data=st.data())
def test_native_code_with_early_requests_computes_exactly_what_it_computes_without(data: st.DataObject) -> None:
    module = unscheduled_program(HypothesisChoices(data.draw))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unscheduled, "LEAST_TIME", 0)
        patch.setattr(prefetch_blocks, "_STEPS", 0)
        patch.setattr(prefetch_blocks, "_LEAST_BLOCKS", 1)
        lowered = lower(schedule_cpu(module, "avx2").mod)
        updates, tile = data.draw(st.sampled_from((2, 4))), "l1_bytes=1,l2_bytes=1"
        loads = f'prefetch-loads{{cpu="avx2,{tile},updates_per_cycle={updates}" tile-bytes=1}}'
        requests = apply_passes(lowered, f'{loads},prefetch-blocks{{cpu="avx2,{tile}" tile-bytes=1}}')
    function = module.function_ops["main"]
    assert isinstance(function, FuncOp)
    arguments = random_arguments(function, 0, data.draw(st.sampled_from(SIZES)))
    assert_same(*(results(build(each)["main"], arguments) for each in (requests, lowered)))


@given(program=programs(Features()))
def test_native_code_of_outlined_loops_in_units_computes_exactly_what_the_oracle_computes(
    program: tuple[Module, dict[str, Any]],
) -> None:
    module, arguments = program
    outlined = apply_passes(lower(module), "outline-loops{loops=1}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "UNIT_LINES", 1)
        main = build(outlined)["main"]
    assert_same(results(main, arguments), oracle_results(module, arguments))


@given(program=programs(Features()))
def test_native_code_in_parts_computes_exactly_what_the_oracle_computes(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    twice = module.clone()
    copies = [op.clone() for op in module.op.body.block.ops]
    names = {name: f"{name}_again" for name in module.functions}
    for op in (inner for copy in copies for inner in copy.walk()):
        for key in ("sym_name", "callee"):
            _rename(op, key, names)
    twice.op.body.block.add_ops(copies)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(division, "PART_WEIGHT", 1)
        patch.setattr(units, "UNIT_LINES", 1)
        lib = build(twice)
    for name in ("main", "main_again"):
        assert_same(results(lib[name], arguments), oracle_results(module, arguments))


def _rename(op: Operation, key: str, names: dict[str, str]) -> None:
    match op.properties.get(key):
        case StringAttr() as name if name.data in names:
            op.properties[key] = StringAttr(names[name.data])
        case SymbolRefAttr() as name if name.string_value() in names:
            op.properties[key] = SymbolRefAttr(names[name.string_value()])
        case _:
            pass


# Checks of undefined behaviour


@given(program=programs(Features()))
def test_sanitized_code_computes_exactly_what_the_oracle_computes(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    assert_same(results(build(module, sanitize=True)["main"], arguments), oracle_results(module, arguments))


def error_of(run: Callable[..., Any], arguments: dict[str, Any]) -> str | None:
    """The message of the undefined behaviour that a call detects, with its line; None if it detects none."""
    try:
        run(*copy_arguments(arguments))
    except UndefinedBehaviorError as error:
        return str(error)
    return None


@given(program=faulty_programs(Features(legacy=False)))
def test_sanitized_code_reports_the_faults_that_the_oracle_reports(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    assume(not any(isinstance(op, ForOp) and op.kind.data == "vectorized" for op in module.op.walk()))
    expected = error_of(lambda *values: run_oracle(module, "main", values), arguments)
    assume(expected is None or not any(text in expected for text in ("race on", "does not end")))
    assert error_of(build(module, sanitize=True)["main"], arguments) == expected


@given(program=faulty_programs(Features(legacy=False)))
def test_the_oracle_reports_the_same_faults_after_the_pass(program: tuple[Module, dict[str, Any]]) -> None:
    module, arguments = program
    expected = error_of(lambda *values: run_oracle(module, "main", values), arguments)
    assume(expected is None or not any(text in expected for text in ("race on", "does not end")))
    checked = apply_passes(module, "tir-sanitize")
    assert error_of(lambda *values: run_oracle(checked, "main", values), arguments) == expected


# Functions of the C library, one at a time: a comparison or a cast would amplify differences


@cache
def elementwise(name: str, dtype: str) -> Module:
    """B[i] = name(A[i])."""
    buffer = memref(mlir_type(dtype), [COUNT])
    func = FuncOp("main", [("A", buffer), ("B", buffer)])
    a, b = func.body.block.args
    builder = TirBuilder(func.body.block)
    loop = builder.insert(ForOp("i", 0, COUNT, mlir_type("int32")))
    with builder.at(loop.body.block):
        builder.store(builder.unary(name, builder.load(a, [loop.variable])), b, [loop.variable])
    return Module(ModuleOp([func]))


@cache
def compiled(name: str, dtype: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    module = elementwise(name, dtype)
    return build(module), compile_oracle(module)


EXACT = {"abs", "floor", "ceil", "trunc", "nearbyint", "sqrt"}


@pytest.mark.parametrize("name", FLOAT_UNARY)
@given(dtype=st.sampled_from(FLOATS), seed=st.integers(0, 2**16))
def test_float_functions_are_those_of_the_oracle(name: str, dtype: str, seed: int) -> None:
    native, oracle = compiled(name, dtype)
    values = random_array(np.random.default_rng(seed), (COUNT,), parse_dtype(dtype))
    expected, got = (np.zeros(COUNT, numpy_dtype(dtype)) for _ in range(2))
    oracle(values, expected)
    native(values, got)
    compare = same if name in EXACT else near
    assert compare(got, expected), [(v, g, e) for v, g, e in zip(values, got, expected, strict=True) if not near(g, e)]
