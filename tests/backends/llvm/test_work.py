"""Upper bounds of the work of functions."""

import pytest
from xdsl.dialects import func

from stepwell.backends.llvm.work import Work, is_short
from stepwell.frontends.mlir import parse_mlir

TEXT = """
func.func private @report(%x: !llvm.ptr) attributes {{stepwell.packed = "stepwell.failed_assertion"}}
func.func private @packed() attributes {{stepwell.packed = "test.packed"}}
func.func private @external()
func.func private @inner(%a: memref<64xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {{
    %x = memref.load %a[%i] : memref<64xf32>
    memref.store %x, %a[%i] : memref<64xf32>
  }}
  func.return
}}
func.func private @again() {{
  func.call @again() : () -> ()
  func.return
}}
func.func @main(%a: memref<64xf32>, %b: memref<?xf32>, %n: index, %c: i1, %v: vector<16xf32>, %h: vector<16xf16>,
                %p: !llvm.ptr, %m: memref<4096x4096xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  {body}
  func.return
}}"""
LOOP = "scf.for %i = %c0 to {bound} step %c1 {{ {body} }}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", True),
        (LOOP.format(bound="%c1000", body="%x = memref.load %a[%i] : memref<64xf32>"), True),
        (LOOP.format(bound="%n", body=""), False),
        (LOOP.format(bound="%c0", body="func.call @external() : () -> ()"), True),
        (LOOP.format(bound="%c1000", body=LOOP.format(bound="%c1000", body="").replace("%i", "%j")), False),
        (LOOP.format(bound="%c1000", body="%y = math.exp %v : vector<16xf32>"), False),
        ("%y = math.exp %v : vector<16xf32>", True),
        ("func.call @inner(%a) : (memref<64xf32>) -> ()", True),
        (LOOP.format(bound="%c1000", body="func.call @inner(%a) : (memref<64xf32>) -> ()"), False),
        ("func.call @again() : () -> ()", False),
        ("func.call @packed() : () -> ()", False),
        ("func.call @external() : () -> ()", False),
        ("func.call @inner(%a) {stepwell.parallel} : (memref<64xf32>) -> ()", False),
        ("scf.if %c { func.call @report(%p) : (!llvm.ptr) -> () }", True),
        ("scf.if %c { func.call @packed() : () -> () }", False),
        ('"memref.copy"(%a, %a) : (memref<64xf32>, memref<64xf32>) -> ()', True),
        ('"memref.copy"(%m, %m) : (memref<4096x4096xf32>, memref<4096x4096xf32>) -> ()', False),
        ('"memref.copy"(%b, %b) : (memref<?xf32>, memref<?xf32>) -> ()', False),
        ("scf.while () : () -> () { scf.condition(%c) } do { scf.yield }", False),
    ],
)
def test_functions_are_short_if_their_work_has_a_small_bound(body: str, expected: bool) -> None:
    module = parse_mlir(TEXT.format(body=body)).op
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    assert is_short(functions["main"], functions.__getitem__) is expected


@pytest.mark.parametrize(
    ("body", "work", "outside"),
    [
        ("", 1, 1),  # the return
        ("%x = memref.load %a[%c0] : memref<64xf32>", 2, 2),
        ("%x = math.fma %v, %v, %v : vector<16xf32>", 5, 5),  # four registers of 16 bytes
        ("%x = arith.divf %v, %v : vector<16xf32>", 129, 129),
        ("%x = arith.mulf %h, %h : vector<16xf16>", 17, 17),
        (LOOP.format(bound="%c1000", body=""), 2001, 2001),
        (LOOP.format(bound="%n", body="%x = memref.load %a[%i] : memref<64xf32>"), None, 1),
        ("scf.if %c {" + LOOP.format(bound="%n", body="") + "} else { %x = math.exp %v : vector<16xf32> }", None, 1026),
        ("func.call @external() : () -> ()", None, 1251),
        ("func.call @external() : () -> ()\nfunc.call @packed() : () -> ()", None, 2501),
    ],
)
def test_the_work_outside_of_long_loops(body: str, work: int | None, outside: int) -> None:
    module = parse_mlir(TEXT.format(body=body)).op
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    measured = Work(functions.__getitem__, 10_000)
    block = functions["main"].body.block
    assert measured.of_block(block) == (work if work is not None else float("inf"))
    assert measured.outside_of_loops(block) == outside
