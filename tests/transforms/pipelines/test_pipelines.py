"""The lowering: untouched operations, promised results, printed intermediate modules."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

import stepwell
from stepwell.backends.oracle import run_oracle
from stepwell.core.errors import PassError
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.tools.testing.corpus import CorpusProgram, programs_of_schedules, script_programs
from stepwell.transforms.pipelines import lower, lower_launches, run_pipeline, spec
from stepwell.transforms.pipelines.checks import check_module, no_blocks, only_upstream
from stepwell.transforms.pipelines.landings import BLOCKS, CUDA, GRAPHS, LLVM, LOOPS, TIR, Landing
from stepwell.transforms.pipelines.lowering import go_down, passes_of

TEXT = """
tir.func @main("A" %A: memref<8xf16>, "B" %B: memref<8xf16>) {
  tir.for serial "i" %i : i32 in [0 +: 8] {
    tir.block "B" (spatial "v" %v : i32 in [0 +: 8] = %i) {
      %x = tir.load %A[%v] : memref<8xf16>
      %y = arith.addf %x, %x : f16
      tir.store %y, %B[%v] : memref<8xf16>
    }
  }
}"""

PROGRAMS = [*script_programs()[::3], *programs_of_schedules("out")[::9]]


def test_the_way_down_leaves_its_input_as_it_is() -> None:
    module = parse_mlir(TEXT)
    before = str(module)
    lowered = lower(module)
    assert str(module) == before
    assert "tir." not in str(lowered)


def test_the_way_down_is_shown_pass_by_pass() -> None:
    seen: list[tuple[str, bool]] = []
    lower(parse_mlir(TEXT), lambda name, module: seen.append((name, "tir.func" in str(module))))
    names = [name for name, _ in seen]
    assert names[:2] == ["convert-te-to-tir", "tir-resolve-blocks"]
    assert names[-4:] == ["stream-stores", "prefetch-loads", "prefetch-blocks", "outline-loops"]
    upstream = names.index("convert-tir-to-scf")
    assert [is_tir for _, is_tir in seen] == [True] * upstream + [False] * (len(seen) - upstream)


def test_the_way_down_can_be_entered_at_any_landing() -> None:
    lowered = lower(parse_mlir(TEXT))
    assert str(lower(lowered)) == str(lowered)
    resolved = go_down(parse_mlir(TEXT), [BLOCKS, LOOPS])
    assert str(lower(resolved)) == str(lowered)


def test_vectorized_loops_are_vectors_on_the_way_down() -> None:
    text = PROGRAM.replace("range(", "T.vectorized(")
    assert text != PROGRAM
    assert "vector<" in str(lower(stepwell.parse_tvmscript(text)))
    assert "vector<" not in str(lower(stepwell.parse_tvmscript(PROGRAM)))


def test_functions_of_several_landings_go_down_together() -> None:
    upstream = """
    func.func @there(%x: i32) -> i32 {
      func.return %x : i32
    }"""
    lowered = lower(parse_mlir(TEXT + upstream))
    assert list(lowered) == ["main", "there"]


class _Nothing(ModulePass):
    """A pass that breaks its promise."""

    name = "nothing"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Changes nothing."""


@pytest.mark.parametrize(
    ("landings", "landing", "kept"),
    [
        (LLVM, "loops", r"tir\.block"),
        (LLVM, "upstream", r"tir\.func"),
        (LLVM, "legal upstream", r"arith\.addf on small floats"),
        (CUDA, "loops", r"tir\.block"),
        (CUDA, "launches", r"tir\.for bound to threadIdx\.x"),
        (CUDA, "upstream", r"tir\.func"),
        (CUDA, "functions of the device", r"gpu\.launch"),
        (CUDA, "legal upstream", r"arith\.addf on small floats"),
    ],
)
def test_each_landing_refuses_what_its_passes_must_remove(
    landings: tuple[Landing, ...], landing: str, kept: str
) -> None:
    idle = [replace(each, passes=lambda _: [_Nothing()]) if each.name == landing else each for each in landings]
    bound = TEXT.replace("for serial", "for thread_binding").replace("8] {", '8] thread "threadIdx.x" {')
    module = parse_mlir(bound if landings is CUDA else TEXT)
    with pytest.raises(PassError, match=rf"{kept} is left after the landing '{landing}'"):
        go_down(module, idle)


GRAPH = """
relay.func @main("x" %x: tensor<4xf32>) {
  %y = relay.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relay.return %y : tensor<4xf32>
}"""


@pytest.mark.parametrize(
    ("landing", "kept"),
    [("calls of kernels", r"relay\.exp"), ("tensors", r"relay\.exp"), ("loops of graphs", r"te\.func")],
)
def test_each_landing_of_graphs_refuses_what_its_passes_must_remove(landing: str, kept: str) -> None:
    idle = [replace(each, passes=lambda _: [_Nothing()]) if each.name == landing else each for each in (*GRAPHS, *TIR)]
    with pytest.raises(PassError, match=rf"{kept} is left after the landing '{landing}'"):
        go_down(parse_mlir(GRAPH), idle)


def test_functions_on_tensors_do_not_pass_the_landing_of_loops() -> None:
    idle = [replace(each, passes=lambda _: [_Nothing()]) if each is BLOCKS else each for each in LLVM]
    text = """
    te.func @main {
      %A = te.placeholder "A" [4] : tensor<4xf32>
      te.params %A : tensor<4xf32>
    }"""
    with pytest.raises(PassError, match=r"te\.func is left after the landing 'loops and blocks'"):
        go_down(parse_mlir(text), idle)


