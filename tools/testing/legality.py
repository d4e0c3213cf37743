"""Legal transformations that template-based checks refuse, each paired with a similar illegal transformation.

TVM 0.27 refuses each `legal` transformation, or allows the illegal one too (`make peer-test` checks this).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LegalityCase:
    """A pair of a legal and an illegal transformation.

    name: a description of the legal transformation.  legal, illegal: programs that differ only in the decisive
    dependence.  steps: lines of Python, the last of which is the transformation under test.  illegal_steps: the steps
    for `illegal`, if different.
    trusted: whether TVM allows both, because it trusts the kinds of the axes instead of the dependences."""

    name: str
    legal: str
    illegal: str
    steps: str
    illegal_steps: str | None = None
    tvm_allows_both: bool = False


def _program(parameters: str, body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.strip("\n").splitlines())
    return f"@I.ir_module\nclass Module:\n    @T.prim_func\n    def main({parameters}):\n{lines}\n"


def _stencil(write: str, read: str, rows: int = 6, columns: int = 6) -> str:
    body = f"""
for i, j in T.grid({rows}, {columns}):
    with T.block("A"):
        vi, vj = T.axis.remap("SS", [i, j])
        A[{write}] = A[{read}] + T.float32(1)
"""
    return _program('A: T.Buffer((8, 8), "float32")', body)


_UPDATED = """
B = T.alloc_buffer((16,), "float32")
for i in range(16):
    with T.block("F"):
        vi = T.axis.spatial(16, i)
        B[vi] = A[vi] + T.float32(1)
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        B[vi] = B[vi] * T.float32(2)
for i in range({extent}):
    with T.block("C"):
        vi = T.axis.spatial({extent}, i)
        C[vi] = B[{read}]
"""
_IN_AND_OUT = 'A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")'

_HORNER = """
for i in range(4):
    with T.block("F"):
        vi = T.axis.spatial(4, i)
        B[vi] = T.float32(0)
for i, k in T.grid(4, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        B[vi] = {update}
"""
_ROWS = 'A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")'

_BOUND = """
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, {binding})
        B[vi] = A[vi] + T.float32(1)
"""

_SKEWED = """
for t, s in T.grid(4, 12):
    with T.block("A"):
        vt = T.axis.spatial(4, t)
        vx = T.axis.spatial(6, s - {slope} * t)
        T.where({slope} * t <= s and s < {slope} * t + 6)
        A[vt + 1, vx + 1] = A[vt, vx] + A[vt, vx + 2]
"""

_WAVEFRONT = """
for d, i in T.grid(11, 6):
    with T.block("A"):
        vi = T.axis.spatial(6, i)
        vj = T.axis.spatial(6, d - i)
        T.where(i <= d and d < i + 6)
        A[vi + 1, vj + 1] = A[vi, vj + 1] + A[vi + 1, vj]
"""
_GAUSS_SEIDEL = """
for d, i in T.grid(6, 6):
    with T.block("A"):
        vi = T.axis.spatial(6, d)
        vj = T.axis.spatial(6, i)
        A[vi + 1, vj + 1] = A[vi, vj + 1] + A[vi + 1, vj]
"""

_PERMUTED = """
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi = T.axis.spatial(8, {binding})
        vj = T.axis.spatial(8, j)
        B[vi, vj] = {value}
"""
_EIGHTS = 'A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")'

_COPIED = """
for b in T.thread_binding(1, thread="blockIdx.x"):
    for t in T.thread_binding(16, thread="threadIdx.x"):
        S = T.alloc_buffer((16,), "float32", scope="shared")
        for j in range(16):
            with T.block("S"):
                vj = T.axis.spatial(16, j)
                S[vj] = {value}
        with T.block("C"):
            vi = T.axis.spatial(16, t)
            C[vi] = S[15 - vi]
"""

_TWO_CONSUMERS = """
B = T.alloc_buffer((16,), "float32")
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        B[vi] = A[vi] + T.float32(1)
for i in range({extent}):
    with T.block("C"):
        vi = T.axis.spatial({extent}, i)
        C[vi] = B[vi] * T.float32(2)
for i in range(16):
    with T.block("D"):
        vi = T.axis.spatial(16, i)
        D[vi] = B[15 - vi] * T.float32(3)
"""
_TWO = 'A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")'

_TEMPORARY = """
for i in range(16):
    with T.block("S"):
        vi = T.axis.spatial(16, i)
        S[0] = A[vi] + T.float32(1)
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = S[0] * T.float32(2)
"""

_OUTPUT = """
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        B[vi] = A[vi] + T.float32(1)
for i in range({extent}):
    with T.block("C"):
        vi = T.axis.spatial({extent}, i)
        C[vi] = B[vi] * T.float32(2)
