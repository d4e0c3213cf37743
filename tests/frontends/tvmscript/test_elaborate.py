"""The meaning of statements and expressions: types, lets, blocks, frames, buffers, calls, in the syntax of all
versions."""

import textwrap
from typing import TypeVar

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc

from stepwell import Module, build
from stepwell.core.errors import ParseError
from stepwell.dialects.tir import LoadOp, StoreOp
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript

PARAMS = (
    'A: T.Buffer((16, 16), "float32"), J: T.Buffer((16,), "int32"), L: T.Buffer((16,), "int64"), n: T.int32, m: T.int64'
)


def function(
    body: str, params: str = PARAMS, decorator: str = "@T.prim_func", extra: dict[str, object] | None = None
) -> Module:
    text = f"{decorator}\ndef main({params}):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
    module = parse_tvmscript(text, "f.py", extra)
    module.verify()
    return module


def printed(body: str, params: str = PARAMS, **extra: object) -> list[str]:
    """The statements of a function with the given body, without indentation, after a round trip."""
    text = function(body, params, extra=extra).script()
    assert parse_tvmscript(text).script() == text
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines[lines.index("@T.prim_func") + 2 :] if not line.startswith("#")]


def says(line: str, expected: str | None = None, params: str = PARAMS, **extra: object) -> None:
    """Asserts that a single statement prints as expected."""
    assert printed(line, params, **extra)[-1] == (line if expected is None else expected)


# ---- types of expressions


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("A[0, 0] = 1", "A[0, 0] = T.float32(1.0)"),
        ("A[0, 0] = A[0, 1] + 1", "A[0, 0] = A[0, 1] + T.float32(1.0)"),
        ("L[0] = L[1] + 1", "L[0] = L[1] + T.int64(1)"),
        ("L[0] = L[1] + n", 'L[0] = L[1] + T.Cast("int64", n)'),
        ("J[0] = T.int32(3)", "J[0] = 3"),
        ("J[0] = 2 + 3 * 4", "J[0] = 14"),
        ("J[0] = 7 // 2 - 7 % 4", "J[0] = 0"),
        ('J[0] = T.max_value("int32")', "J[0] = 2147483647"),
        ('J[0] = T.min_value("int32")', "J[0] = -2147483648"),
        ('A[0, 0] = T.infinity("float32")', 'A[0, 0] = T.float32("inf")'),
        ('A[0, 0] = T.float32("nan")', 'A[0, 0] = T.float32("nan")'),
        ('A[0, 0] = T.Cast("float32", n)', None),
        ('A[0, 0] = T.cast(n, "float32")', 'A[0, 0] = T.Cast("float32", n)'),
        ('A[0, 0] = n.astype("float32")', 'A[0, 0] = T.Cast("float32", n)'),
        ("A[0, 0] = T.float32(n)", 'A[0, 0] = T.Cast("float32", n)'),
        ('J[0] = T.reinterpret("int32", A[0, 0])', None),
        ("J[0] = T.Select(n > 1, n, 2)", None),
        ("J[0] = T.if_then_else(n > 1, J[n], 2)", None),
        ("J[0] = J[n] if n > 1 else 2", "J[0] = T.if_then_else(n > 1, J[n], 2)"),
        ("J[0] = T.truncdiv(n, 2)", "J[0] = T.Div(n, 2)"),
        ("J[0] = T.Div(n, 2)", None),
        ("A[0, 0] = T.Div(A[0, 1], 2.0)", "A[0, 0] = A[0, 1] / T.float32(2.0)"),
        ("J[0] = T.floordiv(n, 2) + T.floormod(n, 2)", "J[0] = n // 2 + n % 2"),
        ("J[0] = T.ceildiv(n, 4)", "J[0] = (n + 3) // 4"),
        ("J[0] = T.bitwise_and(n, 3) | n ^ 5", "J[0] = n & 3 | n ^ 5"),
        ("J[0] = n << 1 >> 2", "J[0] = n << 1 >> 2"),
        ("J[0] = ~n", None),
        ("J[0] = -n", "J[0] = n * -1"),
        ("J[0] = +n", "J[0] = n"),
        ("J[0] = T.max(n, 1, 2)", "J[0] = T.max(T.max(n, 1), 2)"),
        ("A[0, 0] = T.exp(A[0, 1]) + T.sigmoid(A[1, 1])", None),
        ("A[0, 0] = T.fabs(A[0, 1]) + T.abs(A[0, 1])", "A[0, 0] = T.fabs(A[0, 1]) + T.fabs(A[0, 1])"),
        ("A[0, 0] = T.pow(A[0, 1], 2)", "A[0, 0] = T.pow(A[0, 1], T.float32(2.0))"),
        ("J[0] = T.popcount(n) + T.clz(n)", None),
        ("J[0] = T.q_multiply_shift(n, 1073741824, 31, 1)", None),
        ('A[0, 0] = T.call_intrin("float32", "tir.exp", A[0, 1])', "A[0, 0] = T.exp(A[0, 1])"),
        ("J[0] = len([1, 2]) + max(3, 4) + int(2.5) + sum([i for i in range(4) if i > 1])", "J[0] = 13"),
        ("J[0] = [5, 6, 7][-1] + {'a': 8}['a'] + (1, 2, 3)[1:][0]", "J[0] = 17"),
        ("J[0] = (lambda a, b=2: a * b)(n)", "J[0] = n * 2"),
    ],
)
def test_expressions(line: str, expected: str | None) -> None:
    says(line, expected)


