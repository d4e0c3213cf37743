"""SSA values as expressions: values inlined into trees, named values, and operations without TVMScript syntax."""

import pytest
from xdsl.dialects.builtin import f32, i32

from stepwell.core.errors import UnsupportedError
from stepwell.dialects.text import expression_text
from stepwell.dialects.tir import ForOp, TirBuilder
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript


def store(value: str, ops: str, buffer: str = "B", type: str = "i32") -> str:
    return f"{ops}\n%z = arith.constant 0 : i32\ntir.store %{value}, %{buffer}[%z] : memref<8x{type}>"


def test_a_pure_value_is_printed_at_each_use(body):
    ops = "%a = arith.addi %n, %n : i32\n%b = arith.muli %a, %a : i32"
    assert body(store("b", ops)) == "B[0] = (n + n) * (n + n)"


def test_a_load_is_not_moved_across_a_store(body):
    assert (
        body("""
        %0 = arith.constant 0 : i32
        %1 = arith.constant 1 : i32
        %a = tir.load %A[%0] : memref<8xf32>
        %b = tir.load %A[%1] : memref<8xf32>
        tir.store %b, %A[%0] : memref<8xf32>
        tir.store %a, %A[%1] : memref<8xf32>""")
        == "a: T.float32 = A[0]\nA[0] = A[1]\nA[1] = a"
    )


def test_a_load_used_by_a_value_before_the_store_is_named_by_that_value(body):
    assert (
        body("""
        %0 = arith.constant 0 : i32
        %load = tir.load %A[%0] : memref<8xf32>
        %sum = arith.addf %load, %x : f32
        tir.store %x, %A[%0] : memref<8xf32>
        tir.store %sum, %A[%0] : memref<8xf32>""")
        == "sum: T.float32 = A[0] + x\nA[0] = x\nA[0] = sum"
    )


def test_a_load_is_not_moved_into_a_loop(body):
    assert (
        body("""
        %0 = arith.constant 0 : i32
        %a = tir.load %A[%0] : memref<8xf32>
        tir.for serial "i" %i : i32 in [0 +: 8] {
          tir.store %a, %A[%i] : memref<8xf32>
        }""")
        == "a: T.float32 = A[0]\nfor i in range(8):\n    A[i] = a"
    )


def test_a_load_is_printed_where_nothing_is_written_in_between(body):
    assert (
        body("""
        %0 = arith.constant 0 : i32
        %i = tir.load %B[%0] : memref<8xi32>
        %a = tir.load %A[%i] : memref<8xf32>
        %s = arith.addf %a, %a : f32
        tir.store %s, %A[%i] : memref<8xf32>""")
        == "A[B[0]] = A[B[0]] + A[B[0]]"
    )


def test_a_call_with_effects_runs_once_and_in_its_place(body):
    assert body(
        """
        %0 = arith.constant 0 : i32
        %r = tir.call_extern "f"() : () -> i32
        %v = tir.load %B[%0] : memref<8xi32>
        %s = arith.addi %r, %v : i32
        tir.store %s, %B[%0] : memref<8xi32>""".replace(": () ->", "->")
    ) == ('r: T.int32 = T.call_extern("int32", "f")\nB[0] = r + B[0]')


def test_a_call_used_at_once_is_not_named(body):
    assert (
        body("""
        %0 = arith.constant 0 : i32
        %v = tir.load %B[%0] : memref<8xi32>
        %r = tir.call_extern "f"(%v) : i32 -> i32
        tir.store %r, %B[%0] : memref<8xi32>""")
        == 'B[0] = T.call_extern("int32", "f", B[0])'
    )


def test_an_unused_result_of_a_call_leaves_the_call(body):
    assert body('%r = tir.call_extern "f"(%n) : i32 -> i32') == 'T.call_extern("int32", "f", n)'


def test_unused_expressions_are_not_printed(body):
    assert body("%a = arith.addi %n, %n : i32\n%b = arith.muli %a, %n : i32") == "pass"


def test_a_large_shared_value_is_named_so_that_text_stays_small(body):
    ops = ["%v0 = arith.addi %n, %n : i32"]
    ops += [f"%v{i} = arith.muli %v{i - 1}, %v{i - 1} : i32" for i in range(1, 60)]
    text = body(store("v59", "\n".join(ops)))
    assert len(text) < 20_000
    assert text.count("\n") == 8
    assert text.startswith("v6: T.int32 = (n + n) * (n + n) * ((n + n) * (n + n))")