"""

_FROM_ONE = """
for i in range(1, 9):
    for j in range({low}, {high}):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            vj = T.axis.spatial(10, j)
            B[vi, vj] = A[vi, vj]
"""
_SQUARES = 'A: T.Buffer((10, 10), "float32"), B: T.Buffer((10, 10), "float32")'

_TWO_SOURCES = """
B = T.alloc_buffer((16,), "float32")
{above}
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        B[vi] = A[vi] + T.float32(1)
{below}
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = B[vi] + D[vi]
"""
_D = """for i in range(16):
    with T.block("D"):
        vi = T.axis.spatial(16, i)
        D[vi] = A[vi] * T.float32(3)"""
_WITH_D = f'{_IN_AND_OUT}, D: T.Buffer((16,), "float32")'

CASES = [
    LegalityCase(
        "a diagonal stencil is reordered",
        _stencil("vi + 1, vj + 1", "vi, vj"),
        _stencil("vi + 1, vj", "vi, vj + 1"),
        'i, j = sch.get_loops(sch.get_block("A"))\nsch.reorder(j, i)',
        tvm_allows_both=True,
    ),
    LegalityCase(
        "a diagonal stencil is tiled by tiles that do not divide it",
        _stencil("vi + 1, vj + 1", "vi, vj"),
        _stencil("vi + 1, vj", "vi, vj + 1"),
        'i, j = sch.get_loops(sch.get_block("A"))\ni0, i1 = sch.split(i, [None, 4])\nj0, j1 = sch.split(j, [None, 5])\n'
        "sch.reorder(i0, j0, i1, j1)",
        tvm_allows_both=True,
    ),
    LegalityCase(
        "a stencil in time is reordered when it is skewed enough",
        _program('A: T.Buffer((5, 8), "float32")', _SKEWED.format(slope=1)),
        _program('A: T.Buffer((5, 8), "float32")', _SKEWED.format(slope=0)),
        't, s = sch.get_loops(sch.get_block("A"))\nsch.reorder(s, t)',
    ),
    LegalityCase(
        "an elementwise update in place is reordered",
        _stencil("vi, vj", "vi, vj"),
        _stencil("vi, vj", "vj, vi"),
        'i, j = sch.get_loops(sch.get_block("A"))\nsch.reorder(j, i)',
        tvm_allows_both=True,
    ),
    LegalityCase(
        "an elementwise update in place runs in parallel",
        _stencil("vi, vj", "vi, vj"),
        _stencil("vi, vj", "5 - vi, vj"),
        'i, j = sch.get_loops(sch.get_block("A"))\nsch.parallel(i)',
    ),
    LegalityCase(
        "the columns of a scan run in parallel",
        _stencil("vi + 1, vj", "vi, vj"),
        _stencil("vi + 1, vj", "vi + 1, vj + 1"),
        'i, j = sch.get_loops(sch.get_block("A"))\nsch.parallel(j)',
    ),
    LegalityCase(
        "an elementwise update in place is vectorized",
        _stencil("vi, vj", "vi, vj"),
        _stencil("vi, vj + 1", "vi, vj"),
        'i, j = sch.get_loops(sch.get_block("A"))\nsch.vectorize(j)',
    ),
    LegalityCase(
        "the rows of a scan along columns are bound to blocks of threads",
        _stencil("vi, vj + 1", "vi, vj"),
        _stencil("vi + 1, vj + 1", "vi, vj"),
        'i, j = sch.get_loops(sch.get_block("A"))\nsch.bind(i, "blockIdx.x")',
    ),
    LegalityCase(
        "a consumer moves to the last of two writers",
        _program(_IN_AND_OUT, _UPDATED.format(extent=16, read="vi")),
        _program(_IN_AND_OUT, _UPDATED.format(extent=16, read="vi")),
        '(i,) = sch.get_loops(sch.get_block("B"))\nsch.reverse_compute_at(sch.get_block("C"), i)',
        '(i,) = sch.get_loops(sch.get_block("F"))\nsch.reverse_compute_at(sch.get_block("C"), i)',
    ),
    LegalityCase(
        "an update in place moves to its consumer, which reads each element once",
        _program(_IN_AND_OUT, _UPDATED.format(extent=16, read="vi")),
        _program(_IN_AND_OUT, _UPDATED.format(extent=16, read="vi // 2")),
        '(i,) = sch.get_loops(sch.get_block("C"))\nsch.compute_at(sch.get_block("B"), i)',
    ),
    LegalityCase(
        "an output moves to a consumer that needs all of it",
        _program(f'{_IN_AND_OUT}, B: T.Buffer((16,), "float32")', _OUTPUT.format(extent=16)),
        _program(f'{_IN_AND_OUT}, B: T.Buffer((16,), "float32")', _OUTPUT.format(extent=12)),
        '(i,) = sch.get_loops(sch.get_block("C"))\nsch.compute_at(sch.get_block("B"), i)',
    ),
    LegalityCase(
        "contributions to a sum without an init are reordered",
        _program(_ROWS, _HORNER.format(update="B[vi] + A[vi, vk]")),
        _program(_ROWS, _HORNER.format(update="B[vi] * T.float32(2) + A[vi, vk]")),
        'i, k = sch.get_loops(sch.get_block("B"))\nk0, k1 = sch.split(k, [2, 4])\nsch.reorder(k1, k0)',
        tvm_allows_both=True,
    ),
    LegalityCase(
        "axes are bound to a permutation of the loop",
        _program('A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")', _BOUND.format(binding="i * 3 % 8")),
        _program('A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")', _BOUND.format(binding="i * 2 % 8")),
        '(i,) = sch.get_loops(sch.get_block("B"))\nsch.parallel(i)',
        tvm_allows_both=True,
    ),
    LegalityCase(
        "a wavefront runs in parallel",
        _program('A: T.Buffer((7, 7), "float32")', _WAVEFRONT),
        _program('A: T.Buffer((7, 7), "float32")', _GAUSS_SEIDEL),
        'd, i = sch.get_loops(sch.get_block("A"))\nsch.parallel(i)',
    ),
    LegalityCase(
        "loops after a permutation are reordered",
        _program(_EIGHTS, _PERMUTED.format(binding="i * 3 % 8", value="A[vi, vj]")),
        _program(_EIGHTS, _PERMUTED.format(binding="i * 3 % 8", value="A[vi, vj] + B[7 - vi, vj]")),
        'i, j = sch.get_loops(sch.get_block("B"))\ni0, i1 = sch.split(i, [2, 4])\nsch.reorder(i1, j, i0)',
    ),
    LegalityCase(
        "a producer moves to the first of two consumers, which needs all that the second one does",
        _program(_TWO, _TWO_CONSUMERS.format(extent=16)),
        _program(_TWO, _TWO_CONSUMERS.format(extent=12)),
        '(i,) = sch.get_loops(sch.get_block("C"))\nsch.compute_at(sch.get_block("B"), i)',
    ),
    LegalityCase(
        "a buffer with two writers is cached after both",
        _program(_IN_AND_OUT, _UPDATED.format(extent=16, read="vi")),
        _program(_IN_AND_OUT, _UPDATED.format(extent=16, read="vi")),
        'sch.cache_read(sch.get_block("C"), 0, "local")',
        '(i,) = sch.get_loops(sch.get_block("F"))\ncopy = sch.cache_read(sch.get_block("C"), 0, "local")\n'
        "sch.reverse_compute_at(copy, i)",
    ),
    LegalityCase(
        "each iteration has its own temporary",
        _program(_IN_AND_OUT, f'S = T.alloc_buffer((1,), "float32"){_TEMPORARY}'),
        _program(f'{_IN_AND_OUT}, S: T.Buffer((1,), "float32")', _TEMPORARY),
        '(i,) = sch.get_loops(sch.get_block("C"))\nsch.parallel(i)',
        tvm_allows_both=True,
    ),
    LegalityCase(
        "loops that do not start at 0 are fused",
        _program(_SQUARES, _FROM_ONE.format(low=1, high=9)),
        _program(_SQUARES, _FROM_ONE.format(low=1, high="i")),
        'i, j = sch.get_loops(sch.get_block("B"))\nsch.fuse(i, j)',
    ),
    LegalityCase(
        "a loop that does not start at 0 is split",
        _program(_SQUARES, _FROM_ONE.format(low=2, high=9)),
        _program(_SQUARES, _FROM_ONE.format(low=2, high=9)),
        'i, j = sch.get_loops(sch.get_block("B"))\nsch.split(j, [None, 3])',
        'i, j = sch.get_loops(sch.get_block("B"))\nsch.split(j, [2, 3])',
    ),
    LegalityCase(
        "a consumer moves to one of two producers, the other of which is done",
        _program(_WITH_D, _TWO_SOURCES.format(above=_D, below="")),
        _program(_WITH_D, _TWO_SOURCES.format(above="", below=_D)),
        '(i,) = sch.get_loops(sch.get_block("B"))\nsch.reverse_compute_at(sch.get_block("C"), i)',
    ),
    LegalityCase(
        "threads divide a copy that each of them makes",
        _program(_IN_AND_OUT, _COPIED.format(value="A[vj]")),
        _program(_IN_AND_OUT, _COPIED.format(value="A[vj] + T.cast(t, 'float32')")),
        'copy = sch.get_loops(sch.get_block("S"))[-1]\nsch.bind(copy, "threadIdx.x")',
        tvm_allows_both=True,
    ),
]
"""At least 15 pairs. The steps of a pair are the same, unless `illegal_steps` says otherwise."""
