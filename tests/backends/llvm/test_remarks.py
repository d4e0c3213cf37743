"""Remarks about the stack buffers in optimized code."""

from stepwell import build, parse_tvmscript
from stepwell.core.remarks import Remark

PROGRAM = """\
@T.prim_func
def main(A: T.Buffer((8,), "float32"), N: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    kept = T.alloc_buffer((4,))
    shuffled = T.alloc_buffer((8,))
    for i in T.unroll(4):
        kept[i] = A[i]
    for i in T.unroll(4):
        B[i] = kept[3 - i]
    for i in range(8):
        shuffled[i] = A[i]
    for i in range(8):
        B[i] = B[i] + shuffled[N[i]]
"""


def remarks_of(program: str, name: str) -> list[str]:
    """The remarks about optimized code in which a name occurs."""
    received: list[Remark] = []
    build(parse_tvmscript(program, filename="p.py"), remarks=received.append)
    return [str(remark) for remark in received if remark.pass_name == "llvm" and name in remark.message]


def test_a_buffer_with_constant_indices_is_kept_in_registers() -> None:
    assert remarks_of(PROGRAM, "kept") == ["p.py:3:12: llvm: applied: buffer kept memref<4xf32> is kept in registers"]


def test_a_buffer_with_an_index_of_the_program_stays_in_memory() -> None:
    message = "buffer shuffled memref<8xf32> stays in memory: an index is not constant"
    assert remarks_of(PROGRAM, "shuffled") == [f"p.py:4:16: llvm: missed: {message}"]


def test_buffers_of_one_name_are_told_apart() -> None:
    copy = PROGRAM.replace("def main", "def other").replace("kept", "shuffled_too")
    module = f"@I.ir_module\nclass Module:\n{_indent(PROGRAM)}\n{_indent(copy)}"
    assert [remark.split(":")[1] for remark in remarks_of(module, "buffer shuffled ")] == ["6", "19"]


def _indent(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
