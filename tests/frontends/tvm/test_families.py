"""The classes of all nodes of a kind."""

from typing import Any

import pytest

from stepwell.frontends import tvm
from stepwell.frontends.tvm import relax, relay, te

n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
KERNEL = te.create_prim_func([A, B])
x = relay.var("x", shape=(2,))
GRAPH = relay.Function([x], relay.add(x, x))
y = relax.Var("y", relax.TensorStructInfo((2,), "float32"))

FAMILIES: dict[str, tuple[list[Any], list[Any]]] = {
    "BaseExpr": ([n, n + 1, x, GRAPH, KERNEL, y], [3, A, KERNEL.body, x.type_annotation]),
    "RelayExpr": ([x, GRAPH, KERNEL, y, tvm.ir.Op.get("add")], [n, n + 1]),
    "BaseFunc": ([GRAPH, KERNEL, relax.ExternFunc("f")], [x, y, n]),
    "Type": ([x.type_annotation, tvm.ir.PrimType("int32"), relay.TupleType([])], [x, y.struct_info]),
    "TypeConstraint": ([], [x.type_annotation]),
    "Attrs": ([KERNEL.attrs, relay.nn.softmax(x).attrs], [{}]),
    "GlobalInfo": ([tvm.ir.VDevice("llvm")], [x]),
    "Node": (
        [
            n,
            x,
            y,
            A,
            B.op,
            GRAPH,
            KERNEL,
            KERNEL.body,
            tvm.IRModule(),
            tvm.ir.Range(0, 2),
            B.op.axis[0],
            x.type_annotation,
        ],
        [3, "x", object()],
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_the_nodes_of_a_kind(name: str) -> None:
    family, (members, others) = getattr(tvm.ir, name), FAMILIES[name]
    assert [isinstance(each, family) for each in members] == [True] * len(members)
    assert [isinstance(each, family) for each in others] == [False] * len(others)
    assert all(isinstance(each, tvm.runtime.Object) for each in members)


def test_a_class_of_users_has_instances_of_its_own() -> None:
    class Options(tvm.ir.Attrs):
        pass

    assert isinstance(Options(), Options)
    assert isinstance(Options(), tvm.ir.Attrs)
    assert not isinstance(KERNEL.attrs, Options)
    assert issubclass(relay.TensorType, tvm.ir.Type)
    assert not issubclass(relay.TensorType, Options)
