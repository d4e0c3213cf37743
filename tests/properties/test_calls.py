"""Native code that checks the arguments of a call agrees with the checks in Python: in results, and in errors."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.backends.llvm.compile import compile_module
from stepwell.backends.runtime.program import CompiledFunction
from stepwell.core.dtypes import mlir_type, numpy_dtype
from stepwell.frontends.mlir import parse_mlir
from stepwell.tools.testing.tensors import ExchangeTensor

NUMBERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
ELEMENTS = (*NUMBERS, "float16", "bfloat16", "float8_e4m3fn", "int4")


@st.composite
def parameters(draw: st.DrawFn) -> tuple[Any, ...]:
    """(kind, data type, extents, strides, whether it is written): of a buffer, or of a number or a handle."""
    kind = draw(st.sampled_from(["buffer"] * 4 + ["scalar"] * 2 + ["handle"] * draw(st.integers(0, 1))))
    if kind != "buffer":
        return kind, draw(st.sampled_from((*NUMBERS, "float16") if draw(st.booleans()) else NUMBERS)), (), None, False
    shape = tuple(draw(st.lists(st.sampled_from([None, None, 1, 2, 3]), max_size=3)))
    strides = tuple(draw(st.sampled_from([None, None, 1, 2])) for _ in shape) if draw(st.integers(0, 2)) == 0 else None
    return kind, draw(st.sampled_from(ELEMENTS)), shape, strides, draw(st.booleans())


def element_of(dtype: str) -> str:
    """The MLIR type of a data type, without a sign."""
    return str(mlir_type(dtype)).removeprefix("u").replace("si", "i")


def type_of(parameter: tuple[Any, ...], offset: int) -> str:
    kind, dtype, shape, strides, _ = parameter
    if kind == "handle":
        return "!llvm.ptr"
    if kind == "scalar":
        return element_of(dtype)
    sizes = "".join(f"{'?' if extent is None else extent}x" for extent in shape)
    steps = ", ".join("?" if step is None else str(step) for step in strides or ())
    layout = "" if strides is None else f", strided<[{steps}], offset: {offset}>"
    return f"memref<{sizes}{element_of(dtype)}{layout}>"


def module_text(signature: list[tuple[Any, ...]], result: str | None, noalias: bool, offset: int) -> str:
    """Two functions: one returns a hash of all that native code receives of its arguments, one its first number."""
    types = [type_of(each, offset) for each in signature]
    declared = ", ".join(
        f'%p{n}: {kind} {{stepwell.name = "p{n}"'
        + (f', stepwell.dtype = "{each[1]}"}}' if each[0] != "handle" else "}")
        for n, (each, kind) in enumerate(zip(signature, types, strict=True))
    )
    attributes = " attributes {stepwell.noalias}" if noalias else ""
    lines = ["%false = arith.constant false", "%prime = arith.constant 1000003 : index"]
    lines.append("%h0 = arith.constant 7 : index")
    values: list[str] = []
    for n, (each, kind) in enumerate(zip(signature, types, strict=True)):
        values += hashed_values(lines, n, each, kind)
    for n, value in enumerate(values):
        lines.append(f"%t{n} = arith.muli %h{n}, %prime : index")
        lines.append(f"%h{n + 1} = arith.addi %t{n}, {value} : index")
    body = "\n  ".join([*lines, f"func.return %h{len(values)} : index"])
    text = f"func.func @main({declared}) -> index{attributes} {{\n  {body}\n}}"
    if result is not None:
        number = next(n for n, each in enumerate(signature) if each[:2] == ("scalar", result))
        returned = f'({types[number]} {{stepwell.dtype = "{result}"}})'
        text += (
            f"\nfunc.func @echo({declared}) -> {returned}{attributes} {{ func.return %p{number} : {types[number]} }}"
        )
    return text


def hashed_values(lines: list[str], n: int, parameter: tuple[Any, ...], kind: str) -> list[str]:
    """Appends operations to `lines`; returns values of type index that depend on parameter `n`."""
    how, dtype, shape, _, written = parameter
    if how == "handle" or (how == "scalar" and dtype == "float16"):
        return []
    if how == "scalar":
        bits = numpy_dtype(dtype).itemsize * 8
        integer = kind
        if "float" in dtype:
            integer = f"i{bits}"
            lines.append(f"%b{n} = arith.bitcast %p{n} : {kind} to {integer}")
        lines.append(f"%i{n} = arith.index_cast {f'%b{n}' if 'float' in dtype else f'%p{n}'} : {integer} to index")
        return [f"%i{n}"]
    rank = len(shape)
    sizes, steps = [f"%s{n}_{axis}" for axis in range(rank)], [f"%d{n}_{axis}" for axis in range(rank)]
    names = ", ".join([f"%base{n}", f"%offset{n}", *sizes, *steps])
    results = ", ".join([f"memref<{element_of(dtype)}>"] + ["index"] * (1 + 2 * rank))
    lines.append(f"{names} = memref.extract_strided_metadata %p{n} : {kind} -> {results}")
    lines.append(f'%a{n} = "memref.extract_aligned_pointer_as_index"(%p{n}) : ({kind}) -> index')
    if written:
        indices = ", ".join(["%h0"] * rank)
        value = f"%v{n}"
        lines += [
            "scf.if %false {",
            f"  {value} = memref.load %p{n}[{indices}] : {kind}",
            f"  memref.store {value}, %p{n}[{indices}] : {kind}",
            "}",
        ]
    return [f"%a{n}", f"%offset{n}", *sizes, *steps]


class Exporter:
    """An array that other code sees through DLPack."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class SubArray(np.ndarray[Any, Any]):
    """A subclass of numpy's."""


