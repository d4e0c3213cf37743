"""Examples of all primitives for docs/primitives.md: a program, schedule steps, and a refused attempt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """An example of a primitive. method: the name of the primitive.  program: a function in TVMScript; empty for the
    program of the previous example.  steps: lines of Python; the page shows their output, or else the resulting
    program.  regions: whether to show the `T.reads` and `T.writes` of blocks."""

    method: str
    program: str
    steps: str
    regions: bool = False


@dataclass(frozen=True)
class Refusal:
    """A refused attempt. program, steps: as of an example; the last step is refused."""

    program: str
    steps: str


@dataclass(frozen=True)
class Family:
    """A group of related primitives."""

    title: str
    examples: list[Example]
    refusal: Refusal | None = None


ADD = """
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0
"""
ADD_2D = """
def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
"""
TWO_2D = """
def main(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
    B = T.alloc_buffer((8, 16), "float32")
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(8, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * 2.0
"""
TWO = """
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] * 2.0
"""
ROW_SUM = """
def main(A: T.Buffer((16, 8), "float32"), S: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + A[vi, vk]
"""
STENCIL = """
def main(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(7, 7):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 1, vj] = A[vi, vj + 1] + 1.0
"""
RUNNING = """
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(15):
        with T.block("B"):
            vi = T.axis.spatial(15, i)
            B[vi + 1] = B[vi] + A[vi]
"""
SHIFTED = """
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((15,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0
    for i in range(15):
        with T.block("C"):
            vi = T.axis.spatial(15, i)
            C[vi] = B[vi] + B[vi + 1]
"""

ROWS = """
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (8, n), "float32")
    B = T.match_buffer(b, (8, n), "float32")
    for i, j in T.grid(T.int64(8), n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
"""

QUERIES = Family(
    "Queries",
    [
        Example("get_block", TWO, 'print(sch.get_block("B"))\nprint(sch.get_block("root"))'),
        Example("get_size", ROWS, 'n = sch.get_size("n")\nsch.transform_block_layout("B", lambda i, j: (i * n + j,))'),
        Example("get_loops", TWO, 'i, = sch.get_loops("C")\nprint(sch.get(i).loop_var.data)'),
        Example("get_child_blocks", "", 'print(sch.get_child_blocks("root"))'),
        Example("get_producers", "", 'print(sch.get_producers("C"))'),
        Example("get_consumers", "", 'print(sch.get_consumers("B"))'),
        Example("get_output_blocks", "", 'print(sch.get_output_blocks("root"))'),
    ],
    Refusal(TWO, 'sch.get_block("D")'),
)

LOOPS = Family(
    "Loops",
    [
        Example("split", ADD, 'i, = sch.get_loops("B")\ni_0, i_1 = sch.split(i, factors=[None, 5])'),
        Example("fuse", ADD_2D, 'i, j = sch.get_loops("B")\nij = sch.fuse(i, j)'),
        Example("reorder", ADD_2D, 'i, j = sch.get_loops("B")\nsch.reorder(j, i)'),
        Example("add_unit_loop", ADD, 'u = sch.add_unit_loop("B")'),
        Example("merge", TWO, 'b, = sch.get_loops("B")\nc, = sch.get_loops("C")\ni_m = sch.merge(b, c)'),
        Example("loop_partition", ADD, 'i, = sch.get_loops("B")\ni0, i1 = sch.loop_partition(i, factors=[None, 4])'),
    ],
    Refusal(STENCIL, 'i, j = sch.get_loops("A")\nsch.reorder(j, i)'),
)

KINDS = Family(
    "How loops run",
    [
        Example("parallel", ADD, 'i, = sch.get_loops("B")\nsch.parallel(i)'),
        Example("vectorize", ADD, 'i, = sch.get_loops("B")\nsch.vectorize(i)'),
        Example("unroll", ADD, 'i, = sch.get_loops("B")\nsch.unroll(i)'),
        Example("bind", ADD, 'i, = sch.get_loops("B")\nsch.bind(i, "threadIdx.x")'),
    ],
    Refusal(RUNNING, 'i, = sch.get_loops("B")\nsch.parallel(i)'),
)

INLINING = Family(
    "Inlining",
    [
        Example("compute_inline", TWO, 'sch.compute_inline("B")'),
        Example("reverse_compute_inline", TWO, 'sch.reverse_compute_inline("C")'),
    ],
    Refusal(
        """
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0
    for i in range(16):
        with T.block("A"):
            vi = T.axis.spatial(16, i)
            A[vi] = 0.0
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] * 2.0
""",
        'sch.compute_inline("B")',
    ),
)

PLACES = Family(
    "Where blocks are computed",
    [
        Example("compute_at", SHIFTED, 'i, = sch.get_loops("C")\nsch.compute_at("B", i)'),
        Example(
            "reverse_compute_at",
            TWO,
            'i, = sch.get_loops("B")\ni_0, i_1 = sch.split(i, [None, 4])\nsch.reverse_compute_at("C", i_0)',
        ),
    ],
    Refusal(
        """
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * 2.0
""",
        'i, = sch.get_loops("C")\nsch.compute_at("B", i)',
    ),
)

REDUCTIONS = Family(
    "Reductions",
    [
        Example("decompose_reduction", ROW_SUM, 'i, k = sch.get_loops("S")\ninit = sch.decompose_reduction("S", k)'),
        Example(
            "rfactor",
            ROW_SUM,
            'i, k = sch.get_loops("S")\nk_0, k_1 = sch.split(k, [2, None])\nfirst = sch.rfactor(k_0, factor_axis=0)',
        ),
        Example(
            "fuse_reduction_epilogue",
            """
def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
    S = T.alloc_buffer((16,), "float32")
    for i, k in T.grid(16, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + A[vi, vk]
    for i in range(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = S[vi] + B[vi]
""",
            'sch.fuse_reduction_epilogue("S", "D")',
        ),
    ],
    Refusal(ROW_SUM, 'i, k = sch.get_loops("S")\nsch.reorder(k, i)\nsch.decompose_reduction("S", i)'),
)

CACHES = Family(
    "Copies of buffers",
    [
        Example("cache_read", ADD, 'copy = sch.cache_read("B", 0, "shared")'),
        Example("cache_write", ADD, 'copy = sch.cache_write("B", 0, "local")'),
        Example(
            "reindex",
            """
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] + 1.0
""",
            'copy = sch.reindex("B", ("read", 0))',
        ),
        Example(
            "reindex_cache_read",
            ADD_2D,
            'copy = sch.reindex_cache_read("B", 0, "shared", lambda i, j: (j, i // 2, i % 2))',
        ),
        Example("reindex_cache_write", ADD_2D, 'copy = sch.reindex_cache_write("B", 0, "local", lambda i, j: (j, i))'),
        Example(
            "cache_index",
            """
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 2, vj] + 1.0
""",
            'indices = sch.cache_index("B", "global")',
        ),
        Example(
            "cache_inplace",
            """
def main(A: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("A"):
            vi = T.axis.spatial(16, i)
            A[vi] = A[vi] + 1.0
""",
            'before, after = sch.cache_inplace("A", 0, "local")',
        ),
        Example("read_at", ADD_2D, 'i, j = sch.get_loops("B")\ncopy = sch.read_at(i, "B", 0, "local")'),
        Example("write_at", ADD_2D, 'i, j = sch.get_loops("B")\ncopy = sch.write_at(i, "B", 0, "local")'),
        Example(
            "rolling_buffer",
            """
def main(A: T.Buffer((10,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((10,), "float32")
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + B[vi + 2]
""",
            'i, = sch.get_loops("C")\n'
            "i_0, i_1 = sch.split(i, [2, 4])\n"
            'sch.compute_at("B", i_0)\nsch.rolling_buffer("B", 0)',
        ),
    ],
    Refusal(
        """
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0
    for i in range(16):
        with T.block("A"):
            vi = T.axis.spatial(16, i)
            A[vi] = 0.0
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = A[vi] * 2.0
""",
        'sch.cache_read("B", 0, "shared", consumer_blocks=["B", "C"])',
    ),
)

TENSORIZE = """description = stepwell.parse_tvmscript(\'\'\'
@T.prim_func
def description(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            b[vi] = a[vi] + 1.0
\'\'\')
implementation = stepwell.parse_tvmscript(\'\'\'
@T.prim_func
def implementation(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    b[T.ramp(0, 1, 4)] = a[T.ramp(0, 1, 4)] + T.broadcast(T.float32(1), 4)
\'\'\')
stepwell.register_tensor_intrin("add_one_x4", description, implementation)
i, = sch.get_loops("B")
i_0, i_1 = sch.split(i, [None, 4])
sch.tensorize(i_1, "add_one_x4")"""

LAYOUT = Family(
    "Layout and axes",
    [
        Example(
            "transform_layout",
            TWO_2D,
            'sch.transform_layout("B", ("write", 0), lambda i, j: (j // 4, i, j % 4))',
        ),
        Example("transform_block_layout", ADD_2D, 'sch.transform_block_layout("B", lambda i, j: (i // 4, j, i % 4))'),
        Example("reorder_block_iter_var", ADD_2D, 'sch.reorder_block_iter_var("B", [1, 0])'),
        Example("set_axis_separator", TWO_2D, 'sch.set_axis_separator("B", ("write", 0), [1])'),
        Example("set_scope", TWO, 'sch.set_scope("B", 0, "shared")'),
        Example("unsafe_set_dtype", TWO, 'sch.unsafe_set_dtype("B", 0, "float16")'),
    ],
    Refusal(ADD_2D, 'sch.transform_layout("B", "A", lambda i, j: (i + j,))'),
)

TILES = Family(
    "Blocks of blocks",
    [
        Example(
            "blockize",
            ADD,
            'i, = sch.get_loops("B")\ni_0, i_1 = sch.split(i, [None, 4])\ntile = sch.blockize(i_1)',
            regions=True,
        ),
        Example("tensorize", ADD, TENSORIZE),
    ],
    Refusal(
        """
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi = T.axis.spatial(16, j * 4 + i)
            B[vi] = A[vi] + 1.0
""",
        'i, j = sch.get_loops("B")\nsch.blockize(j)',
    ),
)

PADDING = Family(
    "Padding",
    [
        Example(
            "pad_einsum",
            """
def main(A: T.Buffer((13, 11), "float32"), X: T.Buffer((11,), "float32"), C: T.Buffer((13,), "float32")):
    for i, k in T.grid(13, 11):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk] * X[vk]
""",
            'sch.pad_einsum("C", [8, 4])',
        ),
        Example(
            "decompose_padding",
            """
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = T.if_then_else(1 <= vi and vi < 9, A[vi - 1], 0.0)
""",
            'i, = sch.get_loops("B")\nfill = sch.decompose_padding("B", i)',
        ),
        Example("can_decompose_padding", "", 'i, = sch.get_loops("B")\nprint(sch.can_decompose_padding("B", i))'),
    ],
    Refusal(
        """
def main(A: T.Buffer((13,), "float32"), C: T.Buffer((1,), "float32")):
    for k in range(13):
        with T.block("C"):
            vk = T.axis.reduce(13, k)
            with T.init():
                C[0] = 0.0
            C[0] = C[0] + (A[vk] + 1.0)
""",
        'sch.pad_einsum("C", [8])',
    ),
)

ANNOTATIONS = Family(
    "Annotations",
    [
        Example("annotate", ADD, 'i, = sch.get_loops("B")\nsch.annotate(i, "pragma_unroll_explicit", 1)'),
        Example(
            "unannotate",
            """
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16, annotations={"pragma_unroll_explicit": 1}):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + 1.0
""",
            'i, = sch.get_loops("B")\nsch.unannotate(i, "pragma_unroll_explicit")',
        ),
        Example("storage_align", TWO, 'sch.storage_align("B", 0, axis=0, factor=16, offset=4)'),
        Example(
            "annotate_buffer_access",
            TWO,
            'sch.annotate_buffer_access("C", 0, "read", lambda vi: [(vi - 1, vi + 2)])',
        ),
    ],
    Refusal(ADD, 'sch.annotate("B", "tile", 4)\nsch.annotate("B", "tile", 8)'),
)

SAMPLING = Family(
    "Choices",
    [
        Example(
            "sample_categorical",
            ADD,
            "n = sch.sample_categorical([2, 4, 8], [0.5, 0.25, 0.25], decision=1)\n"
            'i, = sch.get_loops("B")\nsch.split(i, [None, n])',
        ),
        Example(
            "sample_perfect_tile",
            ADD,
            'i, = sch.get_loops("B")\nsch.split(i, sch.sample_perfect_tile(i, n=2, decision=[2, 8]))',
        ),
        Example(
            "sample_partitioned_tile",
            ADD,
            'i, = sch.get_loops("B")\n'
            "factors = sch.sample_partitioned_tile(i, n=3, partition_pos=1, innerpart_factor=4, decision=[2, 4, 2])\n"
            "sch.split(i, factors)",
        ),
        Example("sample_compute_location", TWO, 'sch.compute_at("B", sch.sample_compute_location("B", decision=0))'),
    ],
    Refusal(ADD, 'i, = sch.get_loops("B")\nsch.sample_perfect_tile(i, n=2, decision=[3, 5])'),
)

SESSION = Family(
    "The schedule itself",
    [
        Example(
            "trace",
            ADD,
            'i, = sch.get_loops("B")\nsch.parallel(i)\nprint(sch.trace)\nprint(sch.trace.as_ir())',
        ),
        Example(
            "copy",
            "",
            'i, = sch.get_loops("B")\nother = sch.copy()\nother.parallel(i)\n'
            "print(sch.get(i).kind.data, other.get(i).kind.data)",
        ),
        Example(
            "replay",
            "",
            'i, = sch.get_loops("B")\nsch.split(i, [None, 4])\nagain = stepwell.Schedule(mod)\n'
            "again.replay(str(sch.trace))\n"
            "print(str(again.mod) == str(sch.mod))",
        ),
        Example(
            "attempt",
            "",
            'i, = sch.get_loops("B")\ntry:\n    with sch.attempt():\n        i_0, i_1 = sch.split(i, [None, 4])\n'
            "        sch.parallel(i)\nexcept stepwell.ScheduleError:\n    pass",
        ),
        Example("get", "", 'i, = sch.get_loops("B")\nprint(sch.get(i).name, sch.get(i).loop_var.data)'),
        Example("remove_rv", "", 'i, = sch.get_loops("B")\nsch.remove_rv(i)\nprint(len(sch.trace))'),
        Example("work_on", "", 'sch.work_on("main")\nprint(sch.func_working_on)'),
        Example("seed", "", "sch.seed(3)\nn = sch.sample_categorical([2, 4, 8], [0.5, 0.25, 0.25])\nprint(sch.get(n))"),
        Example(
            "fork_seed",
            "",
            "other = stepwell.Schedule(mod, seed=sch.fork_seed())\nprint(len(other.trace))",
        ),
        Example(
            "enter_postproc",
            "",
            'i, = sch.get_loops("B")\ni_0, i_1 = sch.split(i, [None, 4])\nsch.enter_postproc()\nsch.unroll(i_1)\n'
            "print(sch.trace.simplified(remove_postproc=True))",
        ),
        Example("show", "", 'sch.unroll(sch.get_loops("B")[0])\nsch.show()'),
    ],
    Refusal(ADD, 'i, = sch.get_loops("B")\nsch.split(i, [None, 4])\nsch.parallel(i)'),
)

FAMILIES = [
    QUERIES,
    LOOPS,
    KINDS,
    PLACES,
    INLINING,
    REDUCTIONS,
    CACHES,
    LAYOUT,
    TILES,
    PADDING,
    ANNOTATIONS,
    SAMPLING,
    SESSION,
]