def test_calls_of_v08_name_their_types_last() -> None:
    says('A[0, 0] = T.exp(A[0, 1], dtype="float32")', "A[0, 0] = T.exp(A[0, 1])")
    says('J[0] = T.if_then_else(n > 1, n, 2, dtype="int32")', "J[0] = T.if_then_else(n > 1, n, 2)")
    says('A[0, 0] = T.reinterpret(n, dtype="float32")', 'A[0, 0] = T.reinterpret("float32", n)')
    says('J[0] = T.call_pure_extern("f", n, dtype="int32")', 'J[0] = T.call_pure_extern("int32", "f", n)')
    says('T.evaluate(T.tvm_storage_sync("shared", dtype=""))', 'T.tvm_storage_sync("shared")')
    says('T.evaluate(T.call_packed("f", n, dtype="int32"))', 'T.call_packed("f", n)')


def test_packed_calls_and_builtins_may_have_results_of_any_type() -> None:
    says('A[0, 0] = T.call_intrin("float32", "tir.tvm_call_packed", "f", n)')
    says('J[0] = T.call_intrin("int32", "tir.tvm_struct_set", A.data, n)', "J[0] = T.tvm_struct_set(A.data, n)")


def test_conditions_are_lazy_where_it_matters() -> None:
    assert printed("if n > 0 and J[n] > 1 or not n == 2:\n    J[0] = 1")[0] == "if n > 0 and J[n] > 1 or not n == 2:"
    assert printed("if T.And(n > 0, T.Or(n < 4, T.Not(n > 9))):\n    J[0] = 1")[0].startswith("if n > 0 and (n < 4 or")
    assert printed("if 0 < n < 4:\n    J[0] = 1")[0] == "if 0 < n and n < 4:"


def test_a_shift_by_what_is_not_known_is_computed_only_where_it_counts() -> None:
    text = """
    @T.prim_func
    def main(b: T.int32, c: T.int32, J: T.Buffer((1,), "int32")):
        J[0] = T.Cast("int32", c < 32 and b << c > 3)
    """
    out = np.ones(1, "int32")
    build(parse_tvmscript(text), target="python")["main"](1, 40, out)
    assert out[0] == 0


def test_bools_of_the_program_are_not_pythons() -> None:
    assert printed("if T.bool(True):\n    J[0] = 1") == ["if T.bool(True):", "J[0] = 1"]
    assert printed("if True:\n    J[0] = 1\nelse:\n    J[0] = 2") == ["J[0] = 1"]


def test_loop_variables_have_the_type_of_their_extents() -> None:
    assert printed("for i in range(T.int64(8)):\n    L[i] = i") == ["for i in range(T.int64(8)):", "L[i] = i"]
    assert printed("for i in range(m):\n    J[i] = n") == ["for i in range(m):", "J[i] = n"]
    assert printed("for i, j in T.grid(4, T.int64(5)):\n    L[j] = i")[0] == "for i, j in T.grid(4, T.int64(5)):"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("for i in range(8):", None),
        ("for i in T.serial(0, 8):", "for i in range(8):"),
        ("for i in T.grid(8):", "for i in range(8):"),
        ("for i in range(2, 8):", None),
        ("for i in range(n, n + 4):", None),
        ("for i in range(n * 2, n * 2 + n):", None),
        ("for i in range(2, 8, 3):", None),
        ("for i in T.parallel(8):", None),
        ("for i in T.vectorized(n, n + 8):", None),
        ("for i in T.unroll(8):", None),
        ('for i in T.thread_binding(8, thread="threadIdx.x"):', None),
        ('for i in T.thread_binding(0, 8, "threadIdx.x"):', 'for i in T.thread_binding(8, thread="threadIdx.x"):'),
        ('for i in T.serial(8, annotations={"a": 1, "b": [T.int64(2), "x"]}):', None),
        ("for i in T.serial(8, step=2):", "for i in range(0, 8, 2):"),
    ],
)
def test_loops(line: str, expected: str | None) -> None:
    assert printed(f"{line}\n    J[i] = 0")[0] == (expected or line)


def test_meta_variables_are_written_anew_at_each_use() -> None:
    assert printed("x = T.meta_var(n * 2)\nJ[x] = x") == ["J[n * 2] = n * 2"]


