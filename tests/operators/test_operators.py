"""Every operator agrees with its reference, for random shapes, data types and attributes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import build
from stepwell.core.dtypes import dtype_of_numpy, numpy_dtype
from stepwell.operators import OPERATORS, Pattern, UnknownOperatorError, operator, operator_of
from stepwell.tools.testing.operators import SAMPLES, Sample, operators_without_samples, program_of

TOLERANCES = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-14}
"""The tolerance of a result, relative to its largest element."""


def computed(name: str, sample: Sample) -> list[np.ndarray]:
    """The results of an operator in native code."""
    module, outputs = program_of(name, sample)
    build(module)["main"](*sample.operands, *outputs)
    return outputs


@pytest.mark.parametrize("name", OPERATORS)
@given(data=st.data())
@settings(max_examples=max(1, settings().max_examples // 4))
def test_an_operator_computes_what_its_reference_computes(name: str, data: st.DataObject) -> None:
    sample = data.draw(SAMPLES[name])
    expected: Any = OPERATORS[name].reference(*sample.operands, **sample.attributes)
    expected = expected if isinstance(expected, list | tuple) else [expected]
    for got, wanted in zip(computed(name, sample), expected, strict=True):
        assert got.dtype == np.asarray(wanted).dtype
        assert got.shape == np.asarray(wanted).shape
        if str(got.dtype) not in TOLERANCES:
            kind = "float64" if dtype_of_numpy(got.dtype).is_float else got.dtype
            np.testing.assert_array_equal(got.astype(kind), np.asarray(wanted).astype(kind))
            continue
        finite = np.abs(wanted[np.isfinite(wanted)]).astype("float64")
        rtol = TOLERANCES[str(got.dtype)]
        # A formula may lose a denormal result: x / (1 + exp(-x)) is 0 where exp(-x) is infinite.
        smallest = np.finfo(np.float64 if got.dtype == np.float64 else np.float32).smallest_normal
        atol = max(rtol * float(finite.max(initial=0.0)), float(smallest))
        np.testing.assert_allclose(got.astype("float64"), wanted.astype("float64"), rtol, atol)


def test_a_denormal_result_may_be_lost() -> None:
    (got,) = computed("nn.silu", Sample([np.array(-92.5, np.float32)], {}))
    assert got == 0


@pytest.mark.parametrize("source", ["int4", "uint4", "uint2", "float8_e5m2", "float4_e2m1fn"])
@pytest.mark.parametrize("target", ["int4", "uint4", "uint2", "float6_e2m3fn", "float8_e4m3fn"])
def test_types_without_a_direct_cast_in_ml_dtypes_are_cast(source: str, target: str) -> None:
    numbers = range(-8, 8) if source == "int4" else range(4) if source == "uint2" else range(7)
    data = np.asarray(numbers, np.float32).astype(numpy_dtype(source))
    expected = OPERATORS["cast"].reference(data, dtype=target)
    (got,) = computed("cast", Sample([data], {"dtype": target}))
    assert got.dtype == expected.dtype
    assert got.astype("float32").tolist() == expected.astype("float32").tolist()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_what_lies_between_integers_is_rounded(dtype: str) -> None:
    image = np.asarray([[[[0, 1, 4, 7]]]], dtype)
    said = {"size": [1, 8], "method": "linear", "coordinate_transformation_mode": "asymmetric"}
    (got,) = computed("image.resize2d", Sample([image], said))
    np.testing.assert_array_equal(got, np.round([[[[0, 0.5, 1, 2.5, 4, 5.5, 7, 7]]]]).astype(dtype))


def test_every_operator_is_tried() -> None:
    assert not operators_without_samples()


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_says_what_it_computes(name: str) -> None:
    found = operator_of(name)
    assert found.summary.endswith(".")
    assert isinstance(found.pattern, Pattern)


def test_an_operator_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownOperatorError, match=r"no operator 'tanhh', did you mean 'tanh'\?"):
        operator_of("tanhh")


def test_an_operator_is_defined_once() -> None:
    with pytest.raises(ValueError, match="operator exp is defined twice"):
        operator("exp", Pattern.ELEMWISE, np.exp)(lambda data: data)


def test_a_reference_is_given_what_it_takes_as_the_formula_has_it() -> None:
    given = OPERATORS["concatenate"].reference(np.zeros((2, 1)), np.zeros((2, 1)))
    assert given.shape == (4, 1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        OPERATORS["concatenate"].reference(np.zeros(1), axes=0)
