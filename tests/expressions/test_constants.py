"""Constants as operands of Python's comparisons."""

from stepwell import te


def test_constants_of_one_value_are_equal() -> None:
    greatest = te.max_value("int8")
    assert greatest == 127
    assert greatest != 126
    assert not greatest == 126
    assert te.const(1.5, "float32") in [te.const(1.5, "float32")]
    x = te.var("x")
    assert x == x
    assert x != te.var("x")