def test_names_of_lets_survive_and_their_types_are_checked() -> None:
    lines = ["x: T.int32 = n + 1", "y: T.float32 = T.float32(0.5)", "z: T.int64 = T.int64(3)"]
    body = "x = n + 1\ny: T.let[T.float32] = 0.5\nz: T.int64 = 3\nL[x] = z"
    assert printed(body) == [*lines, "L[x] = z"]
    assert printed("x: T.let = n\nx += 1\nJ[x] = x")[:2] == ["x: T.int32 = n", "x_1: T.int32 = x + 1"]
    assert printed("with T.LetStmt(n * 2) as v:\n    J[v] = v") == ["v: T.int32 = n * 2", "J[v] = v"]
    assert printed("v = T.int32()\nwith T.LetStmt(n * 2, var=v):\n    J[v] = v")[0] == "v: T.int32 = n * 2"
    assert printed('v = T.var("int32")\nwith T.let(v, n):\n    J[v] = v')[0] == "v: T.int32 = n"
    assert printed("x = T.int32()\nJ[0] = T.Let(x + 1, where={x: n})")[0] == "x: T.int32 = n"
    assert printed("x = T.bind(n * 3)\nJ[0] = x") == ["x: T.int32 = n * 3", "J[0] = x"]


def test_names_end_with_their_scope() -> None:
    with pytest.raises(ParseError, match="undefined name 'x'"):
        function("for i in range(8):\n    x: T.int32 = i\nJ[x] = 1")


def test_constants_beside_functions_and_given_values_are_known() -> None:
    text = "N = 4\nM = N * 2\n@T.prim_func\ndef f(A: T.Buffer((M, K), 'float32')):\n    A[N, 0] = 1.0"
    assert 'T.Buffer((8, 3), "float32")' in parse_tvmscript(text, extra_vars={"K": 3}).script()


def test_tuples_unpack() -> None:
    assert printed("x, (y, *z) = 1, (n, 3, 4)\nJ[y] = x + z[1]")[-1] == "J[y] = x + 4"


# ---- elements


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("A[0, 0:4] = A[1, 4:8]", None),
        ("A[0, 0:8:2] = T.Broadcast(T.float32(1.0), 4)", None),
        (
            "A[0, n * 4:n * 4 + 4] = A[1, 0:4] + 1.0",
            "A[0, n * 4:n * 4 + 4] = A[1, 0:4] + T.Broadcast(T.float32(1.0), 4)",
        ),
        ("A[0, T.ramp(0, 1, 4)] = 2.0", "A[0, 0:4] = T.Broadcast(T.float32(2.0), 4)"),
        ("A[0, 3:4] = 2.0", "A[0, 3] = T.float32(2.0)"),
        ("A[0:1, 0:2] = A[0, 0:2]", "A[0, 0:2] = A[0, 0:2]"),
        ('A.vstore([0, 4], A.vload([0, 0], "float32x4"))', "A[0, 4:8] = A[0, 0:4]"),
        ("A[0, 0] += 1.0", "A[0, 0] = A[0, 0] + T.float32(1.0)"),
        ("J[0] = A.shape[1] + A.elem_offset", "J[0] = 16"),
        ("T.buffer_store(A, 1.0, [0, 1])", "A[0, 1] = T.float32(1.0)"),
        ('T.call_extern("void", "f", T.address_of(A[1, 2]))', None),
        ('T.call_extern("void", "f", A.access_ptr("rw"))', None),
        ('T.call_extern("void", "f", A.data, "text", 1)', None),
        ('T.call_packed("f", A, n)', None),
        ("T.evaluate(n)", None),
        ('T.call_extern("int32", "f", n)', None),
        ('J[0] = T.call_pure_extern("int32", "f", n)', None),
        ('J[0] = T.call_packed("f", n)', None),
        ('T.tvm_storage_sync("shared")', None),
        ("return", None),
        ('assert n > 1, "text"', None),
        ('assert n > 1, ("RuntimeError", ["te", "xt"])', 'assert n > 1, "text"'),
        ('assert n > 1, ("ValueError", ["text"])', None),
        ('assert n > 1, ("RuntimeError", ["n is ", n, "!"])', None),
        ('assert n > 1, ("RuntimeError", [n + 1, "a", "b", 2])', 'assert n > 1, ("RuntimeError", [n + 1, "ab", 2])'),
    ],
)
def test_statements(line: str, expected: str | None) -> None:
    body = printed(line)
    if "access_ptr" in line:
        assert "T.tvm_access_ptr(" in body[-1]
    else:
        assert body[-1] == (expected or line)


def test_a_buffer_without_dimensions_has_an_element() -> None:
    says("S[()] = T.float32(1.0)", params='S: T.Buffer((), "float32")')


# ---- blocks


def block(*lines: str, before: str = "") -> list[str]:
    text = "\n".join(f"            {line}" for line in lines)
    body = f"for i, j in T.grid(16, 16):\n    {before}\n    with T.block('b'):\n" + textwrap.indent(
        textwrap.dedent(text), "        "
    )
    return printed(body)[1:]


