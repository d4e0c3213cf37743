"""A user-defined pass in the style of TVM's tutorial: `python examples/vectorize_tvms_way.py`

The pass is equivalent to examples/extending/stepwell-vectorize, with visitors and nodes instead of a rewrite pattern.
"""

import stepwell.frontends.tvm as tvm
from stepwell.analysis.dependence import carried_dependence
from stepwell.frontends.tvm import te, tir
from stepwell.script import tir as T


@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32"), S: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(4, 16):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + B[vi, vj]


@tir.transform.prim_func_pass(opt_level=0)
def vectorize(f, mod, ctx):
    """Runs innermost serial loops with independent iterations and a multiple of 8 iterations as vectors."""
    outer, loops = [], []

    def find(node):
        if isinstance(node, tir.For):
            inside = []
            tir.stmt_functor.post_order_visit(node.body, lambda n: inside.append(isinstance(n, tir.For)))
            outer.extend([node] if any(inside) else [])
            whole = isinstance(node.extent, tir.IntImm) and node.extent.value % 8 == 0
            if node.kind == tir.ForKind.SERIAL and whole and carried_dependence(node.underneath) is None:
                loops.append(node)

    def rewrite(loop):
        if loop not in loops or loop in outer:
            return None
        i_0, i_1 = (te.var(f"{loop.loop_var.name}_{n}") for n in (0, 1))
        body = tir.stmt_functor.substitute(loop.body, {loop.loop_var: i_0 * 8 + i_1})
        body = tir.For(i_1, 0, 8, tir.ForKind.VECTORIZED, body)
        return tir.For(i_0, 0, loop.extent.value // 8, tir.ForKind.SERIAL, body)

    tir.stmt_functor.post_order_visit(f.body, find)
    return f.with_body(tir.stmt_functor.ir_transform(f.body, None, rewrite, ["tir.For"]))


if __name__ == "__main__":
    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, vectorize)]}):
        tvm.lower(main).show()
