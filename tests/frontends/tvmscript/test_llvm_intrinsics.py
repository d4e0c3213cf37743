"""`T.call_llvm_pure_intrin`: instructions of processors on vectors, in the oracle and in native code."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import stepwell
from stepwell import Module, ParseError, UnsupportedError
from stepwell.backends.llvm.engine import Processor
from stepwell.backends.validation.execution import Program
from stepwell.backends.validation.tensor_intrinsics import register_tensor_intrin
from stepwell.core.dtypes import parse_dtype
from stepwell.core.llvm_intrinsics import LLVM_INTRINSICS
from stepwell.frontends.mlir import parse_mlir
from stepwell.frontends.tvmscript import parse_tvmscript
from stepwell.schedule.intrinsics import BYTE_PRODUCTS, tensor_intrin, window_products_name

DOT = "llvm.x86.avx512.vpdpbusd.128"


def program(name: str, count: str = "") -> str:
    """A function that calls an intrinsic. count: an argument before the operands."""
    intrinsic = LLVM_INTRINSICS[name]
    kinds = [parse_dtype(kind) for kind in (*intrinsic.operands, intrinsic.result)]
    names = [f"A{n}" for n in range(len(intrinsic.operands))]
    parameters = [
        f'{each}: T.Buffer(({kind.lanes},), "{kind.scalar.name}")' for each, kind in zip([*names, "R"], kinds)
    ]
    operands = ", ".join(f"{each}[0:{kind.lanes}]" for each, kind in zip(names, kinds))
    return f"""
@T.prim_func
def main({", ".join(parameters)}):
    R[0 : {kinds[-1].lanes}] = T.call_llvm_pure_intrin("{intrinsic.result}", "{name}", {count}{operands})
"""


def arrays(name: str) -> list[np.ndarray]:
    choose, intrinsic = np.random.default_rng(1), LLVM_INTRINSICS[name]
    kinds = [parse_dtype(kind) for kind in intrinsic.operands]
    limits = [np.iinfo(kind.scalar.name) for kind in kinds]
    made = [choose.integers(i.min, i.max, k.lanes, i.dtype, endpoint=True) for i, k in zip(limits, kinds, strict=True)]
    result = parse_dtype(intrinsic.result)
    return [*made, np.zeros(result.lanes, result.scalar.name)]


@pytest.mark.parametrize("name", LLVM_INTRINSICS)
def test_native_code_and_oracle_agree(name: str) -> None:
    module = parse_tvmscript(program(name))
    assert str(parse_mlir(str(module))) == str(module)
    again = parse_tvmscript(module.script())
    expected, actual = arrays(name), arrays(name)
    Program.of(again).functions["main"](*expected)
    assert expected[-1].any()
    if not LLVM_INTRINSICS[name].features <= Processor.host().instructions:
        pytest.skip("the processor lacks the instruction")
    stepwell.build(module)(*actual)
    np.testing.assert_array_equal(actual[-1], expected[-1])


def test_the_number_of_operands_and_the_lookup_of_the_name_are_read() -> None:
    plain = str(parse_tvmscript(program(DOT)))
    old = program(DOT, "T.uint32(3), ").replace(f'"{DOT}"', f'T.llvm_lookup_intrinsic_id("{DOT}")')
    assert str(parse_tvmscript(old)) == plain


def test_a_processor_without_the_instruction_is_an_error() -> None:
    module = parse_tvmscript(program(DOT))
    for target in ("llvm -mcpu=x86-64", "llvm -mattr=-avx512vnni"):
        with pytest.raises(UnsupportedError, match=r"vpdpbusd\.128 requires avx512.*which the processor lacks"):
            stepwell.build(module, target=target)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (program(DOT).replace("vpdpbusd", "vpdpbusx"), r"'llvm.x86.avx512.vpdpbusx.128' of LLVM is not supported"),
        (program(DOT).replace(", A2[0:16]", ""), r"of 2 operands, expected 3"),
    ],
)
def test_unknown_intrinsics_and_other_operands_are_errors(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_tvmscript(text)


WINDOWS = ((16, 1, 1), (16, 2, 1), (8, 3, 2), (4, 1, 4))
"""Numbers of windows, their strides and their dilations."""


@pytest.mark.parametrize("name", [*BYTE_PRODUCTS, *(window_products_name(*each) for each in WINDOWS)])
def test_tensor_intrinsics_compute_what_they_describe(name: str) -> None:
    intrin = tensor_intrin(name)
    parts = [Module(ModuleOp([each.clone()])) for each in (intrin.description, intrin.implementation)]
    register_tensor_intrin(f"copy of {name}", *parts, override=True)
    with pytest.raises(stepwell.OptionError, match="is registered already"):
        register_tensor_intrin(name, *parts)