def test_axes_in_all_their_spellings_are_the_same() -> None:
    expected = block("vi, vj = T.axis.remap('SS', [i, j])", "A[vi, vj] = 1.0")
    assert block("vi = T.axis.S(16, i)", "vj = T.axis.spatial((0, 16), j)", "A[vi, vj] = 1.0") == expected
    assert block("vi = T.axis.spatial(T.Range(0, 16), i)", "vj = T.axis.S(16, j)", "A[vi, vj] = 1.0") == expected
    assert expected == [
        'with T.block("b"):', 'vi, vj = T.axis.remap("SS", [i, j])', "T.reads()", "T.writes(A[vi, vj])",
        "A[vi, vj] = T.float32(1.0)",
    ]  # fmt: skip


def test_an_axis_over_a_loop_whose_bound_is_read_from_memory() -> None:
    body = """
    for i in range(16):
        for j in range(J[i]):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = 1.0
    """
    assert printed(body)[:5] == [
        "for i in range(16):",
        "for j in range(J[i]):",
        'with T.block("b"):',
        "vi = T.axis.spatial(16, i)",
        "vj = T.axis.spatial(J[i], j)",
    ]


def test_blocks_of_v08_bind_their_axes_to_the_loops_around() -> None:
    old = printed("for i, j in T.grid(16, 16):\n    with T.block([16, 16], 'b') as [vi, vj]:\n        A[vi, vj] = 1.0")
    assert old[1:] == block("vi, vj = T.axis.remap('SS', [i, j])", "A[vi, vj] = 1.0")


def test_blocks_of_v08_have_loops_of_their_own_without_any_around() -> None:
    body = """
    with T.block([16, T.reduce_axis(0, 16)], 'b') as [vi, vk]:
        with T.init():
            J[vi] = 0
        J[vi] = J[vi] + vk
    """
    assert printed(body)[:3] == [
        "for i0, i1 in T.grid(16, 16):",
        'with T.block("b"):',
        'vi, vk = T.axis.remap("SR", [i0, i1])',
    ]


def test_bindings_and_predicates_of_v08() -> None:
    body = """
    for i in range(10):
        with T.block([16], 'b') as vi:
            T.bind(vi, i * 2)
            T.where(i * 2 < 16)
            J[vi] = 1
    """
    assert printed(body)[2:4] == ["vi = T.axis.spatial(16, i * 2)", "T.where(i * 2 < 16)"]


def test_regions_annotations_and_matched_buffers() -> None:
    lines = (
        "vi = T.axis.reduce(16, i)", "T.reads(A[vi, 0:16], J[vi * 2:vi * 2 + 2])", "T.writes(L[0:16])",
        'T.block_attr({"a": [1, "x"], "tirx.b": True})',
        'B = T.match_buffer(A[vi, 0:16], (1, 16), "float32", strides=(16, 1), offset_factor=1, elem_offset=0)',
        "L[vi] = T.Cast('int64', B[0, 3])",
    )  # fmt: skip
    assert block(*lines)[1:-1] == [
        "vi = T.axis.reduce(16, i)", "T.reads(A[vi, 0:16], J[vi * 2:vi * 2 + 2])", "T.writes(L[0:16])",
        'T.block_attr({"a": [1, "x"], "tir.b": True})', "B = T.match_buffer(A[vi, 0:16], (1, 16), strides=(16, 1))",
    ]  # fmt: skip


def test_a_region_may_be_a_whole_buffer_or_a_list() -> None:
    got = block("vi = T.axis.S(16, i)", "T.reads([A[vi, 0], J])", "T.writes([])", "T.evaluate(0)")
    assert got[2:4] == ["T.reads(A[vi, 0], J[0:16])", "T.writes()"]


def test_allocated_buffers_belong_to_their_block() -> None:
    body = """
    with T.block('b'):
        for i in range(4):
            B = T.alloc_buffer((4,), scope='local')
            B[i] = 1.0
    """
    assert printed(body)[3:5] == ['B = T.alloc_buffer((4,), scope="local")', "for i in range(4):"]


def test_an_explicit_root_block_is_the_implicit_one() -> None:
    inside = "B = T.alloc_buffer((4,))\nB[0] = 1.0"
    root = 'with T.block("root"):\n    T.reads([])\n    T.writes([])\n' + textwrap.indent(inside, "    ")
    assert printed(root) == printed(inside)


def test_an_explicit_root_block_is_the_implicit_one_beside_constants_of_attributes() -> None:
    root = 'with T.block("root"):\n    for i in range(2):\n        with T.block("B"):\n            A[i, 0] = 1.0'
    attributes = 'T.func_attr({"global_symbol": "other", "tir.noalias": T.bool(True)})\n'
    assert printed(attributes + root)[1:] == printed(root)


