"""Samples of Fourier transforms."""

from __future__ import annotations

from hypothesis import strategies as st

from .sampling import SHAPES, Draw, Sample, numbers

_DTYPES = st.sampled_from(("float32", "float64"))


@st.composite
def transforms(draw: Draw) -> Sample:
    dtype, shape = draw(_DTYPES), draw(SHAPES.filter(bool))
    parts = [numbers(draw, shape, dtype) for _ in range(2)]
    return Sample(parts, {"inverse": draw(st.booleans())})


@st.composite
def short_transforms(draw: Draw) -> Sample:
    """Signals of at least one part, and batches."""
    n_fft, batch = draw(st.integers(1, 7)), draw(st.sampled_from(((), (0,), (2,))))
    size = draw(st.integers(1, n_fft))
    sizes = {"n_fft": n_fft, "hop_length": draw(st.integers(1, 4)), "win_length": size}
    data = numbers(draw, (*batch, n_fft + draw(st.integers(0, 9))), draw(_DTYPES))
    window = numbers(draw, (size,), draw(st.sampled_from(("float32", "int32"))), -2, 2)
    return Sample([data, window], {**sizes, "normalized": draw(st.booleans()), "onesided": draw(st.booleans())})


SAMPLES: dict[str, st.SearchStrategy[Sample]] = {
    "dft": transforms(),
    "stft": short_transforms(),
}
