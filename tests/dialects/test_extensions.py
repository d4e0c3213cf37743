"""Operations of other packages: TVMScript, meanings, lowerings, and the messages for faulty definitions."""

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.backends.interpreter import interpret
from stepwell.core.errors import PluginWarning
from stepwell.core.remarks import collect_remarks
from stepwell.dialects.extensions import load_registrations
from stepwell.schedule.extending import primitive
from stepwell.script import tir as T
from stepwell.tools.testing.packages import installed
from stepwell.tools.testing.scheduling import check_well_formed

PACKAGES = Path(__file__).parents[1] / "data/packages"
ELEMENTS = """
@T.prim_func
def main(A: T.Buffer((16,), "{dtype}"), B: T.Buffer((16,), "{dtype}")):
    for i in T.{kind}(16):
        B[i] = {value}
"""
KERNEL = """
@T.prim_func
def main(A: T.Buffer((16,), "{dtype}"), B: T.Buffer((16,), "{dtype}")):
    for i in T.thread_binding(16, "threadIdx.x"):
        B[i] = {value}
"""
BLOCK = """
@T.prim_func
def main(A: T.Buffer((16,), "int32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            A[vi] = A[vi] + 1
"""
FILL = """
@T.prim_func
def main(A: T.Buffer((4, 5), "float32"), x: T.float32):
    T.own.fill(A, x)
    A[1, 2] = 7.0
"""


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    groups = {"xdsl.universe": "own:UNIVERSE", "stepwell.extensions": "own:EXTENSION"}
    with installed(tmp_path_factory.mktemp("site"), "own", groups, PACKAGES):
        yield


def elements(value: str, dtype: str = "int32", kind: str = "serial") -> stepwell.Module:
    return stepwell.parse_tvmscript(ELEMENTS.format(value=value, dtype=dtype, kind=kind), filename="own.py")


def run(mod: stepwell.Module, target: str = "llvm", dtype: str = "int32") -> np.ndarray:
    a, b = np.arange(-8, 8).astype(dtype), np.zeros(16, dtype)
    stepwell.build(mod, target=target)(a, b)
    return b


# TVMScript


@pytest.mark.parametrize(
    "value",
    [
        "T.own.half(A[i])",
        "T.own.half(T.own.half(A[i] + 1) * 2)",
        "T.own.sum([A[i], A[0]], factor=2.0)",
        'T.own.sum([A[i], 3], factor=-0.5, label="a \\"name\\"")',
    ],
)
def test_the_text_is_read_and_printed(value: str) -> None:
    mod = elements(value)
    for style in ("classic", "0.27"):
        script = mod.script(style)
        assert f"B[i] = {value}" in script
        assert stepwell.parse_tvmscript(script).script(style) == script
    check_well_formed(mod)


def test_decorated_functions_spell_operations() -> None:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):  # pyright: ignore
        for i in range(4):
            A[i] = T.own.half(A[i]) + T.call_intrin("int32", "own.half", 9)

    assert "A[i] = T.own.half(A[i]) + T.own.half(9)" in main.script()


def test_a_literal_has_the_type_of_the_other_operands() -> None:
    assert "T.own.sum([T.int8(1), A[i], T.int8(2)], factor=1.0)" in elements("T.own.sum([1, A[i], 2])", "int8").script()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("T.own.haf(A[i])", "unknown name 'T.own.haf', did you mean 'T.own.half'"),
        ("T.ownn.half(A[i])", "unknown name 'T.ownn', did you mean 'T.own'"),
        ("T.own.half()", r"T.own.half: missing a required argument: 'x'; expected T.own.half\(x\)"),
        ("T.own.half(A[i], y=1)", "T.own.half: got an unexpected keyword argument 'y'"),
        (
            "T.own.ones(A[i] * 0.5)",
            r"T.own.ones: operand 'x' at position 0 does not verify",
        ),
        ("T.own.sum([A[i], 0.5])", "0.5 "),
        ("T.own.bare(A[i])", "T.own.bare: the class BareOp defines no __init__, whose parameters a call has"),
        ('T.call_intrin("int32", "own.haf", A[i])', "builtin 'own.haf' is not supported, did you mean 'own.half'"),
    ],
)
def test_a_mistake_is_a_message_at_the_call(value: str, message: str) -> None:
    with pytest.raises(stepwell.ParseError, match=rf"(?s)^own.py:5:\d+: error: {message}"):
        elements(value)


