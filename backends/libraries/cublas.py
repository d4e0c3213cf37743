"""`cublas`: matrix products on GPUs by NVIDIA's cuBLAS, from the wheel `nvidia-cublas`."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence

from ...core.errors import DeviceError
from ...core.once import once
from ...core.target import Target
from ...expressions.buffers import Buffer, ExternCall
from ...expressions.expr import PrimExpr, cast, const
from ...expressions.extern import call_extern, extern
from ...expressions.tensor import Tensor
from ...operators.relay import OperatorOp, dtype_of_tensor
from ...transforms.relay.libraries import Library, LibraryPattern, is_op, kernel_of, wildcard
from ..devices.calls import create_c_callback
from ..devices.device import Device
from ..devices.driver import Context
from .nvidia import LibraryLocation, load_shared_library
from .products import batch_count, dense_sizes, is_one, matmul_sizes

# Values of the enumerations of cublas_api.h and library_types.h.
_NO_TRANSPOSE, _TRANSPOSE = 0, 1
_DEFAULT_ALGORITHM = -1
_TYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}
_FLOAT64 = _TYPES["float64"]
_COMPUTE_32F, _COMPUTE_64F = 68, 70

_GEMM = "stepwell_cublas_gemm"
_PLACES = (
    LibraryLocation("nvidia.cu13", "libcublas.so.13", ("libcublasLt.so.13",)),
    LibraryLocation("nvidia.cublas", "libcublas.so.12", ("libcublasLt.so.12",)),
)


# Patterns


def _is_product(ops: Sequence[OperatorOp]) -> bool:
    """Whether all values have the same data type, supported by cuBLAS."""
    (op,) = ops
    kinds = {dtype_of_tensor(value) for value in (*op.args, *op.outputs)}
    return len(kinds) == 1 and kinds <= _TYPES.keys()


# Calls


def _dense(data: Tensor, weight: Tensor, units: int | None = None, out_dtype: str = "") -> Tensor:
    m, n, k = dense_sizes(data, weight)
    return _product(data, weight, [*data.shape[:-1], n], (m, n, k), (False, True))


def _matmul(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False, out_dtype: str = "") -> Tensor:
    m, n, k = matmul_sizes(a, b, transpose_a, transpose_b)
    return _product(a, b, [m, n], (m, n, k), (transpose_a, transpose_b))


def _batch_matmul(
    a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = True, out_dtype: str = ""
) -> Tensor:
    m, n, k = matmul_sizes(a, b, transpose_a, transpose_b)
    batch = batch_count(a, b)
    return _product(a, b, [batch, m, n], (m, n, k), (transpose_a, transpose_b), batch)


def _product(
    a: Tensor,
    b: Tensor,
    shape: Sequence[PrimExpr],
    sizes: Sequence[PrimExpr],
    transposed: tuple[bool, bool],
    batch: PrimExpr | None = None,
) -> Tensor:
    """`a @ b`, or a batch of products: of matrices of m times k and k times n elements; a batch of one matrix is
    broadcast.
    """
    m, n, k = (cast("int64", size) for size in sizes)
    count = const(1, "int64") if batch is None else cast("int64", batch)
    steps = [const(0, "int64") if batch is None or is_one(each.shape[0]) else size
             for each, size in ((a, m * k), (b, k * n))]  # fmt: skip

    def call(ins: list[Buffer], outs: list[Buffer]) -> ExternCall:
        flags = [const(int(each), "int32") for each in transposed]
        kind = const(_TYPES[a.dtype], "int32")
        return call_extern(
            "void", _GEMM, kind, *flags, m, n, k, count, ins[0].data, steps[0], ins[1].data, steps[1], outs[0].data
        )

    return extern(shape, [a, b], call, "cublas_gemm", a.dtype)


# The library


class Cublas:
    """cuBLAS, with a handle for each context of a device."""

    def __init__(self, library: ctypes.CDLL):
        self.library = library
        self._turn = threading.Lock()
        self._handles: dict[tuple[Device, Context], ctypes.c_void_p] = {}
        integer, size, pointer = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
        matrix = (pointer, integer, size, size)
        self._gemm = library.cublasGemmStridedBatchedEx_64
        self._gemm.argtypes = [
            pointer, integer, integer, size, size, size, pointer, *matrix, *matrix, pointer, *matrix, size,
            integer, integer,
        ]  # fmt: skip
        self._name = library.cublasGetStatusName
        self._name.restype = ctypes.c_char_p

    def gemm(
        self, device: Device, kind: int, transpose_a: int, transpose_b: int, m: int, n: int, k: int, batch: int,
        a: int | None, step_a: int, b: int | None, step_b: int, c: int | None,
    ) -> None:  # fmt: skip
        """Computes `c = a @ b` of row-major matrices, `batch` times, on the current stream.

        kind: the data type, a cudaDataType_t.  a, b, c: addresses; of m times k, k times n, m times n elements, a and b
        stored transposed if `transpose_a`, `transpose_b`.  step_a, step_b: the stride from one matrix to the next, in
        elements. Raises DeviceError on failure.
        """
        if m * n * batch == 0:
            return
        scalar, compute = (ctypes.c_double, _COMPUTE_64F) if kind == _FLOAT64 else (ctypes.c_float, _COMPUTE_32F)
        one, zero = ctypes.byref(scalar(1)), ctypes.byref(scalar(0))
        # cuBLAS is column-major. In column-major order the stored matrices are transposed, and c's is b's times a's.
        flags = [_TRANSPOSE if each else _NO_TRANSPOSE for each in (transpose_b, transpose_a)]
        columns = [max(1, size) for size in (k if transpose_b else n, m if transpose_a else k)]
        with self._turn:
            handle = self._handle(device)
            self._check("cublasSetStream", self.library.cublasSetStream_v2(handle, _stream(device)))
            status = self._gemm(
                handle, *flags, n, m, k, one, b, kind, columns[0], step_b, a, kind, columns[1], step_a,
                zero, c, kind, n, m * n, batch, compute, _DEFAULT_ALGORITHM,
            )  # fmt: skip
        self._check(f"cublasGemmStridedBatchedEx of {m} x {k} by {k} x {n}, {batch} times", status)

    def _handle(self, device: Device) -> ctypes.c_void_p:
        key = device, device.driver.context(device.index)
        if key not in self._handles:
            handle = ctypes.c_void_p()
            self._check("cublasCreate", self.library.cublasCreate_v2(ctypes.byref(handle)))
            self._handles[key] = handle
        return self._handles[key]

    def _check(self, what: str, status: int) -> None:
        if status:
            name = (self._name(status) or b"").decode() or f"status {status}"
            raise DeviceError(f"{what} failed: {name}", name)


def _stream(device: Device) -> ctypes.c_void_p:
    return ctypes.c_void_p(device.current_stream.handle)


def load_cublas() -> ctypes.CDLL:
    """The shared library. Raises PluginError if it is not installed."""
    return load_shared_library("cublas", _PLACES, "nvidia-cublas, or nvidia-cublas-cu12 for CUDA 12")


@once
def _cublas() -> Cublas:
    return Cublas(load_cublas())


_I32, _I64, _POINTER = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
_ADDRESS, _ALIVE = create_c_callback(
    lambda *arguments: _cublas().gemm(*arguments),
    *[_I32] * 3, *[_I64] * 4, _POINTER, _I64, _POINTER, _I64, _POINTER,
)  # fmt: skip


def _symbols(_target: Target) -> Mapping[str, int]:
    return {_GEMM: _ADDRESS}


_FORMULAS: dict[str, Callable[..., Tensor]] = {
    "nn.dense": _dense,
    "nn.matmul": _matmul,
    "nn.batch_matmul": _batch_matmul,
}

CUBLAS = Library(
    "cublas",
    tuple(LibraryPattern(is_op(name)(wildcard(), wildcard()), _is_product) for name in _FORMULAS),
    lambda func: kernel_of(func, _FORMULAS),
    _symbols,
    kind="cuda",
)
