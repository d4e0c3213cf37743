"""Cases of names, attributes and the order of arguments: equal computations that print differently."""

from typing import Any

import numpy as np

from .case import Table

TABLE = Table()


@TABLE.case(lambda a, b: a - b)
def two_inputs_of_one_name(te: Any) -> list[Any]:
    A, B = te.placeholder((4,), name="A"), te.placeholder((4,), name="A")
    return [A, B, te.compute((4,), lambda i: A[i] - B[i], name="C")]


@TABLE.case(lambda a: (a + 1) * 2)
def stages_named_as_their_input(te: Any) -> list[Any]:
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="A")
    return [A, te.compute((4, 8), lambda i, j: B[i, j] * 2.0, name="A")]


@TABLE.case(lambda a: a * 8)
def three_stages_of_one_name(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((4,), lambda i: B[i] * 2.0, name="B")
    return [A, te.compute((4,), lambda i: C[i] * 2.0, name="B")]


@TABLE.case(lambda a: (a * 2, a * 4), outputs=(1, 2))
def outputs_of_one_name(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    return [A, B, te.compute((4,), lambda i: B[i] * 2.0, name="B")]


@TABLE.case(lambda a, b: (a + b) * (a + b))
def nothing_has_a_name(te: Any) -> list[Any]:
    A, B = te.placeholder((4, 5)), te.placeholder((4, 5))
    C = te.compute((4, 5), lambda i, j: A[i, j] + B[i, j])
    return [A, B, te.compute((4, 5), lambda i, j: C[i, j] * C[i, j])]


@TABLE.case(lambda a: a.sum(axis=(1, 2)))
def reduction_axes_without_names(te: Any) -> list[Any]:
    A = te.placeholder((4, 5, 6))
    j, k = te.reduce_axis((0, 5)), te.reduce_axis((0, 6))
    return [A, te.compute((4,), lambda i: te.sum(A[i, j, k], axis=[j, k]))]


@TABLE.case(lambda a: a.sum(axis=1))
def reduction_axis_named_as_an_axis(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    k = te.reduce_axis((0, 5), name="i")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")]


@TABLE.case(lambda a: a * 2)
def axis_named_as_a_tensor(te: Any) -> list[Any]:
    X = te.placeholder((4, 5), name="A")
    return [X, te.compute((4, 5), lambda A, B: X[A, B] * 2.0, name="B")]


@TABLE.case(lambda a: a * 2)
def tensor_named_as_an_axis(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="i")
    return [A, te.compute((4, 5), lambda i, j: A[i, j] * 2.0, name="v_j")]


@TABLE.case(lambda a: a * 2)
def tensors_named_as_the_prefixes_of_tvmscript(te: Any) -> list[Any]:
    X = te.placeholder((4,), name="T")
    return [X, te.compute((4,), lambda i: X[i] * 2.0, name="I")]


@TABLE.case(lambda a: a * 2 + 1)
def names_that_are_no_python_names(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="data.0")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="a.b-c d")
    return [A, te.compute((4,), lambda i: B[i] + 1.0, name="out:1")]


@TABLE.case(lambda a: a * 2)
def stage_named_root(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    return [A, te.compute((4,), lambda i: A[i] * 2.0, name="root")]


@TABLE.case(lambda a: a * 2, sizes={"n": 4})
def tensor_named_as_a_symbol(te: Any) -> list[Any]:
    n = te.var("n")
    A = te.placeholder((n,), name="n")
    return [A, te.compute((n,), lambda i: A[i] * 2.0, name="B")]


@TABLE.case(lambda a, b: (a * 2)[:, None] + b, sizes={"n": 4, "m": 3})
def two_symbols_of_one_name(te: Any) -> list[Any]:
    n, m = te.var("n"), te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((m,), name="B")
    return [A, B, te.compute((n, m), lambda i, j: A[i] * 2.0 + B[j], name="C")]


@TABLE.case(lambda a: a + 1)
def axes_from_varargs(te: Any) -> list[Any]:
    A = te.placeholder((2, 3, 4), name="A")
    return [A, te.compute((2, 3, 4), lambda *idx: A(*idx) + 1.0, name="B")]


@TABLE.case(lambda a: a + 1)
def axes_from_a_parameter_and_varargs(te: Any) -> list[Any]:
    A = te.placeholder((2, 3, 4), name="A")
    return [A, te.compute((2, 3, 4), lambda n, *rest: A[(n, *rest)] + 1.0, name="B")]


@TABLE.case(lambda a: a + 1)
def varargs_with_names(te: Any) -> list[Any]:
    A = te.placeholder((2, 3), name="A")
    return [A, te.compute((2, 3), lambda *i: A(*i) + 1.0, name="B", varargs_names=["row", "column"])]


@TABLE.case(lambda a: (a + 1) * 2)
def attributes_and_tags(te: Any) -> list[Any]:
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B", tag="injective", attrs={"layout": "NC", "factor": 4})
    return [A, te.compute((4, 8), lambda i, j: B[i, j] * 2.0, name="C", tag="broadcast")]


@TABLE.case(lambda a: a.sum(axis=1))
def attributes_of_a_reduction(te: Any) -> list[Any]:
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B", attrs={"names": ["x", "y"], "on": True})]


@TABLE.case(lambda a: (a + 1, a.astype("int64") * 2, a > 0), outputs=(1, 2, 3))
def three_values_of_three_dtypes(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), dtype="int32", name="A")
    B = te.compute((4, 5), lambda i, j: (A[i, j] + 1, A[i, j].astype("int64") * 2, A[i, j] > 0), name="B")
    return [A, *B]


@TABLE.case(lambda a: (a + 1) * (a * 2))
def several_values_used_by_another_stage(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    B, C = te.compute((4, 5), lambda i, j: (A[i, j] + 1.0, A[i, j] * 2.0), name="B")
    return [A, te.compute((4, 5), lambda i, j: B[i, j] * C[i, j], name="D")]


@TABLE.case(lambda a: a * 2)
def one_of_several_values_is_an_output(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    _, C = te.compute((4, 5), lambda i, j: (A[i, j] + 1.0, A[i, j] * 2.0), name="B")
    return [A, C]


@TABLE.case(lambda a: (a * 2, a + 1), outputs=(0, 2))
def several_values_around_their_input(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    B, C = te.compute((4, 5), lambda i, j: (A[i, j] + 1.0, A[i, j] * 2.0), name="B")
    return [C, A, B]


@TABLE.case(lambda a: (a + 1, (a + 1) * 2), outputs=(1, 2))
def stage_in_the_middle_is_an_output(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    B = te.compute((4, 5), lambda i, j: A[i, j] + 1.0, name="B")
    return [A, B, te.compute((4, 5), lambda i, j: B[i, j] * 2.0, name="C")]


@TABLE.case(lambda a: ((a + 1) * 2, a + 1), outputs=(1, 2))
def outputs_against_their_order(te: Any) -> list[Any]:
    A = te.placeholder((4, 5), name="A")
    B = te.compute((4, 5), lambda i, j: A[i, j] + 1.0, name="B")
    return [A, te.compute((4, 5), lambda i, j: B[i, j] * 2.0, name="C"), B]


@TABLE.case(lambda a, b: (a * 3, b - 1), outputs=(0, 2))
def outputs_that_do_not_depend_on_each_other(te: Any) -> list[Any]:
    A, B = te.placeholder((4,), name="A"), te.placeholder((5,), name="B")
    C = te.compute((4,), lambda i: A[i] * 3.0, name="C")
    D = te.compute((5,), lambda i: B[i] - 1.0, name="D")
    return [C, A, D, B]


@TABLE.case(lambda a, b: a - b, outputs=(0,))
def output_in_front(te: Any) -> list[Any]:
    A, B = te.placeholder((4,), name="A"), te.placeholder((4,), name="B")
    return [te.compute((4,), lambda i: A[i] - B[i], name="C"), A, B]


@TABLE.case(lambda b, a: a - b, outputs=(1,))
def output_between_inputs(te: Any) -> list[Any]:
    A, B = te.placeholder((4,), name="A"), te.placeholder((4,), name="B")
    return [B, te.compute((4,), lambda i: A[i] - B[i], name="C"), A]


@TABLE.case(lambda a, b: a * 2)
def input_that_nobody_reads(te: Any) -> list[Any]:
    A, B = te.placeholder((4,), name="A"), te.placeholder((7, 3), dtype="int8", name="B")
    return [A, B, te.compute((4,), lambda i: A[i] * 2.0, name="C")]


@TABLE.case(lambda a: a * 0 + 1, tvm_refuses="an input that is read is missing among the arguments")
def input_that_is_missing(te: Any) -> list[Any]:
    A, B = te.placeholder((4,), name="A"), te.placeholder((4,), name="B")
    return [A, te.compute((4,), lambda i: A[i] + B[i], name="C")]


@TABLE.case(lambda a: a + np.float32(1))
def stage_that_nobody_needs(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    te.compute((4,), lambda i: A[i] * 2.0, name="unused")
    return [A, te.compute((4,), lambda i: A[i] + 1.0, name="B")]


@TABLE.case(lambda a: a * a)
def one_tensor_read_twice(te: Any) -> list[Any]:
    A = te.placeholder((4, 4), name="A")
    return [A, te.compute((4, 4), lambda i, j: A[i, j] * A[i, j], name="B")]


@TABLE.case(lambda a: a.sum(axis=1) + a.sum(axis=0))
def one_axis_in_two_stages(te: Any) -> list[Any]:
    A = te.placeholder((4, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    rows = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="rows")
    columns = te.compute((4,), lambda j: te.sum(A[k, j], axis=k), name="columns")
    return [A, te.compute((4,), lambda i: rows[i] + columns[i], name="B")]


@TABLE.case(lambda a: (a + 2) * (a + 1))
def producers_in_the_order_of_their_use(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    C = te.compute((4,), lambda i: A[i] + 1.0, name="C")
    D = te.compute((4,), lambda i: A[i] + 2.0, name="D")
    return [A, te.compute((4,), lambda i: D[i] * C[i], name="E")]


@TABLE.case(lambda a: ((a + 1) - (a + 2), (a + 2) * (a + 1)), outputs=(1, 2))
def outputs_decide_the_order_of_shared_producers(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    C = te.compute((4,), lambda i: A[i] + 1.0, name="C")
    D = te.compute((4,), lambda i: A[i] + 2.0, name="D")
    E = te.compute((4,), lambda i: D[i] * C[i], name="E")
    return [A, te.compute((4,), lambda i: C[i] - D[i], name="F"), E]


@TABLE.case(lambda a, x: (a + 1)[x * 2], ranges={"X": (0, 2)})
def producer_of_indices(te: Any) -> list[Any]:
    A, X = te.placeholder((5,), name="A"), te.placeholder((4,), dtype="int32", name="X")
    D = te.compute((5,), lambda i: A[i] + 1.0, name="D")
    K = te.compute((4,), lambda i: X[i] * 2, name="K")
    return [A, X, te.compute((4,), lambda i: D[K[i]], name="E")]


@TABLE.case(lambda a: np.where(a + 2 > 0, a + 1, a))
def producer_of_a_condition(te: Any) -> list[Any]:
    A = te.placeholder((4,), name="A")
    C = te.compute((4,), lambda i: A[i] + 1.0, name="C")
    D = te.compute((4,), lambda i: A[i] + 2.0, name="D")
    return [A, te.compute((4,), lambda i: te.if_then_else(D[i] > 0.0, C[i], A[i]), name="E")]
