"""`cudnn`: 2-D convolutions on GPUs by NVIDIA's cuDNN, from the wheel `nvidia-cudnn-cu13`."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.errors import DeviceError, PluginError
from ...core.once import once
from ...core.target import Target
from ...dialects.te import FuncOp as TeFuncOp
from ...expressions.buffers import Buffer, ExternCall
from ...expressions.expr import cast, const
from ...expressions.extern import call_extern, extern
from ...expressions.tensor import Tensor
from ...operators import operator_of
from ...operators.relay import FuncOp, OperatorOp, dtype_of_tensor, shape_of
from ...operators.windows import each_dimension, paddings
from ...transforms.relay.libraries import Library, LibraryPattern, is_op, kernel_of, wildcard
from ..devices.calls import create_c_callback
from ..devices.device import Device
from ..devices.driver import Context
from ..devices.nd import DeviceArray, empty_device_array
from .cublas import load_cublas
from .nvidia import LibraryLocation, load_shared_library

# Values of the enumerations of cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h.
_TYPES = {"float32": 0, "float64": 1, "float16": 2}
_FLOAT, _DOUBLE, _HALF = 0, 1, 2
_NCHW = 0
_CROSS_CORRELATION = 1
_DEFAULT_MATH, _TENSOR_OP_MATH, _FMA_MATH = 0, 1, 3
_NOT_PROPAGATE_NAN = 0
_RELU = 1
_MATH = {_FLOAT: _FMA_MATH, _DOUBLE: _DEFAULT_MATH, _HALF: _TENSOR_OP_MATH}
"""Any other mode may round float32 to tf32."""
_ALGORITHMS = 8

_CONVOLUTION = "stepwell_cudnn_conv2d"
_PLACES = (
    LibraryLocation("nvidia.cudnn", "libcudnn.so.9"),
    LibraryLocation("nvidia.cu13", "libcudnn.so.9"),
)
_LAYOUTS = {"data_layout": ("NCHW",), "kernel_layout": ("OIHW",), "out_layout": ("", "NCHW")}


# Patterns


def _is_convolution(ops: Sequence[OperatorOp]) -> bool:
    """Whether all tensors have the same data type, supported by cuDNN, and the first operator is a supported
    convolution.
    """
    op = ops[0]
    kinds = {dtype_of_tensor(value) for each in ops for value in (*each.args, *each.outputs)}
    sizes = [size for value in (*op.args, *op.outputs) for size in shape_of(value)]
    around = paddings(op.attribute_value("padding"), 2, "padding")
    return (
        len(kinds) == 1
        and kinds <= _TYPES.keys()
        and all(op.attribute_value(name) in layouts for name, layouts in _LAYOUTS.items())
        and 0 not in sizes
        and all(front == behind for front, behind in around)
    )


def _has_bias(ops: Sequence[OperatorOp]) -> bool:
    """Whether the operator between a convolution and a relu adds one value per channel."""
    convolution, bias, _ = ops
    channels = shape_of(convolution.outputs[0])[1]
    shapes = [shape_of(arg) for arg in bias.args if arg is not convolution.outputs[0]]
    alone = [(channels,)] if bias.operator.name == "nn.bias_add" else [(channels, 1, 1), (1, channels, 1, 1)]
    return _is_convolution(ops) and len(shapes) == 1 and shapes[0] in alone


# Calls


class _Convolution:
    """The call that computes the operators of a partitioned function."""

    def __init__(self) -> None:
        self.formulas = {"nn.conv2d": self._convolve, "nn.bias_add": self._add_bias, "add": self._add_bias,
                         "nn.relu": self._apply_relu}  # fmt: skip
        self.inputs: list[Tensor] = []
        self.numbers: list[Any] = []
        self.shape: Sequence[Any] = ()
        self.result: Tensor | None = None

    def _convolve(self, data: Tensor, weight: Tensor, **attributes: Any) -> Tensor:
        (output,) = operator_of("nn.conv2d").tensors([data, weight], attributes)
        strides, dilations = (each_dimension(attributes.get(name, 1), 2, name) for name in ("strides", "dilation"))
        padding = [front for front, _ in paddings(attributes.get("padding", 0), 2, "padding")]
        image = [*data.shape, weight.shape[0], *weight.shape[2:], *output.shape[2:]]
        self.inputs = [data, weight]
        self.numbers = [_TYPES[data.dtype], attributes.get("groups", 1), *image, *padding, *strides, *dilations]
        self.shape = output.shape
        self.result = self._call([*self.inputs, weight], is_fused=False)
        return self.result

    def _add_bias(self, x: Tensor, y: Tensor, **_attributes: Any) -> Tensor:
        self.inputs.append(y if x is self.result else x)
        assert self.result is not None
        return self.result

    def _apply_relu(self, _x: Tensor) -> Tensor:
        return self._call(self.inputs, is_fused=True)

    def _call(self, inputs: Sequence[Tensor], is_fused: bool) -> Tensor:
        """The call as a tensor. inputs: data, weight and bias, which is ignored unless bias and relu are fused."""

        def call(ins: list[Buffer], outs: list[Buffer]) -> ExternCall:
            numbers = [
                const(each, "int64") if isinstance(each, int) else cast("int64", each)
                for each in (int(is_fused), *self.numbers)
            ]
            bias = ins[2 if is_fused else 1].data
            return call_extern("void", _CONVOLUTION, *numbers, ins[0].data, ins[1].data, bias, outs[0].data)

        used = list(inputs) if is_fused else list(inputs[:2])
        return extern(self.shape, used, call, "cudnn_conv2d", inputs[0].dtype)


def _lower(func: FuncOp) -> TeFuncOp:
    return kernel_of(func, _Convolution().formulas)


# The shared library


@dataclass(frozen=True)
class Convolution:
    """The parameters of a convolution. kind: the data type.  n, c, h, w: the image.  k, r, s: output channels and
    window. p, q: the output image.  padding, strides, dilations: of rows and columns.
    """

    kind: int
    groups: int
    n: int
    c: int
    h: int
    w: int
    k: int
    r: int
    s: int
    p: int
    q: int
    padding: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]

    def __str__(self) -> str:
        image, window = (self.n, self.c, self.h, self.w), (self.k, self.c // self.groups, self.r, self.s)
        return f"convolution of {' x '.join(map(str, image))} by {' x '.join(map(str, window))}"


class _Performance(ctypes.Structure):
    """cudnnConvolutionFwdAlgoPerf_t."""

    _fields_ = (
        ("algorithm", ctypes.c_int),
        ("status", ctypes.c_int),
        ("time", ctypes.c_float),
        ("memory", ctypes.c_size_t),
        ("determinism", ctypes.c_int),
        ("math", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
    )


@dataclass(frozen=True)
class _Plan:
    """The cuDNN descriptors and the algorithm of a convolution. workspace: required bytes."""

    data: ctypes.c_void_p
    weight: ctypes.c_void_p
    bias: ctypes.c_void_p
    out: ctypes.c_void_p
    convolution: ctypes.c_void_p
    algorithm: int
    workspace: int


class Cudnn:
    """cuDNN, with a handle for each context of a device, the plan of each convolution, and workspaces."""

    def __init__(self, library: ctypes.CDLL):
        self.library = library
        self._turn = threading.Lock()
        self._handles: dict[tuple[Device, Context], ctypes.c_void_p] = {}
        self._plans: dict[tuple[Device, Convolution], _Plan] = {}
        self._workspaces: dict[tuple[Device, Context, int], DeviceArray] = {}
        self._relu: ctypes.c_void_p | None = None
        library.cudnnGetErrorString.restype = ctypes.c_char_p

    def run(
        self, device: Device, asked: Convolution, is_fused: bool,
        data: int | None, weight: int | None, bias: int | None, out: int | None,
    ) -> None:  # fmt: skip
        """Computes a convolution on the current stream, followed by bias and relu if fused. data, weight, bias, out:
        addresses. Raises DeviceError on failure, and if no memory is left.
        """
        if 0 in (asked.n, asked.p, asked.q):
            return
        scalar = ctypes.c_double if asked.kind == _DOUBLE else ctypes.c_float
        one, zero = ctypes.byref(scalar(1)), ctypes.byref(scalar(0))
        pointer, stream = ctypes.c_void_p, device.current_stream.handle
        with self._turn:
            context = device.driver.context(device.index)
            handle = self._handle(device, context)
            self._try("SetStream", handle, pointer(stream))
            plan = self._plan(device, handle, asked)
            memory = self._workspace(device, context, stream, plan.workspace)
            work = (plan.convolution, plan.algorithm, pointer(memory), ctypes.c_size_t(plan.workspace))
            image, window = (plan.data, pointer(data)), (plan.weight, pointer(weight))
            result = (plan.out, pointer(out))
            if is_fused:
                added = (plan.bias, pointer(bias), self._activation())
                self._try(
                    "ConvolutionBiasActivationForward",
                    handle, one, *image, *window, *work, zero, *result, *added, *result, about=asked,
                )  # fmt: skip
            else:
                self._try("ConvolutionForward", handle, one, *image, *window, *work, zero, *result, about=asked)

    def _handle(self, device: Device, context: Context) -> ctypes.c_void_p:
        if (device, context) not in self._handles:
            self._handles[device, context] = self._create("")
        return self._handles[device, context]

    def _activation(self) -> ctypes.c_void_p:
        if self._relu is None:
            self._relu = self._create("ActivationDescriptor")
            self._try("SetActivationDescriptor", self._relu, _RELU, _NOT_PROPAGATE_NAN, ctypes.c_double(0))
        return self._relu

    def _workspace(self, device: Device, context: Context, stream: int, size: int) -> int:
        """The address of the workspace of a stream, of at least `size` bytes. Streams share no workspace; a workspace
        grows.
        """
        key = device, context, stream
        if size and (key not in self._workspaces or self._workspaces[key].nbytes < size):
            self._workspaces[key] = empty_device_array(device, (size,), np.dtype("uint8"), "workspace of cuDNN")
        return self._workspaces[key].address if size else 0

    def _plan(self, device: Device, handle: ctypes.c_void_p, asked: Convolution) -> _Plan:
        if (device, asked) not in self._plans:
            self._plans[device, asked] = self._create_plan(handle, asked)
        return self._plans[device, asked]

    def _create_plan(self, handle: ctypes.c_void_p, asked: Convolution) -> _Plan:
        data = self._tensor(asked.kind, asked.n, asked.c, asked.h, asked.w)
        out = self._tensor(asked.kind, asked.n, asked.k, asked.p, asked.q)
        bias = self._tensor(asked.kind, 1, asked.k, 1, 1)
        weight = self._create("FilterDescriptor")
        sizes = asked.k, asked.c // asked.groups, asked.r, asked.s
        self._try("SetFilter4dDescriptor", weight, asked.kind, _NCHW, *sizes, about=asked)
        convolution = self._create("ConvolutionDescriptor")
        kind = _DOUBLE if asked.kind == _DOUBLE else _FLOAT
        numbers = *asked.padding, *asked.strides, *asked.dilations
        self._try("SetConvolution2dDescriptor", convolution, *numbers, _CROSS_CORRELATION, kind, about=asked)
        self._try("SetConvolutionGroupCount", convolution, asked.groups, about=asked)
        math = _MATH[asked.kind]
        self._try("SetConvolutionMathType", convolution, math)
        descriptors = data, weight, convolution, out
        algorithm = self._algorithm(handle, descriptors, {_FMA_MATH, _DEFAULT_MATH, math}, asked)
        size = ctypes.c_size_t()
        self._try(
            "GetConvolutionForwardWorkspaceSize", handle, *descriptors, algorithm, ctypes.byref(size), about=asked
        )
        return _Plan(data, weight, bias, out, convolution, algorithm, size.value)

    def _algorithm(
        self, handle: ctypes.c_void_p, descriptors: Sequence[Any], maths: set[int], asked: Convolution
    ) -> int:
        """The fastest algorithm, by cuDNN's heuristic, among those with a math type in `maths`."""
        results, count = (_Performance * _ALGORITHMS)(), ctypes.c_int()
        output = _ALGORITHMS, ctypes.byref(count), results
        self._try("GetConvolutionForwardAlgorithm_v7", handle, *descriptors, *output, about=asked)
        for each in results[: count.value]:
            if each.status == 0 and each.math in maths:
                return each.algorithm
        raise DeviceError(f"cuDNN has no algorithm for the {asked}", "CUDNN_STATUS_NOT_SUPPORTED")

    def _tensor(self, kind: int, *sizes: int) -> ctypes.c_void_p:
        descriptor = self._create("TensorDescriptor")
        self._try("SetTensor4dDescriptor", descriptor, _NCHW, kind, *sizes)
        return descriptor

    def _create(self, kind: str) -> ctypes.c_void_p:
        descriptor = ctypes.c_void_p()
        self._try(f"Create{kind}", ctypes.byref(descriptor))
        return descriptor

    def _try(self, name: str, *arguments: Any, about: Convolution | None = None) -> None:
        """Calls a function of cuDNN, whose integers are all 32 bits wide. about: the convolution to name in errors."""
        status = getattr(self.library, f"cudnn{name}")(*arguments)
        if status:
            message = (self.library.cudnnGetErrorString(status) or b"").decode() or f"status {status}"
            raise DeviceError(f"cudnn{name}{f' of a {about}' if about else ''} failed: {message}", message)


