"""Products of matrices whose tiles a tensor intrinsic computes have the results of the product without it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.backends.validation.tensor_intrinsics import register_tensor_intrin
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule import Schedule
from stepwell.tools.testing.scheduling import check_computes_the_same

PRODUCT = """
@T.prim_func
def main(A: T.Buffer(({a}), "{dtype}"), B: T.Buffer(({b}), "{dtype}"), C: T.Buffer(({m}, {n}), "{dtype}")):
    for i, j, k in T.grid({m}, {n}, {depth}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.cast(0, "{dtype}")
            C[vi, vj] = C[vi, vj] + A[{i}] * B[{j}]
"""
DESCRIPTION = """
@T.prim_func
def description(A: T.Buffer(({a}), "{dtype}"), B: T.Buffer(({b}), "{dtype}"), C: T.Buffer(({m}, {n}), "{dtype}")):
    with T.block("root"):
        for i, j, k in T.grid({m}, {n}, {depth}):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[{i}] * B[{j}]
"""
IMPLEMENTATION = """
@T.prim_func
def implementation(a: T.handle, b: T.handle, c: T.handle):
    sa, sb, sc, oa, ob, oc = T.int32(), T.int32(), T.int32(), T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, ({a}), "{dtype}", strides=[sa, 1], elem_offset=oa)
    B = T.match_buffer(b, ({b}), "{dtype}", strides=[sb, 1], elem_offset=ob)
    C = T.match_buffer(c, ({m}, {n}), "{dtype}", strides=[sc, 1], elem_offset=oc)
    with T.block("root"):
        for vk in T.serial({depth}):
            for vi in T.unroll({m}):
                for vj in T.vectorized({n}):
                    C[vi, vj] = C[vi, vj] + A[{i}] * B[{j}]
"""

EXAMPLES = max(1, settings().max_examples // 4)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[bool, bool, str]:
    """Whether the two operands are transposed, and the data type."""
    return draw(st.booleans()), draw(st.booleans()), draw(st.sampled_from(("float32", "int32", "int8", "float64")))


def text(form: str, sizes: tuple[int, int, int], layout: tuple[bool, bool, str]) -> str:
    m, n, depth = sizes
    is_a_transposed, is_b_transposed, dtype = layout
    return form.format(
        **{"m": m, "n": n, "depth": depth, "dtype": dtype},
        **dict(zip("ai", (f"{depth}, {m}", "vk, vi") if is_a_transposed else (f"{m}, {depth}", "vi, vk"), strict=True)),
        **dict(zip("bj", (f"{n}, {depth}", "vj, vk") if is_b_transposed else (f"{depth}, {n}", "vk, vj"), strict=True)),
    )


@settings(max_examples=EXAMPLES)
@given(
    tile=st.tuples(*[st.integers(2, 4)] * 3),
    tiles=st.tuples(*[st.integers(1, 3)] * 3),
    layout=layouts(),
    decompose=st.booleans(),
    keep_units=st.booleans(),
)
def test_tensorized_products_have_the_same_results(
    tile: tuple[int, int, int],
    tiles: tuple[int, int, int],
    layout: tuple[bool, bool, str],
    decompose: bool,
    keep_units: bool,
) -> None:
    parts = [parse_tvmscript(text(form, tile, layout)) for form in (DESCRIPTION, IMPLEMENTATION)]
    register_tensor_intrin("property.product", *parts, override=True)
    m, n, depth = (count * size for count, size in zip(tiles, tile, strict=True))
    mod = parse_tvmscript(text(PRODUCT, (m, n, depth), layout))
    sch = Schedule(mod)
    pairs = [sch.split(loop, [None, size]) for loop, size in zip(sch.get_loops("C"), tile, strict=True)]
    sch.reorder(*(outer for outer, _ in pairs), *(inner for _, inner in pairs))
    if decompose:
        block = sch.blockize(pairs[0][1], keep_units)
        sch.decompose_reduction(block, pairs[2][0])
        sch.tensorize(block, "property.product", keep_units)
    else:
        sch.tensorize(pairs[0][1], "property.product", keep_units)
    check_computes_the_same(mod, sch.mod, target="llvm")