def test_integers_of_4_bits_do_not_reach_the_cuda_emitter() -> None:
    idle = [replace(each, passes=lambda _: [_Nothing()]) if each is CUDA[-1] else each for each in CUDA]
    module = parse_mlir(TEXT.replace("f16", "i4").replace("addf", "addi"))
    with pytest.raises(PassError, match=r"arith\.addi on small integers is left after the landing 'legal upstream'"):
        go_down(module, idle)


def test_both_pipelines_check_each_landing() -> None:
    for program, way in ((TEXT, lower), (TEXT, lower_launches), (GRAPH, lower), (GRAPH, lower_launches)):
        dialects = {op.name.partition(".")[0] for op in way(parse_mlir(program)).op.walk()}
        assert dialects.isdisjoint({"relay", "te", "tir"})


@pytest.mark.parametrize("op", ["block", "init", "access", "match_region"])
def test_no_block_remains_after_the_tir_passes(op: str) -> None:
    text = """
    tir.func @main("A" %A: memref<8xf32>, "i" %i: i32) {
      tir.block "b" (spatial "v" %v : i32 in [0 +: 8] = %i) {
        tir.access reads %A[%v] : memref<8xf32>
        %B = tir.match_region "B" %A[0 +: 8] : memref<8xf32> -> memref<8xf32>
        tir.init {
          %x = arith.constant 1.0 : f32
          tir.store %x, %B[%v] : memref<8xf32>
        }
      }
    }"""
    module = parse_mlir(text)
    assert f"tir.{op}" in str(module)
    assert f"tir.{op}" not in str(go_down(module, [BLOCKS, LOOPS]))
    with pytest.raises(PassError):
        check_module(module.op, no_blocks, "loops")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func private @f(%p: i32)\n%x = tir.const 3 : ui8", r"tir\.const is left after the landing"),
        (
            "func.func @f(%x: memref<4xui8>) {\n func.return\n}",
            r"func\.func with type memref<4xui8> is left after",
        ),
        ("func.func @f(%x: !tir.handle) {\n func.return\n}", r"func\.func with type !tir\.handle is left after"),
    ],
)
def test_only_upstream_operations_and_types_are_left_at_the_end(text: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        check_module(parse_mlir(text).op, only_upstream, "upstream")


def test_each_pass_is_verified_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class _Breaks(_Nothing):
        name = "breaks"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            """Erases a loop, but not the uses of its variable."""
            function = op.body.block.first_op
            assert function is not None
            first = function.regions[0].block.first_op
            last = function.regions[0].block.last_op
            assert first is not None
            assert last is not None
            last.detach()
            function.regions[0].block.insert_op_before(last, first)

    text = """
    tir.func @main("A" %A: memref<8xi32>) {
      %x = arith.constant 1 : i32
      tir.store %x, %A[%x] : memref<8xi32>
    }"""
    monkeypatch.delenv("STEPWELL_VERIFY", raising=False)
    run_pipeline(parse_mlir(text), [_Breaks()])
    monkeypatch.setenv("STEPWELL_VERIFY", "1")
    with pytest.raises(Exception, match="used before it is defined"):
        run_pipeline(parse_mlir(text), [_Breaks()])


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.right], ids=lambda p: p.name)
def test_every_tir_pass_preserves_what_programs_compute(program: CorpusProgram) -> None:
    module = parse_tvmscript(program.text, filename=program.name)
    entry = next(iter(module))
    for step in passes_of([BLOCKS, LOOPS]):
        module = run_pipeline(module, [step])
        module.verify()
    arguments = program.problem.arguments()
    run_oracle(module, entry, arguments)
    program.problem.check(arguments)


PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            A[vi] = T.float32(0)
"""


def test_pipelines_are_applied_by_their_text_to_a_copy() -> None:
    module = stepwell.parse_tvmscript(PROGRAM)
    before, seen = str(module), []
    after = stepwell.apply_passes(
        module, "tir-resolve-blocks,tir-simplify{unit-loops=true},canonicalize,cse", lambda name, _: seen.append(name)
    )
    assert str(module) == before
    assert "tir.block" not in str(after)
    assert seen == ["tir-resolve-blocks", "tir-simplify", "canonicalize", "cse"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tir-resolve-blocs", "tir-resolve-blocs"),
        ("tir-simplify{loops=1}", "loops"),
        ("tir-simplify{", "tir-simplify"),
        (",", "Expected pass name"),
    ],
)
def test_a_pipeline_that_does_not_read_is_refused(spec: str, message: str) -> None:
    with pytest.raises(stepwell.OptionError, match=message):
        stepwell.apply_passes(stepwell.parse_tvmscript(PROGRAM), spec)


@dataclass(frozen=True)
class FailingPass(ModulePass):
    name = "always-fails"

    error: ClassVar[Exception]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PassFailedException("this pass always fails"), "this pass always fails"),
        (StopIteration("no more"), "pass always-fails failed: StopIteration: no more"),
    ],
)
def test_a_pass_that_fails_raises_one_of_our_errors(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    monkeypatch.setattr(FailingPass, "error", error, raising=False)
    monkeypatch.setattr(spec, "get_upstream_passes", lambda: {"always-fails": lambda: FailingPass})
    with pytest.raises(stepwell.PassError, match=message):
        stepwell.apply_passes(stepwell.parse_tvmscript(PROGRAM), "always-fails")


def test_functions_on_tensors_go_down_without_graphs() -> None:
    text = """
    te.func @main {
      %A = te.placeholder "A" [4] : tensor<4xf32>
      te.params %A : tensor<4xf32>
    }"""
    for way in (lower, lower_launches):
        assert list(way(parse_mlir(text))) == ["main"]
