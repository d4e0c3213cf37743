"""`-libs=rows`: a library with one function, the softmax of each row of a matrix."""

import ctypes
from collections.abc import Mapping

import numpy as np

from stepwell import te
from stepwell.core.target import Target
from stepwell.expressions.buffers import Buffer, ExternCall
from stepwell.expressions.tensor import Tensor
from stepwell.transforms.relay.libraries import Library, LibraryPattern, is_op, kernel_of, wildcard

FLOATS = ctypes.POINTER(ctypes.c_float)


# The C functions of the library. This function is written in Python, so that the example requires no compiler.


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32)
def softmax_of_rows(data: int, out: int, m: int, n: int) -> None:
    if m * n:
        x, y = (np.ctypeslib.as_array(ctypes.cast(each, FLOATS), (m, n)) for each in (data, out))
        np.exp(x - x.max(axis=1, keepdims=True), out=y)
        y /= y.sum(axis=1, keepdims=True)


# The calls of the library, the addresses of its functions, and the patterns of graphs that it computes.


def softmax(data: Tensor, axis: int = -1) -> Tensor:
    *front, columns = data.shape
    rows = te.const(1, "int32")
    for extent in front:
        rows = rows * extent

    def call(ins: list[Buffer], outs: list[Buffer]) -> ExternCall:
        return te.call_extern("void", "softmax_of_rows", ins[0].data, outs[0].data, rows, columns)

    return te.extern(data.shape, [data], call, name="softmax_of_rows")


def symbols(target: Target) -> Mapping[str, int]:
    address = ctypes.cast(softmax_of_rows, ctypes.c_void_p).value
    assert address is not None
    return {"softmax_of_rows": address}


ROWS = Library(
    name="rows",
    patterns=(LibraryPattern(is_op("nn.softmax")(wildcard()).has_attr({"axis": -1}).has_dtype("float32")),),
    lower=lambda func: kernel_of(func, {"nn.softmax": softmax}),
    symbols=symbols,
)