@once
def _cudnn() -> Cudnn:
    """The loaded library. Raises PluginError if it is not installed."""
    with suppress(PluginError):  # cuDNN loads cuBLAS by name, and uses a copy that is loaded already
        load_cublas()
    return Cudnn(load_shared_library("cudnn", _PLACES, "nvidia-cudnn-cu13, or nvidia-cudnn-cu12 for CUDA 12"))


def _run_convolution(device: Device, is_fused: int, *arguments: Any) -> None:
    numbers, addresses = arguments[:17], arguments[17:]
    pairs = (tuple(numbers[n : n + 2]) for n in (11, 13, 15))
    _cudnn().run(device, Convolution(*numbers[:11], *pairs), bool(is_fused), *addresses)


_ADDRESS, _ALIVE = create_c_callback(_run_convolution, *[ctypes.c_int64] * 18, *[ctypes.c_void_p] * 4)


def _symbols(_target: Target) -> Mapping[str, int]:
    return {_CONVOLUTION: _ADDRESS}


_CONV2D = is_op("nn.conv2d")(wildcard(), wildcard())
_WITH_BIAS = is_op("nn.bias_add")(_CONV2D, wildcard()).has_attr({"axis": 1}) | is_op("add")(_CONV2D, wildcard())

CUDNN = Library(
    "cudnn",
    (LibraryPattern(is_op("nn.relu")(_WITH_BIAS), _has_bias), LibraryPattern(_CONV2D, _is_convolution)),
    _lower,
    _symbols,
    kind="cuda",
)