# Meanings and lowerings


def test_an_external_function_is_called_for_each_lane() -> None:
    for kind in ("serial", "vectorized"):
        mod = elements("T.own.cbrt(A[i])", "float32", kind)
        np.testing.assert_allclose(run(mod, "python", "float32"), run(mod, dtype="float32"), rtol=1e-6)


def test_other_operations_of_the_package_are_lowered_in_turn() -> None:
    mod = elements("T.own.sum([A[i], T.own.ones(A[i])], factor=1.0)")
    with pytest.raises(stepwell.PluginError, match=r"own.sum of package own: the lowering returned a value of f32"):
        stepwell.build(mod)
    mod = elements("T.own.sum([A[i], 1.0], factor=2.0)", "float32", "vectorized")
    assert (run(mod, "python", "float32") == run(mod, dtype="float32")).all()


def test_an_operation_that_takes_no_vectors_stays_in_a_serial_loop_with_a_remark() -> None:
    mod = elements("T.own.ones(A[i])", kind="vectorized")
    with collect_remarks() as remarks:
        assert (run(mod) == run(mod, "python")).all()
    assert any("stays in a serial loop i: own.ones takes no vectors: " in str(remark) for remark in remarks)


def test_operations_on_vectors_are_pure_expressions() -> None:
    mod = elements("T.own.half(A[i])", kind="vectorized")
    after = stepwell.apply_passes(mod, "tir-vectorize-loops")
    assert str(after).count("own.half") == 1
    assert str(next(op.results[0].type for op in after.op.walk() if op.name == "own.half")) == "vector<16xi32>"


def test_kernels_compute_the_expressions_of_the_package() -> None:
    for dtype in ("int8", "uint8", "int32"):
        mod = stepwell.parse_tvmscript(KERNEL.format(value="T.own.half(A[i])", dtype=dtype))
        assert (run(mod, "cuda-emulated", dtype) == run(mod, "python", dtype)).all()


def test_a_statement_is_read_run_and_lowered() -> None:
    mod = stepwell.parse_tvmscript(FILL)
    for style in ("classic", "0.27"):
        assert stepwell.parse_tvmscript(mod.script(style)).script(style) == mod.script(style)
    check_well_formed(mod)
    expected = np.full((4, 5), 3.0, "float32")
    expected[1, 2] = 7.0
    for call in (stepwell.build(mod), stepwell.build(mod, target="python"), lambda *args: interpret(mod, "main", args)):
        a = np.zeros((4, 5), "float32")
        call(a, 3.0)
        assert (a == expected).all()


def test_a_statement_in_a_concurrent_loop_races() -> None:
    mod = stepwell.parse_tvmscript(
        """
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    for i in T.parallel(2):
        T.own.fill(A, 1.0)
"""
    )
    with pytest.raises(stepwell.UndefinedBehaviorError, match="race"):
        stepwell.build(mod, target="python")(np.zeros(4, "float32"))