def test_a_deep_expression_is_cut_by_names(body):
    ops = ["%v0 = arith.addi %n, %n : i32"]
    ops += [f"%v{i} = arith.subi %n, %v{i - 1} : i32" for i in range(1, 3000)]
    lines = body(store("v2999", "\n".join(ops))).split("\n")
    assert 28 <= len(lines) <= 32
    assert max(line.count("(") for line in lines) <= 100


def test_known_numbers_are_folded_as_a_reader_folds_them(body):
    ops = """
        %2 = arith.constant 2 : i32
        %3 = arith.constant 3 : i32
        %a = arith.muli %2, %3 : i32
        %b = arith.addi %n, %a : i32"""
    assert body(store("b", ops)) == "B[0] = n + 6"


def test_division_by_a_known_zero_is_not_folded(body):
    ops = "%2 = arith.constant 2 : i32\n%0 = arith.constant 0 : i32\n%a = arith.floordivsi %2, %0 : i32"
    assert body(store("a", ops)) == "B[0] = 2 // 0"


def test_a_comparison_of_known_numbers_is_a_bool(body):
    ops = "%2 = arith.constant 2 : i32\n%3 = arith.constant 3 : i32\n%a = arith.cmpi slt, %2, %3 : i32"
    assert body(store("a", ops, "P", "i1")) == "P[0] = T.bool(True)"


def test_a_known_number_that_is_cast_is_a_literal(body):
    assert body(store("f", "%2 = arith.constant 2 : i32\n%f = tir.cast %2 : i32 -> f32", "A", "f32")) == (
        "A[0] = T.float32(2.0)"
    )


def test_an_operation_that_sees_the_sign_in_another_way_gets_casts(body):
    assert body(store("a", "%a = arith.divui %n, %n : i32")) == (
        'B[0] = T.Cast("int32", T.Cast("uint32", n) // T.Cast("uint32", n))'
    )
    assert body(store("a", "%a = arith.cmpi ult, %n, %n : i32", "P", "i1")) == (
        'P[0] = T.Cast("uint32", n) < T.Cast("uint32", n)'
    )
    ops = "%0 = arith.constant 0 : i32\n%u = tir.load %U[%0] : memref<8xui8>\n%a = arith.maxsi %u, %u : ui8"
    assert body(store("a", ops, "U", "ui8")) == (
        'U[0] = T.Cast("uint8", T.max(T.Cast("int8", U[0]), T.Cast("int8", U[0])))'
    )


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        ("ult", "not x >= T.float32(1.0)"),
        ("uge", "not x < T.float32(1.0)"),
        ("one", "x < T.float32(1.0) or x > T.float32(1.0)"),
        ("ueq", "not (x < T.float32(1.0) or x > T.float32(1.0))"),
        ("ord", "x == x and T.float32(1.0) == T.float32(1.0)"),
        ("uno", "x != x or T.float32(1.0) != T.float32(1.0)"),
        ("une", "x != T.float32(1.0)"),
    ],
)
def test_every_comparison_of_floats_has_a_form(body, predicate: str, text: str):
    ops = f"%1 = arith.constant 1.0 : f32\n%a = arith.cmpf {predicate}, %x, %1 : f32"
    assert body(store("a", ops, "P", "i1")) == f"P[0] = {text}"


def test_functions_that_tir_lacks_are_those_of_c(body):
    assert body(store("a", "%a = math.cbrt %x : f32", "A", "f32")) == 'A[0] = T.call_pure_extern("float32", "cbrtf", x)'
    assert (
        body(store("a", "%a = math.round %x : f32", "A", "f32")) == 'A[0] = T.call_pure_extern("float32", "roundf", x)'
    )
    ops = "%d = tir.cast %x : f32 -> f16\n%b = math.expm1 %d : f16\n%a = tir.cast %b : f16 -> f32"
    assert body(store("a", ops, "A", "f32")) == (
        'A[0] = T.Cast("float32", T.Cast("float16", T.call_pure_extern("float32", "expm1f", '
        'T.Cast("float32", T.Cast("float16", x)))))'
    )


def test_a_negation_is_a_product(body):
    assert body(store("a", "%a = arith.negf %x : f32", "A", "f32")) == "A[0] = x * T.float32(-1.0)"