def fitting_array(data: st.DataObject, parameter: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """An array that a parameter accepts."""
    _, dtype, shape, strides, _ = parameter
    extents = [extent if extent is not None else data.draw(st.integers(0, 3)) for extent in shape]
    if strides is None:
        return np.zeros(extents, numpy_dtype(dtype))
    steps = [step if step is not None else data.draw(st.integers(-3, 3)) for step in strides]
    memory, item = np.zeros(64, numpy_dtype(dtype)), numpy_dtype(dtype).itemsize
    return np.lib.stride_tricks.as_strided(memory.view(f"u{item}")[32:], extents, [step * item for step in steps]).view(
        numpy_dtype(dtype)
    )


# The address of an array without elements, which the results depend on, is not exchanged.
ARRAY_CHANGES: tuple[Callable[[np.ndarray[Any, Any]], Any], ...] = (
    lambda a: a.astype(np.float64 if a.dtype != np.float64 else np.float32),
    lambda a: a.astype(a.dtype.newbyteorder()) if a.dtype.isbuiltin == 1 else a,
    lambda a: a[..., None],
    lambda a: a[None],
    lambda a: a[0] if a.ndim and len(a) else a,
    lambda a: a[..., ::2] if a.ndim else a,
    lambda a: a[::-1] if a.ndim else a,
    lambda a: np.concatenate([a, a]) if a.ndim else a,
    lambda a: np.asfortranarray(np.zeros((*a.shape[:-1], 3), a.dtype)) if a.ndim else a,
    lambda a: a.view(SubArray),
    lambda a: np.ma.masked_array(a, False),
    lambda a: Exporter(a) if a.size and a.dtype.isbuiltin == 1 else a,
    lambda a: ExchangeTensor(a) if a.size and a.dtype.isbuiltin == 1 else a,
    lambda a: ExchangeTensor(read_only(a)) if a.size and a.dtype.isbuiltin == 1 else a,
    lambda a: ExchangeTensor(a, device=2) if a.size and a.dtype.isbuiltin == 1 else a,
    lambda a: ExchangeTensor(unaligned(a)) if a.size and a.dtype.isbuiltin == 1 else a,
    lambda a: ExchangeTensor(a[..., ::2]) if a.ndim and a.size and a.dtype.isbuiltin == 1 else a,
    lambda a: ExchangeTensor(a.astype(np.float64)) if a.size else a,
    lambda a: a.tolist(),
    lambda _: None,
    lambda _: 3,
    lambda a: read_only(a),
    lambda a: unaligned(a),
    lambda a: a.astype(np.dtype(a.dtype.str, metadata={"unit": "m"})) if a.dtype.isbuiltin == 1 else a,
    lambda a: np.broadcast_to(a.ravel()[:1], a.shape) if a.ndim and a.size else a,
    lambda a: a[:0] if a.ndim else a,
)  # fmt: skip


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def unaligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    return memory[1:].view(array.dtype).reshape(array.shape)


numbers = st.one_of(
    st.integers(-2, 300), st.sampled_from([2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64]),
    st.floats(), st.sampled_from([3.4e38, 3.5e38, 1e300, -1e300]), st.booleans(), st.none(), st.just("1"),
    st.sampled_from([np.int8(3), np.float32(1.5), np.bool_(True), np.uint64(7), np.array(2.5), np.array([1])]),
)  # fmt: skip


def draw_arguments(data: st.DataObject, signature: list[tuple[Any, ...]]) -> list[Any]:
    values: list[Any] = []
    for each in signature:
        if each[0] == "handle":
            values.append(data.draw(st.sampled_from([0, None, 64, 2**64, "x"])))
        elif each[0] == "scalar":
            fits = st.floats(-8, 8) if "float" in each[1] else st.integers(0, 1)
            values.append(data.draw(st.one_of(fits, fits, numbers)))
        else:
            values.append(fitting_array(data, each))
    for n in data.draw(st.lists(st.sampled_from(range(len(values))), max_size=2)) if values else ():
        if isinstance(values[n], np.ndarray):
            values[n] = data.draw(st.sampled_from(ARRAY_CHANGES))(values[n])
    if len(values) > 1 and data.draw(st.integers(0, 3)) == 0:
        first, second = data.draw(st.sampled_from(range(len(values)))), data.draw(st.sampled_from(range(len(values))))
        values[first] = values[second]
    return values[: data.draw(st.sampled_from([len(values)] * 8 + [0, 1]))]


def outcome(call: Callable[..., Any], arguments: list[Any], named: dict[str, Any]) -> tuple[Any, ...]:
    arrays = [each for each in arguments if isinstance(each, np.ndarray)]
    before = [sys.getrefcount(each) for each in arrays]
    try:
        result = call(*arguments, **named)
        summary = (type(result), repr(result))
        del result
    except Exception as error:
        summary = (type(error), str(error))
    assert [sys.getrefcount(each) for each in arrays] == before
    return summary


def same_outcomes(function: CompiledFunction, arguments: list[Any], named: dict[str, Any]) -> None:
    in_python = function.func.__self__[2]  # pyright: ignore[reportFunctionMemberAccess]
    assert outcome(function, arguments, named) == outcome(in_python, arguments, named)


@given(
    signature=st.lists(parameters(), max_size=5), noalias=st.booleans(), offset=st.sampled_from([0, 3]), data=st.data()
)
def test_native_checks_of_arguments_agree_with_those_in_python(
    signature: list[tuple[Any, ...]], noalias: bool, offset: int, data: st.DataObject
) -> None:
    numbers_in = [each[1] for each in signature if each[0] == "scalar"]
    result = data.draw(st.sampled_from(numbers_in)) if numbers_in else None
    lib = compile_module(parse_mlir(module_text(signature, result, noalias, offset)).op)
    accepted = all(each[0] != "handle" and (each[0] != "scalar" or each[1] in NUMBERS) for each in signature)
    for function in lib.functions.values():
        assert function.signature.direct == accepted
        if accepted:
            for _ in range(8):
                named = {"x": 1} if data.draw(st.integers(0, 15)) == 0 else {}
                same_outcomes(function, draw_arguments(data, signature), named)


@pytest.mark.parametrize("change", ARRAY_CHANGES)
def test_each_change_of_an_array_has_the_same_outcome(change: Callable[[Any], Any]) -> None:
    for strides in (None, (None, None), (None, 1)):
        parameter = ("buffer", "float32", (2, None), strides, True)
        lib = compile_module(parse_mlir(module_text([parameter], None, True, 0)).op)
        for _ in range(2):  # native code knows a type of tensors from its first call on
            same_outcomes(lib["main"], [change(np.zeros((2, 3), np.float32))], {})