# ---- frames


def test_bare_frames_hold_the_rest_of_their_block() -> None:
    inside = ['tx = T.launch_thread("threadIdx.x", 32)', "J[tx] = 1"]
    assert printed('tx = T.launch_thread("threadIdx.x", 32)\nJ[tx] = 1') == inside
    assert printed('tx = T.env_thread("threadIdx.x")\nT.launch_thread(tx, 32)\nJ[tx] = 1') == inside
    assert printed('with T.launch_thread("threadIdx.x", 32) as tx:\n    J[tx] = 1') == inside
    old = 'tx = T.env_thread("threadIdx.x")\nT.attr(tx, "thread_extent", 32)\nJ[tx] = 1'
    assert printed(old) == inside
    assert printed('T.attr(0, "pragma_x", "y")\nJ[0] = 1') == ['T.attr(0, "pragma_x", "y")', "J[0] = 1"]
    assert printed('with T.attr(A.data, "k", n):\n    J[0] = 1\nJ[1] = 2')[0] == 'with T.attr(A.data, "k", n):'


def test_allocations_and_their_buffers() -> None:
    expected = [
        'p = T.allocate([n, 4], "float32", "local")',
        'B = T.decl_buffer((n, 4), data=p, scope="local")',
        "B[0, 0] = T.float32(1.0)",
    ]
    start = 'p = T.allocate([n, 4], "float32", "local")\n'
    for declaration in (
        "B = T.decl_buffer((n, 4), data=p, scope='local')",
        "B = T.Buffer((n, 4), data=p, scope='local')",
    ):
        assert printed(f"{start}{declaration}\nB[0, 0] = 1.0") == expected
    old = 'p = T.allocate([8], "float32", "global")\nB = T.buffer_decl([8], dtype="float32", data=p)\nB[0] = 1.0'
    assert printed(old)[1] == "B = T.decl_buffer((8,), data=p)"
    assert printed('with T.allocate([8], "int8", "global") as p:\n    p[0] = 1')[1:] == [
        'p_1 = T.decl_buffer((8,), "int8", data=p)',
        "p_1[0] = T.int8(1)",
    ]
    assert printed('w = T.allocate_const([1, 2], "int32", [2])\nW = T.decl_buffer((2,), "int32", data=w)\nJ[0] = W[1]')[
        0
    ].startswith("w = T.allocate_const([1, 2]")
    assert len(printed("B = T.decl_buffer((4,))\nB[0] = 1.0")) == 3


def test_branches_in_builder_form() -> None:
    body = """
    with T.If(n > 1):
        with T.Then():
            J[0] = 1
        with T.Else():
            J[0] = 2
    with T.While(J[0] < 4):
        J[0] += 1
    with T.Assert(n > 2, 'x'):
        J[1] = 2
    """
    assert printed(body) == printed(
        "if n > 1:\n    J[0] = 1\nelse:\n    J[0] = 2\n"
        "while J[0] < 4:\n    J[0] = J[0] + 1\nassert n > 2, 'x'\nJ[1] = 2"
    )


# ---- parameters


def signature(params: str, body: str = "pass") -> str:
    return next(
        line.strip() for line in function(body, params).script().splitlines() if line.strip().startswith("def ")
    )


def test_a_matched_handle_is_a_buffer_parameter() -> None:
    expected = 'def main(B: T.Buffer((8, 2), "float32")):'
    for body in (
        "B = T.match_buffer(b, (8, 2))",
        "B = T.match_buffer(b, [8, 2], dtype='float32', elem_offset=0, align=64, offset_factor=1)",
    ):
        assert signature("b: T.handle", body) == expected
    for params in (
        "B: T.Buffer((8, 2))",
        "B: T.Buffer[(8, 2), 'float32']",
        "B: T.Buffer[8, 2]",
        "B: 'T.Buffer((8, 2))'",
    ):
        assert signature(params) == expected


def test_sizes_are_symbols() -> None:
    body = "n = T.int32()\nm = T.int64()\nA = T.match_buffer(a, (n, m), strides=(m, 1))\nA[n - 1, 0] = 1.0"
    lines = [
        "n = T.int32()",
        "m = T.int64()",
        "A = T.match_buffer(a, (n, m), strides=(m, 1))",
        "A[n - 1, 0] = T.float32(1.0)",
    ]
    assert printed(body, "a: T.handle") == lines
    today = """
    @T.prim_func(s_tir=True)
    def main[n](A: T.Buffer((n, "k * 2"), "float32"), B: T.Buffer((k,), "float32")):
        k = T.int32()
        B[0] = A[n - 1, k]
    """
    text = parse_tvmscript(today).script()
    assert "A = T.match_buffer(var_A, (n, k * 2))" in text
    assert "B = T.match_buffer(var_B, (k,))" in text


