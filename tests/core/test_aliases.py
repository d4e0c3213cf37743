"""Contents of modules under their former names."""

import pytest

from stepwell.backends import runtime


def test_a_class_is_found_under_its_former_name_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r"stepwell\.backends\.runtime\.Library is now Program"):
        assert runtime.Library is runtime.Program


def test_an_unknown_name_is_an_error_of_the_module() -> None:
    with pytest.raises(AttributeError, match=r"module 'stepwell\.backends\.runtime' has no attribute 'Librari'"):
        _ = runtime.Librari
