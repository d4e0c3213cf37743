"""Programs for a GPU, scheduled by hand. A default schedule would stand here instead, where there is one."""

from typing import Any

from stepwell import Schedule, te

THREADS = 256


def add(size: int) -> Any:
    """C = A + B, four elements for each thread."""
    a, b = (te.placeholder((size,), "float32", name=name) for name in "AB")
    sch = Schedule(te.create_prim_func([a, b, te.compute((size,), lambda i: a[i] + b[i], name="C")]))
    _bind_vectors(sch, "C")
    return sch.mod


def _bind_vectors(sch: Schedule, block: str) -> None:
    fused = sch.fuse(*sch.get_loops(sch.get_block(block)))
    outer, inner, lanes = sch.split(fused, [None, THREADS, 4])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    sch.vectorize(lanes)


def transpose(size: int) -> Any:
    """B = A transposed, by tiles in shared memory whose rows are a bank apart."""
    a = te.placeholder((size, size), "float32", name="A")
    sch = Schedule(te.create_prim_func([a, te.compute((size, size), lambda i, j: a[j, i], name="B")]))
    tile, rows = min(32, size), min(8, size)
    block = sch.get_block("B")
    i, j = sch.get_loops(block)
    (by, i), (bx, j) = sch.split(i, [None, tile]), sch.split(j, [None, tile])
    sch.reorder(by, bx, i, j)
    sch.bind(by, "blockIdx.y")
    sch.bind(bx, "blockIdx.x")
    shared = sch.cache_read(block, 0, "shared")
    sch.compute_at(shared, bx)
    for loops in (sch.get_loops(shared)[-2:], [i, j]):
        _, ty = sch.split(loops[0], [None, rows])
        sch.bind(ty, "threadIdx.y")
        sch.bind(loops[1], "threadIdx.x")
    sch.storage_align(shared, 0, axis=-2, factor=tile, offset=1)
    return sch.mod


def _found(name: str, combine: Any, value: Any, rows: int, columns: int) -> list[Any]:
    """A row of values made one by a block of threads: each takes its share of the row, sixteen take sixteen of these
    each, and one takes what the sixteen have found. Tensors, the last of which has an element for each row."""
    threads = min(THREADS, columns)
    few = min(16, threads)
    share, some, rest = (te.reduce_axis((0, n), "k") for n in (columns // threads, threads // few, few))
    part = te.compute(
        (rows, threads), lambda r, t: combine(value(r, share * threads + t), axis=share), name=f"{name}_part"
    )
    half = te.compute(
        (rows, few), lambda r, t: combine(part[r, t * (threads // few) + some], axis=some), name=f"{name}_few"
    )
    return [part, half, te.compute((rows,), lambda r: combine(half[r, rest], axis=rest), name=name)]


def row_sum(rows: int, columns: int) -> Any:
    """B[r] = the sum of A[r, :], a block of threads for each row."""
    a = te.placeholder((rows, columns), "float32", name="A")
    stages = _found("B", te.sum, lambda r, c: a[r, c], rows, columns)
    sch = Schedule(te.create_prim_func([a, stages[-1]]))
    _row_by_row(sch, stages, min(THREADS, columns))
    return sch.mod


def softmax(rows: int, columns: int) -> Any:
    """B = softmax of the rows of A: a block of threads for each row, whose powers it keeps in shared memory."""
    a = te.placeholder((rows, columns), "float32", name="A")
    most = _found("M", te.max, lambda r, c: a[r, c], rows, columns)
    powers = te.compute((rows, columns), lambda r, c: te.exp(a[r, c] - most[-1][r]), name="E")
    total = _found("S", te.sum, lambda r, c: powers[r, c], rows, columns)
    out = te.compute((rows, columns), lambda r, c: powers[r, c] / total[-1][r], name="B")
    sch = Schedule(te.create_prim_func([a, out]))
    _row_by_row(sch, [*most, powers, *total, out], min(THREADS, columns))
    return sch.mod


def _row_by_row(sch: Schedule, stages: list[Any], threads: int) -> None:
    """A block of threads for each row: columns of a stage are divided among them, what stages find is in shared
    memory."""
    row = sch.get_loops(sch.get_block(stages[-1].op.name))[0]
    sch.bind(row, "blockIdx.x")
    for stage in reversed(stages):
        block = sch.get_block(stage.op.name)
        if stage is not stages[-1]:
            sch.set_scope(block, 0, "shared")
            sch.compute_at(block, row)
        if len(stage.shape) == 2:
            columns = sch.get_loops(block)[1]
            _, thread = sch.split(columns, [None, threads])
            sch.bind(thread, "threadIdx.x")


def gemm(size: int, tile: int = 128, step: int = 8, own: int = 8) -> Any:
    """C = A B: tiles in shared memory, `own` by `own` results in the registers of a thread."""
    a, b = (te.placeholder((size, size), "float32", name=name) for name in "AB")
    k = te.reduce_axis((0, size), "k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    sch = Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    i, j, kk = sch.get_loops(block)
    threads = tile // own
    by, ty, iy = sch.split(i, [None, threads, own])
    bx, tx, jx = sch.split(j, [None, threads, own])
    ko, ki = sch.split(kk, [None, step])
    sch.reorder(by, bx, ty, tx, ko, ki, iy, jx)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        sch.bind(loop, axis)
    written = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(written, tx)
    *_, lanes = sch.split(sch.get_loops(written)[-1], [None, 4])
    sch.vectorize(lanes)
    for n in (0, 1):
        shared = sch.cache_read(block, n, "shared")
        sch.compute_at(shared, ko)
        fused = sch.fuse(*sch.get_loops(shared)[-2:])
        _, y, x, lanes = sch.split(fused, [None, threads, threads, min(4, tile * step // threads**2)])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.vectorize(lanes)
    sch.decompose_reduction(block, ko)
    return sch.mod
