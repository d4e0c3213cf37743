"""Programs without a schedule, for default schedules: products, convolutions, reductions, rows, transposes."""

from __future__ import annotations

from ...frontends.tvmscript import parse_tvmscript
from ...module import Module
from .choices import Choices

SIZES = (1, 2, 3, 5, 7, 8, 13, 16, 17, 24, 31, 32, 33)
DTYPES = ("float32", "float64", "float16", "int8", "int32", "uint8")
PROGRAMS: dict[str, tuple[tuple[str, ...], str]] = {
    "product": (
        ("A: m, k", "B: k, n", "C: m, n"),
        """
for i, j, r in T.grid(m, n, k):
    with T.block("C"):
        vi, vj, vr = T.axis.remap("SSR", [i, j, r])
        with T.init():
            C[vi, vj] = T.Cast("{dtype}", 0)
        C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]
""",
    ),
    "transposed product": (
        ("A: m, k", "B: n, k", "C: m, n"),
        """
for i, j, r in T.grid(m, n, k):
    with T.block("C"):
        vi, vj, vr = T.axis.remap("SSR", [i, j, r])
        with T.init():
            C[vi, vj] = T.Cast("{dtype}", 0)
        C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vj, vr]
""",
    ),
    "product of a matrix and its transpose": (
        ("A: m, k", "C: m, m"),
        """
for i, j, r in T.grid(m, m, k):
    with T.block("C"):
        vi, vj, vr = T.axis.remap("SSR", [i, j, r])
        with T.init():
            C[vi, vj] = T.Cast("{dtype}", 0)
        C[vi, vj] = C[vi, vj] + A[vi, vr] * A[vj, vr]
""",
    ),
    "product of computed elements": (
        ("A: m, k", "B: k, n", "C: m, n"),
        """
D = T.alloc_buffer((k, n), "{dtype}")
for i, j in T.grid(k, n):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = T.max(B[vi, vj], T.Cast("{dtype}", 0))
for i, j, r in T.grid(m, n, k):
    with T.block("C"):
        vi, vj, vr = T.axis.remap("SSR", [i, j, r])
        with T.init():
            C[vi, vj] = T.Cast("{dtype}", 0)
        C[vi, vj] = C[vi, vj] + A[vi, vr] * D[vr, vj]
""",
    ),
    "product without an init": (
        ("A: m, k", "B: k, n", "C: m, n"),
        """
for i, j, r in T.grid(m, n, k):
    with T.block("C"):
        vi, vj, vr = T.axis.remap("SSR", [i, j, r])
        C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]
""",
    ),
    "batched product": (
        ("A: k, m, n", "B: k, n, m", "C: k, m, m"),
        """
for b, i, j, r in T.grid(k, m, m, n):
    with T.block("C"):
        vb, vi, vj, vr = T.axis.remap("SSSR", [b, i, j, r])
        with T.init():
            C[vb, vi, vj] = T.Cast("{dtype}", 1)
        C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vr] * B[vb, vr, vj]
""",
    ),
    "convolution": (
        ("A: 3, m + 2, n + 2", "B: k, 3, 3, 3", "C: k, m, n"),
        """
for c, y, x, d, p, q in T.grid(k, m, n, 3, 3, 3):
    with T.block("C"):
        vc, vy, vx, vd, vp, vq = T.axis.remap("SSSRRR", [c, y, x, d, p, q])
        with T.init():
            C[vc, vy, vx] = T.Cast("{dtype}", 0)
        C[vc, vy, vx] = C[vc, vy, vx] + A[vd, vy + vp, vx + vq] * B[vc, vd, vp, vq]
""",
    ),
    "product and elements": (
        ("A: m, k", "B: k, n", "D: n", "E: m, n"),
        """
C = T.alloc_buffer((m, n), "{dtype}")
for i, j, r in T.grid(m, n, k):
    with T.block("C"):
        vi, vj, vr = T.axis.remap("SSR", [i, j, r])
        with T.init():
            C[vi, vj] = T.Cast("{dtype}", 0)
        C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]
for i, j in T.grid(m, n):
    with T.block("E"):
        vi, vj = T.axis.remap("SS", [i, j])
        E[vi, vj] = T.max(C[vi, vj] + D[vj], T.Cast("{dtype}", 0))
""",
    ),
    "channels": (
        ("A: k, m * 2, n * 2", "B: k, 3, 3", "E: k, m, n"),
        """
P = T.alloc_buffer((k, m * 2 + 2, n * 2 + 2), "{dtype}")
C = T.alloc_buffer((k, m, n), "{dtype}")
for c, y, x in T.grid(k, m * 2 + 2, n * 2 + 2):
    with T.block("P"):
        vc, vy, vx = T.axis.remap("SSS", [c, y, x])
        P[vc, vy, vx] = T.if_then_else(
            1 <= vy and vy <= m * 2 and 1 <= vx and vx <= n * 2, A[vc, vy - 1, vx - 1], T.Cast("{dtype}", 0)
        )
for c, y, x, p, q in T.grid(k, m, n, 3, 3):
    with T.block("C"):
        vc, vy, vx, vp, vq = T.axis.remap("SSSRR", [c, y, x, p, q])
        with T.init():
            C[vc, vy, vx] = T.Cast("{dtype}", 0)
        C[vc, vy, vx] = C[vc, vy, vx] + P[vc, vy * 2 + vp, vx * 2 + vq] * B[vc, vp, vq]
for c, y, x in T.grid(k, m, n):
    with T.block("E"):
        vc, vy, vx = T.axis.remap("SSS", [c, y, x])
        E[vc, vy, vx] = T.max(C[vc, vy, vx], T.Cast("{dtype}", 1))
""",
    ),
    "blocks of channels": (
        ("A: k, m + 2, 16", "B: n, k, 3, 16, 16", "C: n, m, 16"),
        """
for o, x, l, r, p, q in T.grid(n, m, 16, k, 3, 16):
    with T.block("C"):
        vo, vx, vl, vr, vp, vq = T.axis.remap("SSSRRR", [o, x, l, r, p, q])
        with T.init():
            C[vo, vx, vl] = T.Cast("{dtype}", 0)
        C[vo, vx, vl] = C[vo, vx, vl] + A[vr, vx + vp, vq] * B[vo, vr, vp, vq, vl]
""",
    ),
    "windows": (
        ("A: k, m + 2, n + 4", "B: k, 3, 5", "C: k, m, n"),
        """
for c, y, x, p, q in T.grid(k, m, n, 3, 5):
    with T.block("C"):
        vc, vy, vx, vp, vq = T.axis.remap("SSSRR", [c, y, x, p, q])
        with T.init():
            C[vc, vy, vx] = T.Cast("{dtype}", 1)
        C[vc, vy, vx] = C[vc, vy, vx] + A[vc, vy + vp, vx + vq] * B[vc, vp, vq]
""",
    ),
    "columns": (
        ("A: m, n", "B: n, n", "C: n"),
        """
for j, i in T.grid(n, m):
    with T.block("C"):
        vj, vi = T.axis.remap("SR", [j, i])
        with T.init():
            C[vj] = T.Cast("{dtype}", 0)
        C[vj] = T.max(C[vj], A[vi, vj])
""",
    ),
    "long rows": (
        ("A: k + 8", "B: k + 8, n * 16 + m", "C: n * 16 + m"),
        """
for j, r in T.grid(n * 16 + m, k + 8):
    with T.block("C"):
        vj, vr = T.axis.remap("SR", [j, r])
        with T.init():
            C[vj] = T.Cast("{dtype}", 2)
        C[vj] = C[vj] + A[vr] * B[vr, vj]
""",
    ),
    "all elements": (
        ("A: m * 8, n", "B: m * 8, n", "C: 1"),
        """
for i, r, q in T.grid(1, m * 8, n):
    with T.block("C"):
        vi, vr, vq = T.axis.remap("SRR", [i, r, q])
        with T.init():
            C[vi] = T.Cast("{dtype}", 0)
        C[vi] = C[vi] + A[vr, vq] * B[vr, vq]
""",
    ),
    "short rows": (
        ("A: m * 8, n", "C: n"),
        """
for j, r in T.grid(n, m * 8):
    with T.block("C"):
        vj, vr = T.axis.remap("SR", [j, r])
        with T.init():
            C[vj] = T.Cast("{dtype}", 0)
        C[vj] = C[vj] + A[vr, vj]
""",
    ),
    "rows": (
        ("A: m, n", "B: m, n", "C: m, n"),
        """
S = T.alloc_buffer((m,), "{dtype}")
for i, j in T.grid(m, n):
    with T.block("S"):
        vi, vj = T.axis.remap("SR", [i, j])
        with T.init():
            S[vi] = T.Cast("{dtype}", 0)
        S[vi] = S[vi] + A[vi, vj]
for i, j in T.grid(m, n):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] * B[vi, vj] + S[vi]
""",
    ),
    "products of rows": (
        ("Q: m, k", "B: k, n", "V: n, k + 1", "C: m, k + 1"),
        """
S = T.alloc_buffer((m, n), "{dtype}")
E = T.alloc_buffer((m, n), "{dtype}")
M = T.alloc_buffer((m,), "{dtype}")
P = T.alloc_buffer((m, n), "{dtype}")
for i, j, r in T.grid(m, n, k):
    with T.block("S"):
        vi, vj, vr = T.axis.remap("SSR", [i, j, r])
        with T.init():
            S[vi, vj] = T.Cast("{dtype}", 0)
        S[vi, vj] = S[vi, vj] + Q[vi, vr] * B[vr, vj]
for i, j in T.grid(m, n):
    with T.block("E"):
        vi, vj = T.axis.remap("SS", [i, j])
        E[vi, vj] = S[vi, vj] + T.Cast("{dtype}", 2)
for i, j in T.grid(m, n):
    with T.block("M"):
        vi, vj = T.axis.remap("SR", [i, j])
        with T.init():
            M[vi] = T.Cast("{dtype}", 0)
        M[vi] = T.max(M[vi], E[vi, vj])
for i, j in T.grid(m, n):
    with T.block("P"):
        vi, vj = T.axis.remap("SS", [i, j])
        P[vi, vj] = E[vi, vj] - M[vi]
for i, j, r in T.grid(m, k + 1, n):
    with T.block("C"):
        vi, vj, vr = T.axis.remap("SSR", [i, j, r])
        with T.init():
            C[vi, vj] = T.Cast("{dtype}", 0)
        C[vi, vj] = C[vi, vj] + P[vi, vr] * V[vr, vj]
""",
    ),
    "transpose": (
        ("A: m, n", "B: n, m", "C: m, n"),
        """
for i, j in T.grid(m, n):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] + B[vj, vi]
""",
    ),
    "elements in place": (
        ("A: m, n", "B: n", "C: m, n"),
        """
for i, j in T.grid(m, n):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = C[vi, vj] * A[vi, vj] + B[vj]
""",
    ),
    "elements that follow from others": (
        ("A: m, n", "B: n", "C: m, n + 1"),
        """
for i, j in T.grid(m, n):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj + 1] = C[vi, vj] + A[vi, vj]
""",
    ),
}
"""The parameters and the body of each program, in terms of the sizes m, n and k, and of a data type."""