def test_sizes_stand_in_the_order_they_are_declared_in() -> None:
    body = """
    n = T.int32()
    s = T.int32()
    off = T.int32()
    A = T.match_buffer(a, (n, 4), strides=(s, 1), elem_offset=off)
    A[0, 0] = 1.0
    """
    assert printed(body, "a: T.handle")[:3] == ["n = T.int32()", "s = T.int32()", "off = T.int32()"]


def test_scalars_handles_and_results() -> None:
    text = """
    @T.prim_func(private=True)
    def f(x: T.float16, p: T.handle('int8', 'shared'), q: T.handle) -> T.int32:
        return 3
    """
    module = parse_tvmscript(text)
    assert 'def f(x: T.float16, p: T.handle("int8", "shared"), q: T.handle) -> T.int32:' in module.script()
    assert "private=True" in module.script()
    assert (
        parse_tvmscript("@T.prim_func\ndef f(n: T.int64):\n    T.evaluate(T.ret(n))").script().count("-> T.int64") == 1
    )


def test_function_attributes_are_normalised() -> None:
    text = """
    @T.prim_func
    def f():
        T.func_attr({"global_symbol": "f", "tirx.noalias": T.bool(True), "t": T.target({"kind": "llvm"}), "x": [None]})
    """
    printed = parse_tvmscript(text).script()
    assert 'T.func_attr({"t": T.target({"kind": "llvm"}), "tir.noalias": True, "x": [None]})' in printed
    other = parse_tvmscript('@T.prim_func\ndef f():\n    T.func_attr({"global_symbol": "g"})')
    assert '"global_symbol": "g"' in other.script()


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ('"llvm"', '"llvm"'),
        ('"llvm", host="llvm"', '{"host": "llvm", "kind": "llvm"}'),
        ('"cuda -arch=sm_80", "llvm"', '{"arch": "sm_80", "host": "llvm", "kind": "cuda"}'),
        ('{"kind": "cuda"}, host={"kind": "llvm"}', '{"host": {"kind": "llvm"}, "kind": "cuda"}'),
        ('{"kind": "cuda"}, T.target({"kind": "llvm"})', '{"host": {"kind": "llvm"}, "kind": "cuda"}'),
    ],
)
def test_the_host_of_a_target_is_an_entry_of_it(target: str, expected: str) -> None:
    attributes = f'T.func_attr({{"target": T.target({target})}})'
    assert printed(attributes, "")[0] == f'T.func_attr({{"target": T.target({expected})}})'


@pytest.mark.parametrize("dtype", ["float", "int", "uint"])
def test_a_type_without_a_number_of_bits_has_32(dtype: str) -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((1,), {0!r}), B: T.Buffer((1,), {0!r})):\n    A[0] = B[0]"
    assert parse_tvmscript(text.format(dtype)).script() == parse_tvmscript(text.format(f"{dtype}32")).script()


def test_attributes_of_functions_name_parameters() -> None:
    attributes = 'T.func_attr({"input_vars": [a, b, n, C], "x": {"y": b}})'
    body = f"{attributes}\nm = T.int32()\nA = T.match_buffer(a, (8,))\nB = T.match_buffer(b, (m,))"
    result = printed(body, 'a: T.handle, b: T.handle, n: T.int32, C: T.Buffer((8,), "float32")')
    assert result[0] == 'T.func_attr({"input_vars": [A, b, n, C], "x": {"y": b}})'


# ---- modules


def test_functions_of_a_module_call_each_other() -> None:
    text = """
    @I.ir_module
    class Two:
        @T.prim_func
        def f(A: T.Buffer((4,), "int32")):
            A[0] = Two.g(A.data, 1) + cls.g(A.data, 2)
            cls.h(A)
        @T.prim_func
        def g(A: T.handle, n: T.int32) -> T.int32:
            return n
        @T.prim_func
        def h(A: T.Buffer((4,), "int32")):
            A[1] = 2
    """
    printed = parse_tvmscript(text).script()
    assert "class Two:" in printed
    assert "t: T.int32 = cls.g(A.data, 1)" in printed
    assert "A[0] = t + cls.g(A.data, 2)" in printed
    assert parse_tvmscript(printed).script() == printed


def test_functions_alone_are_a_module() -> None:
    text = "@T.prim_func\ndef f():\n    g()\n@T.prim_func\ndef g():\n    pass"
    assert list(parse_tvmscript(text)) == ["f", "g"]


def test_an_empty_module() -> None:
    assert list(parse_tvmscript("@I.ir_module\nclass M:\n    pass")) == []


def test_what_stands_beside_the_definitions_is_not_run() -> None:
    text = """
    import numpy as np
    from tvm.script import tir as TT
    '''text'''
    def plain(x):
        return x
    @TT.prim_func
    def f(A: TT.Buffer((2,), "float32")):
        A[0] = 1.0
    mod = build(f)
    print(mod)
    """
    assert list(parse_tvmscript(text)) == ["f"]