def test_validation_runs_the_meanings() -> None:
    mod = elements("T.own.half(A[i])")  # whose lowering for processors is wrong
    with pytest.raises(stepwell.FaultyPassError, match="pass tir-lower-extension-scalars changes the results of main"):
        stepwell.apply_passes(mod, "tir-lower-extension-scalars", validate=True)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("T.own.gpu_only(A[i])", "^own.py:5:16: error: own.gpu_only of package own: no lowering for LLVM"),
        ("T.own.other_type(A[i])", "own.other_type of package own: the lowering returned a value of i64, expected i32"),
        ("T.own.raising(A[i])", "own.raising of package own: the lowering failed: AttributeError: "),
        ("T.own.endless(A[i])", "own.endless of package own: the lowering builds operations .* without end"),
    ],
)
def test_a_faulty_lowering_is_named(value: str, message: str) -> None:
    with pytest.raises(stepwell.PluginError, match=message):
        stepwell.build(elements(value))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("T.own.unknown(A[i])", "llvm.no_such_intrinsic on .i32. with the result i32: LLVM has no intrinsic"),
        ("T.own.mistyped(A[i])", "llvm.fabs on .i32. with the result i32: "),
    ],
)
def test_an_intrinsic_that_llvm_lacks_is_named(value: str, message: str) -> None:
    with pytest.raises(stepwell.UnsupportedError, match=message):
        stepwell.build(elements(value))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("T.own.too_large(A[i])", "too_large of package own: the meaning returned 1099511627776, expected .* int32"),
        ("T.own.no_number(A[i])", "no_number of package own: the meaning returned 'one', expected a number of int32"),
        ("T.own.failing(A[i])", "failing of package own: the meaning failed: ZeroDivisionError: "),
    ],
)
def test_a_faulty_meaning_is_named(value: str, message: str) -> None:
    mod = elements(value)
    with pytest.raises(stepwell.PluginError, match=message):
        run(mod, "python")
    with pytest.raises(stepwell.PluginError, match=message):
        interpret(mod, "main", (np.zeros(16, "int32"), np.zeros(16, "int32")))


def test_a_conversion_without_the_lowering_names_the_pass() -> None:
    with pytest.raises(stepwell.UnsupportedError, match=r"passes tir-lower-extension-scalars and convert-tir-to-scf"):
        stepwell.apply_passes(elements("T.own.half(A[i])"), "convert-tir-to-scf")


def test_a_broken_extension_is_named_where_a_program_needs_it(tmp_path: Path) -> None:
    with installed(tmp_path, "absent", {"stepwell.extensions": "no_such_module:EXTENSION"}):
        assert "T.own.half" in elements("T.own.half(A[i])").script()
        with pytest.raises(stepwell.PluginError, match=r"package absent .* cannot be loaded: ModuleNotFoundError"):
            elements("T.absent.half(A[i])")


# Primitives and importers


def test_a_primitive_of_a_package_is_recorded_and_replayed() -> None:
    mod = stepwell.parse_tvmscript(BLOCK)
    sch = stepwell.Schedule(mod)
    (loop,) = sch.get_loops(sch.get_block("B"))
    sch.rename_loop(loop, "n")
    assert "for n in range(16)" in sch.mod.script()
    assert 'own.rename_loop %i, "n"' in sch.trace.as_ir()
    for trace in (str(sch.trace), sch.trace):
        again = stepwell.Schedule(mod)
        again.replay(trace)
        assert str(again.mod) == str(sch.mod)
    both = stepwell.parse_mlir("\n".join(map(str, [*mod.op.body.block.ops, sch.trace.op])))
    assert str(stepwell.apply_passes(both, "apply-schedule")) == str(sch.mod)


def test_a_primitive_that_fails_changes_nothing() -> None:
    sch = stepwell.Schedule(stepwell.parse_tvmscript(BLOCK))
    (loop,) = sch.get_loops(sch.get_block("B"))
    before = str(sch.mod), str(sch.trace)
    with pytest.raises(stepwell.ScheduleError, match="rename_loop: 'a b' is no name"):
        sch.rename_loop(loop, "a b")
    with pytest.raises(stepwell.ScheduleError, match="split"):
        sch.unroll_and_fail(loop)
    assert (str(sch.mod), str(sch.trace)) == before


def test_an_instruction_that_nothing_applies_is_an_error() -> None:
    program = "schedule.trace {\n  own.unknown_step\n}"
    with pytest.raises(stepwell.ScheduleError, match=r"no function applies own.unknown_step"):
        stepwell.apply_passes(stepwell.parse_mlir(program), "apply-schedule")


def test_a_primitive_is_defined_once() -> None:
    def split() -> None: ...

    with pytest.raises(ValueError, match="schedule primitive split is defined twice"):
        primitive(split)


def test_a_broken_module_of_importers_is_named_and_left_out() -> None:
    with pytest.warns(PluginWarning, match="importers own_importers of package own .*closed"):
        load_registrations("importers")
