"""Samples of `einsum`."""

from __future__ import annotations

from hypothesis import strategies as st

from .sampling import Draw, Sample, numbers


@st.composite
def equations(draw: Draw) -> Sample:
    """Tensors with letters for axes, letters repeated within a tensor, and ellipses."""
    extents = {letter: draw(st.sampled_from((0, 1, 2, 3, 5))) for letter in "ijkB"}
    wide = draw(st.lists(st.sampled_from((1, 2, 3)), max_size=2))
    dtype = draw(st.sampled_from(("float32", "float64", "int32", "uint8")))
    operands, terms, has_wide = [], [], False
    for _ in range(draw(st.integers(1, 3))):
        letters = draw(st.lists(st.sampled_from("ijkB"), max_size=3))
        shape = [extents[letter] for letter in letters]
        if draw(st.booleans()):
            has_wide, position = True, draw(st.integers(0, len(letters)))
            own = [1 if draw(st.booleans()) else n for n in wide[draw(st.integers(0, len(wide))) :]]
            letters.insert(position, "...")
            shape[position:position] = own
        terms.append("".join(letters))
        operands.append(numbers(draw, shape, dtype, -2, 2))
    space = draw(st.sampled_from(("", " ")))
    equation = f",{space}".join(terms)
    if draw(st.booleans()):
        used = sorted({letter for term in terms for letter in term if letter != "."})
        result = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        if has_wide:
            result.insert(draw(st.integers(0, len(result))), "...")
        equation += f"{space}->{space}{''.join(result)}"
    return Sample(operands, {"equation": equation})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {"einsum": equations()}