def test_constant_vectors_are_broadcasts_or_shuffles(body):
    ops = "%r = tir.ramp %n, %n : vector<4xi32>\n{}\n%a = arith.addi %r, %k : vector<4xi32>"
    store4 = "\ntir.store %a, %B[%r : vector<4xi32>] : memref<8xi32>"
    splat = "%k = arith.constant dense<3> : vector<4xi32>"
    assert body(ops.format(splat) + store4).endswith("= T.Ramp(n, n, 4) + T.Broadcast(3, 4)")
    parts = "%k = arith.constant dense<[1, 2, 3, 4]> : vector<4xi32>"
    assert body(ops.format(parts) + store4).endswith("= T.Ramp(n, n, 4) + T.Shuffle([1, 2, 3, 4], [0, 1, 2, 3])")


def test_a_select_of_lazy_values_keeps_them_lazy(body):
    ops = """
        %a = tir.if_then_else %c {
          %v = tir.load %P[%n] : memref<8xi1>
          tir.yield %v : i1
        } else {
          %f = arith.constant false
          tir.yield %f : i1
        } : i1"""
    assert body(store("a", ops, "P", "i1")) == "P[0] = c and P[n]"
    swapped = """
        %a = tir.if_then_else %c {
          %t = arith.constant true
          tir.yield %t : i1
        } else {
          %v = tir.load %P[%n] : memref<8xi1>
          tir.yield %v : i1
        } : i1"""
    assert body(store("a", swapped, "P", "i1")) == "P[0] = c or P[n]"


def test_an_operator_that_a_reader_would_drop_is_spelled_out_today(body):
    zero = "%0 = arith.constant 0 : i32\n%a = arith.addi %n, %0 : i32"
    assert body(store("a", zero), "0.27") == "B[0] = T.Add(n, 0)"
    one = "%1 = arith.constant 1.0 : f32\n%a = arith.mulf %1, %x : f32"
    assert body(store("a", one, "A", "f32"), "0.27") == "A[0] = T.Mul(T.float32(1.0), x)"


def test_ops_of_other_landings_are_refused_by_name(body, mlir):
    with pytest.raises(UnsupportedError, match=r"^arith.maximumf has no form in TVMScript, which exists for"):
        body(store("a", "%a = arith.maximumf %x, %x : f32", "A", "f32"))
    with pytest.raises(UnsupportedError, match=r"^memref.alloc has no form in TVMScript"):
        body("%m = memref.alloc() : memref<4xf32>")


def test_the_text_of_a_value_uses_the_names_of_the_program():
    loop = ForOp("i_1_0", 0, 8, i32)
    builder = TirBuilder(loop.body.block)
    value = builder.add(builder.mul(loop.variable, 4), builder.cast(builder.const(0.5, "float32"), "int32"))
    assert expression_text(value) == 'i_1_0 * 4 + T.Cast("int32", T.float32(0.5))'
    assert expression_text(builder.let("total", value)) == "total"


def test_the_text_of_a_value_never_fails(mlir):
    module = mlir("""
        func.func @f(%x: f32, %i: i32) -> f32 {
          %m = memref.alloc() : memref<4xf32>
          %c = arith.constant 0 : index
          %l = memref.load %m[%c] : memref<4xf32>
          %a = arith.maximumf %l, %x : f32
          %b = arith.addf %a, %x : f32
          func.return %b : f32
        }""")
    (_, _, load, maximum, total, _) = next(iter(module.body.block.ops)).regions[0].block.ops
    assert expression_text(load.results[0]) == "l"
    assert expression_text(maximum.results[0]) == "<arith.maximumf>"
    assert expression_text(total.results[0]) == "<arith.addf>"
    assert total.results[0].type == f32


def test_a_predicate_that_holds_in_all_lanes_is_not_written() -> None:
    text = """
    tir.func @main("A" %A: memref<8xf32>) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %r = tir.ramp %c0, %c1 : vector<4xi32>
      %true = arith.constant true
      %m = vector.broadcast %true : i1 to vector<4xi1>
      %v = tir.load %A[%r : vector<4xi32>] if %m : vector<4xi1> : memref<8xf32>
      tir.store %v, %A[%r : vector<4xi32>] if %m : vector<4xi1> : memref<8xf32>
    }
    """
    script = parse_mlir(text).script()
    assert script.endswith("A[0:4] = A[0:4]")
    assert parse_tvmscript(script).script() == script
