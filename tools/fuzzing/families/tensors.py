"""The family of tensor expressions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from ....module import Module
from ...testing.te_expressions import TARGETS, random_tensors
from ..case import Case


def check_tensors(data: st.DataObject, case: Case) -> None:
    """Native code, the oracle and the interpreter agree on a tensor expression."""
    drawn = data.draw(random_tensors())

    def check(program: Module) -> None:
        first, *others = [replace(drawn, module=program).run(target) for target in TARGETS]
        for output in others:
            np.testing.assert_array_equal(first, output)

    case.check_program(drawn.module, check)