def test_every_op_knows_its_place() -> None:
    text = "\n@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0] = (A[1] +\n      A[2])\n"
    places = {}
    for op in parse_tvmscript(text, "k.py").op.walk():
        if isinstance(op, LoadOp | StoreOp) and isinstance(op.location, FileLineColLoc):
            places.setdefault(op.name, []).append(
                (op.location.filename.data, op.location.line.data, op.location.column.data)
            )
    assert places == {"tir.load": [("k.py", 4, 13), ("k.py", 5, 7)], "tir.store": [("k.py", 4, 5)]}


def test_a_macro_in_a_module() -> None:
    text = """
    @T.macro
    def put(A, i):
        A[i] = 1.0
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        for i in range(4):
            put(A, i)
    """
    assert "A[i] = T.float32(1.0)" in parse_tvmscript(text).script()


def test_flat_accesses_of_v08() -> None:
    body = """
    p = T.allocate([16], "float32", "global")
    T.store(p, n, T.load("float32", A.data, n + 1))
    T.store(p, T.ramp(0, 1, 4), T.load("float32x4", p, T.ramp(4, 1, 4), T.broadcast(True, 4)), T.broadcast(n > 1, 4))
    """
    assert printed(body) == [
        "A_1 = T.decl_buffer((256,), data=A.data)", 'p = T.allocate([16], "float32", "global")',
        "p_1 = T.decl_buffer((16,), data=p)", "p_1[n] = A_1[n + 1]",
        "p_1.vstore([T.Ramp(0, 1, 4)], p_1[4:8], predicate=T.Broadcast(n > 1, 4))",
    ]  # fmt: skip


def test_buffers_of_today_are_pointers_and_views() -> None:
    text = """
    # from tvm.script import tirx as T
    @T.prim_func
    def f(A: T.Buffer((4, 4), 'float32')):
        B = T.alloc_buffer((16,))
        C = A.view(16)
        D = A.view(2, -1)
        B[0] = C[3] + D[1, 7]
        E = T.alloc_local((2,))
        E[0] = 1.0
    """
    module = parse_tvmscript(text)
    assert parse_tvmscript(module.script("0.27")).script() == module.script()
    assert "D = T.decl_buffer((2, 8), data=A.data)" in module.script()


def test_attributes_about_no_node_are_a_dictionary_today() -> None:
    today, classic = (
        function(f"T.attr({attr})\nA[0, 0] = 1.0") for attr in ('{"pragma_a": "seq"}', '0, "pragma_a", "seq"')
    )
    assert str(today) == str(classic)
    nested = printed('T.attr({"pragma_a": "seq", "pragma_b": 1})\nA[0, 0] = 1.0')
    assert nested[:2] == ['T.attr(0, "pragma_a", "seq")', 'T.attr(0, "pragma_b", 1)']


def test_a_symbolic_buffer_with_an_offset_of_its_own_is_row_major() -> None:
    body = "k = T.int32()\nB = T.match_buffer(b, (4, k, 3, k), offset_factor=1)\nB[0, 0, 0, 0] = 1.0"
    lines = printed(body, params="b: T.handle")
    assert lines[1] == "B = T.match_buffer(b, (4, k, 3, k), strides=(k * 3 * k, k * 3, k, 1), offset_factor=1)"


def test_a_buffer_of_the_type_auto_is_a_buffer() -> None:
    body = 'k = T.int32()\nB = T.match_buffer(b, (k,), buffer_type="auto")\nB[0] = 1.0'
    assert printed(body, params="b: T.handle")[1] == "B = T.match_buffer(b, (k,))"


SEPARATED = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32", axis_separators=(1,)), b: T.handle):
    B = T.match_buffer(b, (4, 8), axis_separators=[0, 1])
    C = T.alloc_buffer((4, 8), axis_separators=[T.int32(1)])
    p = T.allocate([32], "float32")
    D = T.decl_buffer((4, 8), data=p, axis_separators=[2, 2])
    E = T.decl_buffer((4, 8), axis_separators=[1])
    F = T.decl_buffer((4, 8), axis_separators=[])
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            row = T.match_buffer(C[vi, 0:8], (8,), axis_separators=[1, 2])
            for j in range(8):
                row[j] = A[vi, j]
    for i, j in T.grid(4, 8):
        D[i, j] = C[i, j]
        E[i, j] = D[i, j]
        F[i, j] = E[i, j]
        B[i, j] = F[i, j] + T.float32(1)
