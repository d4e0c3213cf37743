"""Validation of passes: planted faults are found, and the passes of the lowering have none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

import stepwell
from stepwell import relay
from stepwell.backends.validation import VARIABLE, validate_passes
from stepwell.backends.validation.validator import PassValidator
from stepwell.core.errors import FaultyPassError
from stepwell.dialects.tir import BlockOp, ForOp, FuncOp, IfOp, InitOp, LoadOp, StoreOp, TirBuilder
from stepwell.dialects.tir.base import split_mixed
from stepwell.frontends.tvm.transform import PassContext, Sequential, module_pass
from stepwell.transforms.pipelines import lower, parse_passes, run_pipeline, spec

PROGRAM = """\
@T.prim_func
def main(a: T.handle, b: T.handle, S: T.Buffer((6,), "float32"), K: T.Buffer((6,), "int32"), limit: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n, 6), "float32")
    B = T.match_buffer(b, (n, 6), "float32")
    for i, j in T.grid(n, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.max(A[vi, vj] * 2.0 - 1.0, 0.0)
    for j, i in T.grid(6, n):
        with T.block("S"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                S[vj] = 0.0
            S[vj] = S[vj] + B[vi, vj]
    for j in range(6):
        with T.block("K"):
            vj = T.axis.spatial(6, j)
            if vj < 4:
                K[vj] = T.Select(K[vj] > limit, K[vj] // 2, K[vj] * 3 + vj)
"""
LOOPS = "tir-resolve-blocks,tir-lower-match-buffers,tir-simplify"
UPSTREAM = f"{LOOPS},convert-tir-to-scf"


def first(op: ModuleOp, cls: type[Any], n: int = 0) -> Any:
    return [each for each in op.walk() if isinstance(each, cls)][n]


def named(op: ModuleOp, name: str) -> Any:
    return next(each for each in op.walk() if each.name == name)


def replace(op: Operation, make: Callable[..., Operation]) -> None:
    Rewriter.replace_op(op, make(*op.operands))


def remove(op: Operation) -> None:
    op.detach()
    op.erase()


def number(before: Operation, value: float) -> SSAValue:
    """A constant of the type of the first operand of an operation."""
    return TirBuilder(InsertPoint.before(before)).const(value, before.operands[0].type)


def swap_operands(op: Operation) -> None:
    op.operands = [op.operands[1], op.operands[0], *op.operands[2:]]


def set_bounds(loop: ForOp, change: int) -> None:
    low, extent, step = loop.mixed_bounds
    assert isinstance(extent, int)
    loop.static_bounds = split_mixed([low, extent + change, step])[0]


def shift_load(op: ModuleOp) -> None:
    load = first(op, LoadOp)
    builder = TirBuilder(InsertPoint.before(load))
    index = builder.binary("max", builder.sub(load.indices[1], 1), builder.const(0, i32))
    load.operands = [*load.operands[:2], index]


def use_other_buffer(op: ModuleOp) -> None:
    loads = [each for each in op.walk() if isinstance(each, LoadOp) and len(each.indices) == 2]
    loads[-1].operands = [loads[0].operands[0], *loads[-1].operands[1:]]


def negate_condition(op: ModuleOp) -> None:
    branch = first(op, IfOp)
    builder = TirBuilder(InsertPoint.before(branch))
    branch.operands[0] = builder.select(branch.operands[0], builder.const(0, "bool"), builder.const(1, "bool"))


def double_store(op: ModuleOp) -> None:
    store = first(op, StoreOp)
    builder = TirBuilder(InsertPoint.before(store))
    store.operands[0] = builder.add(store.value, builder.load(store.buffer, store.indices))


def remove_loops(op: ModuleOp) -> None:
    for loop in [each for each in op.walk() if isinstance(each, ForOp) and isinstance(each.parent_op(), FuncOp)]:
        remove(loop)


def skip_step(op: ModuleOp) -> None:
    loop = first(op, scf.ForOp)
    two = arith.ConstantOp.from_int_and_width(2, loop.step.type)
    Rewriter.insert_op(two, InsertPoint.before(loop))
    loop.operands[2] = two.result


FAULTS: dict[str, tuple[str, Callable[[ModuleOp], None]]] = {
    "addition becomes subtraction": ("", lambda op: replace(named(op, "arith.addf"), arith.SubfOp)),
    "subtraction becomes addition": ("", lambda op: replace(named(op, "arith.subf"), arith.AddfOp)),
    "product becomes sum": ("", lambda op: replace(named(op, "arith.mulf"), arith.AddfOp)),
    "operands of a difference": ("", lambda op: swap_operands(named(op, "arith.subf"))),
    "maximum becomes minimum": ("", lambda op: replace(named(op, "tir.max"), type(_minimum()))),
    "constant": ("", lambda op: named(op, "arith.subf").operands.__setitem__(1, number(named(op, "arith.subf"), 1.5))),
    "shifted load": ("", shift_load),
    "other buffer": ("", use_other_buffer),
    "missing init": ("", lambda op: remove(first(op, InitOp))),
    "missing block": ("", lambda op: remove(first(op, BlockOp))),
    "missing store": ("", lambda op: remove(first(op, StoreOp))),
    "function without a body": ("", remove_loops),
    "shorter loop": (LOOPS, lambda op: set_bounds(first(op, ForOp, 1), -1)),
    "longer loop": (LOOPS, lambda op: set_bounds(first(op, ForOp, 1), 1)),
    "negated condition": (LOOPS, negate_condition),
    "accumulating store": (LOOPS, double_store),
    "operands of a selection": (LOOPS, lambda op: _swap_selection(op)),
    "upstream arithmetic": (UPSTREAM, lambda op: replace(named(op, "arith.mulf"), arith.DivfOp)),
    "upstream step": (UPSTREAM, skip_step),
    "upstream store": (UPSTREAM, lambda op: remove(first(op, memref.StoreOp))),
}  # fmt: skip


def _minimum() -> Operation:
    module = stepwell.parse_tvmscript(PROGRAM.replace("T.max", "T.min"))
    return next(op for op in module.op.walk() if op.name == "tir.min")


def _swap_selection(op: ModuleOp) -> None:
    selection = next(each for each in op.walk() if each.name in ("tir.select", "arith.select"))
    if len(selection.operands) == 3:
        selection.operands = [selection.operands[0], selection.operands[2], selection.operands[1]]
    else:
        left, right = selection.regions
        a, b = left.detach_block(0), right.detach_block(0)
        left.add_block(b)
        right.add_block(a)


@dataclass(frozen=True)
class Faulty(ModulePass):
    """A pass with one of the faults."""

    name = "faulty"

    fault: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        FAULTS[self.fault][1](op)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_pass_with_a_fault_is_named(fault: str) -> None:
    passes = [*parse_passes(FAULTS[fault][0]), *parse_passes("cse"), Faulty(fault), *parse_passes("canonicalize")]
    module = stepwell.parse_tvmscript(PROGRAM)
    with validate_passes(True) as validator, pytest.raises(FaultyPassError) as error:
        run_pipeline(module, passes, verify=True)
    assert str(error.value).startswith(f'pass faulty{{fault="{fault}"}} ')
    assert "inputs (seed " in str(error.value)
    assert validator is not None
    assert validator.validated[-1] == "cse"
    run_pipeline(module, passes, verify=True)  # nothing else notices


def test_there_are_twenty_faults() -> None:
    assert len(FAULTS) == 20


def test_an_error_has_the_element_both_values_and_the_inputs() -> None:
    text = '@T.prim_func\ndef main(A: T.Buffer((2, 3), "int32")):\n    A[1, 2] = A[0, 1] + A[1, 0]\n'
    module = stepwell.parse_tvmscript(text)

    class Subtract(ModulePass):
        name = "subtract"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            replace(named(op, "arith.addi"), arith.SubiOp)

    with validate_passes(True), pytest.raises(FaultyPassError) as error:
        run_pipeline(module, [Subtract()])
    a = np.random.default_rng(0).integers(1, 8, (2, 3))
    assert str(error.value) == (
        f"pass subtract changes the results of main: A: 1 of 6 elements differ, first at [1, 2]: "
        f"expected {a[0, 1] + a[1, 0]}, got {a[0, 1] - a[1, 0]}\n    inputs (seed 0): A: int32[2, 3] {a.tolist()}"
    )


def test_the_lowering_is_validated_to_the_end() -> None:
    with validate_passes(True) as validator:
        lower(stepwell.parse_tvmscript(PROGRAM))
    assert validator is not None
    assert len(validator.validated) > 20
    assert validator.unchecked == {}
    assert str(validator) == f"validated: {len(validator.validated)} passes"


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int4", "float16", "bfloat16"])
def test_parameters_have_the_types_of_the_source(dtype: str) -> None:
    text = f"""
@T.prim_func
def main(A: T.Buffer((6,), "{dtype}"), B: T.Buffer((6,), "{dtype}"), x: T.{dtype}):
    for i in range(6):
        B[i] = T.if_then_else(A[i] == x, A[i], x)
"""
    with validate_passes(True) as validator:
        lower(stepwell.parse_tvmscript(text))
    assert validator is not None
    assert validator.unchecked == {}


def test_the_passes_of_a_graph_are_validated() -> None:
    data = relay.var("data", shape=("batch", 4))
    dense = relay.nn.relu(relay.nn.dense(data, relay.var("weight"), units=3))
    module = relay.module(relay.Function(relay.free_vars(dense), dense))
    passes = "relay-simplify,relay-fuse-operators,relay-plan-memory,convert-relay-to-te,convert-te-to-tir"
    reports: list[PassValidator] = []
    with validate_passes(True) as validator:
        stepwell.apply_passes(module, passes)
        assert validator is not None
        reports.append(validator)
    assert len(reports[0].validated) == 5


def test_a_schedule_is_validated() -> None:
    schedule = stepwell.Schedule(stepwell.parse_tvmscript(PROGRAM))
    schedule.split(schedule.get_loops("B")[1], factors=[None, 2])
    text = f"{schedule.trace.as_ir()}\n{stepwell.parse_tvmscript(PROGRAM)}"
    module = stepwell.parse_mlir(text.replace("builtin.module {", "", 1).rstrip().removesuffix("}"))
    with validate_passes(True) as validator:
        stepwell.apply_passes(module, "apply-schedule")
    assert validator is not None
    assert validator.validated == ["apply-schedule"]


def test_a_program_that_cannot_be_run_is_stated() -> None:
    text = "func.func @main(%x: !llvm.ptr) {\n  func.return\n}\n"
    with validate_passes(True) as validator:
        stepwell.apply_passes(stepwell.parse_mlir(text), "cse")
        stepwell.apply_passes(stepwell.parse_mlir("func.func private @f()"), "cse")
    assert validator is not None
    assert validator.validated == ["cse", "cse"]  # the text is the same


def test_a_large_program_is_stated() -> None:
    text = PROGRAM.replace("range(6)", "range(6000000)").replace("T.axis.spatial(6, j)", "T.axis.spatial(6000000, j)")
    with validate_passes(True) as validator:
        stepwell.apply_passes(stepwell.parse_tvmscript(text), "tir-resolve-blocks")
    assert validator is not None
    assert "main: a call would take some" in validator.unchecked["tir-resolve-blocks"]


def test_undefined_behaviour_before_a_pass_permits_any_result() -> None:
    text = '@T.prim_func\ndef main(A: T.Buffer((8,), "float32"), n: T.int32):\n    A[n + 9] = 1.0\n'
    with validate_passes(True) as validator:
        stepwell.apply_passes(stepwell.parse_tvmscript(text), "tir-resolve-blocks,convert-tir-to-scf")
    assert validator is not None
    assert "out of bounds" in str(validator)


def test_a_crash_of_native_code_is_the_fault_of_the_pass() -> None:
    text = """
    func.func @main(%A: memref<8xf32>, %x: f32) {
      %c = arith.constant 2 : index
      memref.store %x, %A[%c] : memref<8xf32>
      func.return
    }"""

    class FarAway(ModulePass):
        name = "far-away"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            constant = first(op, arith.ConstantOp)
            Rewriter.replace_op(constant, arith.ConstantOp.from_int_and_width(1 << 45, constant.result.type))

    with (
        validate_passes(True),
        pytest.raises(FaultyPassError, match=r"^pass far-away makes main undefined: crash, SIG"),
    ):
        run_pipeline(stepwell.parse_mlir(text), [FarAway()])


def test_the_removal_of_a_public_function_is_a_fault() -> None:
    text = PROGRAM.replace(
        "@T.prim_func", '@T.prim_func\ndef other(A: T.Buffer((8,), "float32")):\n    A[0] = 1.0\n\n@T.prim_func'
    )

    class Remove(ModulePass):
        name = "remove"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            remove(first(op, FuncOp))

    with validate_passes(True), pytest.raises(FaultyPassError, match="pass remove removes the public function other"):
        run_pipeline(stepwell.parse_tvmscript(text), [Remove()])


@pytest.fixture
def negate(monkeypatch: pytest.MonkeyPatch) -> str:
    class Negate(ModulePass):
        name = "negate"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            replace(named(op, "arith.addf"), arith.SubfOp)

    monkeypatch.setattr(spec, "get_upstream_passes", lambda: {"negate": lambda: Negate})
    return "negate"


def test_each_interface_validates_on_request(negate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = stepwell.parse_tvmscript(PROGRAM)
    message = "pass negate changes the results of main: S: "
    stepwell.apply_passes(module, negate)
    with pytest.raises(FaultyPassError, match=message):
        stepwell.apply_passes(module, negate, validate=True)
    with PassContext(validate=True), pytest.raises(FaultyPassError, match=message):
        Sequential([negate])(module)
    monkeypatch.setenv(VARIABLE, "1")
    for call in (lambda: stepwell.apply_passes(module, negate), lambda: Sequential([negate])(module)):
        with pytest.raises(FaultyPassError, match=message):
            call()
    stepwell.apply_passes(module, negate, validate=False)
    with PassContext(validate=False):
        Sequential([negate])(module)


def test_a_function_on_modules_is_validated(negate: str) -> None:
    @module_pass(opt_level=0, name="Negate")
    def rewrite(mod: Any, ctx: Any) -> Any:
        return stepwell.apply_passes(mod, negate)

    module = stepwell.parse_tvmscript(PROGRAM)
    rewrite(module)
    with PassContext(validate=True), pytest.raises(FaultyPassError, match="pass negate changes the results of main"):
        rewrite(module)

    @module_pass(opt_level=0, name="ByHand")
    def by_hand(mod: Any, ctx: Any) -> Any:
        copy = mod.clone()
        replace(named(copy.op, "arith.addf"), arith.SubfOp)
        return copy

    with PassContext(validate=True), pytest.raises(FaultyPassError, match="pass ByHand changes the results of main"):
        by_hand(module)


def test_a_build_validates_the_lowering_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    validate = PassValidator.after_pass

    def after_pass(self: PassValidator, module_pass: ModulePass, module: stepwell.Module, seconds: float) -> None:
        seen.append(module_pass.name)
        validate(self, module_pass, module, seconds)

    monkeypatch.setattr(PassValidator, "after_pass", after_pass)
    monkeypatch.setenv(VARIABLE, "1")
    text = '@T.prim_func\ndef main(A: T.Buffer((8,), "float32")):\n    A[0] = 1.0\n'
    stepwell.build(stepwell.parse_tvmscript(text))
    assert "convert-tir-to-scf" in seen