def unscheduled_program(choices: Choices) -> Module:
    """A program with random sizes, constant or symbolic, and a random data type. Each, or the size m alone, is
    symbolic."""
    name = sorted(PROGRAMS)[choices.integer(0, len(PROGRAMS) - 1)]
    dtype = DTYPES[choices.integer(0, len(DTYPES) - 1)]
    sizes = {size: SIZES[choices.integer(0, len(SIZES) - 1)] for size in "mnk"}
    symbols = {0: "mnk", 1: "m"}.get(choices.integer(0, 4), "")
    return parse_tvmscript(program_text(name, dtype, sizes, symbols))


def program_text(name: str, dtype: str, sizes: dict[str, int], symbols: str = "") -> str:
    """The text of a program. symbols: the sizes that are symbolic, if a dimension binds them."""
    parameters, body = PROGRAMS[name]
    names = [parameter.partition(":")[0] for parameter in parameters]
    shapes = [parameter.partition(":")[2].strip() for parameter in parameters]
    bound = [size for size in symbols if any(size in shape.split(", ") for shape in shapes)]
    lines = [f"{size} = T.int32()" for size in bound]
    lines += [
        f'{name} = T.match_buffer({name.lower()}, ({shape},), "{dtype}")'
        for name, shape in zip(names, shapes, strict=True)
    ]
    lines = [*lines, *body.strip().format(dtype=dtype).splitlines()]
    text = "\n    ".join(lines)
    constants = "\n".join(f"{size} = {number}" for size, number in sizes.items() if size not in bound)
    return f"""
{constants}

@T.prim_func
def main({", ".join(f"{name.lower()}: T.handle" for name in names)}):
    T.func_attr({{"tir.noalias": True}})
    {text}
"""