"""


@pytest.mark.parametrize("style", ["classic", "0.27"])
def test_axis_separators_are_read_and_printed(style: str) -> None:
    module = parse_tvmscript(SEPARATED)
    text = module.script(style)
    groups = [line.split(" = ")[0].strip() + line.partition("axis_separators")[2] for line in text.splitlines()]
    assert [each for each in groups if "=[" in each] == [
        "A=[1])", "B=[0, 1])", "C=[1])", "D=[2, 2])", "E_1=[1])", "row=[1, 2])"
    ]  # fmt: skip
    assert parse_tvmscript(text).script(style) == text
    assert str(parse_mlir(str(module))) == str(module)
    a, b = np.arange(32, dtype="float32").reshape(4, 8), np.zeros((4, 8), "float32")
    build(module)(a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_an_array_over_all_of_a_buffer_is_the_buffer() -> None:
    shape = "T.tvm_stack_make_shape(16, 16)"
    array = f"T.tvm_stack_make_array(A.data, {shape}, 0, 2, T.float32(0.0), 0)"
    says(f'T.call_packed("f", {array}, 1)', 'T.call_packed("f", A, 1)')


def test_an_array_may_state_its_type_as_calls_do() -> None:
    shape = "T.tvm_stack_make_shape(16, 16, dtype='handle')"
    array = f"T.tvm_stack_make_array(A.data, {shape}, 0, 2, 0.0, 0, dtype='handle')"
    says(f'T.call_packed("f", {array}, 1)', 'T.call_packed("f", A, 1)')


def test_an_array_over_part_of_a_buffer_is_declared() -> None:
    shape, strides = "T.tvm_stack_make_shape(4, 4)", "T.tvm_stack_make_shape(16, 1)"
    array = f"T.tvm_stack_make_array(A.data, {shape}, {strides}, 2, T.float32(0.0), 8)"
    declared, call = printed(f'T.call_packed("f", {array})')
    assert declared == "array = T.decl_buffer((4, 4), data=A.data, strides=(16, 1), elem_offset=8)"
    assert call == 'T.call_packed("f", array)'


TYPE_VARIABLE = """
from typing import TypeVar
n = TypeVar("n")
@T.prim_func
def main(A: T.Buffer((n, 4), "float32"), B: T.Buffer((n, "n // T.int64(2)"), "float32")):
    for i in range(n):
        B[i, n // T.int64(2) - T.int64(1)] = A[i, 0]
"""


def test_a_type_variable_is_a_size_of_64_bits() -> None:
    text = parse_tvmscript(TYPE_VARIABLE).script()
    assert "n = T.int64()" in text
    assert "B = T.match_buffer(var_B, (n, n // T.int64(2)))" in text


def test_each_function_has_a_type_variable_of_its_own() -> None:
    second = TYPE_VARIABLE[TYPE_VARIABLE.index("@T.prim_func") :].replace("main", "other")
    mod = parse_tvmscript(f"{TYPE_VARIABLE}{second}")
    assert mod.script().count("n = T.int64()") == 2


def test_a_type_variable_of_python_is_one() -> None:
    text = TYPE_VARIABLE[TYPE_VARIABLE.index("@T.prim_func") :]
    mod = parse_tvmscript(text, extra_vars={"n": TypeVar("n")})
    assert "n = T.int64()" in mod.script()


def test_q_multiply_shift_per_axis_rounds_halves_up() -> None:
    text = """
@T.prim_func
def main(X: T.Buffer((6,), "int32"), Y: T.Buffer((6,), "int32"), L: T.Buffer((6,), "int32"), R: T.Buffer((6,), "int32"),
         Z: T.Buffer((6,), "int32"), W: T.Buffer((6,), "int32")):
    for i in range(6):
        Z[i] = T.q_multiply_shift_per_axis(X[i], Y[i], L[i], R[i], 31, T.bool(True), T.bool(True))
        W[i] = T.q_multiply_shift_per_axis(X[i], Y[i], L[i], R[i], 31, T.bool(False), T.bool(False))
"""
    x, y, left, right = (
        [5, -5, 7, 100, 1, -3],
        [1 << 30] * 4 + [1 << 29, 3 << 29],
        [0, 0, 1, 3, 0, 2],
        [0, 0, 0, 1, 0, 2],
    )
    expected = [
        [
            (((a << s) if shifts else a) * b + (1 << 30 + r)) >> 31 + r
            for a, b, s, r in zip(x, y, left, right, strict=True)
        ]
        for shifts in (True, False)
    ]
    arrays = [np.array(values, np.int32) for values in (x, y, left, right)]
    for target in ("python", "llvm"):
        results = [np.zeros(6, np.int32) for _ in range(2)]
        build(parse_tvmscript(text), target)["main"](*arrays, *results)
        assert [result.tolist() for result in results] == expected


def test_a_shape_uses_an_integer_parameter_declared_after_it() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer(("(n + 3) // 4 * 4", 2), "int32"), B: T.Buffer(((n + 3) // 4 * 4,), "int32"), n: T.int32):
    for i in range(n):
        B[i] = A[i, 0] + n
"""
    module = parse_tvmscript(text)
    assert parse_tvmscript(module.script()).script() == module.script()
    result = np.zeros(8, np.int32)
    build(module)["main"](np.arange(16, dtype=np.int32).reshape(8, 2), result, 5)
    assert result.tolist() == [5, 7, 9, 11, 13, 0, 0, 0]
