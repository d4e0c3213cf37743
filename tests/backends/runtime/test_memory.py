"""Arrays on memory of the runtime."""

import numpy as np
import pytest

from stepwell.backends.devices import nd
from stepwell.backends.runtime.memory import ALIGNMENT, empty_array


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (1 << 20,), (1_500_001,)])
def test_new_arrays_begin_at_cache_lines(shape: tuple[int, ...]) -> None:
    values = np.ones(shape, "float32")
    kept = []
    for _ in range(5):
        kept += [empty_array(shape, np.dtype("float32"), "x"), nd.array(values).layout, nd.empty(shape).layout]
        assert [array.ctypes.data % ALIGNMENT for array in kept] == [0] * len(kept)
        assert all(array.shape == shape and array.flags.c_contiguous for array in kept)
