"""Arithmetic on the values of generated code."""

import pytest

from stepwell.backends.oracle import numerics
from stepwell.core.dtypes import SCALAR_DTYPES

SHORT = {name: short for name in SCALAR_DTYPES if (short := numerics.short_name(name)) is not None}


def test_every_type_with_a_short_name_has_tables() -> None:
    assert set(numerics.DECODE) == set(numerics.ENCODE) == set(SHORT)


@pytest.mark.parametrize("name", SHORT)
def test_generated_code_finds_the_tables_by_short_names(name: str) -> None:
    assert getattr(numerics, SHORT[name].upper()) is numerics.DECODE[name]
    assert getattr(numerics, f"{SHORT[name]}_bits") is numerics.ENCODE[name]
